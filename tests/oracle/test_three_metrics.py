from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_kbench.oracle import three_metrics
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics, is_plainly_near

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
COARSE = 10**8
"""A reduction so long that the limit of float32 is 6e-4 and rounding does not matter."""
INF, NAN = math.inf, math.nan

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def _exact(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def judge(answer: torch.Tensor, exact: torch.Tensor, native: torch.Tensor | None, **options: Any) -> Judgement:
    return ThreeMetrics(exact, native, dtype=answer.dtype, **options).judge(answer)


def _limits(exact: torch.Tensor) -> tuple[float, float, float]:
    return ThreeMetrics(exact, None, dtype=torch.float32, reduction=COARSE).limits


def _is_wrong(answer: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    return ThreeMetrics(exact, None, dtype=answer.dtype, reduction=1).is_wrong(answer)


def _is_accepted(answer: torch.Tensor, exact: torch.Tensor, reduction: int = 1) -> bool:
    return judge(answer, exact, None, reduction=reduction).is_accepted


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    shape=st.lists(st.integers(1, 12), max_size=3),
    scale=st.floats(0.01, 100),
    dtype=st.sampled_from(DTYPES),
)
def test_the_exact_answer_rounded_to_its_dtype_is_accepted(
    seed: int, shape: list[int], scale: float, dtype: torch.dtype
) -> None:
    exact = _exact(*shape, seed=seed) * scale
    assert _is_accepted(exact.to(dtype), exact)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), factor=st.floats(0.0, 3.0), sign=st.sampled_from([-1, 1]))
def test_an_error_everywhere_flips_the_verdict_at_the_limit_of_the_whole(seed: int, factor: float, sign: int) -> None:
    exact = _exact(16, 16, seed=seed)
    answer = (exact * (1 + sign * factor * _limits(exact)[0])).float()
    if not 0.99 < factor < 1.01:
        assert _is_accepted(answer, exact, COARSE) == (factor < 1)


@pytest.mark.parametrize(("factor", "is_accepted"), [(0.5, True), (0.98, True), (1.02, False), (1.9, False)])
def test_one_wrong_row_is_caught_by_the_second_metric(factor: float, is_accepted: bool) -> None:
    exact = _exact(4096, 64)
    answer = exact.clone()
    answer[1234] *= 1 + factor * _limits(exact)[1]
    judged = judge(answer.float(), exact, None, reduction=COARSE)
    assert judged.is_accepted == is_accepted
    assert judged.errors[0] < judged.limits[0] / 10
    assert judged.errors[2] < judged.limits[2]


@pytest.mark.parametrize(("factor", "is_accepted"), [(0.98, True), (1.02, False)])
def test_one_wrong_element_of_a_million_is_caught_by_the_third_metric(factor: float, is_accepted: bool) -> None:
    exact = torch.ones(1, 1 << 20, dtype=torch.float64)
    answer = exact.float()
    answer[0, 777_777] += factor * _limits(exact)[2] * 2  # |r| + s is two
    judged = judge(answer, exact, None, reduction=COARSE)
    assert judged.is_accepted == is_accepted
    assert judged.errors[0] < judged.limits[0] / 50
    assert judged.errors[1] < judged.limits[1] / 50


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(
    ("shape", "whole", "row"),
    [((), 4.0, 4.0), ((9, 1), 2.0, 4.0), ((4, 4), 1.75, 2.75), ((100,), 1.3, 1.75), ((9, 10_000), 1.01, 1.525)],
    ids=str,
)
def test_the_limits_are_those_of_the_dtype_the_reduction_and_the_row(
    dtype: torch.dtype, shape: tuple[int, ...], whole: float, row: float
) -> None:
    base = UNIT_ROUNDOFF[dtype] + 2 * 10 * 2.0**-24
    limits = judge(_exact(*shape).to(dtype), _exact(*shape), None, reduction=100).limits
    assert limits == pytest.approx((whole * base, row * base, 4 * base))


@pytest.mark.parametrize("reduction", [0, -1])
def test_a_reduction_of_nothing_counts_as_one_term(reduction: int) -> None:
    exact = _exact(4, 4)
    assert judge(exact, exact, None, reduction=reduction).limits == judge(exact, exact, None, reduction=1).limits


