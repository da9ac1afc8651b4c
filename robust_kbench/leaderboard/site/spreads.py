"""From the raw samples of a record to the quantiles that a page draws: some numbers in the place of thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_kbench.leaderboard.site.charts import Spread
from robust_kbench.schema.record import CANDIDATE, CONTROL, Timing, decode_samples

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def spread(samples_ns: Sequence[int]) -> Spread:
    """Of at least one sample; between two neighbours in order, linearly. Plain Python: small lists are faster so."""
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
    """Of the samples of a session (see Timing.named) by contestant, the candidate first and the control last.

    Who has no samples is left out.
    Raises ValueError for damaged samples.
    """
    decoded = {name: decode_samples(samples[name]) for name in sorted(samples, key=_order)}
    return {name: spread(samples) for name, samples in decoded.items() if samples}


def of_timing(timing: Timing) -> dict[str, Spread]:
    """By contestant, over all sessions. Raises ValueError for damaged samples."""
    together: dict[str, list[int]] = {}
    for samples in timing.named:
        for name, text in samples.items():
            together.setdefault(name, []).extend(decode_samples(text))
    return {name: spread(together[name]) for name in sorted(together, key=_order) if together[name]}


def _order(name: str) -> tuple[int, str]:
    return {CANDIDATE: 0, CONTROL: 2}.get(name, 1), name
