"""Equal axes, large round sizes and large cases are drawn, within the budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from rotation import rotating
from specimens import make_task

from robust_kbench.cases import conjunctions
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.space import Space
from robust_kbench.cases.suite import BUDGETS, Budget, draw_suite
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import Task

AXES = {
    "rows": {"low": 1, "high": 4096},
    "cols": {"low": 1, "high": 65536},
    "step": {"low": 1, "high": 8},
    "dim": {"values": [5, 16, 64, 128]},
}
TIMED = [{"rows": 8, "cols": 64, "step": 1, "dim": 64}]
SQUARES = ("matmul/matmul", "index/transpose", "attention/causal", "conv/conv2d", "norm/layernorm")


def _task(**changes: Any) -> Task:
    return make_task(
        **{"axes": AXES, "timed": {"cpu": TIMED, "cuda": TIMED}, "constraints": [], "nonfinite": "none", **changes}
    )


def _space(task: Task, tier: Tier = "full") -> Space:
    return Space(task, BUDGETS[tier], task.dtypes, False)


def _rare(task: Task, seed: int, tier: Tier) -> tuple[Case, ...]:
    """The rare sizes of a suite: those that a budget without any has not."""
    with_them, without = (
        draw_suite(task, seed, budget=budget, dtypes=task.dtypes, device="cpu", dense=False).checked
        for budget in (BUDGETS[tier], _none_of(tier))
    )
    return tuple(case for case in with_them if case not in without)


def _none_of(tier: Tier) -> Budget:
    return replace(BUDGETS[tier], conjunctions=0)


def _sizes(axis: str, families: Any, seeds: int = 40) -> Iterator[int]:
    space = _space(_task())
    for seed in range(seeds):
        drawn = conjunctions.draw_round(space, Draw(seed), "float32", axis, families)
        assert drawn is not None
        yield drawn[axis]


def test_axes_are_alike_where_both_can_be_the_same_number_of_at_least_32() -> None:
    assert conjunctions.alike(_space(_task())) == [("rows", "cols"), ("rows", "dim"), ("cols", "dim")]


def test_two_axes_are_equal_and_sometimes_round() -> None:
    space = _space(_task())
    drawn = [conjunctions.draw_equal(space, Draw(seed), "float32", ("rows", "cols")) for seed in range(40)]
    sizes = [axes["rows"] for axes in drawn if axes is not None and axes["rows"] == axes["cols"]]
    assert len(sizes) == 40
    assert min(sizes) >= 32 < 500 < max(sizes)
    assert 0 < sum(size % 96 == 0 for size in sizes) < 20


def test_an_axis_of_few_values_is_equal_to_another_at_one_of_them() -> None:
    space = _space(_task())
    drawn = [conjunctions.draw_equal(space, Draw(seed), "float32", ("cols", "dim")) for seed in range(20)]
    assert {axes["cols"] for axes in drawn if axes is not None} == {64, 128}


def test_a_multiple_of_96_is_large() -> None:
    sizes = list(_sizes("cols", conjunctions.OF_96))
    assert {size % 96 for size in sizes} == {0}
    assert min(sizes) >= 512 < 4096 < max(sizes)


def test_other_round_sizes_are_small_numbers_times_powers_of_two_or_of_ten() -> None:
    sizes = set(_sizes("cols", conjunctions.OTHERS, 80))
    assert min(sizes) >= 512
    assert sizes <= {digit << power for digit in (1, 5, 7) for power in range(17)} | {
        digit * 10**power for digit in (1, 2, 5) for power in range(2, 5)
    }
    assert {1000, 1024} & sizes
    assert {1280, 2560, 5120} & sizes


def test_an_axis_of_small_or_of_few_sizes_has_no_round_ones_of_its_own() -> None:
    assert conjunctions.scaled(_space(_task())) == ["rows", "cols"]


def test_where_the_budget_has_no_room_for_equal_axes_there_is_no_case() -> None:
    task = _task(cost={"flops": "(rows + cols) * 10000000", "bytes": 1})
    assert conjunctions.draw_equal(_space(task, "quick"), Draw(1), "float32", ("rows", "cols")) is None
    assert conjunctions.draw_round(_space(task, "quick"), Draw(1), "float32", "cols", conjunctions.OF_96) is None


def test_the_large_case_has_more_elements_than_any_other_and_at_most_four_times_the_budget() -> None:
    """A kernel that was right up to the budget's elements passed at tier full."""
    space = _space(_task())
    shares = [space.share(conjunctions.draw_largest(space, Draw(seed), "float32"), "float32") for seed in range(20)]
    assert min(shares) > 1.0
    assert max(shares) <= conjunctions.BEYOND


