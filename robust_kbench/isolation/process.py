"""Handle of one worker: load, call, park, kill. All waiting is bounded and all answers are claims."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_kbench.errors import HarnessError, WorkerCrashed, WorkerTimedOut
from robust_kbench.hostile_folders import discard, holds_more
from robust_kbench.isolation import processes, schedule
from robust_kbench.isolation.protocol import Answer, Loaded, Raised, Returned, parse_answer
from robust_kbench.worker import wire

if TYPE_CHECKING:
    from robust_kbench.isolation.arena import Slots
    from robust_kbench.isolation.pool import Allowance
    from robust_kbench.isolation.resident import Used

LOG_LIMIT_BYTES = 1024 * 1024
_LOG_TAIL_BYTES = 4096
_BIRTH_TIMEOUT_S = 20.0
_SPINS = 2000  # looks at a word between two looks at everything else, about 0.1 ms
_SPINNING_S, _SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 20e-6, 0.004  # where nothing is timed
_PATROL_S, _SLOW_PATROL_S = 0.05, 0.25
_STOP_TIMEOUT_S = 2.0
COMPILING_S = 60.0
"""Most further seconds of a call, while processes work that its worker has started, such as a compiler."""
_MOST_HELPS = 5
"""Calls of one worker that may take all these seconds."""
_TURN_SHARE, _WORKING_SHARE = 1 / 6, 0.05
"""The seconds are granted in turns, each for what those processes have worked in the turn before. A compiler that is
written in Python may go on behind the ones that it starts."""
_LEAST_HELP_S = 0.02  # processor time of children that have ended is known to a tick of 10 ms
_OPENING = threading.Semaphore(2)
"""Limit of workers that open a device at once.

The driver creates one context after the other: all of many that begin at once would have to wait for the last.
"""
_LONGEST_END_S, _MOST_MESSAGES = 30.0, 4096
_LEAST_FREE_DISK_BYTES = 256 << 20
_LEAST_FREE_MEMORY_BYTES = 512 << 20
_MOST_FILES = 65_536
"""Most files of a worker in its own folder.

Triton's cache has some hundred; a file system has room for a limited number.
"""
_MOST_THREADS = 1024
"""Most threads of a worker and all that it has started. Honest pools have one for each core that they see."""
_STOPPED_ALLOWANCE_NS = 100_000
"""Processor time that a thread may use when it is let go on only to stop again."""


@dataclass(frozen=True)
class Reply:
    """Reply to one finished call. The worker is stopped when this is returned."""

    answer: Answer
    elapsed_ns: int
    """Time from GO, before the worker is woken, to DONE on the judge's clock."""
    stopping_ns: int = 0
    """Time from DONE to its stop: a window in which it could work off the clock."""
    preparation_ns: int = 0
    """Time from the request to its stop behind PREPARED: a window for work that needs shapes and addresses only."""
    rehearsal_ns: int | None = None
    """Time from WAKE to its stop behind READY: another such window. None where nothing is rehearsed."""
    judge_waited_ns: int = 0
    """Part of `elapsed_ns` for which the judge itself waited for a processor, and could not see DONE."""


