"""Precision contracts of tasks: how a kernel may round the factors that it multiplies, and the sums that it keeps.

| contract | factors are rounded to | sums are kept in |
|---|---|---|
| ieee | their own dtype | float32 |
| tf32_ok | TF32, 11 digits | float32 |
| half_fp32acc | bfloat16, 8 digits | float32 |
| any_halfacc | bfloat16, 8 digits | the dtype, if that is a half, or bfloat16 |
| fp8 | E4M3, 4 digits | 13 digits, as Hopper's tensor cores do |

Only fp8 rounds halves: the tensor cores of the other contracts take them as they are. Where the table says float32,
sums of float64 are kept in float64. Digits count the leading one, so that p of them have a unit roundoff of 2**-p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from robust_kbench.errors import SpecError
from robust_kbench.schema.task import ITEMSIZE, FloatDType, Precision, Task

_FACTOR_DIGITS: Mapping[Precision, int] = {"tf32_ok": 11, "half_fp32acc": 8, "any_halfacc": 8, "fp8": 4}
_SUM_DIGITS = {"float64": 53, "float32": 24, "float16": 24, "bfloat16": 24}
_HALF_SUM_DIGITS = {"float16": 11}
_BFLOAT16_DIGITS, _FP8_SUM_DIGITS = 8, 13


@dataclass(frozen=True)
class Rounding:
    """Significant binary digits that are kept in one dtype; `factor_digits` is None where all are kept."""

    factor_digits: int | None = None
    sum_digits: int = 24

    @property
    def factor(self) -> float:
        """Unit roundoff of a factor."""
        return 0.0 if self.factor_digits is None else 2.0**-self.factor_digits

    @property
    def sum(self) -> float:
        """Unit roundoff of a partial sum."""
        return 2.0**-self.sum_digits

    def is_within(self, other: Rounding) -> bool:
        """Tell if `other` allows all of these roundings."""
        return self.factor <= other.factor and self.sum <= other.sum


def rounding(precision: Precision, dtype: str) -> Rounding:
    """Return the roundings that the contract allows in `dtype`, one of the four floating-point dtypes."""
    is_half = ITEMSIZE[dtype] < 4
    factor = None if is_half and precision != "fp8" else _FACTOR_DIGITS.get(precision)
    if precision == "any_halfacc":
        return Rounding(factor, _HALF_SUM_DIGITS.get(dtype, _BFLOAT16_DIGITS))
    return Rounding(factor, _FP8_SUM_DIGITS if precision == "fp8" else _SUM_DIGITS[dtype])


def keeps_values(precision: Precision) -> bool:
    """Tell if small integers are never rounded, and the rounding of an element depends on that element alone.

    False under fp8, where honest kernels scale a tensor to make the best of the format's range.
    """
    return precision != "fp8"


def keeps_range(precision: Precision, dtype: str) -> bool:
    """Tell if scaling by a power of two changes no rounding.

    False for float16 and E4M3, whose subnormal numbers are in easy reach.
    """
    may_be_float16 = precision in ("half_fp32acc", "any_halfacc") and dtype != "bfloat16"
    return dtype != "float16" and precision != "fp8" and not may_be_float16


def held_to(task: Task, precision: Precision | None) -> Task:
    """Return `task` under the contract that a submission declares, which may be stricter than the task's.

    Raises SpecError if it is not as strict: the submission would stand beside others that kept the task's contract.
    """
    if (
        precision is None
        or _is_as_strict(task.precision, precision, task.dtypes)
        and _is_as_strict(precision, task.precision, task.dtypes)
    ):
        return task  # another name for the same would be a leaderboard of one's own
    if not _is_as_strict(precision, task.precision, task.dtypes):
        stricter = [name for name in get_args(Precision) if _is_as_strict(name, task.precision, task.dtypes)]
        raise SpecError(
            f"precision: {precision} is looser than {task.precision}, the contract of {task.name}; "
            f"leave the key out, or declare {' or '.join(stricter)}"
        )
    return task.model_copy(update={"precision": precision})


def _is_as_strict(one: Precision, other: Precision, dtypes: tuple[FloatDType, ...]) -> bool:
    return all(rounding(one, dtype).is_within(rounding(other, dtype)) for dtype in dtypes)
