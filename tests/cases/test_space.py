from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import make_task

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.sizes import draw_axes
from robust_kbench.cases.space import Budget, Space
from robust_kbench.schema.task import Task

BUDGET = Budget(cases=1, elements=1 << 12, flops=1e4, timed_bindings=0)


def _space(task: Task | None = None, *, budget: Budget = BUDGET, dense: bool = False) -> Space:
    return Space(task or make_task(), budget, ("float32",), dense)


def test_a_space_offers_what_the_task_and_the_calling_convention_allow() -> None:
    task = make_task(distributions=["normal", "sorted"])
    assert _space(task).distributions == ("normal", "sorted")
    assert _space(task).layouts == ("contiguous", "offset", "transposed", "strided", "pitched")
    assert _space(task, dense=True).layouts == ("contiguous", "offset")


@pytest.mark.parametrize(
    ("axis", "sizes"),
    [
        ({"low": 1, "high": 5}, [1, 2, 3, 4, 5]),
        ({"low": 0, "high": 3}, [1, 2, 3]),
        ({"low": 0, "high": 20, "multiple_of": 8}, [8, 16]),
        ({"values": [64, 0, 1, 16]}, [1, 16, 64]),
    ],
    ids=["range", "may be empty", "multiples", "values"],
)
def test_sizes_are_in_order_and_never_empty(axis: dict[str, Any], sizes: list[int]) -> None:
    timed = {"rows": sizes[-1], "cols": 64}
    task = make_task(axes={"rows": axis, "cols": {"high": 64}}, timed={"cpu": [timed], "cuda": [timed]})
    assert list(_space(task).sizes("rows")) == sizes


@pytest.mark.parametrize(
    ("axes", "admitted"),
    [
        ({"rows": 1, "cols": 1}, True),
        ({"rows": 31, "cols": 64}, True),
        ({"rows": 32, "cols": 64}, False),
        ({"rows": 513, "cols": 1}, False),
        ({"rows": 4}, False),
    ],
    ids=["smallest", "just affordable", "too large", "outside the axis", "an axis too few"],
)
def test_a_case_is_admitted_within_axes_constraints_and_elements(axes: dict[str, int], admitted: bool) -> None:
    assert _space().admits(axes, "float32") is admitted


def test_a_case_that_is_too_much_work_or_breaks_a_constraint_is_not_admitted() -> None:
    axes = {"rows": 8, "cols": 8}
    assert _space().admits(axes, "float32")
    assert not _space(make_task(cost={"flops": "1000 * rows * cols", "bytes": 1})).admits(axes, "float32")
    assert not _space(make_task(constraints=["rows != cols"], timed=_timed(8, 64))).admits(axes, "float32")


def test_an_empty_case_may_be_afforded_but_is_not_admitted() -> None:
    task = make_task(axes={"rows": {"low": 0, "high": 64}, "cols": {"high": 64}})
    axes = {"rows": 0, "cols": 8}
    assert (_space(task).affords(axes, "float32"), _space(task).admits(axes, "float32")) == (True, False)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**53), elements=st.integers(64, 1 << 16))
def test_whatever_is_drawn_is_admitted(seed: int, elements: int) -> None:
    space = _space(budget=Budget(cases=1, elements=elements, flops=1e9, timed_bindings=0))
    axes = draw_axes(space, Draw(seed), "float32")
    assert space.admits(axes, "float32")
    assert 2 * math.prod(axes.values()) + axes["cols"] <= elements


def _timed(rows: int, cols: int) -> dict[str, list[dict[str, int]]]:
    return {kind: [{"rows": rows, "cols": cols}] for kind in ("cpu", "cuda")}


@pytest.mark.parametrize(("flops", "is_affordable"), [(10**6, True), (10**9, True), (10**9 + 1, False)])
def test_a_task_whose_smallest_case_is_too_dear_has_that_one_within_reason(flops: int, is_affordable: bool) -> None:
    task = make_task(cost={"flops": f"{flops} * rows", "bytes": 1})
    space = Space(task, Budget(cases=24, elements=1 << 10, flops=1e6, timed_bindings=0), ("float32",), False)
    assert space.affords({"rows": 1, "cols": 1}, "float32") is is_affordable
    assert space.affords({"rows": 2, "cols": 1}, "float32") is (is_affordable and flops > 10**6)
    assert not space.affords({"rows": 3, "cols": 1}, "float32")
