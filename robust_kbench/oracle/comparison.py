"""The acceptance rule: three relative errors against float64, each with a limit derived from the dtype and PyTorch.

With e = y - r, rows the slices along the last axis, g = rms(r) and s_row = max(rms(r_row), g / 4):

    m1 = ||e|| / ||r||                       a precision downgrade everywhere
    m2 = max over rows of rms(e_row) / s_row     a wrong row or tile
    m3 = max over elements of |e| / (|r| + s_row)    a wrong element

    b = u + 2 * sqrt(K) * 2**-24, u the unit roundoff of the output's dtype and K the reduction length;
    limits = max(k * m1(PyTorch), w1 * b), max(k * m2(PyTorch), w2 * b), max(k * m3(PyTorch), 4 * b), k = 2 (3 where
    the task is declared nondeterministic), w1 = 1 + 3 / sqrt(elements), w2 = 1.5 + 2.5 / sqrt(row length): an error
    averages out over many elements, and for a single one both are m3's 4.

The square root of K is the probabilistic bound of Higham and Mary (2019); twice PyTorch's own error is FlashAttention's
rule, and where PyTorch overflows or is off by half it excuses nothing. The floor under s_row is there because a row
that cancels to almost nothing (a rectified pair, p - 1 in a cross-entropy's gradient) has rounding errors of the size
of its terms, not of its result. Errors of a subnormal quantum, which float16 reaches at 6e-8, do not count. NaN and
infinities must stand where float64, rounded to the output's dtype, has them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

RULE = "three-metric-v1"
UNIT_ROUNDOFF = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
_CHUNK_ELEMENTS = 1 << 18  # float64 copies of this many elements stay in the second-level cache
_ROW_FLOOR = 0.25
_HEADROOM = 2.0  # with outliers among the inputs, terms are larger than the sums that the error is measured against
_USELESS = 0.5  # a PyTorch that is off by this much says nothing, and must not excuse zeros
_TINY = 1e-300
_HALF_QUANTUM = 2.0**-24  # the smallest positive float16

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Judgement:
    """Errors of one output with their limits. `nonfinite` counts elements whose NaN or infinity is wrong."""

    errors: Triple
    limits: Triple
    nonfinite: int = 0

    @property
    def ratio(self) -> float:
        """The largest error in units of its limit; infinite where a NaN or an infinity is out of place."""
        if self.nonfinite:
            return math.inf
        return max(error / limit for error, limit in zip(self.errors, self.limits, strict=True))

    @property
    def is_accepted(self) -> bool:
        """Whether every error is within its limit (a NaN never is)."""
        return self.nonfinite == 0 and all(e <= limit for e, limit in zip(self.errors, self.limits, strict=True))


def judge(
    answer: torch.Tensor,
    exact: torch.Tensor,
    native: torch.Tensor | None,
    *,
    reduction: int,
    slack: float = 2.0,
    input_scale: float = 1.0,
) -> Judgement:
    """Hold `answer` to the rule. All three have one shape; `exact` is float64, or integers for integer outputs.

    Without `native`, PyTorch's own answer, the limits are those of the dtype alone. `input_scale` is the largest
    input magnitude, the yardstick where the exact answer is zero everywhere.
    """
    if not answer.dtype.is_floating_point:
        wrong = int((answer != exact.to(answer.dtype)).sum())
        return Judgement((float(wrong > 0),) * 3, (0.5,) * 3)
    unit = UNIT_ROUNDOFF[answer.dtype]
    base = unit + _HEADROOM * math.sqrt(max(reduction, 1)) * min(2.0**-24, unit)
    weights = _weights(exact)
    if exact.numel() == 0:
        return Judgement((0.0,) * 3, (weights[0] * base, weights[1] * base, weights[2] * base))
    answer_errors, native_errors, nonfinite = _errors(answer, exact, native, input_scale)
    limits = [
        weight * base if not math.isfinite(own) else max(min(slack * own, _USELESS), weight * base)
        for own, weight in zip(native_errors, weights, strict=True)
    ]
    return Judgement(answer_errors, (limits[0], limits[1], limits[2]), nonfinite)


def is_wrong(answer: torch.Tensor, exact: torch.Tensor, limit: float) -> torch.Tensor:
    """Elementwise: beyond the element limit, or a NaN or infinity out of place. For reports, not for verdicts."""
    if not answer.dtype.is_floating_point:
        return answer != exact.to(answer.dtype)
    rows, wide = _as_rows(exact), _as_rows(answer).double()
    finite = _comparable(rows, answer.dtype)
    scale = _row_scale(torch.where(finite, rows, 0.0), float(torch.where(finite, rows, 0.0).square().mean().sqrt()))
    far = (wide - rows).abs() > limit * (rows.abs() + scale)
    wrong = torch.where(finite, far | ~wide.isfinite(), _misplaced(wide, rows.to(answer.dtype).double()))
    return wrong.reshape(exact.shape)


def _weights(exact: torch.Tensor) -> Triple:
    count, length = max(1, exact.numel()), max(1, exact.shape[-1] if exact.dim() else 1)
    return 1.0 + 3.0 / math.sqrt(count), 1.5 + 2.5 / math.sqrt(length), 4.0


def _errors(
    answer: torch.Tensor, exact: torch.Tensor, native: torch.Tensor | None, input_scale: float
) -> tuple[Triple, Triple, int]:
    rows = _as_rows(exact)
    all_finite = bool(torch.isfinite(rows.sum())) and float(rows.abs().max()) < torch.finfo(answer.dtype).max
    total = float(rows.norm()) if all_finite else float(torch.where(_comparable(rows, answer.dtype), rows, 0.0).norm())
    overall = total / math.sqrt(rows.numel()) or input_scale
    sums, row_worst, element_worst = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    nonfinite = 0
    step = max(1, _CHUNK_ELEMENTS // rows.shape[1])
    sides = [_as_rows(answer)] if native is None else [_as_rows(answer), _as_rows(native)]
    for start in range(0, rows.shape[0], step):
        exact_part = rows[start : start + step]
        finite = None if all_finite else _comparable(exact_part, answer.dtype)
        reference = exact_part if finite is None else torch.where(finite, exact_part, 0.0)
        scale = _row_scale(reference, overall)
        denominator = reference.abs().add_(scale)
        for side, values in enumerate(sides):
            wide = values[start : start + step].double()
            if finite is not None:
                if side == 0:
                    rounded = exact_part.to(answer.dtype).double()
                    nonfinite += int(_misplaced(wide, rounded)[~finite].sum())
                wide = torch.where(finite, wide, 0.0)
            error = wide - reference if wide.data_ptr() == values[start:].data_ptr() else wide.sub_(reference)
            if answer.dtype == torch.float16:
                error = torch.nn.functional.softshrink(error, _HALF_QUANTUM)
            if side == 0:
                nonfinite += _count_nonfinite(error)
            squares = torch.linalg.vecdot(error, error)
            sums[side] += float(squares.sum())
            row_worst[side] = _larger(row_worst[side], squares.div_(rows.shape[1]).sqrt_().div_(scale[:, 0]))
            element_worst[side] = _larger(element_worst[side], error.abs_().div_(denominator))
    norm = total or input_scale * math.sqrt(rows.numel())
    first, second = ((math.sqrt(sums[side]) / norm, row_worst[side], element_worst[side]) for side in (0, 1))
    return first, second, nonfinite


def _count_nonfinite(error: torch.Tensor) -> int:
    return 0 if torch.isfinite(error.sum()) else int((~error.isfinite()).sum())


def _larger(worst: float, values: torch.Tensor) -> float:
    """The maximum, with NaN treated as larger than anything: Python's max would drop it."""
    new = float(values.max())
    return math.nan if math.isnan(new) or math.isnan(worst) else max(worst, new)


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() > 0 else tensor.reshape(1, 1)


def _row_scale(reference: torch.Tensor, overall: float) -> torch.Tensor:
    mean: torch.Tensor = torch.linalg.vecdot(reference, reference).div_(reference.shape[1])
    return mean.sqrt_().unsqueeze(1).clamp_(min=_ROW_FLOOR * overall + _TINY)


def _comparable(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Where the exact value, rounded to `dtype`, is a finite number."""
    return exact.to(dtype).isfinite()


def _misplaced(wide: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
    """Where `rounded` is NaN or infinite and `wide` is not the same; meaningless elsewhere."""
    return ~((wide == rounded) | (wide.isnan() & rounded.isnan()))
