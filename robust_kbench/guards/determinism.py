"""Different answers to two calls on equal inputs.

The loophole: a race, memory that was never written, or an answer that depends on earlier calls is right often enough to
pass every comparison, and wrong one day.
How it is detected: the largest case of each dtype is called twice on equal inputs at other addresses. Any difference in
bits is a warning, since a sum over atomics may come in any order; beyond a quarter of the limits it is a rejection,
unless the task is declared nondeterministic. A single unit in the last place never rejects: in half precision it is a
good part of the limit, and another order of summation costs as much where a result lies near the middle.
What it cannot see: a race that both calls win; on the emulator, where the two run in other orders, its checker can.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation, Repetition

_ALLOWED_SHARE = 0.25


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Report the call whose answer differs most from that of an equal one."""
    repeated = [(call.repetition, call) for call in seen if call.repetition is not None and call.repetition.differing]
    if not repeated:
        return
    worst, call = max(repeated, key=lambda item: (_is_race(item[0]), item[0].ratio, item[0].differing))
    is_race = _is_race(worst)
    cause = "a race, or memory that was never written" if is_race else "a sum, or equal values, in another order"
    message = (
        f"two calls on equal inputs differ in {worst.differing:,} of {worst.elements:,} elements of {worst.output}"
        f"{_distance(worst)}: {cause}"
    )
    evidence: dict[str, float | int | str] = {"differing": worst.differing, "elements": worst.elements}
    if math.isfinite(worst.ratio):
        evidence["ratio"] = float(f"{worst.ratio:.4g}")
    yield Finding(
        guard="determinism",
        severity="reject" if is_race else "warn",
        message=message,
        case=str(call.case),
        evidence=evidence,
    )


def _is_race(repetition: Repetition) -> bool:
    return repetition.ratio > _ALLOWED_SHARE and not repetition.may_differ


def _distance(repetition: Repetition) -> str:
    is_known = 0.0 < repetition.ratio < math.inf
    return f", by {repetition.ratio:.2g} of the limit" if is_known else ""
