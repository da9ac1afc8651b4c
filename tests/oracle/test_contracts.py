"""The whole judge, on a product of matrices under each precision contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import get_args

import pytest
import torch

from robust_kbench.audit.emulated import multiplied
from robust_kbench.cases import probes
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Expected, Judge
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, FloatDType, Precision, Probe

Answer = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
AXES = {"m": 48, "n": 40, "k": 32}
HALVES: tuple[FloatDType, ...] = ("float16", "bfloat16")
PRECISIONS = get_args(Precision)


def _from(digits: int) -> Answer:
    return lambda a, b: (rounded(a, digits).float() @ rounded(b, digits).float()).to(a.dtype)


def _half_sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sum term by term, in the halves that the factors are, or in bfloat16."""
    keep = a.dtype if a.dtype.itemsize == 2 else torch.bfloat16
    return multiplied(a, b, keep, step=1).to(a.dtype)


def _one_term_short(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a[:, 1:].float() @ b[1:].float()).to(a.dtype)


def _zeros(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_zeros(a.shape[0], b.shape[1])


ANSWERS: Mapping[str, Answer] = {
    "float32": _from(24), "tf32": _from(11), "bfloat16": _from(8), "e4m3": _from(4), "half sums": _half_sums,
}  # fmt: skip
WIDE: Mapping[Precision, set[str]] = {
    "ieee": {"float32"},
    "tf32_ok": {"float32", "tf32"},
    "half_fp32acc": {"float32", "tf32", "bfloat16"},
    "any_halfacc": {"float32", "tf32", "bfloat16", "half sums"},
    "fp8": {"float32", "tf32", "bfloat16", "e4m3"},
}
"""Answers that a contract accepts in float32. All contracts but fp8 take halves as they are."""


def _task(precision: Precision) -> LoadedTask:
    task = load_task("matmul/matmul")
    return replace(task, spec=task.spec.model_copy(update={"precision": precision}))


def _expected(precision: Precision, case: Case) -> tuple[Expected, Inputs]:
    task = _task(precision)
    inputs = make_inputs(task.spec, case)
    return Judge(task.spec, Reference(task)).expect(case, inputs), inputs


def _accepted(precision: Precision, case: Case, answers: Mapping[str, Answer] = ANSWERS) -> set[str]:
    expected, inputs = _expected(precision, case)
    factors = inputs.tensors["a"], inputs.tensors["b"]
    return {name for name, answer in answers.items() if expected.judge({"c": answer(*factors)})["c"].is_accepted}


def _case(
    dtype: FloatDType = "float32", distribution: Distribution = "normal", probe: Probe | None = None, k: int = 32
) -> Case:
    return Case(axes={**AXES, "k": k}, dtype=dtype, distribution=distribution, probe=probe, seed=3)


def _passed(precision: Precision, dtype: FloatDType, answers: Mapping[str, Answer] = ANSWERS) -> set[str]:
    """List answers accepted in all cases of a little suite: short sums tell rounded factors, long ones rounded sums."""
    cases = [_case(dtype, k=2), _case(dtype), _case(dtype, k=512), _case(dtype, "uniform"), _case(dtype, "cancelling")]
    spec = _task(precision).spec
    cases += [_case(dtype, probe=probe) for probe in ("identity", "integers") if probes.applies(spec, probe)]
    return set.intersection(*(_accepted(precision, case, answers) for case in cases))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_of_float32_factors_and_sums_as_much_may_be_rounded_as_the_contract_says(precision: Precision) -> None:
    # Half sums are no coarser than E4M3 factors, which excuse them.
    excused = {"half sums"} if precision == "fp8" else set()
    assert _passed(precision, "float32") == WIDE[precision] | excused


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_rounded_by_the_contracts_that_name_them_alone(dtype: FloatDType, precision: Precision) -> None:
    answers = {name: ANSWERS[name] for name in ("float32", "half sums", "e4m3")}
    allowed = {"any_halfacc": {"half sums"}, "fp8": {"e4m3", "half sums"}}.get(precision, set())
    assert _passed(precision, dtype, answers) == {"float32"} | allowed


@pytest.mark.parametrize("distribution", ["lognormal", "sparse", "outliers", "constant", "one_hot", "small"])
@pytest.mark.parametrize("precision", [name for name in PRECISIONS if name != "fp8"])
def test_what_a_contract_allows_is_accepted_whatever_the_values(
    precision: Precision, distribution: Distribution
) -> None:
    assert WIDE[precision] <= _accepted(precision, _case(distribution=distribution))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_no_contract_allows_a_missing_term_or_zeros(dtype: FloatDType, precision: Precision) -> None:
    assert _passed(precision, dtype, {"one term short": _one_term_short, "zeros": _zeros}) == set()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_no_contract_allows_zeros_however_long_the_sum(dtype: FloatDType, precision: Precision) -> None:
    case = Case(axes={"m": 8, "n": 8, "k": 16384}, dtype=dtype, seed=3)
    assert _accepted(precision, case, {"zeros": _zeros}) == set()


@pytest.mark.parametrize("precision", [name for name in PRECISIONS if name != "fp8"])
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_a_term_that_is_missing_in_a_long_sum_shows_on_integers(dtype: FloatDType, precision: Precision) -> None:
    answers = {"half sums": _half_sums, "float32": ANSWERS["float32"], "one term short": _one_term_short}
    accepted = _accepted(precision, _case(dtype, probe="integers", k=200), answers)
    assert "one term short" not in accepted
    assert "float32" in accepted
    assert precision != "any_halfacc" or "half sums" in accepted


def test_half_sums_of_more_integers_than_they_hold_are_held_to_the_rule() -> None:
    accepted = _accepted("any_halfacc", _case("bfloat16", probe="integers", k=2048), {"half sums": _half_sums})
    assert accepted == {"half sums"}


def test_a_costly_case_is_held_to_the_contract_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_kbench.oracle.sampled.COSTLY_FLOPS", 1e6)
    case = Case(axes={"m": 300, "n": 200, "k": 32}, dtype="float32", seed=3)
    for precision in ("ieee", "tf32_ok", "half_fp32acc"):
        names = {"float32", "tf32", "bfloat16"}
        accepted = _accepted(precision, case, {name: ANSWERS[name] for name in names} | {"zeros": _zeros})
        assert accepted == WIDE[precision] & names
        assert _accepted(precision, case, {"one term short": _one_term_short}) == set()


@pytest.mark.parametrize(
    ("precision", "k", "accepted"),
    [
        ("ieee", 200, {"float32"}), ("any_halfacc", 200, {"float32", "half sums"}),
        ("any_halfacc", 2048, {"float32", "half sums", "one term short"}),
        ("fp8", 200, {"float32", "half sums", "one term short"}),
    ],
)  # fmt: skip
def test_integers_of_a_costly_case_are_exact_where_the_contract_adds_them_exactly(
    monkeypatch: pytest.MonkeyPatch, precision: Precision, k: int, accepted: set[str]
) -> None:
    monkeypatch.setattr("robust_kbench.oracle.sampled.COSTLY_FLOPS", 1e6)
    case = Case(axes={"m": 300, "n": 200, "k": k}, dtype="bfloat16", probe="integers", seed=3)
    answers = {"float32": ANSWERS["float32"], "half sums": _half_sums, "one term short": _one_term_short}
    assert _accepted(precision, case, answers) == accepted