@pytest.mark.parametrize("slack", [2.0, 3.0])
def test_the_error_of_pytorch_itself_widens_the_limits(slack: float) -> None:
    exact = _exact(16, 16)
    own = 5 * _limits(exact)[1]
    native = (exact * (1 + own)).float()
    judged = judge(native, exact, native, reduction=COARSE, slack=slack)
    assert judged.limits[:2] == pytest.approx((slack * own, slack * own), rel=1e-3)
    assert judged.ratio == pytest.approx(1 / slack, rel=1e-3)


def test_a_precise_pytorch_does_not_narrow_the_limits() -> None:
    exact = _exact(16, 16)
    alone, beside = judge(exact.float(), exact, None, reduction=9), judge(exact.float(), exact, exact, reduction=9)
    assert beside.limits == alone.limits


@pytest.mark.parametrize("number", [NAN, INF, -INF], ids=str)
def test_a_pytorch_that_overflows_excuses_nothing(number: float) -> None:
    exact = _exact(16, 16)
    native = exact.float()
    native[3, 3] = number
    judged = judge(exact.float(), exact, native, reduction=9)
    assert judged.is_accepted
    assert judged.limits == judge(exact.float(), exact, None, reduction=9).limits


def test_a_pytorch_that_is_useless_does_not_excuse_zeros() -> None:
    exact, zeros = _exact(16, 16), torch.zeros(16, 16)
    assert not judge(zeros, exact, zeros, reduction=16).is_accepted


@every_dtype
@pytest.mark.parametrize("number", [NAN, INF, -INF], ids=str)
def test_a_number_that_is_not_finite_is_refused_where_a_finite_one_belongs(dtype: torch.dtype, number: float) -> None:
    exact, answer = _exact(8, 8), _exact(8, 8).to(dtype)
    answer[2, 5] = number
    judged = judge(answer, exact, None, reduction=1)
    assert (judged.is_accepted, judged.nonfinite, judged.ratio) == (False, 1, INF)


@pytest.mark.parametrize(
    ("expected", "got", "is_accepted"),
    [
        (NAN, NAN, True), (INF, INF, True), (-INF, -INF, True),
        (NAN, 0.0, False), (NAN, INF, False), (INF, NAN, False), (INF, -INF, False), (INF, 3e38, False),
        (-INF, 0.0, False),
    ],
)  # fmt: skip
def test_nan_and_infinities_must_stand_where_the_exact_answer_has_them(
    expected: float, got: float, is_accepted: bool
) -> None:
    exact = _exact(8, 8)
    exact[2, 5] = expected
    answer = exact.float()
    answer[2, 5] = got
    assert judge(answer, exact, answer, reduction=1).is_accepted == is_accepted


def test_what_is_finite_is_still_held_to_the_limits_beside_a_nan() -> None:
    exact = _exact(8, 8)
    exact[2, 5] = NAN
    answer = exact.float()
    answer[7, 7] *= 1.01
    judged = judge(answer, exact, None, reduction=1)
    assert (judged.is_accepted, judged.nonfinite) == (False, 0)


