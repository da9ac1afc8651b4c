"""Panels of both kinds of picture, one for each timed case: every sample, its median, speedups, the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from robust_kbench.errors import SpecError
from robust_kbench.schema.record import CANDIDATE, CONTROL, RunRecord, Timing, decode_samples
from robust_kbench.scoring import CaseScore, noise_floor, score_case
from robust_kbench.timing.statistics import Ratio, Verdict

SessionsUs = list[dict[str, list[float]]]
CaseKey = tuple[tuple[tuple[str, int], ...], str]


@dataclass(frozen=True)
class Row:
    """Row of one contestant in a panel. `sessions_us` keeps the order of sessions.

    It is empty for a session without this contestant. `speedup` and its `verdict` are the candidate's over this
    baseline, and on the candidate's own row over the fastest one.
    """

    name: str
    sessions_us: tuple[tuple[float, ...], ...]
    median_us: float
    speedup: Ratio | None
    verdict: Verdict | None

    @property
    def samples_us(self) -> list[float]:
        """Samples of all sessions, in the order in which they were taken."""
        return [sample for session in self.sessions_us for sample in session]


@dataclass(frozen=True)
class Panel:
    """Panel of one timed case. `fastest` is empty where nothing could be compared.

    A difference below `margin` counts as none.
    """

    case: str
    rows: tuple[Row, ...]
    fastest: str
    margin: float
    floor_us: float | None

    @property
    def samples_us(self) -> list[float]:
        """Samples of all contestants in this panel."""
        return [sample for row in self.rows for sample in row.samples_us]

    @property
    def summary(self) -> str:
        """Verdict over the fastest baseline, and the name of that baseline; empty where nothing could be compared."""
        return f"{self.rows[0].verdict}; fastest: {self.fastest}" if self.fastest else ""


def case_key(axes: Mapping[str, int], dtype: str) -> CaseKey:
    """Return the key of a floor, which belongs to a timed case, whatever the order of the axes."""
    return tuple(sorted(axes.items())), dtype


def panels(record: RunRecord, floors_us: Mapping[CaseKey, float] | None = None) -> list[Panel]:
    """Return a panel for each timed case that has samples, in the record's order.

    Raises SpecError for damaged samples. `floors_us` replaces the floors of the record, or gives floors to a record
    without them.
    """
    decoded = []
    for number, timing in enumerate(record.timings):
        try:
            decoded.append((timing, _decode(timing)))
        except ValueError as error:
            where = f"{record.task} {record.submission!r:.80}: timings[{number}]"
            raise SpecError(f"{where}: {error}; expected base64 of little-endian uint32") from None
    noise = noise_floor([timing for timing, sessions in decoded if _is_scorable(sessions)])
    floors = {case_key(timing.axes, timing.dtype): timing.floor_us for timing in record.timings} | dict(floors_us or {})
    found = [_panel(timing, sessions, noise, floors) for timing, sessions in decoded]
    return [panel for panel in found if panel.samples_us]


def _decode(timing: Timing) -> SessionsUs:
    """Decode samples in microseconds, none below the clock's step, as no logarithm takes zero.

    Raises ValueError for damaged samples.
    """
    sessions = [
        {name: [max(ns, 1) / 1e3 for ns in decode_samples(text)] for name, text in samples.items()}
        for samples in timing.named
    ]
    for session in sessions:
        if len({len(samples) for samples in session.values()}) > 1:
            raise ValueError("the contestants of a session have different numbers of samples")
    return sessions


def _panel(
    timing: Timing, sessions: SessionsUs, noise: float | None, floors_us: Mapping[CaseKey, float | None]
) -> Panel:
    scored = score_case(timing, noise) if _is_scorable(sessions) else None
    names = dict.fromkeys([CANDIDATE, *(name for session in sessions for name in session)])
    rows = [_row(name, [session.get(name, []) for session in sessions], scored) for name in names]
    return Panel(
        case=" ".join([timing.dtype, *(f"{name}={size}" for name, size in timing.axes.items())]),
        rows=tuple(row for row in rows if row.samples_us),
        fastest=scored.fastest if scored else "",
        margin=scored.margin if scored else 0.0,
        floor_us=floors_us[case_key(timing.axes, timing.dtype)],
    )


def _is_scorable(sessions: SessionsUs) -> bool:
    """Tell if the candidate and some baseline have samples in every session."""
    in_all = {name for name in (sessions[0] if sessions else ()) if all(session.get(name) for session in sessions)}
    return CANDIDATE in in_all and bool(in_all - {CANDIDATE, CONTROL})


def _row(name: str, sessions_us: Sequence[Sequence[float]], scored: CaseScore | None) -> Row:
    samples = [sample for session in sessions_us for sample in session]
    own = median(samples) if samples else 0.0
    speedup = (scored.speedup if name == CANDIDATE else scored.speedups.get(name)) if scored else None
    return Row(
        name=name,
        sessions_us=tuple(map(tuple, sessions_us)),
        median_us=scored.medians_us.get(name, own) if scored else own,
        speedup=speedup,
        verdict=speedup.verdict(scored.margin) if scored and speedup else None,
    )
