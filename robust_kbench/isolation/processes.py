"""Process trees in /proc: find their members, count, stop, resume and kill them."""

from __future__ import annotations

import contextlib
import os
import signal
import time


def tree(root: int) -> list[int]:
    """List `root` and all its descendants, as process ids of ours."""
    found = [root]
    for pid in found:
        found += children(pid)
    return found


def halt(root: int) -> list[int]:
    """List `root` and all its descendants, and signal each to stop as soon as it is found: then it starts no other."""
    found, new = list[int](), [root]
    while new:
        send(new, signal.SIGSTOP)
        found += new
        new = [child for pid in new for child in children(pid)]
    return found


def state(pid: int) -> str:
    """Return the state letter of /proc (R, S, D, …) of a thread that has not stopped; T when all living ones have.

    Z when none lives, X when the process is gone. A first thread that has ended stays as a zombie beside the threads
    that go on.
    """
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return "X"
    letters = {_task_state(pid, task) for task in tasks} - {"X"}
    living = letters - {"Z"}
    return min(living - {"T", "t"}, default="T" if living else "Z" if letters else "X")


def _task_state(pid: int, task: str) -> str:
    try:
        return chr(read(f"/proc/{pid}/task/{task}/stat").rpartition(b") ")[2][0])
    except (OSError, IndexError):  # this thread has ended meanwhile
        return "X"


_YIELDS_S, _PAUSE_S = 0.002, 0.001


def stop(pids: list[int], timeout_s: float = 1.0) -> None:
    """Stop `pids` and wait until the kernel shows every thread of them stopped (or gone).

    Raises TimeoutError otherwise, for a process that still runs could slow or read the work that follows.
    """
    send(pids, signal.SIGSTOP)
    started = time.monotonic()
    # All of them in one look: one that was seen to stop may have been woken by another that still ran. And once more a
    # signal: what lets a process run on also takes back the one that had not stopped it yet.
    while running := [pid for pid in pids if state(pid) not in "TZX"]:
        taken_s = time.monotonic() - started
        if taken_s > timeout_s:
            raise TimeoutError(f"process {running[0]} does not stop")
        send(running, signal.SIGSTOP)
        # They may need our core in order to stop. Two judges that yield hand it to each other, for a second and more.
        if taken_s < _YIELDS_S:
            os.sched_yield()
        else:
            time.sleep(_PAUSE_S)


def resume(pids: list[int]) -> None:
    """Let stopped processes run again, by a signal."""
    send(pids, signal.SIGCONT)


def send(pids: list[int], which: signal.Signals) -> None:
    """Signal each of `pids`; processes that are gone are skipped."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, which)


def kill_tree(root: int) -> None:
    """Kill `root` and its descendants, until no new ones turn up; in a pid namespace the first round ends all."""
    for _ in range(100):
        members = tree(root)
        send(members, signal.SIGSTOP)  # nobody forks while we count
        members = tree(root)
        send(members[::-1], signal.SIGKILL)
        if all(state(pid) in "ZX" for pid in members):
            return
        time.sleep(0.001)


def children(pid: int) -> list[int]:
    """List the direct children of `pid`."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, read(f"/proc/{pid}/task/{task}/children").split())
    return found


def ended_children_s(pid: int) -> float:
    """Return the processor seconds of the ended children of `pid`, to within clock ticks; 0 when it is gone."""
    with contextlib.suppress(OSError):
        fields = read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
        return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def private_bytes(pid: int) -> int:
    """Return the memory that belongs to `pid` alone or was inherited by it: no files, nothing shared."""
    return _status_bytes(pid, "RssAnon:")


def shared_bytes(pid: int) -> int:
    """Return the memory without a file on disk that `pid` shares, or could share, with others."""
    return _status_bytes(pid, "RssShmem:")


def threads(pid: int) -> int:
    """Count the threads of `pid`; 0 when it is gone."""
    return _number(f"/proc/{pid}/status", "Threads:")


def available_bytes() -> int:
    """Return the memory of the machine that can still be had, without swapping."""
    return _number("/proc/meminfo", "MemAvailable:") * 1024


def _status_bytes(pid: int, key: str) -> int:
    return _number(f"/proc/{pid}/status", key) * 1024


def _number(path: str, key: str) -> int:
    with contextlib.suppress(OSError):
        for line in read(path).split(b"\n"):  # its name, which a process may choose, has no other end of a line
            if line.startswith(key.encode()):
                return int(line.split()[1])
    return 0


def read(path: str) -> bytes:
    """Read a file of /proc, in a third of the time that `open` takes."""
    descriptor, content = os.open(path, os.O_RDONLY | os.O_CLOEXEC), b""
    try:
        while piece := os.read(descriptor, 1 << 16):
            content += piece
        return content
    finally:
        os.close(descriptor)
