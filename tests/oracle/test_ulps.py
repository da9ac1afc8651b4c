from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.contract import rounding
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import ulps
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.three_metrics import Placement
from robust_kbench.oracle.ulps import FLOOR, RegionErrors, Ulps
from robust_kbench.oracle.verdict import Expected, Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Precision

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INF, NAN = math.inf, math.nan
LOG2_E, ROOT_HALF = 1.4426950408889634, math.sqrt(0.5)
Function = Callable[[torch.Tensor], torch.Tensor]

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def _held(answer: torch.Tensor, exact: torch.Tensor) -> Judgement:
    """Judge by the limits of the dtype alone: PyTorch's answer is the exact one, rounded."""
    return Ulps(exact, exact.to(answer.dtype)).judge(answer)


def _values(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@every_dtype
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1000.0])
def test_the_exact_answer_is_off_by_half_a_unit_at_most(dtype: torch.dtype, scale: float) -> None:
    exact = torch.randn(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * scale
    judged = _held(exact.to(dtype), exact)
    assert judged.is_accepted
    assert judged.errors[0] <= 0.5


@every_dtype
@pytest.mark.parametrize("number", [1.5, -1.75, 0.0015, 24000.0])
@pytest.mark.parametrize("units", [-5, -1, 1, 2, 5])
def test_an_error_is_counted_in_units_of_the_last_place(dtype: torch.dtype, number: float, units: int) -> None:
    right = torch.tensor([number]).to(dtype)
    bits = {8: torch.int64, 4: torch.int32, 2: torch.int16}[dtype.itemsize]
    answer = (right.view(bits) + units).view(dtype)
    judged = _held(answer, right.double())
    assert (judged.errors, judged.limits) == ((abs(units),), (FLOOR[dtype],))


@every_dtype
def test_a_truncated_half_is_accepted_and_twice_its_error_is_not(dtype: torch.dtype) -> None:
    exact = torch.tensor([1 + 1.9999 * torch.finfo(dtype).eps / 2], dtype=torch.float64)
    assert _held(torch.ones(1, dtype=dtype), exact).is_accepted
    assert _held(torch.ones(1, dtype=dtype), exact * 2).is_accepted is False


@pytest.mark.parametrize(("dtype", "units"), [(torch.float32, 5), (torch.float16, 2), (torch.bfloat16, 2)], ids=str)
def test_one_element_of_many_beyond_the_floor_is_refused_and_found(dtype: torch.dtype, units: int) -> None:
    exact = 1 + torch.rand(3, 70_000, dtype=torch.float64) / 2  # in the middle of a binade
    answer = exact.to(dtype)
    answer[2, 69_999] += units * torch.finfo(dtype).eps
    standard = Ulps(exact, exact.to(dtype))
    judged = standard.judge(answer)
    assert not judged.is_accepted
    assert judged.errors[0] > units - 0.5
    assert standard.is_wrong(answer).nonzero().tolist() == [[2, 69_999]]
    assert judged.demand == f"off by {judged.errors[0]:.3g} ulps, allowed {FLOOR[dtype]:.3g}"


def test_what_pytorch_loses_in_one_binade_is_allowed_there_and_beside_it_and_nowhere_else() -> None:
    exact = torch.cat([torch.full((100,), 2.0**power, dtype=torch.float64) for power in range(-6, 7)])
    native = exact.float()
    native[600:700] *= 1 + 100 * 2.0**-23  # those of 1.0
    answer = exact.float() * (1 + 150 * 2.0**-23)
    wrong = Ulps(exact, native).is_wrong(answer).view(13, 100)
    assert wrong.all(1).tolist() == [power not in (-1, 0, 1) for power in range(-6, 7)]


def test_what_pytorch_loses_among_negative_results_is_not_allowed_among_positive_ones() -> None:
    exact = torch.cat([torch.ones(100), -torch.ones(100)]).double()
    native, answer = exact.float(), exact.float() * (1 + 150 * 2.0**-23)
    native[100:] *= 1 + 100 * 2.0**-23
    assert Ulps(exact, native).is_wrong(answer).tolist() == [True] * 100 + [False] * 100


def test_a_lonely_result_is_allowed_the_absolute_error_of_larger_ones() -> None:
    # An absolute error of 2**-24, as a cancelling sum has: PyTorch was lucky at the smallest result alone.
    exact = torch.cat([_values(2.0**-13), torch.full((40,), 2.0**-11, dtype=torch.float64)])
    native = exact.float() + 2.0**-24
    native[0] -= 2.0**-24
    assert Ulps(exact, native).judge(exact.float() + 2.0**-24).is_accepted
    crowd = torch.cat([torch.full((40,), 2.0**-13, dtype=torch.float64), exact[1:]])
    answer = crowd.float()
    answer[0] += 2.0**-24
    assert not Ulps(crowd, torch.cat([crowd[:40], native[1:]]).float()).judge(answer).is_accepted


def test_pytorch_nearby_tells_its_error_from_its_luck() -> None:
    exact = _values(1.5)
    answer = exact.float() * (1 + 50 * 2.0**-23)
    nearby = RegionErrors.of([(_values(1.4), torch.tensor([1.4 * (1 + 50 * 2.0**-23)]))], torch.float32)
    assert not Ulps(exact, exact.float()).judge(answer).is_accepted
    assert Ulps(exact, exact.float(), nearby=nearby).judge(answer).is_accepted


def test_pytorchs_errors_count_only_where_they_are_an_excuse() -> None:
    exact = _values(1.5)
    answer = exact.float() * (1 + 8 * 2.0**-23)
    nearby = RegionErrors.of([(exact, answer)], torch.float32)
    (limit,) = Ulps(exact, answer, nearby=nearby, excuses=False).judge(answer).limits
    assert limit == FLOOR[torch.float32]
    assert Ulps(exact, answer).judge(answer).limits[0] > 2 * FLOOR[torch.float32]


def test_an_ill_conditioned_result_may_be_off_by_two_roundings_of_the_inputs() -> None:
    exact = _values(1.0, 1.0)
    answer = torch.tensor([1 + 80 * 2.0**-24, 1 + 80 * 2.0**-24])
    wrong = Ulps(exact, exact.float(), condition=_values(80.0, 1.0)).is_wrong(answer)
    assert wrong.tolist() == [False, True]


@every_dtype
@pytest.mark.parametrize("number", [NAN, INF, -INF], ids=str)
def test_a_number_that_is_not_finite_is_refused_where_a_finite_one_belongs(dtype: torch.dtype, number: float) -> None:
    exact = torch.ones(8, dtype=torch.float64)
    answer = torch.ones(8, dtype=dtype)
    answer[5] = number
    judged = _held(answer, exact)
    assert (judged.is_accepted, judged.nonfinite, judged.ratio) == (False, 1, INF)
    assert Ulps(exact, exact.to(dtype)).is_wrong(answer).sum() == 1


PLACES = [
    (NAN, NAN, True, True), (INF, INF, True, True), (-INF, -INF, True, True), (INF, NAN, False, True),
    (NAN, 0.0, False, False), (INF, -INF, False, True), (INF, 3e38, False, False), (NAN, INF, False, True),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "got", "matches", "is_contained"), PLACES)
