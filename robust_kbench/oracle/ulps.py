"""Elementwise ops: every error in units in the last place (ulp) of the output's dtype at the exact value.

An element may be off by the largest of

    4 ulps (1.15 for half precision, where float32 inside leaves one rounding, and a truncation costs one ulp; 4 ulps of
    the format that the task's contract lets it compute in, if that is no wider than the output);
    twice PyTorch's own worst error among results of the same sign in the same binade or a neighbouring one, so that
    its cancellation in one region (1 + erf in a GELU's tail) excuses nothing elsewhere; in half precision also one ulp
    and four times the worst error of the same in float32, which no rounding hides where there are few results;

plus the change of the result when the inputs change by two units of float32's roundoff, or of the rounding of inputs
that the contract allows: exp(x) as exp2(x * log2(e)), for which GPUs have an instruction, is exact for such an input
and 40 ulps off for x = -80.

Regions with few results borrow PyTorch's error beyond its rounding from larger binades, in absolute terms. Results near
the smallest normal number may be flushed to zero; in float16, which nothing flushes, a quantum of its subnormal numbers
is free, as in the three-metric rule. Next to the largest number, infinity and that number are both right. The floors
hold for honest GELU, SiLU, tanh and exp variants: tests/oracle/test_ulps.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from robust_kbench.cases.contract import Rounding, rounding
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, Placement

FLOOR = {torch.float64: 4.0, torch.float32: 4.0, torch.float16: 1.15, torch.bfloat16: 1.15}
"""Least limits in ulps, where arithmetic is in float32 or the output's dtype, whichever is wider."""
_ARITHMETIC = 4.0  # ulps of the arithmetic's own format, where the output's is as narrow
SLACK = 2.0
STORE, INNER_SLACK = 1.0, 4.0
"""Ulps of a store that truncates, and the factor by which a result in float32 may be worse than PyTorch's before it."""
INPUT_ROUNDINGS = 2.0
_ENOUGH = 24  # results; their worst error is then hardly ever less than half of the next one's
_REACH = 6  # binades that a region with fewer may borrow from
_UNDERFLOW = 2.0**8  # smallest normal numbers; below, some intermediate value may have been flushed to zero
_HALF_QUANTUM = 2.0**-24
_BLOCK_ELEMENTS = 1 << 16
_EXPONENT_BITS, _EXPONENT_BIAS = 52, 1023
_SIGNS, _BINADES = 2, 2048

Pair = tuple[torch.Tensor, torch.Tensor]
"""Exact answer and PyTorch's answer to the same inputs."""


@dataclass(frozen=True)
class RegionErrors:
    """Worst error of PyTorch, in ulps, in each region: `stored` in the output's dtype, `inner` in float32 before that.

    `count`: number of results that have told it. Every tensor is of [signs, binades]; see `_regions`.
    """

    stored: torch.Tensor
    inner: torch.Tensor
    count: torch.Tensor

    @classmethod
    def of(cls, pairs: Sequence[Pair], dtype: torch.dtype) -> RegionErrors:
        """Measure the errors of answers of `dtype`, and of float32 where that is wider."""
        stored, inner, count = torch.zeros(3, _SIGNS * _BINADES, dtype=torch.float64)
        counted = set()
        for one, other in pairs:
            exact, native = one.double().reshape(-1), other.reshape(-1)
            largest = stored if native.dtype == dtype else inner
            is_new = (key := (id(one), native.dtype)) not in counted  # several layouts of the same inputs tell no more
            counted.add(key)
            for block in _blocks(exact):
                errors = (native[block].double() - exact[block]).abs_().nan_to_num_(0.0, 0.0, 0.0)
                regions = _regions(exact[block])
                largest.scatter_reduce_(0, regions, errors, "amax")
                if is_new:
                    count += torch.bincount(regions, minlength=_SIGNS * _BINADES)
        units = _units(dtype)
        stored, inner = (_merged(errors / units, dtype, "amax") for errors in (stored, inner))
        return cls(stored, inner, _merged(count, dtype, "sum"))

    def beside(self, other: RegionErrors) -> RegionErrors:
        """Combine the errors that both have found."""
        stored, inner = torch.maximum(self.stored, other.stored), torch.maximum(self.inner, other.inner)
        return RegionErrors(stored, inner, self.count + other.count)


