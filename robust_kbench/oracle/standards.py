"""Which standard an output of a case is held to: the task's way of comparing, made stricter by the case's probe."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.categorical import Categorical
from robust_kbench.oracle.dropout import Dropout
from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.indices import Indices
from robust_kbench.oracle.judgement import Standard
from robust_kbench.oracle.surroundings import Surroundings
from robust_kbench.oracle.three_metrics import Placement, ThreeMetrics, Triple
from robust_kbench.oracle.ulps import Ulps
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Output, Precision, Task

Tensors = Mapping[str, torch.Tensor]
IDENTITY_LIMITS: Mapping[Precision, float] = {
    "ieee": 2.0**-18,
    "tf32_ok": 2.0**-10,
    "half_fp32acc": 2.0**-7,
    "any_halfacc": 2.0**-7,
}
"""Relative error of a product with the identity in float32: rounded inputs show, the order of summation does not."""
_EXACT_SUMS: tuple[Precision, ...] = ("ieee", "tf32_ok", "half_fp32acc")  # contracts with float32 accumulators
_EXACT_BELOW = 2.0**24
_DETERMINISTIC_SLACK, _NONDETERMINISTIC_SLACK = 2.0, 3.0


def standard_for(
    task: Task,
    name: str,
    case: Case,
    inputs: Inputs,
    exact: Tensors,
    native: Tensors,
    surroundings: Surroundings | None = None,
) -> Standard:
    """The standard of output `name`. `exact` and `native` are the reference's outputs for `inputs`.

    `surroundings` make the limits of a comparison in ulps independent of PyTorch's luck.
    """
    spec = task.outputs[name]
    comparison = task.comparison_of(spec)
    if comparison == "indices":
        return Indices(inputs.tensors[spec.indexes or ""], spec.axis, exact[name])
    if comparison == "random":
        return _random(spec, inputs)
    if comparison == "exact" or not native[name].dtype.is_floating_point:
        return Exact(exact[name].to(native[name].dtype))
    if comparison == "ulp":
        return _ulps(name, exact, native, _placement(task, case), surroundings)
    if case.probe in ("identity", "integers", "stall"):
        return _probe(task, name, case, inputs, exact, native)
    return rule(task, name, case, inputs, exact, native, surroundings)


def rule(
    task: Task,
    name: str,
    case: Case,
    inputs: Inputs,
    exact: Tensors,
    native: Tensors,
    surroundings: Surroundings | None = None,
    *,
    limits: Triple | None = None,
) -> ThreeMetrics:
    """The three-metric rule, with `limits` or those of the dtype, the reduction length and PyTorch's own errors."""
    spec = task.outputs[name]
    length = spec.reduction if spec.reduction is not None else task.reduction
    return ThreeMetrics(
        exact[name],
        native[name],
        dtype=native[name].dtype,
        reduction=arithmetic.evaluate(length, case.axes),
        slack=_NONDETERMINISTIC_SLACK if task.nondeterministic else _DETERMINISTIC_SLACK,
        input_scale=_largest_input(inputs),
        placement=_placement(task, case),
        is_row_by_row=case.probe == "range",
        nearby=[(near[name], answer[name]) for near, answer in surroundings.pairs] if surroundings else (),
        limits=limits,
    )


def _probe(task: Task, name: str, case: Case, inputs: Inputs, exact: Tensors, native: Tensors) -> Standard:
    """Of a result that is representable: exact after one rounding, or to within what the contract rounds inputs to."""
    is_half = native[name].dtype in (torch.float16, torch.bfloat16)
    ordinary = rule(task, name, case, inputs, exact, native)
    if case.probe == "identity" and task.precision in IDENTITY_LIMITS:
        if is_half:
            return Exact(exact[name].to(native[name].dtype))
        bound = IDENTITY_LIMITS[task.precision]
        first, second, third = (min(limit, bound) for limit in ordinary.limits)
        return rule(task, name, case, inputs, exact, native, limits=(first, second, third))
    if case.probe != "identity" and task.precision in _EXACT_SUMS and _is_integral(exact[name]):
        return Exact(exact[name].to(native[name].dtype))
    return ordinary


def _is_integral(exact: torch.Tensor) -> bool:
    """Whether float32 accumulators hold every value without rounding."""
    return bool((exact == exact.trunc()).all()) and bool((exact.abs() < _EXACT_BELOW).all())


def _ulps(name: str, exact: Tensors, native: Tensors, placement: Placement, around: Surroundings | None) -> Ulps:
    if around is None:
        return Ulps(exact[name], native[name], placement=placement)
    nearby = [(other[name], answer[name]) for other, answer in around.pairs]
    return Ulps(exact[name], native[name], nearby=nearby, condition=around.condition[name], placement=placement)


def _random(spec: Output, inputs: Inputs) -> Standard:
    if spec.law == "categorical":
        return Categorical(inputs.tensors["logits"])
    return Dropout(inputs.tensors["x"], float(inputs.values["p"]))


def _placement(task: Task, case: Case) -> Placement:
    if case.probe == "empty":
        return "free"
    return "contain" if case.probe == "nonfinite" and task.nonfinite == "contain" else "match"


def _largest_input(inputs: Inputs) -> float:
    """The largest finite magnitude; one where there is none."""
    reals = [tensor for tensor in inputs.tensors.values() if tensor.dtype.is_floating_point and tensor.numel()]
    return max((float(tensor.abs().nan_to_num(0.0, 0.0, 0.0).max()) for tensor in reals), default=1.0) or 1.0
