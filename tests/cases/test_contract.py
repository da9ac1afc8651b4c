from __future__ import annotations

from typing import get_args

import pytest
from specimens import make_task

from robust_kbench.cases.contract import Rounding, held_to, keeps_range, rounding
from robust_kbench.errors import SpecError
from robust_kbench.schema.task import Precision

HALVES = ("float16", "bfloat16")
EVERY = get_args(Precision)


@pytest.mark.parametrize(
    ("precision", "float32", "float16", "bfloat16"),
    [
        ("ieee", (None, 24), (None, 24), (None, 24)),
        ("tf32_ok", (11, 24), (None, 24), (None, 24)),
        ("half_fp32acc", (8, 24), (None, 24), (None, 24)),
        ("any_halfacc", (8, 8), (None, 11), (None, 8)),
        ("fp8", (4, 13), (4, 13), (4, 13)),
    ],
)
def test_a_contract_says_how_many_digits_factors_and_sums_keep(
    precision: Precision, float32: tuple[int, int], float16: tuple[int, int], bfloat16: tuple[int, int]
) -> None:
    digits = zip(("float32", "float16", "bfloat16"), (float32, float16, bfloat16), strict=True)
    assert all(rounding(precision, dtype) == Rounding(*kept) for dtype, kept in digits)


def test_a_factor_that_is_not_rounded_is_off_by_nothing_and_a_sum_in_float32_by_its_roundoff() -> None:
    assert (rounding("ieee", "float32").factor, rounding("ieee", "float32").sum) == (0.0, 2.0**-24)
    assert (rounding("tf32_ok", "float32").factor, rounding("ieee", "float64").sum) == (2.0**-11, 2.0**-53)


@pytest.mark.parametrize("precision", EVERY)
def test_a_submission_that_declares_no_contract_or_the_tasks_own_is_held_to_it(precision: Precision) -> None:
    task = make_task(precision=precision)
    assert held_to(task, None) is task
    assert held_to(task, precision) is task


@pytest.mark.parametrize(
    ("of_task", "declared"),
    [("tf32_ok", "ieee"), ("half_fp32acc", "tf32_ok"), ("any_halfacc", "half_fp32acc"), ("fp8", "half_fp32acc")],
)
def test_a_stricter_contract_is_the_one_that_counts(of_task: Precision, declared: Precision) -> None:
    task = held_to(make_task(precision=of_task), declared)
    assert task.precision == declared
    assert task.model_copy(update={"precision": of_task}) == make_task(precision=of_task)


@pytest.mark.parametrize(
    ("of_task", "declared"),
    [
        *(("ieee", looser) for looser in EVERY[1:]),
        ("tf32_ok", "half_fp32acc"), ("half_fp32acc", "any_halfacc"), ("half_fp32acc", "fp8"),
        ("any_halfacc", "fp8"), ("fp8", "any_halfacc"),
    ],
)  # fmt: skip
def test_a_looser_contract_is_refused_with_those_that_may_be_declared(of_task: Precision, declared: Precision) -> None:
    with pytest.raises(SpecError) as caught:
        held_to(make_task(precision=of_task), declared)
    message = str(caught.value)
    assert f"precision: {declared} is looser than {of_task}, the contract of norm/scale" in message
    offered = message.partition("declare ")[2].split(" or ")
    assert of_task in offered
    assert declared not in offered
    assert all(held_to(make_task(precision=of_task), name) for name in EVERY if name in offered)


@pytest.mark.parametrize("declared", ["tf32_ok", "half_fp32acc"])
def test_another_name_for_the_same_rounding_of_halves_is_no_contract_of_its_own(declared: Precision) -> None:
    task = make_task(precision="ieee", dtypes=HALVES)
    assert held_to(task, declared).precision == "ieee"


def test_scaling_is_exact_where_nothing_narrower_than_bfloat16_in_range_is_allowed() -> None:
    kept = {precision: [d for d in ("float32", *HALVES) if keeps_range(precision, d)] for precision in EVERY}
    wide = ["float32", "bfloat16"]
    assert kept == {"ieee": wide, "tf32_ok": wide, "half_fp32acc": ["bfloat16"], "any_halfacc": ["bfloat16"], "fp8": []}
