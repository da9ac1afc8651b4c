"""Samples of many timed cases at once: their medians, and the log ratios of their rounds.

A leaderboard scores thousands of records. Case by case, most of its time would go into calls of numpy for forty numbers
each; here all cases of a few records share a dozen of them. Logarithms keep an order: few are taken.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robust_kbench.schema.documents import Base64
from robust_kbench.schema.record import CANDIDATE, CONTROL, Timing
from robust_kbench.timing.statistics import FloatArray, Ordered, median

_SAMPLE_BYTES = 4
_UNEVEN, _UNEVEN_ALONE = 1.1, 1.25
"""Largest quotient without a charge: the candidate's mean over its median, divided by the fastest baseline's.

The median of a candidate's calls says nothing of a call in four that does the work of all. A baseline that is less even
than this excuses no more: where PyTorch's mean is half above its median, uneven work would be free. Of 987 bindings of
honest kernels nine are charged, and of 791 that had a single session one in 30."""
Samples = npt.NDArray[np.uint32]  # nanoseconds
Session = Mapping[str, Base64]
"""Samples of a session by contestant."""


class Against(NamedTuple):
    """Comparison of the candidate with one other: `quotients`, other / candidate, of all rounds, session after session.

    `medians` has the median of their logarithms for each session; `bounds` are those of the median of all rounds.
    """

    medians: list[float]
    bounds: tuple[float, float]
    quotients: FloatArray


class Measured(NamedTuple):
    """Measured case. `medians_us` are over all sessions; `sessions_ns` has each session's median for every baseline.

    `counts` are the rounds of each session. `charge`: factor of the candidate's times, which all that follows includes,
    where a few of its calls take far longer than the others (1: no charge). `control` is the difference of two equal
    workers of PyTorch: a median log ratio for each session, none where no control ran.
    """

    baselines: list[str]
    counts: list[int]
    charge: float
    medians_us: dict[str, float]
    sessions_ns: dict[str, list[float]]
    against: dict[str, Against]
    control: list[float]

    def rounds(self, baseline: str, session: int) -> list[float]:
        """Return the log ratios of one session against a baseline."""
        start = sum(self.counts[:session])
        found: list[float] = np.log(self.against[baseline].quotients[start : start + self.counts[session]]).tolist()
        return found


def measured(timings: Sequence[Timing]) -> list[Measured]:
    """Decode each timing into the numbers that scores are made of. Raises ValueError where one cannot be scored.

    A timing cannot be scored if samples are damaged or differ in number. The same holds if the candidate or every
    baseline has no samples in some session.
    """
    alike: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for number, timing in enumerate(timings):
        alike.setdefault((_names(timing.named, timing.controlled), timing.controlled), []).append(number)
    found: dict[int, Measured] = {}
    for (names, controlled), numbers in alike.items():
        cases = [timings[number].named for number in numbers]
        found |= zip(numbers, _measured(names, controlled, cases), strict=True)
    return [found[number] for number in range(len(timings))]


def measured_together(records: Sequence[Sequence[Timing]]) -> list[list[Measured] | None]:
    """Apply `measured` to each record's timings; None for all records where one cannot be scored.

    Called for a record alone, `measured` tells the reason.
    """
    try:
        found = iter(measured([timing for timings in records for timing in timings]))
    except Exception:  # whatever a stranger has written
        return [None] * len(records)
    return [list(islice(found, len(timings))) for timings in records]


def _measured(names: Sequence[str], controlled: str, cases: Sequence[Sequence[Session]]) -> list[Measured]:
    """Decode cases that have the same names, and whose control is a second worker of `controlled`."""
    samples, counts = _decoded(names, cases)
    baselines = [name for name in names[1:] if name != CONTROL]
    scored = samples[: len(baselines) + 1]  # the control is there for its ratios alone
    # A row holds all cases, and those hold their sessions: one call puts all of it in order.
    totals, sessions = list(map(sum, counts)), [*chain.from_iterable(counts)]
    medians_ns = iter(Ordered.of(scored.ravel(), totals * len(scored)).medians())
    by_session = np.array(Ordered.of(scored.ravel(), sessions * len(scored)).medians()).reshape(len(scored), -1)
    charges = _charges(scored, by_session, counts)
    sessions_ns = iter(by_session[1:].ravel().tolist())
    medians_us = [[next(medians_ns) / 1e3 for _ in cases] for _ in scored]
    medians_us[0] = [typical_us * charge for typical_us, charge in zip(medians_us[0], charges, strict=True)]
    of_sessions = [[list(islice(sessions_ns, len(each))) for each in counts] for _ in baselines]
    against = _against(_quotients(names, controlled, samples, np.repeat(charges, totals)), counts)
    return [
        Measured(
            baselines,
            rounds,
            charges[case],
            {name: row[case] for name, row in zip(names, medians_us, strict=False)},
            {name: row[case] for name, row in zip(baselines, of_sessions, strict=True)},
            {name: row[case] for name, row in zip(baselines, against, strict=False)},
            against[-1][case].medians if names[-1] == CONTROL else [],
        )
        for case, rounds in enumerate(counts)
    ]


def _charges(samples: Samples, medians_ns: FloatArray, counts: Sequence[Sequence[int]]) -> list[float]:
    """Compute each case's charge. `medians_ns` has a row for each contestant, the candidate's first, by session."""
    lengths = np.array([*chain.from_iterable(counts)])
    means_ns = np.add.reduceat(samples, np.cumsum(lengths) - lengths, axis=1, dtype=np.int64) / lengths
    excesses = np.maximum(means_ns, 1) / np.maximum(medians_ns, 1)
    fastest = 1 + medians_ns[1:].argmin(axis=0)
    usual = np.take_along_axis(excesses, fastest[None], axis=0)[0]
    limits = [_UNEVEN if len(each) > 1 else _UNEVEN_ALONE for each in counts]
    beyond = excesses[0] / np.minimum(usual, np.repeat(limits, [len(each) for each in counts]))
    spans = pairwise(accumulate(map(len, counts), initial=0))
    found = [median(beyond[start:end].tolist()) for start, end in spans]
    return [excess if excess > limit else 1.0 for excess, limit in zip(found, limits, strict=True)]


def _against(quotients: FloatArray, counts: Sequence[Sequence[int]]) -> list[list[Against]]:
    """Compare with the candidate: for each row of `quotients` one result for each case, with `counts` of rounds."""
    totals, sessions = list(map(sum, counts)), [*chain.from_iterable(counts)]
    medians = iter(Ordered.of(quotients.ravel(), sessions * len(quotients)).log_medians())
    bounds = iter(Ordered.of(quotients.ravel(), totals * len(quotients)).log_bounds())
    spans = list(pairwise(accumulate(totals, initial=0)))
    return [
        [
            Against(list(islice(medians, len(each))), next(bounds), row[start:end])
            for each, (start, end) in zip(counts, spans, strict=True)
        ]
        for row in quotients
    ]


def _decoded(names: Sequence[str], cases: Sequence[Sequence[Session]]) -> tuple[Samples, list[list[int]]]:
    """Decode a row of samples for each name, case by case and session by session; and the rounds of each session."""
    found = [samples for sessions in cases for samples in sessions]
    rows = [_bytes_of([samples[name] for samples in found]) for name in names]
    counts = iter(_rounds([list(map(len, row)) for row in rows]))
    samples = np.frombuffer(b"".join(chain.from_iterable(rows)), dtype="<u4").reshape(len(names), -1)
    return samples, [list(islice(counts, len(sessions))) for sessions in cases]


def _bytes_of(row: Sequence[str | bytes]) -> list[bytes]:
    """Decode texts as strictly as `decode_samples` does; a view of a record (see views) has decoded bytes already."""
    return [each if isinstance(each, bytes) else binascii.a2b_base64(each, strict_mode=True) for each in row]


def _names(sessions: Sequence[Session], controlled: str) -> tuple[str, ...]:
    """List the scored names: candidate, every baseline that no session lacks, and the control where it has a use."""
    if not sessions:
        raise ValueError("no sessions")
    names = sessions[0].keys()
    alike = all(each.keys() == names for each in sessions)
    shared = names if alike else names & set.intersection(*map(set, sessions))
    baselines = [name for name in names if name in shared and name not in (CANDIDATE, CONTROL)]
    if CANDIDATE not in shared:
        raise ValueError("a session has no samples of the candidate")
    if not baselines:
        raise ValueError("no baseline has samples in every session")
    return (CANDIDATE, *baselines, *([CONTROL] if CONTROL in shared and controlled in baselines else []))


def _rounds(sizes: Sequence[list[int]]) -> list[int]:
    """Return the rounds of each session, given how many bytes of samples each name has in each session."""
    if any(row != sizes[0] for row in sizes):
        raise ValueError("the contestants of a session have different numbers of samples")
    if not all(sizes[0]):
        raise ValueError("a session has no samples")
    if any(size % _SAMPLE_BYTES for size in sizes[0]):
        raise ValueError(f"samples have {_SAMPLE_BYTES} bytes each, and those of a session are no whole number")
    return [size // _SAMPLE_BYTES for size in sizes[0]]


def _quotients(names: Sequence[str], controlled: str, samples: Samples, charges: FloatArray) -> FloatArray:
    """Return a row for each baseline against the candidate; one for `controlled` against the control if it ran.

    `charges`: a factor for each of the candidate's times.
    """
    times = np.maximum(samples, 1).astype(float)
    quotients: FloatArray = times[1:] / (times[0] * charges)
    if names[-1] == CONTROL:
        np.divide(times[names.index(controlled)], times[-1], out=quotients[-1])
    return quotients