def test_the_large_case_costs_no_more_work_than_the_budget_allows() -> None:
    space = _space(_task(cost={"flops": "rows * cols * 10000", "bytes": 1}))
    axes = conjunctions.draw_largest(space, Draw(1), "float32")
    assert axes["rows"] * axes["cols"] * 10_000 <= space.budget.flops


@pytest.mark.parametrize("name", rotating(task_names()))
def test_a_quick_suite_has_at_most_five_and_a_full_one_two_for_each_axis_and_for_each_pair(name: str) -> None:
    task = load_task(name).spec
    assert len(_rare(task, 3, "quick")) <= 5
    pairs, full = conjunctions.alike(_space(task)), _rare(task, 3, "full")
    long = conjunctions.long_together(_space(task))
    assert len(full) <= len(pairs) + len(long) + 3 * len(task.axes) + len(task.dtypes)
    assert len(full) >= 1


@pytest.mark.parametrize("name", SQUARES)
def test_a_full_suite_has_every_pair_of_axes_equal_and_every_axis_a_multiple_of_96(name: str) -> None:
    task = load_task(name).spec
    space, rare = _space(task), [case.axes for case in _rare(task, 3, "full")]
    missed = [(a, b) for a, b in conjunctions.alike(space) if not any(axes[a] == axes[b] >= 32 for axes in rare)]
    assert missed == []
    long = [axis for axis in conjunctions.scaled(space) if space.sizes(axis)[-1] >= 512]
    assert [axis for axis in long if not any(axes[axis] % 96 == 0 for axes in rare)] == []


@pytest.mark.parametrize("name", ["image/bilinear_resize", "pool/avg_pool2d", "norm/group_norm_silu"])
@pytest.mark.parametrize("seed", range(4))
def test_a_full_suite_has_pictures_that_are_high_and_wide(name: str, seed: int) -> None:
    """A resize that was wrong from 256 by 256 on was accepted."""
    cases = _rare(load_task(name).spec, seed, "full")
    assert any(min(case.axes["height"], case.axes["width"]) >= 256 for case in cases)


def test_a_full_suite_has_a_large_case_of_each_dtype() -> None:
    task = _task()
    space = _space(task)
    large = {case.dtype for case in _rare(task, 3, "full") if space.share(case.axes, case.dtype) > 1}
    assert large == set(task.dtypes)


def test_two_long_axes_are_drawn_each_by_itself() -> None:
    space = _space(_task())
    drawn = [conjunctions.draw_long(space, Draw(seed), "float32", ("rows", "cols")) for seed in range(60)]
    sizes = [(axes["rows"], axes["cols"]) for axes in drawn if axes is not None]
    assert len(sizes) == 60
    assert min(map(min, sizes)) >= 256
    assert len({rows for rows, _ in sizes}) > 15
    assert sum(rows == cols for rows, cols in sizes) < 10


def test_whole_tiles_come_with_ragged_long_axes() -> None:
    """A product that left out the end of long sums for whole tiles was accepted."""
    space = _space(load_task("matmul/linear").spec)
    pair = ("batch", "out_features")
    drawn = [conjunctions.draw_long(space, Draw(seed), "float32", pair) for seed in range(40)]
    tiled = [axes for axes in drawn if axes and all(axes[axis] % 256 == 0 for axis in pair)]
    assert len(tiled) >= 10
    assert sum(axes["in_features"] % 2 == 1 and axes["in_features"] >= 256 for axes in tiled) >= len(tiled) / 2


@pytest.mark.parametrize(
    ("name", "axis"), [("attention/gqa_decode", "capacity"), ("matmul/matrix_vector", "k"), ("scan/cumsum", "cols")]
)
def test_a_full_suite_has_every_axis_as_long_as_it_can_be(name: str, axis: str) -> None:
    """Decoding that never looked beyond position 8,192 was accepted; a cache may have 16,384."""
    space = _space(load_task(name).spec)
    longest = max(case.axes[axis] for case in _rare(space.task, 3, "full"))
    assert longest > 0.7 * space.sizes(axis)[-1]


@pytest.mark.rotating
def test_most_quick_suites_have_a_long_sum_of_a_multiple_of_96() -> None:
    """A product that was wrong for these passed all but one in a hundred evaluations."""
    task = load_task("matmul/matmul").spec
    met = [any(case.axes["k"] % 96 == 0 and case.axes["k"] > 500 for case in _rare(task, seed, "quick"))
           for seed in range(60)]  # fmt: skip
    assert sum(met) >= 55


def test_rare_sizes_change_no_other_case() -> None:
    task = load_task("matmul/matmul").spec
    with_them, without = (
        draw_suite(task, 7, budget=budget, dtypes=task.dtypes, device="cpu", dense=False).checked
        for budget in (BUDGETS["quick"], _none_of("quick"))
    )
    assert with_them[: len(without)] == without
