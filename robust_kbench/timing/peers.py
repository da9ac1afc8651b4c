"""Calls of trusted contestants: they show the cost of a call besides its kernel, and bound that of the candidate's."""

from __future__ import annotations

from collections.abc import Sequence

from robust_kbench.guards.groups import spread_of
from robust_kbench.schema.observation import Observation, Window
from robust_kbench.timing import statistics

_ENDING_ALLOWANCE_NS, _STOP_SLACK_NS = 5_000, 50_000
"""Allowances for what ends a call, by processor time, and by the clock: stops vary by tens of microseconds."""
_SPREADS = 6
"""Median absolute deviations that a time may be off by: two clocks are seldom that far apart by chance."""
_SURE_SHARE = 0.1
_BEFORE_ALLOWANCE_NS = 50_000  # our own code comes from memory then, and is not the same for all abis
_CHANGE_NS = 160_000
"""Allowance for a change of contexts, some 145 us. A worker that uses the device in between makes two more."""
_DEVICE_ALLOWANCE_NS, _HOST_ALLOWANCE_NS = 30_000, 300_000
"""Allowances. A worker that takes turns while inputs are written delays that by 0.3 ms, or its start by 1 ms."""


class Peers:
    """Calls of baselines so far in a session, as a measure of the candidate's calls."""

    def __init__(self) -> None:
        self._most_ns: tuple[int, int] | None = None
        self._delays_ns: tuple[list[int], list[int]] = ([], [])
        self._endings_ns: list[int] = []
        """Processor time of calls beyond the time that they took: what ends a call and stops its worker."""
        self._stops_ns: list[int] = []
        self._waits_ns: list[int] = []
        self._before = _Before()

    def expect(self, delays_ns: tuple[int, int]) -> None:
        """Set the time of the judge's own work before there was any worker.

        With a worker, that work may begin with a change of contexts. A worker that used the device before each call
        would otherwise make its delay the usual one.
        """
        device_ns, host_ns = delays_ns
        self._most_ns = device_ns + _CHANGE_NS, host_ns + _CHANGE_NS

    def add(self, seen: Observation, *, is_first: bool = False) -> None:
        """Add one more call of a baseline. A first one, which loads or compiles, does not count for the usual use."""
        if seen.clock is not None:  # else the judge did not know where results would be, and had less to write
            for delays_ns, delay_ns in zip(self._delays_ns, seen.delays_ns, strict=True):
                delays_ns.append(delay_ns)
        if not is_first:
            self._stops_ns.append(seen.stopping_ns)
            self._waits_ns.append(seen.waited_ns)
            self._before.add(seen)
            if seen.used_ns is not None:
                self._endings_ns.append(seen.used_ns - _without(seen, seen.waited_ns))

    def time_ns(self, seen: Observation) -> int:
        """Return the time of a baseline's call. On a processor its wait behind other processes is left out."""
        return self._no_less_than_used(seen, seen.waited_ns) if seen.clock == "judge" else seen.elapsed_ns

    def charge_ns(self, seen: Observation) -> int:
        """Return the time that a call of the candidate is charged with.

        It includes work before the inputs were there, or before the call on a CUDA device, as far as that is more than
        baselines need.

        A process that comes and goes between two looks is in no account, and leaves nothing but a process id that was
        given away. Threads take ids, too, as do others on this machine; so an id alone costs nothing. The candidate may
        have waited for such a process: then only what waking up takes is left out. The process can have worked until
        the worker's stop. A kernel that waits for its threads or children in a call is stopped as soon as baselines
        are.
        """
        if seen.clock != "judge":
            return seen.elapsed_ns + self.delay_ns(seen) + seen.taking_excess_ns
        is_unsure = seen.may_miss or seen.used_ns is None
        waited_ns = min(seen.waited_ns, _low(self._waits_ns)) if is_unsure else seen.waited_ns
        unseen_ns = _beyond(seen.stopping_ns, self._stops_ns, _STOP_SLACK_NS) if is_unsure else 0
        time_ns = max(self._no_less_than_used(seen, waited_ns), _without(seen, waited_ns) + unseen_ns)
        return time_ns + self._before.excess_ns(seen)

    def _no_less_than_used(self, seen: Observation, waited_ns: int) -> int:
        """Return the time of a call without its wait, and no less than it has used without what ends a baseline's.

        So work after DONE counts, and a wait after DONE is no excuse for anything before it.
        """
        time_ns = _without(seen, waited_ns)
        if seen.used_ns is None or not self._endings_ns:
            return time_ns
        ending_ns = max(0, int(statistics.median(self._endings_ns)))
        return max(time_ns, seen.used_ns - ending_ns - _ENDING_ALLOWANCE_NS)

    def delay_ns(self, seen: Observation) -> int:
        """Return the excess of the judge's own work over that before any call of a baseline: others had the device.

        The least of those times is the time that the work takes: use of the device by others can only add to it.
        """
        most_ns = self._most_ns or seen.delays_ns
        usual_ns = [min([*known, most]) for known, most in zip(self._delays_ns, most_ns, strict=True)]
        allowances = (_DEVICE_ALLOWANCE_NS, _HOST_ALLOWANCE_NS)
        triples = zip(seen.delays_ns, usual_ns, allowances, strict=True)
        return max(0, *(delay_ns - usual - allowed_ns for delay_ns, usual, allowed_ns in triples))


