"""Calls of trusted contestants: what a call costs besides its kernel, which the candidate's are held against."""

from __future__ import annotations

from dataclasses import replace

from robust_kbench.guards.thresholds import SPREADS, spread_of
from robust_kbench.schema.observation import Observation
from robust_kbench.timing import statistics

_LAUNCH_ALLOWANCE_NS = 60_000


class Peers:
    """What baselines have shown so far in a session."""

    def __init__(self) -> None:
        self._latest: Observation | None = None
        self._gaps_ns: list[int] = []

    def add(self, seen: Observation) -> None:
        """One more call of a baseline."""
        self._latest = replace(seen, outputs={})
        self._gaps_ns += [seen.elapsed_ns - seen.event_ns] if seen.event_ns is not None else []

    def beside(self, seen: Observation) -> Observation:
        """A call of the candidate, without its outputs, beside the baselines' latest one."""
        peer = self._latest
        event_ns = peer.event_ns if peer else None
        wall_ns = peer.wall_ns if peer else None
        return replace(
            seen,
            outputs={},
            peer_wake_ns=peer.waking_ns if peer else None,
            peer_calibration=peer.calibration if peer else None,
            peer_gap_ns=peer.elapsed_ns - event_ns if peer and event_ns is not None else None,
            peer_wall_gap_ns=wall_ns - event_ns if wall_ns is not None and event_ns is not None else None,
        )

    def charge_ns(self, seen: Observation) -> int:
        """The time that a call of the candidate is charged with; baselines forge nothing and need no such bound."""
        usual = int(statistics.median(self._gaps_ns)) if self._gaps_ns else 0
        return sample_ns(seen, usual + max(_LAUNCH_ALLOWANCE_NS, int(SPREADS * spread_of(self._gaps_ns))))


def sample_ns(seen: Observation, allowance_ns: int | None = None) -> int:
    """The time that a call is charged with.

    On the cpu device the judge's clock. On a CUDA device the worker's event time, which leaves out the launch, but no
    less than the judge's clock minus `allowance_ns`, unless that is None: a forged event gains no more.
    """
    if seen.event_ns is None:
        return seen.elapsed_ns
    return seen.event_ns if allowance_ns is None else max(seen.event_ns, seen.elapsed_ns - allowance_ns)
