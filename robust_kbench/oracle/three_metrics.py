"""Acceptance rule: three relative errors against float64, each with a limit derived from the dtype and PyTorch.

With e = y - r, rows the slices along the last axis, g = rms(r) and s_row = max(rms(r_row), g / 4):

    m1 = ||e|| / ||r||                       a precision downgrade everywhere
    m2 = max over rows of rms(e_row) / s_row     a wrong row or tile
    m3 = max over elements of |e| / (|r| + s_row)    a wrong element

    b = u + 2 * sqrt(K) * u_sum + 2 * u_factor, at most an eighth, u the unit roundoff of the output's dtype, K the
    reduction length, u_sum and u_factor those of partial sums and factors under the task's contract (ieee: 2**-24, 0);
    limits = max(k * m1(PyTorch), w1 * b), max(k * m2(PyTorch), w2 * b), max(k * m3(PyTorch), 4 * b), k = 2 (3 where
    the task is declared nondeterministic), w1 = 1 + 3 / sqrt(elements), w2 = 1.5 + 2.5 / sqrt(row length): an error
    averages out over many elements, and for a single one both are m3's 4.

The square root of K is the probabilistic bound of Higham and Mary (2019); twice PyTorch's own error is FlashAttention's
rule, and where PyTorch overflows or is off by half it excuses nothing. A product of two factors that are each off by
u_factor is off by twice that. The eighth keeps every limit below one half, so that zeros, and half sums that stall, are
refused under any contract. The floor under s_row is there because a row that cancels to almost nothing (a rectified
pair, p - 1 in a cross-entropy's gradient) has rounding errors of the size of its terms, not of its result. Where rows
differ in magnitude on purpose, g is the median row's, and the floor for rows near to that alone. Errors of a
subnormal quantum, which float16 reaches at 6e-8, do not count, nor in wider formats those of 2**8 smallest normal
numbers, below which a term may have been flushed to zero. NaN and infinities must stand where float64, rounded to the
output's dtype, has them, unless the task asks for less. Where the exact answer is about as large as numbers of the
dtype become, within m3's limit, an infinity of its sign and a number within that limit are both right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import torch

from robust_kbench.cases.contract import Rounding, rounding
from robust_kbench.oracle.judgement import Judgement

UNIT_ROUNDOFF = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
Placement = Literal["match", "contain", "free"]
"""Rule for NaN and infinities: the very same; any that are not finite; anything (the rest is held to the rule)."""
Triple = tuple[float, float, float]

_BLOCK_ELEMENTS = 1 << 16  # two float64 buffers of this many elements stay in the cache
_ROW_FLOOR = 0.25
_HEADROOM = 2.0  # with outliers among the inputs, terms are larger than the sums that the error is measured against
_USELESS = 0.5  # a PyTorch that is off by this much says nothing, and must not excuse zeros
_LARGEST_BASE = _USELESS / 4  # the largest of its factors is 4
_TINY = 1e-300
_HALF_QUANTUM = 2.0**-24  # the smallest positive float16
_FLUSHED = 2.0**8 * 2.0**-126  # float32 and bfloat16; what the rule for elementwise ops has, too
_CHANCE, _CHANCE_HALF = 2.0**-20, 2.0**-5  # of the usual size: a smaller row is so on purpose. See probes, range
_IN_SIGHT = 2.0**30  # errors of as much less than the yardstick need not be looked for
_NAMES = ("whole tensor", "worst row", "worst element")


class ThreeMetrics:
    """Standard that holds answers to the rule. `exact` is float64; `native` is PyTorch's own answer.

    The errors of `native` widen the limits; without it the limits are those of `dtype` alone. `nearby` are pairs of
    exact and native answers to inputs near the case's own, which tell PyTorch's error apart from its luck where there
    are few elements. `allowed` is the rounding that the contract allows, without it that of ieee. `input_scale` is the
    largest input magnitude, the yardstick where the exact answer is zero everywhere. `is_row_by_row` says that rows
    differ in magnitude on purpose. `limits`, where given, replace all that is derived here.
    """

    def __init__(
        self,
        exact: torch.Tensor,
        native: torch.Tensor | None,
        *,
        dtype: torch.dtype,
        reduction: int,
        slack: float = 2.0,
        input_scale: float = 1.0,
        placement: Placement = "match",
        is_row_by_row: bool = False,
        nearby: Sequence[tuple[torch.Tensor, torch.Tensor]] = (),
        allowed: Rounding | None = None,
        limits: Triple | None = None,
    ) -> None:
        self._shape, self._dtype, self._placement = exact.shape, dtype, placement
        self._rounding = allowed or rounding("ieee", str(dtype).removeprefix("torch."))
        self._input_scale = input_scale
        self._rows = _as_rows(exact).double()
        self._special: torch.Tensor | None = None
        self._edge_width = min(limits[2], _USELESS) if limits else 4.0 * self._base(reduction)
        edge = _least_overflow(dtype)
        if not _is_all_below(self._rows, edge * (1.0 - self._edge_width)):
            self._whole, self._expected = self._rows, self._rows.to(dtype)
            self._at_edge = (self._rows.abs() - edge).abs() <= edge * self._edge_width
            self._special = ~self._expected.isfinite() | self._at_edge
            self._rows = self._rows.masked_fill(self._special, 0.0)
        norms = _row_norms(self._rows).unsqueeze(1)
        self._norm = float(torch.linalg.vector_norm(norms))
        overall = self._norm / math.sqrt(max(1, self._rows.numel())) or input_scale
        least = _TINY if is_row_by_row else _ROW_FLOOR * overall + _TINY
        self._quantum = _quantum(dtype, least)
        self._row_scales = norms.div(math.sqrt(self._rows.shape[1])).clamp_(min=least)
        if is_row_by_row:
            self._row_scales = _above_chance(self._row_scales, dtype)
        if limits is None:
            pairs = [] if native is None else [self._native_errors(native)]
            for near_exact, near_native in nearby:
                near = ThreeMetrics(near_exact, None, dtype=dtype, reduction=reduction, input_scale=input_scale)
                pairs.append(near._native_errors(near_native))
            limits = self._own_limits(pairs, reduction, slack)
        self.limits: Triple = limits

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute the three errors of `answer`."""
        errors = self._errors(answer)
        nonfinite = 0 if errors[0] < math.inf and self._special is None else self._count_misplaced(answer)
        return Judgement(errors, self.limits, nonfinite, _demand(errors, self.limits, nonfinite))

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements beyond the element limit, and NaN or infinities out of place."""
        values = _as_rows(answer)
        allowed = (self._rows.abs() + self._row_scales) * self.limits[2]
        wrong = ~((values.double() - self._rows).abs() <= allowed + self._quantum)
        if self._special is not None:
            wrong = torch.where(self._special, self._is_misplaced(values), wrong)
        return wrong.reshape(self._shape)

    def _own_limits(self, own: Sequence[Triple], reduction: int, slack: float) -> Triple:
        """Compute the limits of the rule. `own`: PyTorch's errors, which widen them."""
        base = self._base(reduction)
        count, length = max(1, self._rows.numel()), max(1, self._rows.shape[1])
        floors = (1.0 + 3.0 / math.sqrt(count)) * base, (1.5 + 2.5 / math.sqrt(length)) * base, 4.0 * base
        for errors in own:
            first, second, third = (_widened(floor, slack * error) for floor, error in zip(floors, errors, strict=True))
            floors = first, second, third
        return floors

    def _base(self, reduction: int) -> float:
        """Compute the loss that one element may have on average: `b` above."""
        summing = _HEADROOM * math.sqrt(max(reduction, 1)) * self._rounding.sum
        return min(UNIT_ROUNDOFF[self._dtype] + summing + 2 * self._rounding.factor, _LARGEST_BASE)

    def _native_errors(self, native: torch.Tensor) -> Triple:
        """Compute PyTorch's errors where its answer is a number: an overflow excuses nothing, here or elsewhere."""
        values = _as_rows(native)
        spoilt = ~values.isfinite()
        return self._errors(torch.where(spoilt, self._rows.to(values.dtype), values) if bool(spoilt.any()) else native)

    def _errors(self, answer: torch.Tensor) -> Triple:
        """Compute the errors block by block, in float64, in two buffers that stay in the cache."""
        if answer.numel() == 0:
            return 0.0, 0.0, 0.0
        values = _as_rows(answer)
        # Each thread has a cache of its own. On a device, every block would cost launches, and waiting for its result.
        block = _BLOCK_ELEMENTS * torch.get_num_threads() if values.device.type == "cpu" else values.numel()
        buffers = torch.empty(2, min(block, values.numel()), dtype=torch.float64, device=values.device)
        total, row_worst, element_worst = 0.0, 0.0, 0.0
        for rows, pieces in _blocks(len(values), values.shape[1], block):
            scale = self._row_scales[rows]
            squares = torch.zeros(len(scale), dtype=torch.float64, device=values.device)
            for piece in pieces:
                error = self._error(values[rows, piece], (rows, piece), buffers[0])
                squares += _row_norms(error).square_()
                exact = self._rows[rows, piece]
                denominator = torch.abs(exact, out=_shaped(buffers[1], exact)).add_(scale)
                element_worst = _larger(element_worst, error.div_(denominator))
            total += float(squares.sum())
            row_worst = _larger(row_worst, squares.div_(values.shape[1]).sqrt_().div_(scale[:, 0]))
        norm = self._norm or self._input_scale * math.sqrt(values.numel())
        return math.sqrt(total) / norm, row_worst, element_worst

    def _error(self, values: torch.Tensor, place: tuple[slice, slice], buffer: torch.Tensor) -> torch.Tensor:
        """Compute |e| of one block, zero where no finite number is due, or an infinity is as good as one."""
        error = _shaped(buffer, values).copy_(values).sub_(self._rows[place]).abs_()
        if self._quantum:
            error.sub_(self._quantum).clamp_(min=0.0)
        return error if self._special is None else error.masked_fill_(self._special[place], 0.0)

    def _count_misplaced(self, answer: torch.Tensor) -> int:
        values = _as_rows(answer)
        if self._special is None:
            return int((~values.isfinite()).sum())
        return int(torch.where(self._special, self._is_misplaced(values), ~values.isfinite()).sum())

    def _is_misplaced(self, values: torch.Tensor) -> torch.Tensor:
        """Mark misplaced elements among the ones where no finite number is due, or an infinity is as good as one."""
        if self._placement == "free":
            misplaced = self._expected.isfinite()
        elif self._placement == "contain":
            misplaced = values.isfinite() | self._expected.isfinite()
        else:
            misplaced = ~((values == self._expected) | (values.isnan() & self._expected.isnan()))
        return misplaced & ~(self._at_edge & self._is_near_or_infinite(values))

    def _is_near_or_infinite(self, values: torch.Tensor) -> torch.Tensor:
        near = (values.double() - self._whole).abs() <= self._whole.abs() * self._edge_width
        return near | (values.isinf() & (values.signbit() == self._whole.signbit()))