class _Before:
    """Need of baselines' calls in the windows before the inputs are there, and the excess of a call over it.

    Little can be gained there. Such windows have a long tail; a call is charged only beyond the need that one in a
    hundred of baselines' calls exceeds. Charging five in a hundred moved the median of a kernel of 0.02 ms by 0.2 %,
    for baselines are not charged.
    """

    def __init__(self) -> None:
        self._used_ns: list[int] = []
        self._took_ns: list[int] = []

    def add(self, seen: Observation) -> None:
        """Add one more call of a baseline."""
        window = _before(seen)
        self._used_ns.append(window.used_ns)
        self._took_ns.append(window.took_ns)

    def excess_ns(self, seen: Observation) -> int:
        """Return the excess of a call's use over the usual one; 0 where no baseline has shown the usual one."""
        if not self._used_ns:
            return 0
        window = _before(seen)
        beyond_ns = _beyond(window.used_ns, self._used_ns, _BEFORE_ALLOWANCE_NS)
        used_ns = min(beyond_ns, max(0, window.used_ns - _rare(self._used_ns)))
        return max(used_ns, _beyond(window.took_ns, self._took_ns, _STOP_SLACK_NS)) if window.may_miss else used_ns


def _without(seen: Observation, waited_ns: int) -> int:
    return max(0, seen.elapsed_ns - waited_ns)


def _before(seen: Observation) -> Window:
    """Sum the windows off the clock before the inputs are there."""
    windows = [seen.preparation, *([seen.rehearsal] if seen.rehearsal else [])]
    return Window(
        sum(window.took_ns for window in windows),
        sum(window.used_ns for window in windows),
        may_miss=any(window.may_miss for window in windows),
    )


def _beyond(value_ns: int, peers_ns: Sequence[int], allowance_ns: int) -> int:
    """Return the excess over the usual value among peers; 0 where there are none."""
    return max(0, value_ns - _usual(peers_ns, allowance_ns)) if peers_ns else 0


def _usual(values_ns: Sequence[int], allowance_ns: int) -> int:
    """Return the usual value plus `allowance_ns` or six times the spread, whichever is more."""
    usual = int(statistics.median(values_ns)) if values_ns else 0
    return usual + max(allowance_ns, int(_SPREADS * spread_of(values_ns)))


def _low(values_ns: Sequence[int]) -> int:
    """Return the value that nine in ten exceed; 0 where there is none."""
    return sorted(values_ns)[int(_SURE_SHARE * len(values_ns))] if values_ns else 0


def _rare(values_ns: Sequence[int]) -> int:
    """Return the value that one in a hundred exceeds; of fewer, the largest."""
    return sorted(values_ns)[int(0.99 * len(values_ns))]
