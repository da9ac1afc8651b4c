"""Calls of trusted contestants: they show the cost of a call besides its kernel, and bound that of the candidate's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robust_kbench.guards.thresholds import SPREADS, WAKE_SLACK_NS, spread_of
from robust_kbench.schema.observation import Observation, Window
from robust_kbench.timing import statistics

_OUTSIDE_ALLOWANCE_NS = 5_000
_BEFORE_ALLOWANCE_NS = 50_000  # our own code comes from memory then, and is not the same for all abis
_CHANGE_NS = 160_000
"""Allowance for a change of contexts, some 145 us. A worker that uses the device in between makes two more."""
_DEVICE_ALLOWANCE_NS, _HOST_ALLOWANCE_NS = 30_000, 300_000
"""Allowances. A worker that takes turns while inputs are written delays that by 0.3 ms, or its start by 1 ms."""


class Peers:
    """Calls of baselines so far in a session, as a measure of the candidate's calls."""

    def __init__(self) -> None:
        self._latest: Observation | None = None
        self._most_ns: tuple[int, int] | None = None
        self._delays_ns: tuple[list[int], list[int]] = ([], [])
        self._outside = _Usual(_OUTSIDE_ALLOWANCE_NS)
        self._before = _Usual(_BEFORE_ALLOWANCE_NS, is_early=True)

    def expect(self, delays_ns: tuple[int, int]) -> None:
        """Set the time of the judge's own work before there was any worker.

        With a worker, that work may begin with a change of contexts. A worker that used the device before each call
        would otherwise make its delay the usual one.
        """
        device_ns, host_ns = delays_ns
        self._most_ns = device_ns + _CHANGE_NS, host_ns + _CHANGE_NS

    def add(self, seen: Observation, *, is_first: bool = False) -> None:
        """Add one more call of a baseline. A first one, which loads or compiles, does not count for the usual use."""
        self._latest = replace(seen, outputs={})
        if seen.clock is not None:  # else the judge did not know where results would be, and had less to write
            for delays_ns, delay_ns in zip(self._delays_ns, seen.delays_ns, strict=True):
                delays_ns.append(delay_ns)
        if not is_first:
            self._outside.add(seen.outside)
            self._before.add(_before(seen))

    def beside(self, seen: Observation) -> Observation:
        """Return a call of the candidate, without its outputs, beside the baselines' latest one."""
        peer = self._latest
        return replace(
            seen,
            outputs={},
            peer_wake_ns=_wake_ns(peer, seen) if peer else None,
        )

    def charge_ns(self, seen: Observation) -> int:
        """Return the time that a call of the candidate is charged with; baselines do nothing off the clock.

        Work off the clock is added to it, as far as that is more than baselines need.
        """
        if seen.clock == "judge":
            return seen.elapsed_ns + self._outside.excess_ns(seen.outside) + self._before.excess_ns(_before(seen))
        return seen.elapsed_ns + self.delay_ns(seen) + seen.taking_excess_ns

    def delay_ns(self, seen: Observation) -> int:
        """Return the excess of the judge's own work over that before any call of a baseline: others had the device.

        The least of those times is the time that the work takes: use of the device by others can only add to it.
        """
        most_ns = self._most_ns or seen.delays_ns
        usual_ns = [min([*known, most]) for known, most in zip(self._delays_ns, most_ns, strict=True)]
        allowances = (_DEVICE_ALLOWANCE_NS, _HOST_ALLOWANCE_NS)
        triples = zip(seen.delays_ns, usual_ns, allowances, strict=True)
        return max(0, *(delay_ns - usual - allowed_ns for delay_ns, usual, allowed_ns in triples))


class _Usual:
    """Usual need of baselines' calls in a window off the clock, and the excess of a call over it.

    A process that comes and goes between two looks is in no account, and leaves nothing but a process id that was given
    away. Threads take ids, too, as do others on this machine; so an id alone costs nothing. Such a process can have
    worked off the clock for as long as its window lasts. A kernel that starts threads or children in a call, and waits
    for them, has no longer windows than baselines.

    A call of a baseline of which the use is not known is left out. Where such calls counted as zero, honest kernels
    were charged 50 us a call on a busy machine.

    `is_early`: the inputs are not there yet, and little can be gained. Such windows have a long tail; a call is charged
    only beyond the need that one in a hundred of baselines' calls exceeds. Charging five in a hundred moved the median
    of a kernel of 0.02 ms by 0.2 %, for baselines are not charged.
    """

    def __init__(self, allowance_ns: int, *, is_early: bool = False) -> None:
        self._allowance_ns, self._is_early = allowance_ns, is_early
        self._used_ns: list[int] = []
        self._took_ns: list[int] = []

    def add(self, window: Window) -> None:
        """Add the window of one more call of a baseline."""
        if window.used_ns is not None:
            self._used_ns.append(window.used_ns)
        self._took_ns.append(window.took_ns)

    def excess_ns(self, window: Window) -> int:
        """Return the excess of the window's use over the usual one; 0 where no baseline has shown the usual one."""
        known_ns = window.used_ns or 0
        used_ns = _beyond(known_ns, self._used_ns, self._allowance_ns)
        if self._is_early and self._used_ns:
            used_ns = min(used_ns, max(0, known_ns - _rare(self._used_ns)))
        if not window.may_miss:
            return used_ns
        return max(used_ns, _beyond(window.took_ns, self._took_ns, WAKE_SLACK_NS))


def _before(seen: Observation) -> Window:
    """Sum the windows off the clock before the inputs are there."""
    windows = [seen.preparation, *([seen.rehearsal] if seen.rehearsal else [])]
    return Window(
        sum(window.took_ns for window in windows),
        sum(window.used_ns or 0 for window in windows),
        may_miss=any(window.may_miss for window in windows),
    )


def _wake_ns(peer: Observation, seen: Observation) -> int:
    """Return the time that `peer` took to wake up, comparable with `seen`, for which the waiting may be unknown."""
    return peer.wake_ns if seen.waited_ns is None else peer.waking_ns


def _beyond(value_ns: int, peers_ns: Sequence[int], allowance_ns: int) -> int:
    """Return the excess over the usual value among peers; 0 where there are none."""
    return max(0, value_ns - _usual(peers_ns, allowance_ns)) if peers_ns else 0


def _usual(values_ns: Sequence[int], allowance_ns: int) -> int:
    """Return the usual value plus `allowance_ns` or six times the spread, whichever is more."""
    usual = int(statistics.median(values_ns)) if values_ns else 0
    return usual + max(allowance_ns, int(SPREADS * spread_of(values_ns)))


def _rare(values_ns: Sequence[int]) -> int:
    """Return the value that one in a hundred exceeds; of fewer, the largest."""
    return sorted(values_ns)[int(0.99 * len(values_ns))]