def is_plainly_near(answer: torch.Tensor, due: torch.Tensor, limits: Triple) -> bool:
    """Tell if no element is off by more than the rule allows where it allows least; false proves nothing.

    With |e| <= g min(l1, l2 / 4, l3 / 4) everywhere all three errors are within `limits`, s_row being at least g / 4.
    `answer` has the shape and dtype of `due`. Takes three passes, a seventh of the time that the rule takes.
    """
    if not due.numel():
        return True
    low, high = map(float, torch.aminmax(answer - due))
    wide = torch.float64 if due.dtype == torch.float64 else torch.float32
    scale = float(torch.linalg.vector_norm(due, dtype=wide)) / math.sqrt(due.numel())
    allowed = scale * min(limits[0], _ROW_FLOOR * limits[1], _ROW_FLOOR * limits[2])
    return math.isfinite(allowed) and max(-low, high) <= allowed  # a NaN among the differences makes it false


def _widened(floor: float, allowed: float) -> float:
    return max(min(allowed, _USELESS), floor) if math.isfinite(allowed) else floor


def _demand(errors: Triple, limits: Triple, nonfinite: int) -> str:
    if nonfinite:
        return f"{nonfinite:,} NaN or infinite values out of place"
    named = zip(_NAMES, errors, limits, strict=True)
    broken = [f"{name} {error:.2g}, allowed {limit:.2g}" for name, error, limit in named if not error <= limit]
    return f"relative error: {'; '.join(broken)}" if broken else ""


