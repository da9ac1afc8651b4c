"""Agreement of the outputs for related inputs, and the places where they do not agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.cases.structures import largest_group, remembered
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.three_metrics import ThreeMetrics, Triple
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Output, Task

Tensors = Mapping[str, torch.Tensor]
Limits = Mapping[str, Sequence[float]]
"""Limits of the judgement of the case's own answer (`Judgement.limits`), per output; may lack outputs."""

DIGITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
BOTH_ERR = 2.0
_ROOM = 64
_UNEVEN = 4
_ALIKE, _DRIFTING = ("constant", "one_hot"), 64
"""Values that all rows have, and the number by which the square of as many equal terms is divided."""


def reduction_of(task: Task, output: Output, case: Case, inputs: Inputs | None = None) -> int:
    """Count the terms in one element of `output`, at least one; with `inputs` as many as their indices gather.

    Uneven terms count four times each, so that the loss that a sum of them may have is doubled. Where columns lie at
    levels of up to eight times a value's size, a sum that cancels is far smaller than its terms are: of 1,471 products
    of 1024 by 1024 with 2048 terms, added one by one in float32, two would have an element beyond the limit of even
    values. Where rows are alike, as many terms of a loss are equal, and one accumulator rounds most of its sums in the
    same direction: by a quarter of the unit roundoff for each term, which no square root bounds.
    """
    length = output.reduction if output.reduction is not None else task.reduction
    summed = [name for name, spec in task.inputs.items() if spec.summed] if inputs else []
    groups = [largest_group(task.inputs[name], inputs.tensors[name]) for name in summed] if inputs else []
    factors = [name for name, spec in task.inputs.items() if spec.carried_along] if inputs else []
    groups += [remembered(task.inputs[name], inputs.tensors[name]) for name in factors] if inputs else []
    count = max(1, arithmetic.evaluate(length, case.axes), *groups)
    if not output.shape and case.distribution in _ALIKE:
        return max(count, count * count // _DRIFTING)
    return count * (_UNEVEN if case.distribution == "uneven" else 1)


def limits_of(task: Task, name: str, case: Case, answer: torch.Tensor, limits: Limits) -> Triple:
    """Return the three limits of the rule: as the case was judged, but at least those of the dtype."""
    reduction = reduction_of(task, task.outputs[name], case)
    allowed = rounding(task.precision, case.dtype)
    floor = ThreeMetrics(answer, None, dtype=answer.dtype, reduction=reduction, allowed=allowed).limits
    known = limits.get(name, ())[:3]
    if len(known) != len(floor):
        return floor
    first, second, third = (max(pair) for pair in zip(floor, known, strict=True))
    return first, second, third


def differs_within(task: Task, case: Case, expected: Tensors, outputs: Tensors, limits: Limits) -> str | None:
    """Hold `outputs` to `expected` with twice the limits; integers and exact outputs must be equal."""
    for name, target in expected.items():
        got = outputs[name]
        if task.comparison_of(task.outputs[name]) in ("exact", "indices") or not got.dtype.is_floating_point:
            found = differs({name: target}, {name: got})
        else:
            first, second, third = (BOTH_ERR * limit for limit in limits_of(task, name, case, got, limits))
            found = _far(name, got, target, (first, second, third))
        if found:
            return found
    return None


def differs(expected: Tensors, outputs: Tensors) -> str | None:
    """Describe the first output that is not equal to its expected one, NaN being equal to NaN; None if all are."""
    found = (report(name, outputs[name], target, ~is_equal(outputs[name], target)) for name, target in expected.items())
    return next((difference for difference in found if difference), None)


def differs_in_sum(task: Task, name: str, case: Case, answer: torch.Tensor, value: float, limits: Limits) -> str | None:
    """Hold the sum of each row to `value`: within twice the limit of the whole, and a quantum for each element."""
    wide, info = answer.double(), torch.finfo(answer.dtype)
    relative = BOTH_ERR * limits_of(task, name, case, answer, limits)[0]
    allowed = relative * wide.abs().sum(-1) + info.smallest_normal * info.eps * answer.shape[-1]
    total = wide.sum(-1)
    target = torch.full_like(total, value)
    return report(f"sum of {name}", total, target, ~((total - target).abs() <= allowed))


def _far(name: str, got: torch.Tensor, target: torch.Tensor, limits: Triple) -> str | None:
    standard = ThreeMetrics(target, None, dtype=got.dtype, reduction=1, limits=limits)
    judgement = standard.judge(got)
    if judgement.is_accepted:
        return None
    return report(name, got, target, standard.is_wrong(got)) or f"{name}: {judgement.demand}"


def is_equal(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Compare elementwise, with NaN equal to NaN."""
    return (got == expected) | (got.isnan() & expected.isnan())


def times(tensor: torch.Tensor, power: int) -> torch.Tensor:
    """Multiply `tensor` by 2**power and round to its dtype; return integers as they are."""
    return (tensor.double() * 2.0**power).to(tensor.dtype) if tensor.dtype.is_floating_point else tensor


def is_silent(got: torch.Tensor, expected: torch.Tensor, first: torch.Tensor, power: int) -> torch.Tensor:
    """Mark elements of `got` that need not be `expected`, which is `first` times 2**power.

    Infinities say nothing, nor do the last binary orders before them in float16, where intermediate values overflow
    first. Numbers below the smallest normal one may have been rounded, or flushed to zero, before or after scaling.
    """
    if not got.dtype.is_floating_point:
        return torch.zeros_like(got, dtype=torch.bool)
    info = torch.finfo(got.dtype)
    largest = info.max / _ROOM if got.dtype == torch.float16 else info.max
    is_huge = ~(first.isfinite() & (expected.abs() <= largest))
    quantum = info.smallest_normal * (info.eps if got.dtype == torch.float16 else 1.0) * max(1.0, 2.0**power)
    is_tiny = torch.minimum(first.double().abs(), expected.double().abs()) <= 2 * info.smallest_normal
    return is_huge | (is_tiny & ((got.double() - expected.double()).abs() <= quantum))


def hushed(
    got: Tensors, expected: Tensors, first: Tensors, power: int
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return `expected` and `got`, with zeros in both where they are silent."""
    silent = {name: is_silent(got[name], expected[name], first[name], power) for name in expected}
    targets = {name: expected[name].masked_fill(where, 0) for name, where in silent.items()}
    return targets, {name: got[name].masked_fill(where, 0) for name, where in silent.items()}


def adds_up(one: torch.Tensor, two: torch.Tensor, both: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Mark elements where `both` is the sum: exactly while integers are exact in `dtype`, else within 3 roundings."""
    distance = (both - (one + two)).abs()
    if not dtype.is_floating_point:
        return distance == 0
    largest = torch.maximum(torch.maximum(one.abs(), two.abs()), both.abs())
    rounding = torch.finfo(dtype).eps * (one.abs() + two.abs() + both.abs())
    is_rounded = largest >= 2.0 ** (DIGITS[dtype] - 1)
    return (distance == 0) | (is_rounded & ((distance <= rounding) | ~largest.isfinite()))


def report(name: str, got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor) -> str | None:
    """Describe the first wrong element and count all of them; None when there is none."""
    if not (count := int(wrong.sum())):
        return None
    index = tuple(int(part) for part in wrong.nonzero()[0])
    place = f"{name}[{', '.join(map(str, index))}]" if index else name
    return f"{place} is {got[index].item():.9g}, not {expected[index].item():.9g}; {count:,} of {wrong.numel():,} wrong"