def test_nan_and_infinities_stand_where_they_are_due(
    expected: float, got: float, matches: bool, is_contained: bool
) -> None:
    exact, answer = _values(1.0, expected), torch.tensor([1.0, got])
    strict, loose, free = (Ulps(exact, answer, placement=name) for name in ("match", "contain", "free"))
    assert strict.judge(answer).is_accepted == matches
    assert loose.judge(answer).is_accepted == is_contained
    assert free.judge(answer).is_accepted
    assert (not strict.is_wrong(answer).any(), not loose.is_wrong(answer).any()) == (matches, is_contained)
    assert not free.is_wrong(answer).any()


def test_what_stands_beside_a_nan_is_held_to_the_limit() -> None:
    exact = _values(NAN, 1.0)
    placements: tuple[Placement, ...] = ("match", "contain", "free")
    for placement in placements:
        judged = Ulps(exact, exact.float(), placement=placement).judge(torch.tensor([NAN, 1.001]))
        assert (judged.is_accepted, judged.nonfinite) == (False, 0)


@pytest.mark.parametrize(
    ("exact", "answer", "is_accepted"),
    [
        (1e6, INF, True), (1e6, 65504.0, False), (1e6, -INF, False), (-1e6, -INF, True), (65519.0, 65504.0, True),
        (65519.0, INF, True), (65521.0, 65504.0, True), (65400.0, INF, False), (65504.0, 65504.0, True),
    ],
)  # fmt: skip
def test_next_to_the_largest_half_both_it_and_infinity_are_right(
    exact: float, answer: float, is_accepted: bool
) -> None:
    judged = _held(torch.tensor([answer], dtype=torch.float16), _values(exact))
    assert judged.is_accepted == is_accepted


