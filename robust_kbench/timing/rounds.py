"""The samples of many timed cases at once: their medians, and the log ratios of their rounds.

A leaderboard scores thousands of records. Case by case, most of its time would go into calls of numpy for forty numbers
each; here all cases of a record share a dozen of them.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER, Session, Timing
from robust_kbench.timing.statistics import Ordered

_SAMPLE_BYTES = 4
FloatArray = npt.NDArray[np.float64]
_Times = dict[str, tuple[float, list[float]]]  # name -> its median in us, and those of the sessions in ns


class Against(NamedTuple):
    """The candidate beside one other: log ratios, ln(other / candidate), of all `rounds`, session after session.

    `medians` has one for each session; `bounds` are those of the median of all rounds.
    """

    medians: list[float]
    bounds: tuple[float, float]
    rounds: FloatArray


class Measured(NamedTuple):
    """A timed case. `medians_us` are over all sessions; `sessions_ns` has each session's median for every baseline.

    `counts` are the rounds of each session. `control` is what eager PyTorch and its control differ by: a median log
    ratio for each session, none where no control ran.
    """

    baselines: list[str]
    counts: list[int]
    medians_us: dict[str, float]
    sessions_ns: dict[str, list[float]]
    against: dict[str, Against]
    control: list[float]

    def rounds(self, baseline: str, session: int) -> list[float]:
        """The log ratios of one session."""
        start = sum(self.counts[:session])
        found: list[float] = self.against[baseline].rounds[start : start + self.counts[session]].tolist()
        return found


class _Decoded(NamedTuple):
    """`samples` has a row for each name, session after session; `counts` are the rounds of each session."""

    names: list[str]
    counts: list[int]
    samples: FloatArray


def measured(timings: Sequence[Timing]) -> list[Measured]:
    """Of each timing what scores are made of. Raises ValueError where one cannot be scored.

    That is where samples are damaged or of different numbers, or where the candidate or every baseline has none in some
    session.
    """
    cases = [_decoded(timing) for timing in timings]
    if not cases:
        return []
    logs = [_log_ratios(case) for case in cases]
    # All rows of samples, then all of log ratios, so that two calls put everything in order.
    values = np.concatenate([case.samples.ravel() for case in cases] + [each.ravel() for each in logs])
    rows = [(len(case.names), case.counts) for case in cases] + [(len(case.names) - 1, case.counts) for case in cases]
    sessions = iter(Ordered.of(values, [count for number, counts in rows for count in counts * number]).medians())
    whole = Ordered.of(values, [sum(counts) for number, counts in rows for _ in range(number)])
    medians_ns, bounds = iter(whole.medians()), islice(whole.bounds(), sum(len(case.names) for case in cases), None)
    times = [_times(case, medians_ns, sessions) for case in cases]
    against = [_against(case, each, sessions, bounds) for case, each in zip(cases, logs, strict=True)]
    return list(map(_measured, cases, times, against))


def _decoded(timing: Timing) -> _Decoded:
    names = _names(timing.sessions)
    decode = binascii.a2b_base64  # strictly, as `decode_samples` takes them apart
    rows = [[decode(session.samples[name], strict_mode=True) for session in timing.sessions] for name in names]
    counts = _rounds([list(map(len, row)) for row in rows])
    data = b"".join(chain.from_iterable(rows))
    samples = np.frombuffer(data, dtype="<u4").astype(float).reshape(len(names), sum(counts))
    return _Decoded(names, counts, samples)


def _names(sessions: Sequence[Session]) -> list[str]:
    """Who is scored: the candidate, then every baseline that no session lacks, then the control where it has a use."""
    if not sessions:
        raise ValueError("no sessions")
    shared = set(sessions[0].samples).intersection(*[each.samples for each in sessions])
    baselines = [name for name in sessions[0].samples if name in shared and name not in (CANDIDATE, CONTROL)]
    if CANDIDATE not in shared:
        raise ValueError("a session has no samples of the candidate")
    if not baselines:
        raise ValueError("no baseline has samples in every session")
    return [CANDIDATE, *baselines, *([CONTROL] if CONTROL in shared and EAGER in baselines else [])]


def _rounds(sizes: Sequence[list[int]]) -> list[int]:
    """Of each session, given how many bytes of samples each name has in each session."""
    if any(row != sizes[0] for row in sizes):
        raise ValueError("the contestants of a session have different numbers of samples")
    if not all(sizes[0]):
        raise ValueError("a session has no samples")
    if any(size % _SAMPLE_BYTES for size in sizes[0]):
        raise ValueError(f"samples have {_SAMPLE_BYTES} bytes each, and those of a session are no whole number")
    return [size // _SAMPLE_BYTES for size in sizes[0]]


def _log_ratios(case: _Decoded) -> FloatArray:
    """A row for each baseline, against the candidate, and one for eager against its control where that ran."""
    times = np.maximum(case.samples, 1)
    quotients = times[1:] / times[0]
    if case.names[-1] == CONTROL:
        np.divide(times[case.names.index(EAGER)], times[-1], out=quotients[-1])
    logs: FloatArray = np.log(quotients)
    return logs


def _times(case: _Decoded, medians_ns: Iterator[float], sessions_ns: Iterator[float]) -> _Times:
    """What comes next belongs to this case."""
    return {name: (next(medians_ns) / 1e3, list(islice(sessions_ns, len(case.counts)))) for name in case.names}


def _against(
    case: _Decoded, logs: FloatArray, medians: Iterator[float], bounds: Iterator[tuple[float, float]]
) -> list[Against]:
    """For each row of `logs`. What comes next belongs to this case."""
    return [Against(list(islice(medians, len(case.counts))), next(bounds), row) for row in logs]


def _measured(case: _Decoded, times: _Times, against: list[Against]) -> Measured:
    has_control = case.names[-1] == CONTROL
    baselines = case.names[1 : len(case.names) - has_control]
    return Measured(
        baselines,
        case.counts,
        {name: times[name][0] for name in (CANDIDATE, *baselines)},
        {name: times[name][1] for name in baselines},
        dict(zip(baselines, against, strict=False)),
        against[-1].medians if has_control else [],
    )
