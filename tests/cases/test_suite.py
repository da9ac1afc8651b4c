from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import make_task

from robust_kbench.cases import layouts
from robust_kbench.cases.suite import BUDGETS, INTERPRETED, Budget, draw_suite
from robust_kbench.errors import SpecError
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Suite
from robust_kbench.schema.task import ITEMSIZE, DeviceKind, FloatDType, Task, shape_of

SPECS = {name: load_task(name).spec for name in task_names()}
ALL_BUDGETS: dict[str, Budget] = {**{str(tier): budget for tier, budget in BUDGETS.items()}, "interpreted": INTERPRETED}
SEEDS = st.integers(0, 2**53 - 1)
every_task = pytest.mark.parametrize("task", SPECS.values(), ids=SPECS)


def _draw(
    task: Task,
    seed: int,
    *,
    budget: Budget = BUDGETS["quick"],
    dtypes: Sequence[FloatDType] | None = None,
    device: DeviceKind = "cpu",
    dense: bool = False,
) -> Suite:
    return draw_suite(task, seed, budget=budget, dtypes=dtypes or task.dtypes, device=device, dense=dense)


@every_task
@settings(max_examples=4, deadline=None)
@given(seed=SEEDS, budget=st.sampled_from(list(ALL_BUDGETS)))
def test_every_case_is_one_of_the_task_and_within_the_budget(task: Task, seed: int, budget: str) -> None:
    limit = ALL_BUDGETS[budget]
    for case in _draw(task, seed, budget=limit).checked:
        shapes = [shape_of(tensor, case.axes) for tensor in task.tensors.values()]
        flops = arithmetic.evaluate(task.cost.flops, {**case.axes, "itemsize": ITEMSIZE[case.dtype]})
        assert task.misfit(case.axes) is None
        assert min((size for shape in shapes for size in shape), default=1) >= 1
        assert sum(map(math.prod, shapes)) <= limit.elements
        assert flops <= limit.flops


@every_task
@settings(max_examples=4, deadline=None)
@given(seed=SEEDS, dense=st.booleans())
def test_every_dtype_appears_in_every_applicable_layout(task: Task, seed: int, dense: bool) -> None:
    drawn = {(case.dtype, case.layout) for case in _draw(task, seed, dense=dense).checked}
    assert drawn == {(dtype, layout) for dtype in task.dtypes for layout in layouts.applicable(task, dense=dense)}


@every_task
@settings(max_examples=4, deadline=None)
@given(seed=SEEDS)
def test_a_dense_calling_convention_is_never_given_strided_tensors(task: Task, seed: int) -> None:
    assert {case.layout for case in _draw(task, seed, dense=True).checked} <= {"contiguous", "offset"}


@every_task
@settings(max_examples=2, deadline=None)
@given(seed=SEEDS)
def test_a_seed_gives_one_suite_and_another_seed_another(task: Task, seed: int) -> None:
    assert _draw(task, seed) == _draw(task, seed)
    assert _draw(task, seed).checked != _draw(task, seed + 1).checked


@every_task
@settings(max_examples=2, deadline=None)
@given(seed=SEEDS, device=st.sampled_from(get_args(DeviceKind)))
def test_every_timed_case_is_a_binding_of_the_device_in_every_dtype(task: Task, seed: int, device: DeviceKind) -> None:
    timed = _draw(task, seed, budget=BUDGETS["full"], device=device).timed
    assert {case.role for case in timed} == {"timed"}
    assert all(task.misfit(case.axes) is None for case in timed)
    wanted = [(dtype, tuple(axes.items())) for dtype in task.dtypes for axes in task.timed[device]]
    assert sorted((case.dtype, tuple(case.axes.items())) for case in timed) == sorted(wanted)


@pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
def test_in_a_full_suite_every_dtype_meets_every_distribution(dense: bool) -> None:
    met = {
        (name, dtype): {case.distribution for case in _draw(task, 11, budget=BUDGETS["full"], dense=dense).checked
                        if case.dtype == dtype}
        for name, task in SPECS.items() for dtype in task.dtypes
    }  # fmt: skip
    assert {key: set(SPECS[key[0]].distributions) - found for key, found in met.items()} == dict.fromkeys(met, set())


@pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
def test_a_dtype_in_a_layout_meets_no_distribution_twice_before_it_has_met_all(dense: bool) -> None:
    repeated = []
    for name, task in SPECS.items():
        checked = _draw(task, 11, budget=BUDGETS["full"], dense=dense).checked
        for pair in {(case.dtype, case.layout) for case in checked}:
            met = [case.distribution for case in checked if (case.dtype, case.layout) == pair]
            if len(set(met)) < min(len(met), len(task.distributions)):
                repeated.append((name, *pair, sorted(set(met))))
    assert repeated == []


