"""What one session has brought to light."""

from __future__ import annotations

from dataclasses import dataclass, field

from robust_kbench.schema.agreement import Agreement
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CANDIDATE, CONTROL, CaseResult, Session, StopReason, encode_samples
from robust_kbench.timing import statistics


@dataclass
class SessionResult:
    """Samples of each contestant, and what was seen and judged along the way."""

    samples: dict[str, list[int]]
    seen: list[Observation] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    first_call_us: dict[str, float] = field(default_factory=dict)
    hot_us: dict[str, float] = field(default_factory=dict)
    agreement: Agreement | None = None
    disturbance: str = ""
    foreign_load: float = 0.0
    stop: StopReason = "rounds"
    failure: str = ""

    def logs(self) -> list[float]:
        """The log ratios against the baseline that is fastest here: how precise the others are does not matter."""
        baselines = [name for name in self.samples if name not in (CANDIDATE, CONTROL) and self.samples[name]]
        fastest = min(baselines, key=lambda name: statistics.median(self.samples[name]), default=None)
        return statistics.log_ratios(self.samples[fastest], self.samples[CANDIDATE]) if fastest else []

    def as_record(self, repeated: int) -> Session:
        """The samples as the record keeps them."""
        return Session(
            samples={name: encode_samples(values) for name, values in self.samples.items()},
            foreign_load=round(self.foreign_load, 3),
            repeated=repeated,
            stop=self.stop,
            first_call_us={name: self.first_call_us[name] for name in self.samples if name in self.first_call_us},
            hot_us={name: self.hot_us[name] for name in self.samples if name in self.hot_us},
            disturbance=self.disturbance,
        )
