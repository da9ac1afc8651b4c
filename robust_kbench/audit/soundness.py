"""Check that a reference fits its task, has a useful scale, and keeps the precision of float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import torch

from robust_kbench.audit.setting import Setting
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.agreement import reduction_of
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import shape_of

_LEAST_VARIATION = 0.01  # robust-kbench's threshold, but of the output's own root mean square
_ASIDE, _STEP = 2.0**-14, 2.0**-28
_LARGEST_BEND = 2.0**-38
_LONGER = (2.0**6, 2.0**12)
"""Factors of longer steps. The op's own bend grows with the step or faster; that of a rounding stays as large."""
_NATIVE_FACTOR = 16.0
_MOST_UNDERFLOW = 0.5
_CASES = 6

Values = Mapping[str, torch.Tensor | int | float]


def ailments(task: LoadedTask, cases: Sequence[Case]) -> Iterator[str]:
    """Report faults of the reference on some of the drawn `cases`, in words. Yield nothing if it is sound."""
    reference = Reference(task)
    plain = [case for case in cases if case.probe is None and case.layout != "expanded"]
    dense = [case for case in plain if case.distribution in ("normal", "uniform")]
    settings = [Setting.of(task, reference, case) for case in dense[:_CASES]]
    for setting in settings:
        yield from _contradictions(setting)
        yield from _imprecision(setting)
        yield from _instability(setting)
    for name in task.spec.outputs:
        yield from _degenerate(settings, name)


def _contradictions(setting: Setting) -> Iterator[str]:
    """Report shapes and dtypes other than declared, and exact answers that are not finite."""
    task, case = setting.task.spec, setting.case
    for name, spec in task.outputs.items():
        shape, dtype = shape_of(spec, case.axes), task.dtype_of(spec, case.dtype)
        wide = "float64" if spec.dtype == "T" else spec.dtype
        pairs = (("in float64", setting.exact[name], wide), ("natively", setting.native[name], dtype))
        for what, tensor, expected in pairs:
            if tuple(tensor.shape) != shape:
                yield f"{name} has shape {list(tensor.shape)} {what}; declared: {list(shape)} ({case})"
            if tensor.dtype != getattr(torch, expected):
                yield f"{name} is {tensor.dtype} {what}; declared: {expected} ({case})"
        if not bool(torch.isfinite(setting.exact[name]).all()):
            yield f"{name} is not finite in float64 ({case})"


def _imprecision(setting: Setting) -> Iterator[str]:
    """Report PyTorch's errors far beyond those that dtype and reduction explain: they would excuse wrong answers."""
    for name, native in setting.native.items():
        spec = setting.task.spec.outputs[name]
        if not native.is_floating_point() or setting.task.spec.comparison_of(spec) == "random":
            continue
        terms = reduction_of(setting.task.spec, spec, setting.case, setting.inputs)
        allowed = _NATIVE_FACTOR * (torch.finfo(native.dtype).eps / 2 + 2.0 * terms**0.5 * 2.0**-24)
        error = _relative(native.double() - setting.exact[name], setting.exact[name])
        if not error <= allowed:
            yield f"{name}: PyTorch's own error is {error:.2g}, expected at most {allowed:.2g} ({setting.case})"


def _instability(setting: Setting) -> Iterator[str]:
    """Report float64 outputs that do not make equal steps for equal small steps of the inputs.

    Such an output is rounded on the way, or is not stable. Along a line x(t) = x + t * d with |d| = 2**-28 |x|, a
    smooth op has a second difference of 2**-56 times its curvature and a maximum or a rectifier none. A float32 number
    inside makes one of 2**-24 in an eighth of the elements, less the root of the number of terms that it is averaged
    over. The line starts beside the case's values, since float32 can hold these. A deep network has so many rectifiers
    that some change sides within such a step; longer steps tell the two apart.
    """
    values = setting.inputs.values
    generator = torch.Generator().manual_seed(setting.case.seed)
    aside, step = ({name: _noise(value, generator) for name, value in values.items()} for _ in range(2))
    if not any(isinstance(noise, torch.Tensor) for noise in step.values()):
        return
    start = _moved(values, aside, _ASIDE)
    bends = _bends(setting, start, step, _STEP)
    suspects = {name: bend for name, bend in bends.items() if not bend <= _LARGEST_BEND}
    longer = {factor: _bends(setting, start, step, factor * _STEP) for factor in _LONGER} if suspects else {}
    for name, bend in suspects.items():
        if not all(found[name] >= factor * bend for factor, found in longer.items()):
            yield (
                f"{name}: equal steps of the inputs bend the float64 answer by {bend:.2g} of itself: "
                f"the reference rounds on the way, or is not stable ({setting.case})"
            )