@pytest.mark.parametrize(
    ("dtype", "exact", "answer", "is_accepted"),
    [
        (torch.float32, 1e-39, 0.0, True),
        (torch.float32, 1e-37, 0.0, True),
        (torch.float32, 1e-30, 0.0, False),
        (torch.bfloat16, 1e-39, 0.0, True),
        (torch.bfloat16, 1e-30, 0.0, False),
        (torch.float64, 1e-309, 0.0, True),
        (torch.float64, 1e-300, 0.0, False),
        (torch.float16, 2.0**-24, 0.0, True),
        (torch.float16, 5 * 2.0**-24, 3 * 2.0**-24, True),
        (torch.float16, 5 * 2.0**-24, 0.0, False),
    ],
)
def test_results_below_the_normal_numbers_may_be_flushed_and_halves_be_off_by_a_quantum(
    dtype: torch.dtype, exact: float, answer: float, is_accepted: bool
) -> None:
    assert _held(torch.tensor([answer]).to(dtype), _values(exact)).is_accepted == is_accepted


@pytest.mark.parametrize("answer", [0.0, -0.0])
@every_dtype
def test_where_zero_is_right_it_is_accepted_with_either_sign(dtype: torch.dtype, answer: float) -> None:
    assert _held(torch.tensor([answer]).to(dtype), _values(0.0)).is_accepted


@pytest.mark.parametrize("answer", [1e-3, 1e-20])
def test_where_zero_is_right_nothing_else_is(answer: float) -> None:
    assert not _held(torch.tensor([answer]), _values(0.0)).is_accepted


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()], ids=str)
def test_empty_tensors_and_single_numbers_are_judged(shape: tuple[int, ...]) -> None:
    exact = torch.ones(shape, dtype=torch.float64)
    assert _held(torch.ones(shape), exact).errors == (0.0,)
    assert Ulps(exact, exact.float()).is_wrong(torch.ones(shape)).shape == shape


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("poison", [1.0, NAN, INF], ids=str)
def test_judging_in_blocks_gives_the_same_result(block: int, poison: float, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = torch.rand(100, dtype=torch.float64) + 1
    exact[63] = poison
    answer = exact.float() * (1 + 2.0**-21)
    answer[99] += 1e-3
    whole = _held(answer, exact)
    monkeypatch.setattr(ulps, "_BLOCK_ELEMENTS", block)
    assert _held(answer, exact) == whole


def _gelu_by_erf(x: torch.Tensor) -> torch.Tensor:
    return (0.5 * x.float() * (1 + torch.erf(x.float() * ROOT_HALF))).to(x.dtype)


def _gelu_by_erfc(x: torch.Tensor) -> torch.Tensor:
    return (0.5 * x.float() * torch.erfc(x.float() * -ROOT_HALF)).to(x.dtype)


def _silu_by_exp2(x: torch.Tensor) -> torch.Tensor:
    """Compute silu with a GPU's exponential, for which the product with log2(e) is rounded."""
    return (x.float() / (1 + torch.exp2(x.float() * -LOG2_E))).to(x.dtype)


def _silu_flushed(x: torch.Tensor) -> torch.Tensor:
    tiny = torch.finfo(torch.float32).tiny
    gate = 1 / (1 + torch.exp2(x.float() * -LOG2_E))
    result = x.float() * torch.where(gate < tiny, 0.0, gate)
    return torch.where(result.abs() < tiny, 0.0, result).to(x.dtype)


def _tanh_by_expm1(x: torch.Tensor) -> torch.Tensor:
    t = torch.expm1(-2 * x.float().abs())
    return (-t / (t + 2)).copysign(x.float()).to(x.dtype)


def _exp_by_exp2(x: torch.Tensor) -> torch.Tensor:
    return torch.exp2(x.float() * LOG2_E).to(x.dtype)


def _silu_in_steps(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x.bfloat16()).to(x.dtype)


def _gelu_by_tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x.float(), approximate="tanh").to(x.dtype)