@pytest.mark.parametrize(
    ("exact", "answer", "is_accepted"),
    [
        (1e6, INF, True), (1e6, 65504.0, False), (1e6, -INF, False), (-1e6, -INF, True), (65519.0, 65504.0, True),
        (65000.0, INF, False), (65520.0, INF, True), (65504.0, 65504.0, True),
    ],
)  # fmt: skip
def test_a_value_beyond_the_range_of_half_precision_must_become_infinite(
    exact: float, answer: float, is_accepted: bool
) -> None:
    truth = torch.tensor([[exact, 30000.0, 20000.0]], dtype=torch.float64)
    given_answer = torch.tensor([[answer, 30000.0, 20000.0]], dtype=torch.float16)
    assert _is_accepted(given_answer, truth) == is_accepted


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("is_row_by_row", [False, True])
def test_what_is_flushed_to_zero_is_no_error(dtype: torch.dtype, is_row_by_row: bool) -> None:
    def is_accepted(exact: list[float]) -> bool:
        """Tell if zero may stand for each value below 1e-20."""
        due = torch.tensor([exact], dtype=torch.float64)
        answer = torch.where(due < 1e-20, 0.0, due).to(dtype)
        return judge(answer, due, None, reduction=1, is_row_by_row=is_row_by_row).is_accepted

    assert is_accepted([63 * 5e-42])
    assert is_accepted([63 * 5e-42, 1.0])
    assert not is_accepted([1e-34])
    assert not is_accepted([63 * 5e-42, 1e-34])


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(("size", "is_small_on_purpose"), [(0.04, False), (2.0**-10, True)])
def test_among_rows_that_differ_in_size_a_short_one_may_be_small_by_chance(
    dtype: torch.dtype, size: float, is_small_on_purpose: bool
) -> None:
    """Two results that both cancel have rounding errors of the size of their terms. float16 leaves chance less room."""
    exact = torch.ones(32, 2, dtype=torch.float64)
    exact[5] *= size if dtype == torch.float16 or not is_small_on_purpose else 2.0**-40
    exact[9] *= 8.0
    limit = 4 * (UNIT_ROUNDOFF[dtype] + 2 * 10 * 2.0**-24)
    answer = exact.clone()
    answer[5, 0] += 0.9 * limit / 4  # within the limit of a row of a quarter of the usual size
    rule = ThreeMetrics(exact, None, dtype=dtype, reduction=100, is_row_by_row=True)
    assert rule.judge(answer).is_accepted == (not is_small_on_purpose)
    assert rule.is_wrong(answer).nonzero().tolist() == ([[5, 0]] if is_small_on_purpose else [])


EDGE = 65_520.0
"""Smallest value that float16, whose largest number is 65504, rounds to infinity."""


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("exact", "answer", "is_right"),
    [
        (EDGE + 0.01, 65_504.0, True),  # a sum in float32 was a hundredth smaller
        (EDGE - 0.01, INF, True),
        (EDGE - 0.01, 65_440.0, True),  # two units in the last place off
        (EDGE + 0.01, -INF, False),
        (EDGE + 0.01, NAN, False),
        (EDGE - 0.01, 65_000.0, False),
        (EDGE * 1.01, 65_504.0, False),  # beyond doubt too large
        (EDGE * 0.99, INF, False),
    ],
)
@pytest.mark.parametrize("placement", ["match", "contain", "free"])
def test_next_to_the_largest_number_infinity_is_as_right_as_a_number_that_is_near(
    exact: float, answer: float, is_right: bool, sign: int, placement: str
) -> None:
    values = torch.ones(4, 8, dtype=torch.float64) * 50_000
    values[2, 3] = sign * exact
    answers = values.half()
    answers[2, 3] = sign * answer
    standard = ThreeMetrics(values, None, dtype=torch.float16, reduction=1, placement=placement)  # type: ignore[arg-type]
    may_be_anything = exact > EDGE and (placement == "free" or placement == "contain" and not math.isfinite(answer))
    assert standard.judge(answers).is_accepted == (is_right or may_be_anything)
    assert bool(standard.is_wrong(answers).any()) != standard.judge(answers).is_accepted


@every_dtype
def test_zeros_are_no_softmax(dtype: torch.dtype) -> None:
    exact = torch.softmax(_exact(16, 1024), -1)
    native = torch.softmax(_exact(16, 1024).to(dtype), -1)
    assert judge(native.clone(), exact, native.clone(), reduction=1024).is_accepted
    assert not judge(torch.zeros_like(native), exact, native, reduction=1024).is_accepted


@every_dtype
def test_the_mean_of_each_row_is_no_softmax(dtype: torch.dtype) -> None:
    exact = torch.softmax(_exact(64, 256), -1)
    native = torch.softmax(_exact(64, 256).to(dtype), -1)
    assert not judge(torch.full_like(native, 1 / 256), exact, native, reduction=256).is_accepted


@pytest.mark.parametrize(
    ("answer", "is_accepted"), [(0.0, True), (-0.0, True), (1e-9, True), (1e-3, False), (1.0, False), (NAN, False)]
)
def test_where_zero_is_right_the_inputs_are_the_yardstick(answer: float, is_accepted: bool) -> None:
    given_answer = torch.full((8, 8), answer)
    judged = judge(given_answer, torch.zeros(8, 8, dtype=torch.float64), None, reduction=1, input_scale=2.0)
    assert judged.is_accepted == is_accepted


