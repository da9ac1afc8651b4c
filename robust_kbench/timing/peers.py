"""Calls of trusted contestants: what a call costs besides its kernel, which the candidate's are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robust_kbench.guards.thresholds import SPREADS, spread_of
from robust_kbench.schema.observation import Observation
from robust_kbench.timing import statistics

_LAUNCH_ALLOWANCE_NS = 60_000
_OUTSIDE_ALLOWANCE_NS = 5_000


class Peers:
    """What baselines have shown so far in a session."""

    def __init__(self) -> None:
        self._latest: Observation | None = None
        self._gaps_ns: list[int] = []
        self._outside_ns: list[int] = []

    def add(self, seen: Observation) -> None:
        """One more call of a baseline."""
        self._latest = replace(seen, outputs={})
        self._gaps_ns += [seen.elapsed_ns - seen.event_ns] if seen.event_ns is not None else []
        self._outside_ns.append(seen.outside_ns)

    def beside(self, seen: Observation) -> Observation:
        """A call of the candidate, without its outputs, beside the baselines' latest one."""
        peer = self._latest
        event_ns = peer.event_ns if peer else None
        wall_ns = peer.wall_ns if peer else None
        return replace(
            seen,
            outputs={},
            peer_wake_ns=_wake_ns(peer, seen) if peer else None,
            peer_outside_ns=int(statistics.median(self._outside_ns)) if self._outside_ns else None,
            peer_calibration=peer.calibration if peer else None,
            peer_gap_ns=peer.elapsed_ns - event_ns if peer and event_ns is not None else None,
            peer_wall_gap_ns=wall_ns - event_ns if wall_ns is not None and event_ns is not None else None,
        )

    def charge_ns(self, seen: Observation) -> int:
        """The time that a call of the candidate is charged with; baselines forge nothing and need no such bound.

        On the cpu device processor time off the clock is added to it, as far as that is more than baselines need.
        """
        if seen.event_ns is None:
            usual = _usual(self._outside_ns, _OUTSIDE_ALLOWANCE_NS)
            return seen.elapsed_ns + (max(0, seen.outside_ns - usual) if self._outside_ns else 0)
        return sample_ns(seen, _usual(self._gaps_ns, _LAUNCH_ALLOWANCE_NS))


def _wake_ns(peer: Observation, seen: Observation) -> int:
    """How long `peer` took to wake up, to be compared with `seen`, of which the waiting may not be known."""
    return peer.wake_ns if seen.waited_ns is None else peer.waking_ns


def _usual(values_ns: Sequence[int], allowance_ns: int) -> int:
    """What is usual, and `allowance_ns` or six times the spread more."""
    usual = int(statistics.median(values_ns)) if values_ns else 0
    return usual + max(allowance_ns, int(SPREADS * spread_of(values_ns)))


def sample_ns(seen: Observation, allowance_ns: int | None = None) -> int:
    """The time that a call is charged with.

    On the cpu device the judge's clock. On a CUDA device the worker's event time, which leaves out the launch, but no
    less than the judge's clock minus `allowance_ns`, unless that is None: a forged event gains no more.
    """
    if seen.event_ns is None:
        return seen.elapsed_ns
    return seen.event_ns if allowance_ns is None else max(seen.event_ns, seen.elapsed_ns - allowance_ns)
