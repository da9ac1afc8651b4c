"""How long a worker was kept waiting for a processor by others, seen from outside while it is stopped.

A thread that can run and does not, waits: the kernel counts that in /proc/PID/schedstat, for the first thread. It waits
for the worker's own threads too, which is no excuse: what they ran is taken off. It may also wait for children that
come and go unseen, so nothing is excused when any process or thread was created on this machine meanwhile: the last
process id that the kernel gave away has then changed, in whatever namespace.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from robust_kbench.isolation import processes

_CPUCLOCK_SCHED = 2


@dataclass(frozen=True)
class Turn:
    """What a stopped worker has used and waited so far, in ns; `is_known` where the kernel tells all of it.

    `processes` and `threads` count those of its tree. `ran_ns` and `waited_ns` are of its first thread, `others_ran_ns`
    of its other threads, those that have ended too.
    """

    is_known: bool = False
    last_pid: int = 0
    processes: int = 1
    threads: int = 1
    ran_ns: int = 0
    waited_ns: int = 0
    others_ran_ns: int = 0

    def waited_since(self, earlier: Turn) -> int:
        """How long the first thread stood in a run queue behind foreign processes; 0 where that is uncertain."""
        is_alone = self.processes == earlier.processes == 1 and self.last_pid == earlier.last_pid
        if not (is_alone and self.is_known and earlier.is_known):
            return 0
        others_ns = max(0, self.others_ran_ns - earlier.others_ran_ns)
        return max(0, self.waited_ns - earlier.waited_ns - others_ns)


def look(pid: int) -> Turn:
    """The turn of the stopped worker `pid`; of a running one the numbers are up to a clock tick old."""
    members = processes.tree(pid)
    threads = sum(map(_threads, members))
    try:
        ran, waited = map(int, _read(f"/proc/{pid}/schedstat").split()[:2])
        last_pid = int(_read("/proc/loadavg").split()[-1])
        others_ns = max(0, processor_ns(pid) - ran)
        return Turn(True, last_pid, len(members), threads, ran, waited, others_ns)
    except (OSError, ValueError):
        return Turn(processes=len(members), threads=threads)


def processor_ns(pid: int) -> int:
    """Processor time of a process with all its threads, those that have ended too. Raises OSError when it is gone."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)  # clock_getcpuclockid of POSIX


def tree_processor_ns(pid: int) -> int:
    """Processor time of the worker `pid` and of the descendants that it has at this moment."""
    total = 0
    for member in processes.tree(pid):
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
