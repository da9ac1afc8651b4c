"""The samples of many timed cases at once: their medians, and the log ratios of their rounds.

A leaderboard scores thousands of records. Case by case, most of its time would go into calls of numpy for forty numbers
each; here all cases of a record share a dozen of them.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER, Session, Timing
from robust_kbench.timing.statistics import Ordered

_SAMPLE_BYTES = 4
FloatArray = npt.NDArray[np.float64]


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
    samples: npt.NDArray[np.uint32]


def measured(timings: Sequence[Timing]) -> list[Measured]:
    """Of each timing what scores are made of. Raises ValueError where one cannot be scored.

    That is where samples are damaged or of different numbers, or where the candidate or every baseline has none in some
    session.
    """
    cases = [_decoded(timing) for timing in timings]
    if not cases:
        return []
    logs = [_log_ratios(case) for case in cases]
    raw = np.concatenate([case.samples.ravel() for case in cases])
    whole = np.concatenate([each.ravel() for each in logs])
    names, others = [len(case.names) for case in cases], [len(each) for each in logs]
    results = _Results(
        iter(Ordered.of(raw, _all_sessions(cases, names)).medians()),
        iter(Ordered.of(raw, _each_session(cases, names)).medians()),
        iter(Ordered.of(whole, _each_session(cases, others)).medians()),
        iter(Ordered.of(whole, _all_sessions(cases, others)).bounds()),
    )
    return [_measured(case, rows, results) for case, rows in zip(cases, logs, strict=True)]


class _Results(NamedTuple):
    """In the order of the rows: of samples, all sessions and each; of log ratios, each and all."""

    medians_ns: Iterator[float]
    sessions_ns: Iterator[float]
    medians: Iterator[float]
    bounds: Iterator[tuple[float, float]]


def _decoded(timing: Timing) -> _Decoded:
    sessions = [{name: _bytes(text) for name, text in session.samples.items()} for session in timing.sessions]
    names = _names(timing.sessions)
    counts = [_rounds({len(session[name]) for name in names}) for session in sessions]
    data = b"".join(session[name] for name in names for session in sessions)
    return _Decoded(names, counts, np.frombuffer(data, dtype="<u4").reshape(len(names), sum(counts)))


def _bytes(text: str) -> bytes:
    """As `decode_samples` would take it apart."""
    data = binascii.a2b_base64(text, strict_mode=True)
    if len(data) % _SAMPLE_BYTES:
        raise ValueError(f"{len(data)} bytes are no whole number of samples")
    return data


def _names(sessions: Sequence[Session]) -> list[str]:
    """Who is scored: the candidate, then every baseline that no session lacks, then the control where it has a use."""
    if not sessions:
        raise ValueError("no sessions")
    shared = [name for name in sessions[0].samples if all(name in each.samples for each in sessions)]
    baselines = [name for name in shared if name not in (CANDIDATE, CONTROL)]
    if CANDIDATE not in shared:
        raise ValueError("a session has no samples of the candidate")
    if not baselines:
        raise ValueError("no baseline has samples in every session")
    return [CANDIDATE, *baselines, *([CONTROL] if CONTROL in shared and EAGER in baselines else [])]


def _rounds(sizes: set[int]) -> int:
    """Of a session, whose contestants have samples of so many bytes."""
    if len(sizes) > 1:
        raise ValueError("the contestants of a session have different numbers of samples")
    (size,) = sizes
    if not size:
        raise ValueError("a session has no samples")
    return size // _SAMPLE_BYTES


def _log_ratios(case: _Decoded) -> FloatArray:
    """A row for each baseline, against the candidate, and one for eager against its control where that ran."""
    times = np.maximum(case.samples, 1)
    has_control = case.names[-1] == CONTROL
    quotients = times[1 : len(times) - has_control] / times[0]
    if has_control:
        eager = times[case.names.index(EAGER)]
        quotients = np.vstack([quotients, eager / times[-1]])
    logs: FloatArray = np.log(quotients)
    return logs


def _all_sessions(cases: Sequence[_Decoded], rows: Sequence[int]) -> list[int]:
    return [sum(case.counts) for case, number in zip(cases, rows, strict=True) for _ in range(number)]


def _each_session(cases: Sequence[_Decoded], rows: Sequence[int]) -> list[int]:
    return [count for case, number in zip(cases, rows, strict=True) for count in case.counts * number]


def _measured(case: _Decoded, rows: FloatArray, results: _Results) -> Measured:
    """Takes what belongs to this case from `results`."""
    sessions = len(case.counts)
    typical = {name: next(results.medians_ns) / 1e3 for name in case.names}
    each = {name: list(islice(results.sessions_ns, sessions)) for name in case.names}
    logs = [Against(list(islice(results.medians, sessions)), next(results.bounds), row) for row in rows]
    baselines = case.names[1 : len(case.names) - (case.names[-1] == CONTROL)]
    typical.pop(CONTROL, None)
    return Measured(
        baselines,
        case.counts,
        typical,
        {name: each[name] for name in baselines},
        dict(zip(baselines, logs, strict=False)),
        logs[-1].medians if len(logs) > len(baselines) else [],
    )
