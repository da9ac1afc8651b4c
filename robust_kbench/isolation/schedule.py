"""Processor time that a worker has used, and the time that others kept it waiting, read while it is stopped.

A thread that can run and does not, waits: the kernel counts that in /proc/PID/schedstat, for the first thread. It waits
for the worker's own threads too, which is no excuse: their running time is taken off. Where a worker may start
processes, it may also have waited for children that came and went unseen. Then the last process id that the kernel gave
away has changed, in any namespace.

A stopped process uses nothing. That is checked against the processor time of each process, and against the number of
times that each of its threads was put on a processor, which the kernel counts at once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from robust_kbench.isolation import processes

_CPUCLOCK_SCHED = 2


@dataclass(frozen=True)
class Turn:
    """Use and waiting of a stopped worker so far, in ns; `is_known` where the kernel tells all of it.

    `processes` and `threads` count those of its tree. `ran_ns` and `waited_ns` are of its first thread, `others_ran_ns`
    is of its other threads, ended ones included. `children_ns` has the use of each process that it has started.
    """

    is_known: bool = False
    last_pid: int = 0
    processes: int = 1
    threads: int = 1
    ran_ns: int = 0
    waited_ns: int = 0
    others_ran_ns: int = 0
    children_ns: Mapping[int, int] = field(default_factory=dict)

    def used_since(self, earlier: Turn) -> int | None:
        """Return the whole tree's processor time since then; None where that is uncertain, because a child is gone."""
        if not (self.is_known and earlier.is_known) or not earlier.children_ns.keys() <= self.children_ns.keys():
            return None
        own_ns = self.ran_ns + self.others_ran_ns - earlier.ran_ns - earlier.others_ran_ns
        return own_ns + sum(self.children_ns.values()) - sum(earlier.children_ns.values())

    def waited_since(self, earlier: Turn) -> int:
        """Return the ns that the first thread stood in a run queue behind other processes since; 0 where unknown."""
        if not (self.is_known and earlier.is_known):
            return 0
        others_ns = max(0, self.others_ran_ns - earlier.others_ran_ns)
        return max(0, self.waited_ns - earlier.waited_ns - others_ns)

    def may_miss(self, earlier: Turn) -> bool:
        """Tell if there are other processes in the tree, or if one may have come and gone since then.

        The first thread may have waited for them, and some of their use may be in no account.
        """
        is_known = self.is_known and earlier.is_known and self.last_pid == earlier.last_pid
        return not is_known or self.processes > 1 or earlier.processes > 1


@dataclass(frozen=True)
class Rest:
    """State of a stopped process: `starts` of each thread on a processor, and the processor time used, in ns.

    There are no `starts` where the kernel does not count them.
    """

    starts: Mapping[str, int]
    used_ns: int


@contextmanager
def own_waiting() -> Iterator[Callable[[], int]]:
    """Yield a function that tells for how many ns the calling thread has stood in a run queue: 0 where unknown."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield lambda: 0
        return
    try:
        yield lambda: _waited_ns(file)
    finally:
        os.close(file)


def _waited_ns(file: int) -> int:
    try:
        return int(os.pread(file, 80, 0).split()[1])
    except (OSError, IndexError, ValueError):  # a kernel that does not count it
        return 0


def look(pid: int, members: Sequence[int]) -> Turn:
    """Read the turn of the stopped worker `pid` with tree `members`; of a running one it is up to a clock tick old."""
    threads = sum(len(_tasks(member)) for member in members)
    try:
        ran, waited = map(int, processes.read(f"/proc/{pid}/schedstat").split()[:2])
        last_pid = int(processes.read("/proc/loadavg").split()[-1])
        others_ns = max(0, processor_ns(pid) - ran)
        children_ns = {member: processor_ns(member) for member in members if member != pid}
        return Turn(True, last_pid, len(members), threads, ran, waited, others_ns, children_ns)
    except (OSError, ValueError):
        return Turn(processes=len(members), threads=threads)


def at_rest(members: Sequence[int]) -> dict[int, Rest]:
    """Return the Rest of each of the stopped processes `members` that is still there."""
    resting = {}
    for pid in members:
        with contextlib.suppress(OSError):
            resting[pid] = Rest(_starts(pid), processor_ns(pid))
    return resting


def woken_ns(resting: Mapping[int, Rest]) -> int:
    """Sum the processor time since then of stopped processes of which a thread was put on a processor.

    Time alone proves nothing: a process seems stopped for some microseconds before it has left its processor, and only
    then is the time since the last clock tick put to its account. Starts alone prove nothing either: a thread may be
    interrupted on its way to the stop. One that is gone was dead before, or was killed.
    """
    total_ns = 0
    for pid, before in resting.items():
        more_ns = total_processor_ns([pid]) - before.used_ns
        if more_ns > 0 and before.starts and _starts(pid) != before.starts:
            total_ns += more_ns
    return total_ns


def processor_ns(pid: int) -> int:
    """Return the processor time of a process and all its threads, also ended ones. Raises OSError when it is gone."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)  # clock_getcpuclockid of POSIX


def total_processor_ns(members: Sequence[int]) -> int:
    """Return the processor time of these processes; processes that are gone count nothing."""
    total = 0
    for member in members:
        try:
            total += processor_ns(member)
        except OSError:  # it has ended meanwhile
            continue
    return total


def _starts(pid: int) -> dict[str, int]:
    """Count how often each thread of a process was put on a processor; empty where the kernel does not count that."""
    starts = {}
    for task in _tasks(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            starts[task] = int(processes.read(f"/proc/{pid}/task/{task}/schedstat").split()[2])
    return starts if any(starts.values()) else {}


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