def test_a_row_of_zeros_among_others_may_be_off_by_rounding_and_no_more() -> None:
    exact = _exact(8, 64)
    exact[3] = 0.0
    answer = exact.float()
    answer[3] = 1e-8
    assert _is_accepted(answer, exact)
    answer[3] = 1e-5
    assert not _is_accepted(answer, exact)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0)], ids=str)
def test_an_empty_output_is_right(shape: tuple[int, ...]) -> None:
    judged = judge(torch.empty(shape), torch.empty(shape, dtype=torch.float64), torch.empty(shape), reduction=4)
    assert (judged.is_accepted, judged.errors) == (True, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(("answer", "is_accepted"), [(2.5, True), (2.5001, False), (0.0, False), (NAN, False)])
def test_a_single_number_is_judged_like_a_tensor_of_one(answer: float, is_accepted: bool) -> None:
    assert _is_accepted(torch.tensor(answer), torch.tensor(2.5, dtype=torch.float64)) == is_accepted


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@pytest.mark.parametrize("poison", [None, NAN, INF], ids=str)
def test_judging_in_chunks_gives_the_same_result(
    chunk: int, poison: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = _exact(37, 7)
    answer, native = (exact + 1e-6 * _exact(37, 7, seed=1)).float(), exact.half().float()
    if poison is not None:
        exact[11, 3] = answer[11, 3] = answer[36, 6] = poison
    whole = judge(answer, exact, native, reduction=7)
    monkeypatch.setattr(three_metrics, "_BLOCK_ELEMENTS", chunk)
    parts = judge(answer, exact, native, reduction=7)
    assert parts.errors == pytest.approx(whole.errors, nan_ok=True)
    assert parts.limits == pytest.approx(whole.limits)
    assert parts.nonfinite == whole.nonfinite == (0 if poison is None else 1)


def test_an_error_in_the_last_chunk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three_metrics, "_BLOCK_ELEMENTS", 16)
    exact = _exact(9, 8)
    answer = exact.float()
    answer[8, 7] += 1
    assert not _is_accepted(answer, exact)


@pytest.mark.parametrize(
    ("dtype", "narrow"),
    [(torch.float64, torch.float32), (torch.float32, torch.float16), (torch.float32, torch.bfloat16)],
    ids=str,
)
def test_an_answer_computed_in_a_narrower_dtype_is_refused(dtype: torch.dtype, narrow: torch.dtype) -> None:
    exact = _exact(16, 64)
    native = exact.to(dtype, copy=True)
    assert not judge(exact.to(narrow).to(dtype), exact, native, reduction=64).is_accepted


@every_dtype
def test_judging_changes_none_of_its_arguments(dtype: torch.dtype) -> None:
    arguments = [_exact(8, 8).to(dtype), _exact(8, 8) * 1.5, _exact(8, 8).to(dtype)]
    before = [argument.clone() for argument in arguments]
    judge(*arguments, reduction=1)
    assert all(torch.equal(argument, copy) for argument, copy in zip(arguments, before, strict=True))


@every_dtype
def test_a_view_is_judged_like_its_copy(dtype: torch.dtype) -> None:
    exact, answer = _exact(6, 8), _exact(6, 8, seed=1).to(dtype)
    view = answer.T.contiguous().T
    assert judge(view, exact, view, reduction=1) == judge(answer.clone(), exact, answer.clone(), reduction=1)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), row=st.integers(0, 7), column=st.integers(0, 7))
def test_the_elements_reported_as_wrong_are_those_that_were_changed(seed: int, row: int, column: int) -> None:
    exact = _exact(8, 8, seed=seed)
    answer = exact.float()
    answer[row, column] += 0.1
    wrong = _is_wrong(answer, exact)
    assert wrong.nonzero().tolist() == [[row, column]]


def test_a_nan_out_of_place_is_reported_as_wrong_and_one_in_place_is_not() -> None:
    exact = torch.tensor([NAN, INF, 1.0, 2.0], dtype=torch.float64)
    assert _is_wrong(torch.tensor([NAN, INF, 1.0, 2.0]), exact).tolist() == [False] * 4
    assert _is_wrong(torch.tensor([0.0, -INF, NAN, INF]), exact).tolist() == [True] * 4


