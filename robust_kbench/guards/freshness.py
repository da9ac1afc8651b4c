"""T7. Inputs that were never seen against inputs that are repeated.

The loophole: an answer that is kept, by address or by a digest of the values, makes every benchmark that repeats its
inputs believe in a kernel that costs nothing.
How it is detected: calls on fresh inputs and calls that repeat them at the same addresses, each from a cold cache, take
the same time, to 10 % or twice the noise of the repeated ones.
What it cannot see: a cache that saves less. The scored calls are immune by construction: no input comes twice.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from robust_kbench.guards.thresholds import in_us, slack_ns
from robust_kbench.schema.agreement import Calibration, Freshness
from robust_kbench.schema.finding import Finding

_ALLOWED_SHARE = 0.10
_NOISES = 2
_MIN_CALLS = 5
_TO_DEVIATION = 1.4826  # from a median absolute deviation


def inspect(facts: Freshness, case: str, calibration: Calibration | None = None) -> Iterable[Finding]:
    """A rejection when a repeated call is faster than a first one."""
    if min(len(facts.first_ns), len(facts.again_ns)) < _MIN_CALLS:
        return
    first, again = statistics.median(facts.first_ns), statistics.median(facts.again_ns)
    share = max(_ALLOWED_SHARE, _NOISES * noise(facts.again_ns))
    if first > (1 + share) * again + slack_ns(calibration):
        message = "a call is faster when its inputs are repeated: results are kept from call to call"
        evidence = {"test": "T7", "allowed_share": round(share, 4), **in_us(first=first, again=again)}
        yield Finding(guard="freshness", severity="reject", message=message, case=case, evidence=evidence)


def noise(values: Sequence[int]) -> float:
    """The robust standard deviation of `values` as a share of their median."""
    centre = statistics.median(values)
    deviation = statistics.median(abs(value - centre) for value in values)
    return _TO_DEVIATION * deviation / centre if centre else 0.0