def _bends(setting: Setting, start: Values, step: Mapping[str, torch.Tensor | None], amount: float) -> dict[str, float]:
    """Compute the second difference of each real output along two steps of `amount`.

    It is given in units of the output's root mean square.
    """
    here, near, far = (setting.reference.exact(Inputs(_moved(start, step, count * amount))) for count in (0, 1, 2))
    return {
        name: _most(far[name] - 2 * near[name] + here[name], here[name])
        for name, spec in setting.task.spec.outputs.items()
        if here[name].is_floating_point() and setting.task.spec.comparison_of(spec) != "random"
    }


def _most(bends: torch.Tensor, yardstick: torch.Tensor) -> float:
    """Return the bend that all but 5 % of the elements stay below: a sort has a kink where two values change places."""
    size = float(yardstick.norm()) / math.sqrt(max(1, yardstick.numel()))
    if not size:
        return 0.0
    most: torch.Tensor = bends.abs().reshape(-1).quantile(0.95)
    return float(most) / size


def _noise(value: torch.Tensor | int | float, generator: torch.Generator) -> torch.Tensor | None:
    """Draw noise of the size of the value; None for anything but a floating-point tensor."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return None
    return value.double() * torch.randn(value.shape, generator=generator, dtype=torch.float64)


def _moved(values: Values, noise: Mapping[str, torch.Tensor | None], amount: float) -> Values:
    return {name: value if (by := noise[name]) is None else value + amount * by for name, value in values.items()}


def _degenerate(settings: Sequence[Setting], name: str) -> Iterator[str]:
    """Report outputs that hardly vary along an axis or between seeds, or that the dtype cannot hold."""
    exact = [setting.exact[name].double() for setting in settings]
    for axis in range(exact[0].dim() if exact else 0):
        long = [tensor for tensor in exact if tensor.shape[axis] > 1]
        variation = [_relative(tensor - tensor.mean(axis, keepdim=True), tensor) for tensor in long]
        if variation and max(variation) < _LEAST_VARIATION:
            yield f"{name} varies along axis {axis} by no more than {max(variation):.2g} of its root mean square"
    changes = [_relative(s.previous[name].double() - s.native[name].double(), s.native[name]) for s in settings]
    if changes and max(changes) < _LEAST_VARIATION:
        yield f"{name} varies between seeds by no more than {max(changes):.2g} of its root mean square"
    small = [_underflow(setting, name) for setting in settings if setting.native[name].is_floating_point()]
    if small and min(small) > _MOST_UNDERFLOW:
        yield f"{name}: at least {min(small):.0%} of the elements are too small for {settings[0].case.dtype}"


def _underflow(setting: Setting, name: str) -> float:
    exact = setting.exact[name]
    nonzero = exact[exact != 0].abs()
    tiny = torch.finfo(setting.native[name].dtype).tiny
    return float((nonzero < tiny).double().mean()) if nonzero.numel() else 0.0


def _relative(difference: torch.Tensor, yardstick: torch.Tensor) -> float:
    """Divide the norm of the difference by that of the yardstick; infinite if only the latter is zero."""
    above, below = float(difference.double().norm()), float(yardstick.double().norm())
    return above / below if below else (0.0 if above == 0.0 else float("inf"))