def test_where_pytorch_is_not_finite_its_other_errors_still_count() -> None:
    exact = _exact(16, 16)
    native = exact.half() * 1.01
    plain = ThreeMetrics(exact, native, dtype=torch.float16, reduction=1).limits
    native[3, 4] = NAN
    spoilt = ThreeMetrics(exact, native, dtype=torch.float16, reduction=1).limits
    assert spoilt[0] == pytest.approx(plain[0], rel=0.05)
    assert spoilt[0] > 0.015  # twice one percent, not half precision's own 1e-3


def test_pytorchs_luck_on_a_small_case_is_made_up_for_by_its_neighbours() -> None:
    exact = _exact(2, 4)
    lucky, usual = exact.half(), exact.half() * 1.01
    alone = ThreeMetrics(exact, lucky, dtype=torch.float16, reduction=1)
    among = ThreeMetrics(exact, lucky, dtype=torch.float16, reduction=1, nearby=[(exact, lucky), (exact, usual)])
    assert not alone.judge(usual).is_accepted
    assert among.judge(usual).is_accepted
    assert not among.judge(exact.half() * 1.03).is_accepted


# --- the glance -------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32),
    shape=st.lists(st.integers(1, 12), max_size=3),
    spread=st.floats(0.0, 8.0),
    error=st.floats(1e-9, 1e-1),
    dtype=st.sampled_from(DTYPES),
    limits=st.tuples(*[st.floats(1e-6, 0.1)] * 3),
)
def test_what_is_near_at_a_glance_is_accepted_by_the_rule(
    seed: int, shape: list[int], spread: float, error: float, dtype: torch.dtype, limits: tuple[float, float, float]
) -> None:
    rows = torch.exp(spread * _exact(*shape[:-1], 1, seed=seed + 1)) if shape else 1.0
    due = (_exact(*shape, seed=seed) * rows).to(dtype)
    answer = (due.double() + error * float(due.double().abs().max()) * _exact(*shape, seed=seed + 2)).to(dtype)
    if is_plainly_near(answer, due, limits):
        assert ThreeMetrics(due.double(), None, dtype=dtype, reduction=1, limits=limits).judge(answer).is_accepted


@pytest.mark.parametrize(("factor", "is_near"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize(
    "limits", [(1e-3, 1.0, 1.0), (1.0, 4e-3, 1.0), (1.0, 1.0, 4e-3)], ids=["whole", "row", "element"]
)
def test_the_smallest_of_three_limits_decides_at_a_glance(
    limits: tuple[float, float, float], factor: float, is_near: bool
) -> None:
    due = torch.ones(64, 64)
    answer = due.clone()
    answer[7, 9] += factor * 1e-3
    assert is_plainly_near(answer, due, limits) is is_near


@every_dtype
@pytest.mark.parametrize("number", [INF, -INF, NAN])
def test_a_glance_never_accepts_what_is_not_finite(dtype: torch.dtype, number: float) -> None:
    due = _exact(8, 8).to(dtype)
    spoilt = due.clone()
    spoilt[3, 5] = number
    for answer, expected in ((spoilt, due), (due, spoilt), (spoilt, spoilt)):
        assert not is_plainly_near(answer, expected, (1.0, 1.0, 1.0))


@pytest.mark.parametrize(("dtype", "number"), [(torch.float32, 3e38), (torch.float16, 6e4)], ids=str)
def test_a_norm_that_overflows_makes_no_wrong_answer_near(dtype: torch.dtype, number: float) -> None:
    due = torch.full((64, 64), number, dtype=dtype)
    assert not is_plainly_near(torch.zeros_like(due), due, (0.1, 0.1, 0.1))


@every_dtype
def test_equal_tensors_are_near_under_any_limits(dtype: torch.dtype) -> None:
    due = _exact(8, 8).to(dtype)
    assert is_plainly_near(due.clone(), due, (0.0, 0.0, 0.0))
    assert is_plainly_near(due[:0], due[:0], (0.0, 0.0, 0.0))
