"""Calls that only add draws of classes to those of an evaluation, whose few checked rows say little about their law.

They have sizes of timed calls, even on another kind of device, since a kernel must be right in these above all. Calls
of few rows would add little, and large ones would take long. Logits are normal numbers of deviation 2.5. A temperature
that is off shows in the square of their deviation, and beyond 3 the likeliest class of a row takes most of the mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import FloatDType, Task, shape_of

LOGITS = "logits"
_CALLS: dict[Tier, int] = {"quick": 20, "full": 32, "final": 32}
"""Number of calls of each size and dtype. With 500 rows a call, logits times 0.95 show after ten calls on average."""
_USUAL_ROWS, _MOST_TIMES = 512, 4  # calls of fewer rows are made more often, up to so many times
_DEVIATION = 2.5
_LEAST_ROWS = 32
_MOST_ELEMENTS = 1 << 21
_SEED_BITS = 53


def cases_of_more_draws(task: Task, dtypes: Sequence[FloatDType], seed: int) -> list[Case]:
    """Make one case for each dtype and size; none if nothing is drawn from normal logits."""
    if all(output.law != "categorical" for output in task.outputs.values()) or "normal" not in task.distributions:
        return []
    draw = Draw(seed, "more draws")
    sizes = [axes for bindings in task.timed.values() for axes in bindings if _is_fit(task, axes)]
    return [Case(axes=axes, dtype=dtype, distribution="normal", seed=draw.bits()) for dtype in dtypes for axes in sizes]


def inputs_of_more_draws(task: Task, case: Case, tier: Tier) -> Iterator[Inputs]:
    """Make the inputs of one call after the other: the same logits, and another seed each time."""
    drawn = make_inputs(task, case)
    logits, draw = drawn.tensors[LOGITS], Draw(case.seed, "seeds of more draws")
    wide = (logits.float() * _DEVIATION).to(logits.dtype)
    rows = max(1, math.prod(logits.shape[:-1]))
    for _ in range(_CALLS[tier] * min(_MOST_TIMES, max(1, _USUAL_ROWS // rows))):
        yield Inputs({**drawn.values, LOGITS: wide, "seed": draw.bits(_SEED_BITS)})


def _is_fit(task: Task, axes: dict[str, int]) -> bool:
    *outer, classes = shape_of(task.inputs[LOGITS], axes)
    rows = math.prod(outer)
    return rows >= _LEAST_ROWS and rows * classes <= _MOST_ELEMENTS