def _blocks(count: int, length: int, block: int) -> Iterator[tuple[slice, list[slice]]]:
    """Yield rows, and the pieces of them, that make at most `block`; a long row comes alone and in several pieces."""
    step = max(1, block // length)
    width = min(length, block)
    pieces = [slice(start, min(start + width, length)) for start in range(0, length, width)]
    for start in range(0, count, step):
        yield slice(start, min(start + step, count)), pieces


def _shaped(buffer: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return buffer[: like.numel()].view(like.shape)


def _larger(worst: float, values: torch.Tensor) -> float:
    """Return the maximum, with NaN treated as larger than anything: Python's max would drop it."""
    new = float(values.amax())
    return math.nan if math.isnan(new) or math.isnan(worst) else max(worst, new)


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0:
        return tensor.reshape(1, 1)
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.numel() else tensor.reshape(0, tensor.shape[-1] or 1)


def _above_chance(sizes: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Raise `sizes` to a quarter of the median one at least, where a row is small by chance: short ones cancel."""
    if not sizes.numel():
        return sizes
    usual = float(sizes.median())
    chance = _CHANCE_HALF if dtype == torch.float16 else _CHANCE
    return torch.where(sizes >= chance * usual, sizes.clamp(min=_ROW_FLOOR * usual), sizes)


def _row_norms(rows: torch.Tensor) -> torch.Tensor:
    # PyTorch's norm goes row by row, which for rows of one element takes ten times as long.
    norms: torch.Tensor = torch.linalg.vector_norm(rows, dim=1) if rows.shape[1] > 1 else rows[:, 0].abs()
    return norms


def _is_all_below(rows: torch.Tensor, magnitude: float) -> bool:
    """Tell if every value is a number whose size is smaller than `magnitude`."""
    if rows.numel() == 0:
        return True
    low, high = torch.aminmax(rows)
    return -magnitude < float(low) and float(high) < magnitude


def _quantum(dtype: torch.dtype, least_scale: float) -> float:
    """Return an error that is free; zero where it is nothing against the least that errors are measured by."""
    if dtype == torch.float16:
        return _HALF_QUANTUM
    return _FLUSHED if dtype != torch.float64 and least_scale < _FLUSHED * _IN_SIGHT else 0.0


def _least_overflow(dtype: torch.dtype) -> float:
    """Return half a unit in the last place above the largest number: from there on values round to infinity."""
    kind = torch.finfo(dtype)
    return kind.max * (1.0 + kind.eps / 4 / (1.0 - kind.eps / 2))
