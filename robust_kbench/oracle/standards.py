"""Standard that an output of a case is held to: the task's way of comparing, made stricter by the case's probe."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from robust_kbench.cases import probes
from robust_kbench.cases.contract import keeps_values, rounding
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.agreement import reduction_of
from robust_kbench.oracle.categorical import Categorical
from robust_kbench.oracle.common_factor import CommonFactor
from robust_kbench.oracle.dropout import Dropout
from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.indices import Indices
from robust_kbench.oracle.judgement import Standard
from robust_kbench.oracle.one_rounding import OneRounding, is_one_rounding
from robust_kbench.oracle.shared_divisor import SharedDivisor
from robust_kbench.oracle.surroundings import Surroundings
from robust_kbench.oracle.three_metrics import Placement, ThreeMetrics, Triple
from robust_kbench.oracle.ulps import Ulps
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Output, Task

Tensors = Mapping[str, torch.Tensor]
LEAST_IDENTITY_LIMIT = 2.0**-18
"""Least limit of the relative error of a product with the identity in float32: rounded inputs show, the order of
summation does not."""
_DETERMINISTIC_SLACK, _NONDETERMINISTIC_SLACK = 2.0, 3.0


def standard_for(
    task: Task,
    name: str,
    case: Case,
    inputs: Inputs,
    exact: Tensors,
    native: Tensors,
    surroundings: Surroundings | None = None,
    *,
    excuses: bool = True,
) -> Standard:
    """Make the standard of output `name`. `exact` and `native` are the reference's outputs for `inputs`.

    `surroundings` make the limits of a comparison in ulps independent of PyTorch's luck. `excuses`: True if PyTorch's
    errors count, which only ever widen the limits.
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
        return _ulps(task, name, case, exact, native, surroundings, excuses=excuses)
    if case.probe in ("identity", "integers", "stall"):
        return _probe(task, name, case, inputs, exact, native)
    return _rule_of_sums(task, name, case, inputs, exact, native, surroundings, excuses=excuses)


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
    excuses: bool = True,
) -> ThreeMetrics:
    """Make the three-metric rule, with `limits` or those of the dtype, the reduction length and PyTorch's own errors.

    `excuses`: see `standard_for`.
    """
    spec = task.outputs[name]
    return ThreeMetrics(
        exact[name],
        native[name] if excuses else None,
        dtype=native[name].dtype,
        reduction=reduction_of(task, spec, case, inputs),
        slack=_NONDETERMINISTIC_SLACK if task.nondeterministic else _DETERMINISTIC_SLACK,
        input_scale=_largest_input(inputs),
        placement=_placement(task, case),
        is_row_by_row=case.probe == "range",
        nearby=surroundings.of(name) if surroundings else (),
        allowed=rounding(task.precision, case.dtype),
        limits=limits,
    )


def _rule_of_sums(
    task: Task,
    name: str,
    case: Case,
    inputs: Inputs,
    exact: Tensors,
    native: Tensors,
    around: Surroundings | None,
    *,
    excuses: bool,
) -> Standard:
    """Make the rule, or a standard that also sees faults which the rule misses.

    These are more than one rounding of few results, and errors that elements have in common.
    """
    held = rule(task, name, case, inputs, exact, native, around, excuses=excuses)
    argument = task.outputs[name].exponentials_of
    if argument and native[name].dtype == torch.float32 and case.probe != "nonfinite":
        return SharedDivisor(held, exact[name], inputs.tensors[argument], native[name] if excuses else None)
    dtype, reduction = native[name].dtype, reduction_of(task, task.outputs[name], case, inputs)
    allowed = rounding(task.precision, case.dtype)
    if task.outputs[name].one_factor:
        own = native[name] if excuses else None
        return CommonFactor(held, exact[name], own, dtype=dtype, reduction=reduction, allowed=allowed)
    given = max((tensor.numel() for tensor in inputs.tensors.values()), default=0)
    if not is_one_rounding(dtype, exact[name].numel(), given, reduction, allowed):
        return held
    return OneRounding(
        held,
        exact[name],
        native[name] if excuses else None,
        dtype=dtype,
        reduction=reduction,
        nearby=(*around.of(name), *around.of_operator(name)) if around else (),
    )


def _probe(task: Task, name: str, case: Case, inputs: Inputs, exact: Tensors, native: Tensors) -> Standard:
    """Make the standard of a result that is representable.

    It is exact after one rounding, or to within the contract's rounding of inputs.
    """
    dtype = native[name].dtype
    ordinary = rule(task, name, case, inputs, exact, native)
    if case.probe == "identity" and probes.applies(task, "identity"):
        if dtype.itemsize <= 2:
            return Exact(exact[name].to(dtype))
        bound = max(LEAST_IDENTITY_LIMIT, 2.0 * rounding(task.precision, case.dtype).factor)
        first, second, third = (min(limit, bound) for limit in ordinary.limits)
        return rule(task, name, case, inputs, exact, native, limits=(first, second, third))
    if case.probe != "identity" and _adds_exactly(task, case) and _is_integral(exact[name], task, case):
        return Exact(exact[name].to(dtype))
    return ordinary


def _adds_exactly(task: Task, case: Case) -> bool:
    """Tell if every partial sum of the probe fits into the narrowest accumulator that the contract allows."""
    if case.probe is None or not (keeps_values(task.precision) and probes.applies(task, case.probe)):
        return False
    return probes.length_of(task, case.axes) <= probes.longest(task, case.probe, case.dtype)


def _is_integral(exact: torch.Tensor, task: Task, case: Case) -> bool:
    """Tell if every value is an integer that the contract's narrowest accumulator holds without rounding."""
    largest = 2.0 ** rounding(task.precision, case.dtype).sum_digits
    if probes.carries(task):  # and differences of two results, which are sums of the terms between, in the dtype
        largest = 1 / torch.finfo(getattr(torch, case.dtype)).eps
    return bool((exact == exact.trunc()).all()) and bool((exact.abs() < largest).all())


def _ulps(
    task: Task, name: str, case: Case, exact: Tensors, native: Tensors, around: Surroundings | None, *, excuses: bool
) -> Ulps:
    return Ulps(
        exact[name],
        native[name],
        nearby=around.errors.get(name) if around else None,
        condition=around.condition.get(name) if around else None,
        placement=_placement(task, case),
        allowed=rounding(task.precision, case.dtype),
        excuses=excuses,
    )


def _random(spec: Output, inputs: Inputs) -> Standard:
    if spec.law == "categorical":
        return Categorical(inputs.tensors["logits"])
    return Dropout(inputs.tensors["x"], float(inputs.values["p"]))


def _placement(task: Task, case: Case) -> Placement:
    if case.probe == "empty":
        return "free"
    return "contain" if case.probe == "nonfinite" and task.nonfinite == "contain" else "match"


def _largest_input(inputs: Inputs) -> float:
    """Return the largest finite magnitude; one where there is none."""
    reals = [tensor for tensor in inputs.tensors.values() if tensor.dtype.is_floating_point and tensor.numel()]
    return max(map(_largest, reals), default=1.0) or 1.0


def _largest(tensor: torch.Tensor) -> float:
    low, high = map(float, torch.aminmax(tensor))
    if math.isfinite(low) and math.isfinite(high):
        return max(-low, high)
    return float(tensor.abs().nan_to_num(0.0, 0.0, 0.0).max())  # several passes, and rarely needed