class Ulps:
    """Standard that holds answers to the bound above.

    `exact` is float64, `native` PyTorch's answer to the same inputs. `nearby` is PyTorch's error for inputs near the
    case's own, which tells its error apart from its luck. `condition` is the change of the exact answer per relative
    change of the inputs. `allowed` is the rounding that the contract allows, without it that of ieee. `excuses`: True
    if PyTorch's errors count.
    """

    def __init__(
        self,
        exact: torch.Tensor,
        native: torch.Tensor,
        *,
        nearby: RegionErrors | None = None,
        condition: torch.Tensor | None = None,
        placement: Placement = "match",
        allowed: Rounding | None = None,
        excuses: bool = True,
    ) -> None:
        self._dtype, self._placement = native.dtype, placement
        self._rounding = allowed or rounding("ieee", str(native.dtype).removeprefix("torch."))
        self._floor = _floor(self._dtype, self._rounding)
        self._exact = exact.double().reshape(-1)
        errors = RegionErrors.of([(self._exact, native)] if excuses else [], self._dtype)
        self._allowed = self._bound(errors.beside(nearby) if nearby and excuses else errors, condition)
        self._shape = exact.shape

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute one error: the worst in units of its limit, given as ulps with the limit that holds there."""
        flat = answer.reshape(-1)
        worst, place, nonfinite = 0.0, -1, 0
        for part in _blocks(flat):
            ratios = (flat[part].double() - self._exact[part]).abs_().div_(self._allowed[part])
            if not math.isfinite(float(ratios.amax())):
                ratios, misplaced = self._excused(ratios, flat[part], part)
                nonfinite += misplaced
            if float(ratios.amax()) > worst:
                worst, place = float(ratios.amax()), part.start + int(ratios.argmax())
        error, limit = self._in_ulps(worst, place)
        demand = f"off by {error:.3g} ulps, allowed {limit:.3g}" if error > limit else ""
        if nonfinite:
            demand = f"{nonfinite:,} NaN or infinite values out of place"
        return Judgement((error,), (limit,), nonfinite, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements beyond their bound, and NaN or infinities out of place."""
        flat = answer.reshape(-1)
        near = (flat.double() - self._exact).abs() <= self._allowed
        return ~(near | self._is_excused(flat, slice(None))).reshape(self._shape)

    def _in_ulps(self, ratio: float, place: int) -> tuple[float, float]:
        if place < 0:
            return 0.0, self._floor
        limit = float(self._allowed[place]) / unit_at(self._exact[place], self._dtype)
        return ratio * limit, limit

    def _bound(self, errors: RegionErrors, condition: torch.Tensor | None) -> torch.Tensor:
        """Compute by how much each element may be off, in absolute terms."""
        limits = _region_limits(errors, self._floor)[:, _binades(self._dtype)].view(-1)
        bounds = limits.mul_(_units(self._dtype)).add_(_quantum(self._dtype)).to(self._exact.device)
        least = _flushed(self._dtype).to(self._exact.device)
        moved = None if condition is None else condition.reshape(-1)
        if moved is None:
            bounds = torch.maximum(bounds, least)
        unit = INPUT_ROUNDINGS * max(self._rounding.sum, self._rounding.factor)
        allowed = torch.empty_like(self._exact)
        for block in _blocks(self._exact):
            regions = _regions(self._exact[block])
            bound = torch.index_select(bounds, 0, regions, out=allowed[block])
            if moved is not None:
                bound.add_(moved[block].double().nan_to_num(0.0, 0.0, 0.0), alpha=unit)
                torch.maximum(bound, least[regions], out=bound)
        return allowed

    def _excused(self, ratios: torch.Tensor, answer: torch.Tensor, part: slice) -> tuple[torch.Tensor, int]:
        """Keep the ratios where numbers are due, and count answers that are no number, or are one, against the rule."""
        excused = self._is_excused(answer, part)
        misplaced = ~excused & ~ratios.isfinite()
        return ratios.masked_fill(excused | misplaced, 0.0), int(misplaced.sum())

    def _is_excused(self, answer: torch.Tensor, part: slice) -> torch.Tensor:
        """Mark answers that are not held to a number: they are the NaN or the infinity that is due there."""
        exact, allowed = self._exact[part], self._allowed[part]
        if self._placement == "free":
            return ~exact.isfinite()
        if self._placement == "contain":
            return ~answer.isfinite() & (~exact.isfinite() | self._is_overflow(answer, exact, allowed))
        return (answer.isnan() & exact.isnan()) | self._is_overflow(answer, exact, allowed)

    def _is_overflow(self, answer: torch.Tensor, exact: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        largest = torch.finfo(self._dtype).max * (1.0 + UNIT_ROUNDOFF[self._dtype] / 2)
        reaches = exact.isinf() | (exact.abs() + allowed.nan_to_num(0.0) >= largest)
        return answer.isinf() & (answer.sign() == exact.sign()) & reaches


def _blocks(flat: torch.Tensor) -> Iterator[slice]:
    # On a device every block costs launches, and waiting for its result.
    step = _BLOCK_ELEMENTS if flat.device.type == "cpu" else max(1, flat.numel())
    for start in range(0, flat.numel(), step):
        yield slice(start, start + step)


def _regions(exact: torch.Tensor) -> torch.Tensor:
    """Number each sign and binade of float64; the allowed error of an element is looked up by it."""
    bits = exact.contiguous().view(torch.int64)
    return bits.bitwise_right_shift(_EXPONENT_BITS).bitwise_and_(_SIGNS * _BINADES - 1)


def _binades(dtype: torch.dtype) -> torch.Tensor:
    """Map every binade of float64 to the one it counts as: to the nearest in which `dtype` has normal numbers."""
    return torch.arange(_BINADES).clamp_(*_normal_binades(dtype))


def _normal_binades(dtype: torch.dtype) -> tuple[int, int]:
    low, high = (math.frexp(number)[1] for number in (torch.finfo(dtype).tiny, torch.finfo(dtype).max))
    return _EXPONENT_BIAS + low - 1, _EXPONENT_BIAS + high - 1


def _merged(figures: torch.Tensor, dtype: torch.dtype, reduction: Literal["amax", "sum"]) -> torch.Tensor:
    """Put the figures of binades that count as one together, for all regions, of [signs, binades]."""
    places = _binades(dtype).expand(_SIGNS, -1)
    return torch.zeros_like(places, dtype=figures.dtype).scatter_reduce_(1, places, figures.view(_SIGNS, -1), reduction)


def _units(dtype: torch.dtype) -> torch.Tensor:
    """Compute for every region the distance between neighbouring numbers of `dtype`.

    Below the normal numbers it is that of subnormal ones.
    """
    exponents = _binades(dtype) - _EXPONENT_BIAS + math.frexp(torch.finfo(dtype).eps)[1] - 1
    return torch.ldexp(torch.ones(_BINADES, dtype=torch.float64), exponents).repeat(_SIGNS)


def unit_at(exact: torch.Tensor, dtype: torch.dtype) -> float:
    """Compute the distance between neighbouring numbers of `dtype` at one exact result."""
    return float(_units(dtype)[_regions(exact.double().reshape(1)).cpu()])


def _quantum(dtype: torch.dtype) -> torch.Tensor:
    """Return for every region the error that is free there: in float16, a quantum among its subnormal numbers."""
    is_subnormal = torch.arange(_BINADES) < _normal_binades(dtype)[0]
    return (is_subnormal & (dtype == torch.float16)).double().mul_(_HALF_QUANTUM).repeat(_SIGNS)


def _flushed(dtype: torch.dtype) -> torch.Tensor:
    """Return for every region the error that is allowed in any case.

    It is above zero near the smallest normal number, but not in float16.
    """
    tiny = torch.finfo(dtype).tiny
    is_near = torch.arange(_BINADES) < _normal_binades(dtype)[0] + math.frexp(_UNDERFLOW)[1] - 1
    return (is_near & (dtype != torch.float16)).double().mul_(_UNDERFLOW * tiny).repeat(_SIGNS)


def _floor(dtype: torch.dtype, allowed: Rounding) -> float:
    """Compute the least limit in ulps of the output's dtype."""
    coarser = allowed.sum / UNIT_ROUNDOFF[dtype]
    return max(FLOOR[dtype], _ARITHMETIC * coarser if coarser >= 1 else 0.0)


def _region_limits(errors: RegionErrors, floor: float) -> torch.Tensor:
    """Compute the limit in ulps of every region, of [signs, binades]."""
    stored = SLACK * _with_borrowed(errors.stored, errors.count, rounding_error=0.5)
    unstored = STORE + INNER_SLACK * _with_borrowed(errors.inner, errors.count, rounding_error=0.0)
    return torch.maximum(stored, unstored).clamp_(min=floor)


def _with_borrowed(worst: torch.Tensor, count: torch.Tensor, rounding_error: float) -> torch.Tensor:
    """Find the worst of a region and its neighbours, and of larger binades where these three hold few results."""
    around = torch.nn.functional.max_pool1d(worst, 3, 1, 1)
    number = count.roll(1, 1) + count
    for step in range(1, _REACH + 1):
        beyond = (worst - rounding_error).clamp_(min=0.0).roll(-step, 1).mul_(2.0**step)
        around = torch.where(number < _ENOUGH, torch.maximum(around, beyond), around)
        number = number + count.roll(-step, 1)
    return around
