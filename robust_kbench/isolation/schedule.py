"""What a worker has used of the processor, and how long others kept it waiting, seen while it is stopped.

A thread that can run and does not, waits: the kernel counts that in /proc/PID/schedstat, for the first thread. It waits
for the worker's own threads too, which is no excuse: what they ran is taken off. It may also wait for children that
come and go unseen, so nothing is excused when any process or thread was created on this machine meanwhile: the last
process id that the kernel gave away has then changed, in whatever namespace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_CPUCLOCK_SCHED = 2


@dataclass(frozen=True)
class Turn:
    """What a stopped worker has used and waited so far, in ns; `is_known` where the kernel tells all of it.

    `processes` and `threads` count those of its tree. `ran_ns` and `waited_ns` are of its first thread, `others_ran_ns`
    of its other threads, those that have ended too. `children_ns` has what each process that it has started has used.
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
        """Processor time of the whole tree since then; None where that is uncertain, because a child is gone."""
        if not (self.is_known and earlier.is_known) or not earlier.children_ns.keys() <= self.children_ns.keys():
            return None
        own_ns = self.ran_ns + self.others_ran_ns - earlier.ran_ns - earlier.others_ran_ns
        return own_ns + sum(self.children_ns.values()) - sum(earlier.children_ns.values())

    def waited_since(self, earlier: Turn) -> int | None:
        """How long the first thread stood in a run queue behind foreign processes; None where that is uncertain."""
        is_alone = self.processes == earlier.processes == 1 and self.last_pid == earlier.last_pid
        if not (is_alone and self.is_known and earlier.is_known):
            return None
        others_ns = max(0, self.others_ran_ns - earlier.others_ran_ns)
        return max(0, self.waited_ns - earlier.waited_ns - others_ns)


def look(pid: int, members: Sequence[int]) -> Turn:
    """The turn of the stopped worker `pid`, whose tree has `members`; of a running one it is up to a clock tick old."""
    threads = sum(map(_threads, members))
    try:
        ran, waited = map(int, _read(f"/proc/{pid}/schedstat").split()[:2])
        last_pid = int(_read("/proc/loadavg").split()[-1])
        others_ns = max(0, processor_ns(pid) - ran)
        children_ns = {member: processor_ns(member) for member in members if member != pid}
        return Turn(True, last_pid, len(members), threads, ran, waited, others_ns, children_ns)
    except (OSError, ValueError):
        return Turn(processes=len(members), threads=threads)


def processor_ns(pid: int) -> int:
    """Processor time of a process with all its threads, those that have ended too. Raises OSError when it is gone."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)  # clock_getcpuclockid of POSIX


def total_processor_ns(members: Sequence[int]) -> int:
    """Processor time of these processes; those that are gone count nothing."""
    total = 0
    for member in members:
        try:
            total += processor_ns(member)
        except OSError:  # it has ended meanwhile
            continue
    return total


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
