"""Drift of the judge's clock on a CUDA device, which calls of nothing in a trusted worker show.

Copies between host and device need no turn on the multiprocessors. Copies that a candidate leaves behind lengthen the
changes of contexts in all calls but its own: baselines look slower, and the calibration takes off too much. The same
calls of nothing, made before anything was loaded, tell how long they take without it.

In nine of ten honest sessions on H100s and H200s the clock moved by up to 0.5 us. Copies of 4 bytes to the host moved
it by 0.8 us, large ones by 7 to 40 us (tools/gpu/drift.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from robust_kbench.timing import statistics

LEFT_BEHIND = "leaves work on the device between its calls, such as copies, which others' times suffer from"
"""Beginning of the failure of a candidate to which the drift is due."""
UNSTEADY_CLOCK = "the device's clock has changed"
"""Beginning of a disturbance for which no session can be believed."""
UNCHARGED_NS = 500
"""Drift up to which no candidate is charged: honest sessions have as much."""
MOST_OWN_NS = 3_000
"""Drift without a candidate, as contexts of baselines grow, up to which a session is believed."""
_MOST_NS, _MOST_OF_A_QUARTER_NS = 1_500, 2_500
_LEAST_NS = -3_000
"""Drift below which something had lengthened the calls before there was a candidate."""
_BLATANT_NS = 5_000
"""Drift of a quarter of the calls that no honest session has shown, so that one session is enough to blame."""


class ClockDrift:
    """Times of calls of nothing, less their times in the same worker before anything is loaded.

    They are looked at phase by phase: copies may be there only while the clock is calibrated.
    """

    def __init__(self, before_ns: Mapping[str, Sequence[int]]) -> None:
        """Hold calls of nothing against `before_ns`: times before anything is loaded, by the worker's contestant."""
        self.before_ns = before_ns
        self.reference_ns = 0
        """Time by which the calls are longer than before even without the candidate."""
        self._phases: list[_Phase] = [_Phase()]

    def begin_phase(self) -> None:
        """Have the calls that follow looked at by themselves."""
        self._phases.append(_Phase())

    def add(self, name: str, elapsed_ns: int | None) -> None:
        """Add one more call; None where others had the device before it."""
        if elapsed_ns is None or not self.before_ns.get(name):
            self._phases[-1].missed += 1
        else:
            self._phases[-1].differences_ns.append(elapsed_ns - statistics.median(self.before_ns[name]))

    @property
    def median_ns(self) -> int:
        """Median of the differences, in the phase in which it is largest; 0 where there are none."""
        return max((phase.median_ns for phase in self._phases if phase.differences_ns), default=0) - self.reference_ns

    @property
    def charge_ns(self) -> int:
        """Time that was taken off the candidate's calls because of drift, and is charged."""
        return self.median_ns if self.median_ns > UNCHARGED_NS else 0

    @property
    def is_too_large(self) -> bool:
        """True if times on this clock must not count."""
        return any(phase.is_too_large(self.reference_ns) for phase in self._phases)

    @property
    def is_blatant(self) -> bool:
        """True if the drift is larger than a device drifts by itself now and then."""
        return any(phase.is_blatant(self.reference_ns) for phase in self._phases)

    def __str__(self) -> str:
        too_large = [phase for phase in self._phases if phase.is_too_large(self.reference_ns)]
        return "; ".join(phase.described(self.reference_ns) for phase in too_large)


@dataclass
class _Phase:
    differences_ns: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def median_ns(self) -> int:
        return round(statistics.median(self.differences_ns)) if self.differences_ns else 0

    def is_too_large(self, reference_ns: int) -> bool:
        """Tell if the phase drifts too far. A quarter of the calls suffices: copies may come and go."""
        median_ns, upper_ns = self.median_ns - reference_ns, self._upper_quartile_ns - reference_ns
        if self._misses_most or not self.differences_ns:
            return self._misses_most
        return median_ns > _MOST_NS or upper_ns > _MOST_OF_A_QUARTER_NS or median_ns < _LEAST_NS

    def is_blatant(self, reference_ns: int) -> bool:
        """Tell if a quarter of the calls takes far longer, or most of them come when others have the device."""
        return self._misses_most or self._upper_quartile_ns - reference_ns > _BLATANT_NS

    def described(self, reference_ns: int) -> str:
        """Describe the fault of the phase: calls that others held up, or calls that take longer."""
        if self._misses_most:
            return (
                f"others have the device before {self.missed} of {self.missed + len(self.differences_ns)} empty calls"
            )
        more = [f"{(ns - reference_ns) / 1e3:.1f} us" for ns in (self.median_ns, self._upper_quartile_ns)]
        return f"empty calls take {more[0]} longer than without a candidate, and one in four {more[1]}"

    @property
    def _misses_most(self) -> bool:
        return self.missed > len(self.differences_ns)

    @property
    def _upper_quartile_ns(self) -> float:
        ordered = sorted(self.differences_ns)
        return ordered[3 * len(ordered) // 4] if ordered else 0