@every_task
def test_a_suite_holds_the_number_of_cases_of_its_budget(task: Task) -> None:
    assert {name: len(_draw(task, 3, budget=budget).checked) for name, budget in ALL_BUDGETS.items()} == {
        "quick": 24, "full": 72, "final": 96, "interpreted": 24,
    }  # fmt: skip


def test_a_budget_of_fewer_cases_than_combinations_still_covers_each() -> None:
    task = make_task()
    tight = Budget(cases=1, elements=1 << 16, flops=1e6, timed_bindings=0)
    assert len(_draw(task, 3, budget=tight).checked) == 2 * 4


def test_only_the_declared_dtypes_are_drawn() -> None:
    suite = _draw(SPECS["norm/rmsnorm"], 3, dtypes=["bfloat16"])
    assert {case.dtype for case in (*suite.checked, *suite.timed)} == {"bfloat16"}


def test_tier_quick_times_the_binding_that_moves_least_and_the_interpreter_none() -> None:
    assert [case.axes for case in _draw(make_task(), 3).timed] == [{"rows": 8, "cols": 64}] * 2
    assert _draw(make_task(), 3, budget=INTERPRETED).timed == ()


def test_no_two_cases_share_a_seed() -> None:
    suite = _draw(SPECS["norm/rmsnorm"], 3, budget=BUDGETS["final"])
    cases = (*suite.checked, *suite.timed)
    assert len({case.seed for case in cases}) == len(cases)


def test_a_new_version_of_a_task_gets_other_cases() -> None:
    assert _draw(make_task(), 3).checked != _draw(make_task(version=2), 3).checked


def test_sizes_lie_on_both_sides_of_powers_of_two_and_are_often_odd() -> None:
    drawn = [case.axes["cols"] for seed in range(20) for case in _draw(SPECS["norm/rmsnorm"], seed).checked]
    assert {1, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025} <= set(drawn)
    assert sum(size % 2 for size in drawn) > len(drawn) / 2
    assert max(drawn) > 4096


def test_an_axis_with_values_takes_each_of_them() -> None:
    drawn = {case.axes["window"] for case in _draw(SPECS["pool/max_pool2d"], 3).checked}
    assert drawn == {2, 3}


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_an_axis_of_multiples_gives_multiples(seed: int) -> None:
    task = make_task(axes={"rows": {"low": 3, "high": 500, "multiple_of": 8}, "cols": {"high": 64}}, timed=_timed(64))
    sizes = [case.axes["rows"] for case in _draw(task, seed).checked]
    assert all(size % 8 == 0 and 8 <= size <= 496 for size in sizes)


def test_an_axis_that_may_be_empty_is_never_drawn_empty() -> None:
    task = make_task(axes={"rows": {"low": 0, "high": 3}, "cols": {"high": 64}}, timed=_timed(3))
    assert {case.axes["rows"] for case in _draw(task, 3).checked} == {1, 2, 3}


@pytest.mark.parametrize(
    "changes",
    [{"constraints": ["rows * cols > 100000"], "timed": None}, {"cost": {"flops": 10**12, "bytes": 1}}],
    ids=["too large", "too dear"],
)
def test_a_task_without_an_affordable_case_is_refused(changes: dict[str, Any]) -> None:
    if "timed" in changes:
        changes = {**changes, "timed": {"cpu": [{"rows": 512, "cols": 512}], "cuda": [{"rows": 512, "cols": 512}]}}
    tight = Budget(cases=24, elements=1 << 10, flops=1e6, timed_bindings=0)
    with pytest.raises(SpecError, match="norm/scale: found no sizes within the constraints and 1,024 elements"):
        _draw(make_task(**changes), 3, budget=tight)


def test_the_first_cases_of_a_seed_stay_what_they_were() -> None:
    # Whoever changes the generator changes the cases of every published seed: raise the versions of the tasks then.
    suite = _draw(make_task(), 20260101)
    assert [f"{case} {case.seed}" for case in suite.checked[:6]] == [
        "rows=257 cols=33 float16 strided lognormal 6181430057853071892",
        "rows=33 cols=2 float16 contiguous sparse 4971035523882800743",
        "rows=23 cols=8 float32 offset normal 1902860645323647608",
        "rows=257 cols=32 float32 strided outliers 4159872275701606936",
        "rows=97 cols=33 float16 offset uniform 8100819469853924697",
        "rows=1 cols=65 float32 transposed integers 1365269153216371812",
    ]
    assert [f"{case} {case.seed}" for case in suite.timed] == [
        "rows=8 cols=64 float32 contiguous normal 4602234365961640972",
        "rows=8 cols=64 float16 contiguous normal 5835223951625165752",
    ]


def _timed(rows: int) -> dict[str, list[dict[str, int]]]:
    return {"cpu": [{"rows": rows, "cols": 64}], "cuda": [{"rows": rows, "cols": 64}]}
