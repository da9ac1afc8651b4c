"""Result of one session: samples, observations and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation, Way
from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER, CaseResult, Session, StopReason, encode_samples
from robust_kbench.timing import statistics
from robust_kbench.timing.calibration import Calibration
from robust_kbench.timing.clock_drift import UNSTEADY_CLOCK, ClockDrift

Clock = Literal["judge", "gate", "wall"]


@dataclass
class SessionResult:
    """Samples of each contestant, with the observations and judgements made along the way.

    `samples` are times by the judge's clock. On a CUDA device they include more than the kernel, which `calibration`
    measures; `ways` says how calls of each contestant are ended, `trusted` is the contestant of the calibration.
    """

    samples: dict[str, list[int]]
    calibration: Calibration | None = None
    ways: dict[str, Way] = field(default_factory=dict)
    trusted: str = EAGER
    clock: Clock = "judge"
    drift: ClockDrift = field(default_factory=lambda: ClockDrift({}))
    seen: list[Observation] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    first_call_us: dict[str, float] = field(default_factory=dict)
    disturbance: str = ""
    is_steady_alone: bool = False
    """True if an unsteady clock was steady when the candidate was gone."""
    foreign_load: float = 0.0
    stop: StopReason = "rounds"
    failure: str = ""

    @property
    def has_unsteady_clock(self) -> bool:
        """True if the clock was unsteady, so that the samples mean nothing."""
        return self.disturbance.startswith(UNSTEADY_CLOCK) and not self.failure

    def logs(self) -> list[float]:
        """Return the log ratios against the fastest baseline here; the precision of the others does not matter."""
        return statistics.log_ratios(self.times(self.fastest), self.times(CANDIDATE)) if self.fastest else []

    @property
    def fastest(self) -> str | None:
        """Baseline that is fastest here; None where none has samples."""
        baselines = [name for name in self.samples if name not in (CANDIDATE, CONTROL) and self.samples[name]]
        return min(baselines, key=lambda name: statistics.median(self.samples[name]), default=None)

    def times(self, name: str) -> list[int]:
        """Return the times of the samples without the clock's constant, in ns."""
        return self.without_constant(name, self.samples[name])

    def without_constant(self, name: str, calls_ns: list[int]) -> list[int]:
        """Return the times of a contestant's calls without the clock's constant, in ns."""
        if self.calibration is None:
            return calls_ns
        trusted_ns = self.samples.get(self.trusted, [])
        offset_ns = self.calibration.offset_ns(self.ways[name], self.ways[self.trusted], trusted_ns)
        offset_ns += self.calibration.difference_ns(name, self.trusted)
        if name == CANDIDATE:
            offset_ns -= self.drift.charge_ns
        least_ns = self.calibration.least_ns(self.ways[name])
        return [max(least_ns, call_ns - offset_ns) for call_ns in calls_ns]

    @property
    def resolution_ns(self) -> int | None:
        """Resolution of the clock of a CUDA device in this session; None on a processor."""
        return None if self.calibration is None else self.calibration.resolution_ns(self.ways[CANDIDATE])

    def as_record(self, repeated: int) -> Session:
        """Return the samples as the record keeps them."""
        return Session(
            samples={name: encode_samples(self.times(name)) for name in self.samples},
            clock_spread_ns=self._clock_spread_ns(),
            clock_resolution_ns=self.resolution_ns,
            foreign_load=round(self.foreign_load, 3),
            repeated=repeated,
            stop=self.stop,
            first_call_us={name: self.first_call_us[name] for name in self.samples if name in self.first_call_us},
            disturbance=self.disturbance,
        )

    def _clock_spread_ns(self) -> int | None:
        spread_ns = self.calibration.spread_ns() if self.calibration else None
        return None if spread_ns is None else max(spread_ns, abs(self.drift.median_ns))
