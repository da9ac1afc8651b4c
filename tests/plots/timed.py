"""Records with samples of a test's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specimens import make_record

from robust_kbench.schema.record import RunRecord, Session, Timing, encode_samples

NASTY = '<script>alert("1")</script>&\x1b[2J\u202egnp.exe\ud800e\u0301\u0336\u0336\n'
"""A name that would run, clear, turn round, stack or break whatever shows it unchanged."""


def session(**samples_us: Sequence[float]) -> Session:
    samples = {name: encode_samples(round(1000 * us) for us in values) for name, values in samples_us.items()}
    return Session(samples=samples, foreign_load=0.0)


def timing(*sessions: Session, dtype: str = "float32", axes: Mapping[str, int] | None = None) -> Timing:
    return Timing.model_validate({"axes": axes or {"rows": 64}, "dtype": dtype, "sessions": sessions})


def timed(*timings: Timing, **changes: Any) -> RunRecord:
    return make_record(timings=timings, **changes)


SPREAD = timing(
    session(candidate=[100, 101, 102, 110], eager=[200, 202, 204, 220]),
    session(candidate=[100, 103, 105, 108], eager=[201, 203, 207, 500]),
)
