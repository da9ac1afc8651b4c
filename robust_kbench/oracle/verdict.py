"""From an observation to a judged case. The references run here, after the submission's outputs were taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle import comparison, mismatch
from robust_kbench.oracle.comparison import Judgement
from robust_kbench.oracle.reference import Reference
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult, CaseStatus, Metrics
from robust_kbench.schema.task import Task

_DETERMINISTIC_SLACK, _NONDETERMINISTIC_SLACK = 2.0, 3.0
_SHORT_CUT_FACTOR = 2.0  # float64 skipped: PyTorch's own error and the candidate's may add up


@dataclass(frozen=True)
class Verdict:
    """The judged case, and the limits by which later outputs of the same shape can be held without float64."""

    result: CaseResult
    limits: Mapping[str, tuple[float, float, float]]


class Judge:
    """Judges observations of one task."""

    def __init__(self, task: Task, reference: Reference) -> None:
        self._task = task
        self._reference = reference

    def verdict(self, seen: Observation, inputs: Inputs, *, with_digest: bool = True) -> Verdict:
        """Hold one observation to the rule, against float64. The digest is for results that go into a record."""
        if seen.ending != "returned":
            return Verdict(_failed(seen, inputs), {})
        digested = inputs if with_digest else None
        if seen.problems:
            return Verdict(_result(seen.case, inputs, "incorrect", reason="; ".join(seen.problems)), {})
        exact, native = self._reference.exact(inputs), self._reference.native(inputs)
        scale = _largest_input(inputs)
        judgements = {name: self._judge(name, seen, exact, native, scale) for name in self._task.outputs}
        limits = {name: judgement.limits for name, judgement in judgements.items()}
        name, worst = max(judgements.items(), key=lambda item: item[1].ratio)
        wrong = [key for key, judgement in judgements.items() if not judgement.is_accepted]
        reasons = [mismatch.explain(key, seen.outputs[key], exact[key], judgements[key]) for key in wrong]
        status: CaseStatus = "incorrect" if wrong else "passed"
        result = _result(seen.case, digested, status, reason="; ".join(reasons), output=name, judgement=worst)
        return Verdict(result, limits)

    def short_cut(
        self, seen: Observation, inputs: Inputs, limits: Mapping[str, tuple[float, float, float]]
    ) -> str | None:
        """Hold an output to PyTorch's at the same dtype, with twice the limits of a call that was judged in full.

        Returns what is wrong, or None. Cheaper by the float64 reference; only for timed calls that are not drawn for
        the full rule.
        """
        if seen.ending != "returned" or seen.problems:
            return seen.message or "; ".join(seen.problems)
        native = self._reference.native(inputs)
        for name in self._task.outputs:
            if (answer := seen.outputs.get(name)) is None:
                return f"{name}: missing"
            target = native[name].double() if native[name].dtype.is_floating_point else native[name]
            judged = comparison.judge(answer, target, None, reduction=1)
            allowed = tuple(_SHORT_CUT_FACTOR * limit for limit in limits[name])
            held = Judgement(judged.errors, (allowed[0], allowed[1], allowed[2]), judged.nonfinite)
            if not held.is_accepted:
                return mismatch.explain(name, answer, target, held)
        return None

    def _judge(
        self,
        name: str,
        seen: Observation,
        exact: Mapping[str, torch.Tensor],
        native: Mapping[str, torch.Tensor],
        scale: float,
    ) -> Judgement:
        spec = self._task.outputs[name]
        length = spec.reduction if spec.reduction is not None else self._task.reduction
        return comparison.judge(
            seen.outputs[name],
            exact[name],
            native[name],
            reduction=arithmetic.evaluate(length, seen.case.axes),
            slack=_NONDETERMINISTIC_SLACK if self._task.nondeterministic else _DETERMINISTIC_SLACK,
            input_scale=scale,
        )


def not_checked(case: Case, reason: str) -> CaseResult:
    """A case that was drawn but not run."""
    return _result(case, None, "not_checked", reason=reason)


def _failed(seen: Observation, inputs: Inputs) -> CaseResult:
    status: CaseStatus = "timed_out" if seen.ending == "timed_out" else "crashed"
    return _result(seen.case, inputs, status, reason=seen.message)


def _result(
    case: Case,
    inputs: Inputs | None,
    status: CaseStatus,
    *,
    reason: str = "",
    output: str = "",
    judgement: Judgement | None = None,
) -> CaseResult:
    comparable = judgement is not None and judgement.nonfinite == 0
    return CaseResult(
        **case.model_dump(),
        status=status,
        reason=reason[:1000],
        output=output,
        errors=_rounded(judgement.errors) if judgement and comparable else None,
        limits=_rounded(judgement.limits) if judgement and comparable else None,
        inputs_digest=inputs.digest if inputs else "",
    )


def _rounded(values: tuple[float, float, float]) -> Metrics:
    first, second, third = (float(f"{value:.4g}") for value in values)
    return first, second, third


def _largest_input(inputs: Inputs) -> float:
    reals = [tensor for tensor in inputs.tensors.values() if tensor.dtype.is_floating_point and tensor.numel()]
    return max((float(tensor.abs().max()) for tensor in reals), default=1.0) or 1.0
