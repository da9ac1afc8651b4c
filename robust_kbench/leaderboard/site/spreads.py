"""Quantiles of raw samples, which a page draws: some numbers in the place of a record's thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_kbench.leaderboard.site.charts import Spread
from robust_kbench.schema.record import CANDIDATE, CONTROL, Timing, decode_samples

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def spread(samples_ns: Sequence[int]) -> Spread:
    """Compute the quantiles of at least one sample, linear between two neighbours in order.

    It is plain Python, which is faster for small lists.
    """
    ordered = sorted(samples_ns)
    last = len(ordered) - 1
    found = []
    for share in _SHARES:
        place = share * last
        below = int(place)
        above = min(below + 1, last)
        found.append((ordered[below] + (place - below) * (ordered[above] - ordered[below])) / 1e3)
    return Spread((found[0], found[1], found[2], found[3], found[4]), len(ordered))


def of_session(samples: Mapping[str, str]) -> dict[str, Spread]:
    """Compute the spread of each contestant's samples in a session, the candidate first and the control last.

    `samples`: see Timing.named. A contestant without samples is left out. Raises ValueError for damaged samples.
    """
    decoded = {name: decode_samples(samples[name]) for name in sorted(samples, key=_order)}
    return {name: spread(samples) for name, samples in decoded.items() if samples}


def of_timing(timing: Timing) -> dict[str, Spread]:
    """Compute the spread of each contestant over all sessions. Raises ValueError for damaged samples."""
    together: dict[str, list[int]] = {}
    for samples in timing.named:
        for name, text in samples.items():
            together.setdefault(name, []).extend(decode_samples(text))
    return {name: spread(together[name]) for name in sorted(together, key=_order) if together[name]}


def _order(name: str) -> tuple[int, str]:
    return {CANDIDATE: 0, CONTROL: 2}.get(name, 1), name