GELU, SILU, TANH, EXP = "torch.nn.functional.gelu(x)", "torch.nn.functional.silu(x)", "torch.tanh(x)", "torch.exp(x)"


def _expected(formula: str, x: torch.Tensor) -> Expected:
    dtype = str(x.dtype).removeprefix("torch.")
    task = load_made_task(
        f"import torch\ndef reference(x):\n    return {formula}\n",
        inputs={"x": {"shape": ["rows", "cols"]}},
        outputs={"y": {"shape": ["rows", "cols"], "compare": "ulp"}},
        dtypes=["float32", "float16", "bfloat16"],
    )
    case = make_case(axes={"rows": x.shape[0], "cols": x.shape[1]}, dtype=dtype)
    return Judge(task.spec, Reference(task)).expect(case, Inputs({"x": x}))


def _drawn(scale: float, dtype: torch.dtype, rows: int, seed: int) -> torch.Tensor:
    return (torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


@pytest.mark.rotating
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(
    ("formula", "variant", "scale"),
    [
        (GELU, _gelu_by_erf, 2.0), (GELU, _gelu_by_erfc, 2.0), (SILU, _silu_by_exp2, 1.0), (SILU, _silu_by_exp2, 30.0),
        (SILU, _silu_flushed, 30.0), (TANH, _tanh_by_expm1, 3.0), (EXP, _exp_by_exp2, 20.0),
    ],
)  # fmt: skip
def test_an_honest_variant_is_accepted_with_a_tenth_to_spare_however_few_elements_there_are(
    dtype: torch.dtype, formula: str, variant: Function, scale: float
) -> None:
    worst = 0.0
    for rows in (1, 5, 400):
        for seed in range(8):
            x = _drawn(scale, dtype, rows, seed)
            worst = max(worst, _expected(formula, x).judge({"y": variant(x)})["y"].ratio)
    assert worst <= 0.9


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(("formula", "variant"), [(SILU, _silu_in_steps), (GELU, _gelu_by_tanh)])
def test_a_less_precise_variant_is_refused(dtype: torch.dtype, formula: str, variant: Function) -> None:
    x = _drawn(2.0, dtype, 400, 1)
    assert not _expected(formula, x).judge({"y": variant(x)})["y"].is_accepted


@pytest.mark.parametrize(
    ("precision", "dtype", "units"),
    [
        ("ieee", torch.float32, 4), ("tf32_ok", torch.float32, 4), ("half_fp32acc", torch.bfloat16, 1),
        ("any_halfacc", torch.float16, 4), ("any_halfacc", torch.bfloat16, 4), ("any_halfacc", torch.float32, 4 << 16),
        ("fp8", torch.float16, 1), ("fp8", torch.float32, 4 << 11),
    ],
    ids=str,
)  # fmt: skip
def test_a_contract_that_allows_arithmetic_in_halves_allows_four_of_their_units(
    precision: Precision, dtype: torch.dtype, units: int
) -> None:
    exact = torch.full((3,), 1.5, dtype=torch.float64)
    allowed = rounding(precision, str(dtype).removeprefix("torch."))
    standard = Ulps(exact, exact.to(dtype), allowed=allowed)
    unit = torch.finfo(dtype).eps
    assert standard.judge((exact + units * unit).to(dtype)).is_accepted
    assert not standard.judge((exact + (units + max(1, units // 256)) * unit).to(dtype)).is_accepted


@pytest.mark.parametrize(("precision", "digits"), [("tf32_ok", 11), ("half_fp32acc", 8), ("fp8", 4)])
def test_an_elementwise_op_may_round_its_input_as_far_as_the_contract_says(precision: str, digits: int) -> None:
    outputs = {"y": {"shape": ["rows", "cols"], "compare": "ulp"}}
    source = "import torch\ndef reference(x, weight):\n    return torch.exp(4 * x)\n"
    accepted = {}
    for contract in (precision, "ieee"):
        task = load_made_task(source, outputs=outputs, precision=contract)
        case = make_case(axes={"rows": 64, "cols": 64})
        inputs = make_inputs(task.spec, case)
        expected = Judge(task.spec, Reference(task)).expect(case, inputs)
        x = inputs.tensors["x"]
        answers = [torch.exp(4 * rounded(x, kept)) for kept in (digits, digits - 3)]
        accepted[contract] = [expected.judge({"y": answer})["y"].is_accepted for answer in answers]
    assert accepted == {precision: [True, False], "ieee": [False, False]}


@pytest.mark.parametrize(("factor", "is_accepted"), [(3.8, True), (4.3, False)])
def test_a_half_may_be_worse_than_the_worst_of_few_results_in_float32_before_a_store_that_truncates(
    factor: float, is_accepted: bool
) -> None:
    unit = torch.finfo(torch.float16).eps
    exact = torch.full((9,), 1.25, dtype=torch.float64)
    native = exact.half()
    nearby = RegionErrors.of([(exact, native), (exact, (exact + 3 * unit).float())], torch.float16)
    answer = native + (1 + 3 * factor) * unit
    assert (answer[0].double() - 1.25) / unit == pytest.approx(1 + 3 * factor, abs=0.6)
    assert Ulps(exact, native, nearby=nearby).judge(answer).is_accepted == is_accepted
    assert not Ulps(exact, native).judge(answer).is_accepted


def test_the_tail_of_a_gelu_is_accepted_where_few_results_tell_how_much_cancels() -> None:
    task = load_task("activation/gelu")
    # Of these 14,294 values, three lie where 1 + erf(x) has lost three decimal digits.
    case = Case(axes={"rows": 14, "cols": 1021}, dtype="float16", layout="strided", seed=2053521922046001671)
    inputs = make_inputs(task.spec, case)
    expected = Judge(task.spec, Reference(task)).expect(case, inputs)
    answer = torch.nn.functional.gelu(inputs.tensors["x"].float()).half()
    assert expected.judge({"y": answer})["y"].is_accepted
    assert not expected.judge({"y": answer + (inputs.tensors["x"] < -3.5) * 1e-5})["y"].is_accepted


def test_another_layout_of_the_same_inputs_makes_no_region_better_known() -> None:
    exact = torch.linspace(1.0, 2.0, 100, dtype=torch.float64)
    once, twice = (RegionErrors.of([(exact, exact.float())] * times, torch.float32) for times in (1, 2))
    assert torch.equal(once.count, twice.count)
    assert once.count.sum() == 100