class Worker:
    """Worker: one untrusted process. A method that fails kills it, and raises WorkerCrashed or WorkerTimedOut."""

    def __init__(
        self,
        channel: socket.socket,
        control: int,
        log: int,
        status: int,
        scratch: Path,
        allowance: Allowance,
        arena: Slots,
    ) -> None:
        self._channel = channel
        self._control = mmap.mmap(control, wire.CONTROL_BYTES)
        os.close(control)
        self._words = memoryview(self._control).cast("Q")
        self._log_fd, self._status_fd = log, status
        os.set_blocking(log, False)
        os.set_blocking(status, False)
        self._log = bytearray()
        self._log_bytes = 0
        self._status = bytearray()
        self._is_status_closed = False
        self.scratch = scratch
        """Folder of the worker, which it may write to. The judge is the only other reader."""
        self._allowance = allowance
        self.is_suspect = False
        """True if the judge has ended it to find out how much of a device's memory comes back."""
        self.arena = arena
        """Memory of the judge's that the worker maps."""
        self._spin, self._is_gone, self._is_closed = True, False, False
        self.is_surely_gone = True
        """False where its end took so long that something of it may still be there."""
        self._ending = threading.RLock()  # one thread may kill what another one has called, and closes
        self._nonce = 0
        self._patrolled = 0.0
        self._stopped: list[int] = []
        self._stopped_ns = 0
        self._helped_s = 0.0
        self._help_left_s = _MOST_HELPS * COMPILING_S
        self._resting: dict[int, schedule.Rest] = {}
        self.layers: tuple[str, ...] = ()
        """Layers of the sandbox in force, as our own code reported them before it read its first request."""
        self.pid, self._init, self._guardian = self._await_birth()
        self._inherited_bytes = processes.private_bytes(self.pid)
        self._is_disk_limited = (
            _free_disk_bytes(scratch.parent) > 2 * _LEAST_FREE_DISK_BYTES
        )  # else others have filled it
        self._free_files = _free_files(scratch.parent)
        self._most_files = min(_MOST_FILES, self._free_files // 2)
        self._is_memory_limited = processes.available_bytes() > 2 * _LEAST_FREE_MEMORY_BYTES

    def open(self, device: str, *, few_queues: bool = False, spin: bool, timeout_s: float) -> None:
        """Have the worker open its device. Nothing of a submission is there yet, and calls are empty.

        `few_queues`: of a CUDA device, so that streams may have to wait for each other.
        """
        request = {"device": device, "few_queues": few_queues}
        with _OPENING:
            self._begin("open", request, "opening the device", spin=spin, timeout_s=timeout_s)

    def load(self, request: dict[str, Any], *, spin: bool, timeout_s: float) -> Loaded | Raised:
        """Have the worker import the submission."""
        return self._begin("load", request, "importing the submission", spin=spin, timeout_s=timeout_s)

    def rehearse(self, request: dict[str, Any], *, spin: bool, timeout_s: float) -> Loaded | Raised:
        """Have a worker that runs sources of ours call one of them, see worker.session; nothing of it is judged."""
        return self._begin("rehearse", request, "calling ahead", spin=spin, timeout_s=timeout_s)

    def _begin(
        self, operation: str, request: dict[str, Any], what: str, *, spin: bool, timeout_s: float
    ) -> Loaded | Raised:
        nonce = _nonce()
        self._spin = spin
        memory = {"arena_bytes": self.arena.size_bytes, "results_at": self.arena.results_at}
        self._run()
        self._send({"op": operation, "nonce": nonce, "spin": spin, **memory, **request})
        self._wait(wire.FINISHED, nonce, time.monotonic() + timeout_s, what, is_on_clock=False)
        answer = self._answer(nonce)
        if not isinstance(answer, Loaded | Raised):
            raise self._crash("broke the protocol: it answered a load with something else")
        self.park()
        return answer

    def call(
        self,
        request: dict[str, Any],
        before_clock: Callable[[], None],
        before_rehearsal: Callable[[], None] | None = None,
        *,
        scalars: bytes = b"",
        copy_out: bool,
        timeout_s: float,
    ) -> Reply:
        """Call the kernel once. The callbacks run while the worker is stopped; `before_clock` writes the inputs.

        Inputs that are `scalars`, packed, come with GO: a worker that knew them earlier could draw random numbers.
        Without `before_rehearsal` nothing is rehearsed.
        """
        nonce = _nonce()
        began = self._run()
        rehearses = before_rehearsal is not None
        self._send({"op": "call", "nonce": nonce, "copy_out": copy_out, "rehearses": rehearses, **request})
        self._wait(wire.PREPARED, nonce, time.monotonic() + timeout_s, "preparing a call")
        self.park()
        preparation_ns = self._stopped_ns - began
        rehearsal_ns = None
        if before_rehearsal is not None:
            before_rehearsal()
            woken = self._wake(wire.WAKE, nonce)
            self._wait(wire.READY, nonce, time.monotonic() + timeout_s, "rehearsing a call")
            self.park()
            rehearsal_ns = self._stopped_ns - woken
        before_clock()
        self._hand_over(scalars)
        with schedule.own_waiting() as waited_ns:
            waited_before_ns = waited_ns()
            started = self._wake(wire.GO, nonce)
            deadline = time.monotonic() + timeout_s
            self._wait(wire.DONE, nonce, deadline, "running the kernel")
            ended = time.perf_counter_ns()
            judge_waited_ns = waited_ns() - waited_before_ns if self._spin else 0  # else they share a core
        if copy_out:
            self._wait(wire.FINISHED, nonce, deadline, "copying the outputs")
        self.park()
        return Reply(
            self._answer(nonce),
            ended - started,
            stopping_ns=self._stopped_ns - ended,
            preparation_ns=preparation_ns,
            rehearsal_ns=rehearsal_ns,
            judge_waited_ns=judge_waited_ns,
        )

    def launch(
        self, request: dict[str, Any], turn: bytes, scalars: bytes, *, within_s: float
    ) -> Returned | Raised | None:
        """Have it launch a call on a CUDA device, whose gate is closed. It is stopped when this returns an answer.

        Returns None, while it runs on, where its host does not come back `within_s`: then it waits for the device.
        """
        self._nonce = _nonce()
        self._hand_over(scalars, turn)
        self._run()
        self._send({"op": "launch", "nonce": self._nonce, **request})
        if not self._comes(wire.READY, self._nonce, time.monotonic() + within_s, is_on_clock=False):
            return None
        self.park()
        return self._told()

    def prepare(self, request: dict[str, Any], *, timeout_s: float) -> None:
        """Have it make ready for a call that it launches when it is armed. It is stopped when this returns."""
        self._nonce = _nonce()
        self._hand_over(b"", bytes(wire.SCALARS_OFFSET - wire.TURN_OFFSET))
        self._run()
        self._send({"op": "launch", "nonce": self._nonce, **request})
        self._wait(wire.PREPARED, self._nonce, time.monotonic() + timeout_s, "preparing a call", is_on_clock=False)
        self.park()

    def arm(self, turn: bytes, scalars: bytes) -> None:
        """Let it launch the call that it has prepared; it runs already (see `go_on`)."""
        self._hand_over(scalars, turn)
        self._signal(wire.GO, self._nonce)

    def launched(
        self,
        deadline: float,
        at_once: Callable[[], None] | None = None,
        before_stop: Callable[[Returned | Raised], None] = lambda answer: None,
    ) -> Returned | Raised:
        """Wait until it has launched its call. It is stopped when this returns.

        `at_once` is called when it reports the launch, which is then on the clock; `before_stop` is called with its
        answer.
        """
        self._wait(wire.READY, self._nonce, deadline, "running the kernel", is_on_clock=at_once is not None)
        if at_once is not None:
            at_once()
        answer = self._told()
        before_stop(answer)
        self.park()
        return answer

    def go_on(self, waited_s: float = 0.0) -> None:
        """Let it run, if it was stopped, and check that it is well. Cheap enough to be called again and again.

        `waited_s`: for how long it has been waited for.
        """
        if self._stopped:
            self._run()
        self._patrol_now_and_then(waited_s)

    def finish(self, deadline: float) -> int:
        """Let it wait for the device. It is stopped when this returns.

        Returns its claim of the time between two events, in ns; only a trusted worker is asked for that.
        """
        self.go_on()
        self._wait(wire.DONE, self._nonce, deadline, "running the kernel", is_on_clock=False)
        self.park()
        (event_ns,) = struct.unpack_from("<Q", self._control, wire.EVENT_OFFSET)
        return int(event_ns)

    def _told(self) -> Returned | Raised:
        answer = self._answer(self._nonce)
        if isinstance(answer, Loaded):
            raise self._crash("broke the protocol: it answered a call with something else")
        return answer

    def park(self) -> None:
        """Stop the whole process tree and see it stopped."""
        if self._stopped:
            return
        stopped: set[int] = set()
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        try:
            while new := self._halt() - stopped:  # a process may fork while the others are being stopped
                if time.monotonic() > deadline:
                    raise TimeoutError("new processes keep turning up")
                if len(stopped | new) > self._allowance.processes:  # dead ones, too: all that look at them take longer
                    raise self._crowded()
                processes.stop(sorted(new))
                stopped |= new
        except TimeoutError as error:
            raise self._crash(f"cannot be stopped: {error}") from None
        self._stopped = sorted(stopped)
        self._stopped_ns = time.perf_counter_ns()
        self._resting = schedule.at_rest(self._stopped)
        if self.may_start_processes:
            self._helped_s = self._help_s(self._stopped)

    def check_parked(self) -> None:
        """Raise WorkerCrashed if anything has woken it, so that it ran, since it was stopped."""
        if schedule.woken_ns(self._resting) > _STOPPED_ALLOWANCE_NS:
            raise self._crash("ran while it was stopped")

    @cached_property
    def used(self) -> Used:
        """Pages on which results of calls have lain."""
        from robust_kbench.isolation.resident import Used  # imports torch

        return Used()

    @property
    def may_start_processes(self) -> bool:
        """True if the filter of system calls lets it start processes; it may always start threads."""
        return self._allowance.allow_processes

    def tree(self) -> list[int]:
        """List the worker and all that it has started, orphans too: these have become children of the first process."""
        return self._members(processes.tree)

    def _halt(self) -> set[int]:
        """Stop the worker and all that it has started; returns their process ids.

        Each is signalled as soon as it is found: to look for others takes longer, the more there are.

        The worker and orphans come first, and are looked through after that.
        """
        processes.send([self.pid], signal.SIGSTOP)
        if self.may_start_processes:
            processes.send(processes.children(self._init), signal.SIGSTOP)
        return set(self._members(processes.halt))

    def _members(self, tree: Callable[[int], list[int]]) -> list[int]:
        if not self.may_start_processes:
            return [self.pid]
        # Its own descendants first: the first process may be gone, where no namespace ties their lives together; and
        # whoever becomes an orphan while we look is among them, or among the orphans, or both.
        own = tree(self.pid)
        orphans = [each for child in processes.children(self._init) if child not in own for each in tree(child)]
        return list(dict.fromkeys([*own, *orphans]))

    def is_alive(self) -> bool:
        """Tell if the process is there, stopped or not."""
        return processes.state(self.pid) not in "ZX"

    def kill(self) -> None:
        """End the worker and all that it has started; returns when they are gone."""
        with self._ending:
            if not self._is_gone:  # else its process ids may be others' by now
                self._kill()

    def _kill(self) -> None:
        if "pid namespace" in self.layers:
            processes.send([self._init], signal.SIGKILL)  # and with it, at once, whatever lives in its namespace
        else:
            processes.kill_tree(self.pid)  # orphans become children of the first process, which kills them
        # Its device may be at work until it is gone, which takes long if it has much memory.
        deadline = time.monotonic() + _LONGEST_END_S
        while processes.state(self._guardian) not in "ZX" and time.monotonic() < deadline:
            select.select([], [], [], 0.0005)
        self.is_surely_gone = processes.state(self._guardian) in "ZX"
        processes.kill_tree(self._guardian)
        self._is_gone = processes.state(self._guardian) in "ZX"
        self._drain_log()
        self._discard_messages()

    def _discard_messages(self) -> None:
        """Read the messages of a dead worker: descriptors of a device that lie there would keep its context alive."""
        with contextlib.suppress(OSError):
            self._channel.settimeout(0)
            for _ in range(_MOST_MESSAGES):  # one that is not gone after all may go on sending
                if not self._channel.recv(1 << 16):
                    return

    def close(self) -> None:
        """Kill the worker and release everything that was its own. May be called twice."""
        with self._ending:
            if self._is_closed:  # its descriptors may be others' by now
                return
            self._is_closed = True
            self.kill()
        self._words.release()
        self._control.close()
        self._channel.close()
        os.close(self._log_fd)
        os.close(self._status_fd)
        discard(self.scratch)

    @property
    def log(self) -> str:
        """End of the worker's output to stdout and stderr."""
        self._drain_log()
        return self._log.decode(errors="replace").strip()

    def _hand_over(self, scalars: bytes, turn: bytes = b"") -> None:
        self._control[wire.TURN_OFFSET : wire.TURN_OFFSET + len(turn)] = turn
        self._control[wire.SCALARS_OFFSET : wire.SCALARS_OFFSET + len(scalars)] = scalars

    def _run(self) -> int:
        """Let the stopped worker run; returns the time at which it does, by the judge's clock."""
        self.check_parked()
        started = time.perf_counter_ns()
        self._resume()
        return started

    def _wake(self, word: int, nonce: int) -> int:
        """Signal `word` to the stopped worker and let it run; returns the time of that by the judge's clock."""
        self.check_parked()
        woken = time.perf_counter_ns()
        self._signal(word, nonce)
        self._resume()
        return woken

    def _resume(self) -> None:
        processes.resume(self._stopped)
        self._stopped, self._resting = [], {}

    def _send(self, frame: dict[str, Any]) -> None:
        try:
            self._channel.settimeout(5.0)
            wire.send_frame(self._channel, frame)
        except OSError as error:
            raise self._crash(self._cause_of_death() or f"does not read its requests ({error})") from None

    def _signal(self, word: int, nonce: int) -> None:
        self._words[word] = nonce
        if not self._spin:
            try:
                self._channel.send(b"!")
            except OSError as error:
                raise self._crash(self._cause_of_death() or f"does not read its signals ({error})") from None

    def _wait(self, word: int, nonce: int, deadline: float, what: str, *, is_on_clock: bool = True) -> None:
        if self._comes(word, nonce, deadline, is_on_clock=is_on_clock):
            return
        waited_s = 0.0
        for turn_s in self._turns() if self.may_start_processes else ():
            if self._comes(word, nonce, time.monotonic() + turn_s, is_on_clock=False):
                return
            waited_s += turn_s
        self.kill()
        more = f", nor in {waited_s:.0f} s more for processes that it has started" if waited_s else ""
        raise WorkerTimedOut(f"gave no answer in time while {what}{more}", self.log)

    def _turns(self) -> Iterator[float]:
        """Yield seconds to wait on, while processes that it has started work: compilers, as a first call may need them.

        A process that only sleeps helps nobody.
        """
        turn_s, left_s = _TURN_SHARE * COMPILING_S, min(COMPILING_S, self._help_left_s)
        known_s, least_s = self._helped_s, _LEAST_HELP_S
        while left_s > turn_s / 2 and (used_s := self._help_s(self.tree())) > known_s + least_s:
            known_s, least_s = used_s, _WORKING_SHARE * turn_s
            left_s -= turn_s
            self._help_left_s -= turn_s
            yield turn_s

    def _help_s(self, tree: Sequence[int]) -> float:
        """Sum the processor seconds of what it has started: of those in `tree`, and of the ended children of all."""
        own_ns = schedule.total_processor_ns([pid for pid in tree if pid != self.pid])
        return own_ns / 1e9 + sum(map(processes.ended_children_s, tree))

    def _comes(self, word: int, nonce: int, deadline: float, *, is_on_clock: bool = True) -> bool:
        """Wait for `word` until the deadline; tell if the worker has signalled it.

        With `is_on_clock` the answer is seen at once, at the cost of a core, and of the judge's other threads.
        """
        words, spins, pause_s = self._words, _SPINS if self._spin else 1, 0.0
        began = time.monotonic()
        while True:
            for _ in range(spins):
                if words[word] == nonce:
                    self._consume_signal()
                    return True
            if self._spin and not is_on_clock and time.monotonic() - began > _SPINNING_S:
                spins, pause_s = 1, min(_LONGEST_PAUSE_S, 1.5 * pause_s + _SHORTEST_PAUSE_S)
                time.sleep(pause_s)
            if not self._spin:
                select.select([self._channel], [], [], 0.001)
                if words[word] == nonce:
                    self._consume_signal()
                    return True
            if time.monotonic() > deadline:
                return False
            # Many wait at once where nothing is timed, and the judge's other threads need the time.
            self._patrol_now_and_then(time.monotonic() - began if is_on_clock else 0.0)

    def _patrol_now_and_then(self, waited_s: float) -> None:
        """Patrol if the last time is long ago. One that has run for a moment only is looked at less often."""
        now = time.monotonic()
        if now - self._patrolled > (_PATROL_S if waited_s > _PATROL_S else _SLOW_PATROL_S):
            self._patrolled = now
            self._patrol()

    def _consume_signal(self) -> None:
        if not self._spin:
            while select.select([self._channel], [], [], 0)[0] and self._channel.recv(4096):
                pass

    def _patrol(self) -> None:
        """Check for harm that a hostile worker could do while we wait. Raises WorkerCrashed."""
        if cause := self._cause_of_death():
            raise self._crash(cause)
        self._drain_log()
        if self._log_bytes > LOG_LIMIT_BYTES:
            raise self._crash(f"wrote more than {LOG_LIMIT_BYTES >> 20} MiB to stdout and stderr")
        members = self.tree()
        if len(members) > self._allowance.processes:
            raise self._crowded()
        self._check_machine(members)
        if sum(map(self._own_bytes, members)) > self._allowance.memory_bytes:
            raise self._crash(f"used more than {self._allowance.memory_bytes / 2**30:.1f} GiB of memory")
        if self._is_disk_limited and _free_disk_bytes(self.scratch.parent) < _LEAST_FREE_DISK_BYTES:
            raise self._crash(f"left less than {_LEAST_FREE_DISK_BYTES >> 20} MiB of the disk free")
        if self._has_too_many_files():
            raise self._crash(f"made more than {self._most_files:,} files")

    def _has_too_many_files(self) -> bool:
        """Tell if it leaves others too few files.

        Its own files are counted only where so many are gone, since counting takes time.
        """
        taken = self._free_files - _free_files(self.scratch.parent)
        return taken > self._most_files and holds_more(self.scratch, self._most_files)

    def _check_machine(self, members: list[int]) -> None:
        """Check use that no account of a process shows against the machine's limits. Raises WorkerCrashed."""
        if sum(map(processes.threads, members)) > _MOST_THREADS:
            raise self._crash(f"started more than {_MOST_THREADS} threads")
        # Shared memory that all have unmapped but for an unused inheritance is in nobody's account.
        if self._is_memory_limited and processes.available_bytes() < _LEAST_FREE_MEMORY_BYTES:
            raise self._crash(f"left less than {_LEAST_FREE_MEMORY_BYTES >> 20} MiB of the machine's memory free")

    def _own_bytes(self, pid: int) -> int:
        """Return the memory of one of its processes, without inherited memory and memory shared with the judge."""
        shared = processes.shared_bytes(pid) - self.arena.host_bytes - wire.CONTROL_BYTES
        # What has ended, or become another program, has lost what it had inherited, and owes nobody else as much.
        return max(0, processes.private_bytes(pid) - self._inherited_bytes) + max(0, shared)

    def _crowded(self) -> WorkerCrashed:
        return self._crash(f"started more than {self._allowance.processes} processes")

    def _crash(self, what: str) -> WorkerCrashed:
        self.kill()
        return WorkerCrashed(what, self.log)

    def _answer(self, nonce: int) -> Answer:
        (length,) = struct.unpack_from("<I", self._control, wire.LENGTH_OFFSET)
        if length > wire.REPLY_BYTES:
            raise self._crash(f"broke the protocol: an answer of {length} bytes")
        body = bytes(self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + length])
        try:
            return parse_answer(body, nonce)
        except ValueError as error:
            raise self._crash(f"broke the protocol: {error}") from None

    def _await_birth(self) -> tuple[int, int, int]:
        """Wait until the worker is sandboxed; ids of it, of its namespaces' first process, and of the guardian."""
        deadline = time.monotonic() + _BIRTH_TIMEOUT_S
        while time.monotonic() < deadline:
            select.select([self._status_fd], [], [], 0.1)
            told = {key: value for message in self._messages() for key, value in message.items()}
            if "layers" in told and "init" in told:
                self.layers = tuple(told["layers"])
                (worker,) = processes.children(told["init"])
                return worker, told["init"], told["guardian"]
            if "exit" in told:
                break
        words = self.log.splitlines()[-1:] or ["it said nothing"]
        raise HarnessError(f"the warm process started no worker; is the machine out of memory or processes? {words[0]}")

    def _messages(self) -> list[dict[str, Any]]:
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._status_fd, 4096):
                self._status += part
            self._is_status_closed = True
        return [json.loads(line) for line in bytes(self._status).splitlines(keepends=True) if line.endswith(b"\n")]

    def _cause_of_death(self) -> str | None:
        for message in self._messages():
            if "exit" in message:
                code = message["exit"]
                if code < 0:
                    return f"was killed by {_name_of(-code)}"
                return f"ended by itself with exit code {code} before it had answered"
        return "killed the processes that watch it" if self._is_status_closed else None

    def _drain_log(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            while self._log_bytes <= 2 * LOG_LIMIT_BYTES and (part := os.read(self._log_fd, 65536)):
                self._log_bytes += len(part)
                self._log = (self._log + part)[-_LOG_TAIL_BYTES:]


def _name_of(number: int) -> str:
    """Name a signal; real-time signals have no name, so they are numbered."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _free_disk_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def _free_files(folder: Path) -> int:
    """Count the files that its file system has room for (inodes). Zero where it does not count them."""
    return os.statvfs(folder).f_favail


def _nonce() -> int:
    return secrets.randbits(62) + 1
