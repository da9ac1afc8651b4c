"""Clock of the judge on a CUDA device: a gate that only the judge opens, and a turn that the judge takes.

A worker has launched its call behind the gate, and is stopped. On a stream of the judge's, in this order and without a
gap: outputs are poisoned, inputs written but for some pieces, the cache emptied, the clock started, the pieces written,
the gate opened. No earlier moment has all of the inputs. A kernel that works on the inputs so far, or waits on the
device for the gate, takes turns on the multiprocessors with the judge. That takes 0.3 ms and more and is seen
(`Opened.delays`).

Contexts take turns: one has the multiprocessors until it has nothing left to do, on any of its streams, or for 2 ms. So
the judge asks for its next turn while the worker's lasts, and stops the clock when it gets it (`ends="turn"`). Nothing
that the worker says ends a call. The clock has two changes of contexts in it, some 0.29 ms, steady to 0.5 us.

A call of a millisecond and more would outlast its turn. Its worker writes an end word behind it, for which the judge
waits (`ends="word"`). As it comes, pieces of the outputs are copied to the host on a stream that holds nothing but
waits and copies, and so needs no turn: they show any output that is not complete. A word that comes too early gains
some 8 us.

A call whose host takes part (`ends="host"`) is launched on the clock. All is ready, and the worker runs, before the
clock starts (`start`); only then is it told its turn. The judge asks for its turn when the worker says that it has
launched everything, and the end word has to be there, too.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from robust_kbench.errors import HarnessError
from robust_kbench.isolation.device_arena import MAPPING, DeviceArena
from robust_kbench.worker import wire
from robust_kbench.worker.cuda import runtime
from robust_kbench.worker.cuda.driver import Driver

Ends = Literal["turn", "word", "host"]
Pair = tuple[torch.Tensor, torch.Tensor]
"""Pair of a place in memory and the bytes that belong there."""
WITHHELD_BYTES, MOST_WITHHELD = 512, 256
"""Size of a piece that is written when the clock has started, and the most pieces of a call."""
_WATCHED, _WATCHED_BYTES = 8, 4096
"""Number and size of the pieces, of all outputs together, that are looked at when an end word comes."""
_MIN_FLUSH_BYTES, _MAX_FLUSH_BYTES = 64 << 20, 512 << 20
_YIELD_NS = 30_000
"""Delay from the opened gate to the judge's request for its next turn. Without it the judge would keep its own."""
_POLL_S, _SPINNING_S = 20e-6, 0.002
"""Pause between two looks at the device, and the time at the start in which there is no pause."""
_LINE = 128
_LONGEST_OPENING_NS = 10_000_000_000
_PATIENCE_S, _LONGEST_END_S = 0.2, 10.0
_BLOCK = 1024
_LONGEST_HOLD_NS = 1_000_000
"""Longest time that the judge keeps its turn while its host starts the clock, or finds out where results are."""
_SOURCE = f"""
extern "C" __global__ void kbench_open(
    const unsigned long long* table, int count, unsigned* gate, int turn, unsigned long long* stamp,
    const volatile unsigned* start) {{
  __shared__ unsigned long long places[3 * {MOST_WITHHELD}];
  for (int i = threadIdx.x; i < 3 * count; i += blockDim.x) places[i] = table[i];
  if (threadIdx.x == 0) {{
    unsigned long long now, began;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (!*start && now - began < {_LONGEST_HOLD_NS});
  }}
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("mov.u64 %0, %globaltimer;" : "=l"(*stamp));
  __syncthreads();
  for (int i = threadIdx.x; i < count * {WITHHELD_BYTES}; i += blockDim.x) {{
    int piece = i / {WITHHELD_BYTES};
    unsigned long long at = i % {WITHHELD_BYTES};
    if (at < places[3 * piece + 2]) ((char*)places[3 * piece])[at] = ((const char*)places[3 * piece + 1])[at];
  }}
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) {{
    *(volatile unsigned*)gate = (unsigned)turn;
    __threadfence_system();
  }}
}}
extern "C" __global__ void kbench_stamp(unsigned long long* stamp, const volatile unsigned* known) {{
  unsigned long long now, started;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(started));
  *stamp = started;
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (!*known && now - started < {_LONGEST_HOLD_NS});
}}
"""


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Delays:
    """Durations of the judge's own work before a call, in ns: by the device's clock, and by the host's.

    A worker that is at work meanwhile makes one of them longer, by a turn.
    """

    device_ns: int
    host_ns: int


@dataclass(frozen=True)
class Watched:
    """Piece of an output that is watched for changes after the end word."""

    place: torch.Tensor
    then: torch.Tensor
    """Content when the end word comes, in memory of the host."""
    snapshot: torch.Tensor
    """Content in the judge's turn, in memory of the judge's."""


@dataclass
class Opened:
    """Call whose gate opens, or has been opened."""

    stamps: torch.Tensor
    """Start and stop of the clock, in ns."""
    watched: list[Watched]
    ends: Ends
    started: Any = field(default_factory=_event)
    opened: Any = field(default_factory=_event)
    came: Any = field(default_factory=_event)
    stopped: Any = field(default_factory=_event)
    taken: Any = field(default_factory=_event)
    released_ns: int = 0
    host_ns: int = 0
    taken_up_ns: int = 0
    kept_turn: bool = True
    """True if outputs were copied in the turn in which the clock stopped."""

    def is_over(self) -> bool:
        """Tell if the clock has stopped, and the pieces are taken."""
        return bool(self.stopped.query() and self.taken.query())

    def elapsed_ns(self) -> int:
        """Return the time from the start of the clock to its stop, in ns. Waits for the device."""
        start, stop = self.stamps.tolist()
        return max(0, int(stop - start))

    def taking_ns(self) -> int:
        """Return the ns from the end word until the watched pieces were copied; 0 where no piece is watched."""
        return int(self.came.elapsed_time(self.taken) * 1e6) if self.watched else 0

    def delays(self) -> Delays:
        """Measure the judge's own work before the call."""
        return Delays(int(self.started.elapsed_time(self.opened) * 1e6), self.host_ns)

    def changed(self) -> bool:
        """Tell if an output changed between the end word and the judge's turn. Waits for that turn."""
        if not self.watched:
            return False
        then = torch.cat([piece.then for piece in self.watched])
        return not torch.equal(torch.cat([piece.snapshot for piece in self.watched]).to(then.device), then)


_opening = threading.Lock()


def open_gate() -> Gate:
    """Return the gate of this process, whose buffers take four times as much memory as the L2 cache.

    Any thread may ask for it.
    """
    with _opening:
        return _only_gate()


@functools.cache
def _only_gate() -> Gate:
    refuse_mps()
    return Gate()


def refuse_mps(environment: Mapping[str, str] = os.environ) -> None:
    """Raise HarnessError where NVIDIA's Multi-Process Service runs: under it contexts take no turns."""
    folder = environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    if os.path.exists(os.path.join(folder, "control")):
        remedy = "stop it (echo quit | nvidia-cuda-mps-control), or judge on another device"
        raise HarnessError(
            f"{folder}: MPS runs on this machine, so that no time on its device can be trusted; {remedy}"
        )


class Gate:
    """Gate: the judge's streams, words and caches on the current CUDA device."""

    def __init__(self) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
        self._driver, self._runtime = Driver(), runtime.loaded_runtime()
        self._stream: Any = torch.cuda.current_stream()
        """Stream of all the judge's work on the device, but for the two streams below."""
        self._open, self._stamp = self._kernel("kbench_open", _BLOCK), self._kernel("kbench_stamp", 1)
        self._random = random.SystemRandom()
        self._watching: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        """Stream that holds nothing but waits, events and copies to the host.

        All else would bind it to the multiprocessors.
        """
        self._rescuing: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._words = torch.zeros(4, 32, dtype=torch.int32).pin_memory()
        """Release, start, take, known: each tells a stream of the judge's to go on, and has a cache line of its own."""
        self._table = torch.zeros(MOST_WITHHELD, 3, dtype=torch.int64).pin_memory()
        self._pieces = torch.zeros(_WATCHED, _WATCHED_BYTES, dtype=torch.uint8).pin_memory()
        self._stamps = torch.zeros(2, dtype=torch.int64, device="cuda")
        properties = torch.cuda.get_device_properties(0)
        size = min(max(2 * properties.L2_cache_size, _MIN_FLUSH_BYTES), _MAX_FLUSH_BYTES)
        self._dirty = torch.zeros(size, dtype=torch.uint8, device="cuda")
        self._clean = torch.zeros(size // 4, dtype=torch.int32, device="cuda")
        self._sum = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(2):  # loads kernels and fills the allocator's cache: behind a wait that would never end
            self._flush()
            self._stamp(self._stamps, self._words[3])
            self._open(self._table, 0, self._clean, 0, self._stamps, self._words[3])
        torch.cuda.synchronize()

    def _kernel(self, name: str, threads: int) -> Callable[..., None]:
        """Compile a kernel of one block. Its arguments are tensors and integers.

        PyTorch's own way of launching takes 0.14 ms.
        """
        compiled = torch.cuda._compile_kernel(_SOURCE, name)

        def launch(*arguments: torch.Tensor | int) -> None:
            passed = [
                ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_int(each)
                for each in arguments
            ]
            self._driver.launch(int(self._stream.cuda_stream), compiled.func, threads, passed)

        return launch

    def turn(self) -> int:
        """Draw a value for both words of a call, which no worker foretells."""
        return self._random.randrange(1, 1 << 31)

    def place(self) -> int:
        """Draw an offset for the word of a gate, which no worker foretells."""
        places = [each for each in range(0, wire.SLOTS_OFFSET, _LINE) if each != wire.END_OFFSET]
        return places[self._random.randrange(len(places))]

    def open(
        self,
        arena: DeviceArena,
        turn: int,
        write: Callable[[], None],
        withheld: Sequence[Pair],
        ends: Ends,
        snapshots: Sequence[Pair] = (),
        place: int = wire.GATE_OFFSET,
        *,
        is_watched: bool = False,
    ) -> Opened:
        """Write inputs and poison (`write`), start the clock, write the `withheld` pieces, open the gate.

        Returns when the gate is open; with ends "host" when only `start` is left to be called. `write` must not
        allocate memory nor wait for the device. `snapshots`: private memory, and the output that it gets in the very
        turn in which the clock stops; with ends "host" they are told later (`keep`). `place`: offset of the gate's
        word. `is_watched`: pieces of these outputs are looked at when an end word comes.
        """
        self._runtime.reset_persisting_cache()
        call = Opened(self._stamps, self._some_of(snapshots) if is_watched and ends == "word" else [], ends)
        release, start, take, known = self._words
        self._words.fill_(0)
        start.fill_(ends != "host")
        known.fill_(ends != "host")
        if withheld:
            rows = [(piece.data_ptr(), content.data_ptr(), len(content)) for piece, content in withheld]
            self._table[: len(rows)] = torch.tensor(rows)
        # What another thread asks of the driver meanwhile could wait for this stream, and this thread for the driver.
        with MAPPING:
            try:
                self._enqueue(arena, turn, call, write, len(withheld), place)
                if ends != "host":
                    self.keep(call, snapshots)
            except BaseException:
                self._words.fill_(1)  # or the stream would wait for ever
                raise
            call.released_ns = time.perf_counter_ns()
            release.fill_(1)
        try:
            while not call.opened.query():
                if time.perf_counter_ns() - call.released_ns > _LONGEST_OPENING_NS:
                    raise HarnessError("the device does not get to the judge's own work")
        except BaseException:
            self._words.fill_(1)
            raise
        opened_ns = time.perf_counter_ns()
        call.host_ns = opened_ns - call.released_ns
        if ends == "turn":
            while time.perf_counter_ns() - opened_ns < _YIELD_NS:
                pass
            take.fill_(1)
        return call

    def _enqueue(
        self,
        arena: DeviceArena,
        turn: int,
        call: Opened,
        write: Callable[[], None],
        withheld: int,
        place: int,
    ) -> None:
        """Have the device do all of a call's opening, and stop the clock; nothing happens before its release."""
        stream = int(self._stream.cuda_stream)
        release, start, take, known = self._words
        # Behind a wait, so that the device does all that follows without waiting for the host in between.
        self._driver.wait(stream, release.data_ptr(), 1)
        call.started.record(self._stream)
        write()
        self._flush()
        call.opened.record(self._stream)
        # With ends "host" the kernel itself waits for the host: if the stream did, the judge would lose its turn.
        self._open(self._table, withheld, arena.words[place:], turn, self._stamps, start)
        if call.ends != "word":
            self._driver.wait(stream, take.data_ptr(), 1)
        if call.ends != "turn":
            self._watch(arena, turn, call)
            self._driver.wait(stream, arena.end, turn)
        self._stamp(self._stamps[1:], known)

    def start(self) -> None:
        """Start the clock of a call whose host takes part."""
        self._words[1].fill_(1)

    def take(self, call: Opened) -> None:
        """Ask for the turn in which the clock of a call whose host takes part stops."""
        call.taken_up_ns = time.perf_counter_ns()
        self._words[2].fill_(1)

    def keep(self, call: Opened, snapshots: Sequence[Pair]) -> None:
        """Copy outputs behind the stop of the clock, in the same turn: results computed after it come too late."""
        for private, output in snapshots:
            private.copy_(output, non_blocking=True)
        call.stopped.record(self._stream)
        call.taken.record(self._watching)
        if call.ends == "host":
            self._words[3].fill_(1)
            call.kept_turn = time.perf_counter_ns() - call.taken_up_ns < _LONGEST_HOLD_NS

    def open_empty(self, arena: DeviceArena, turn: int) -> None:
        """Open the gate for a call that will give no answer, so that its worker comes to rest."""
        self._driver.write(int(self._stream.cuda_stream), arena.gate, turn)

    def rehearse(self, arena: DeviceArena, write: Callable[[], None]) -> Delays:
        """Measure the judge's own work in a call's opening that no worker waits for."""
        call = self.open(arena, self.turn(), write, [], "turn")
        self.wait(call, lambda seconds: None)
        return call.delays()

    def wait(self, call: Opened, go_on: Callable[[float], None]) -> None:
        """Wait until the clock has stopped; `go_on` is called with the seconds so far, and may raise."""
        started = time.monotonic()
        while not call.is_over():
            waited_s = time.monotonic() - started
            if waited_s > _SPINNING_S:
                time.sleep(_POLL_S)
            go_on(waited_s)

    def settle(self) -> None:
        """Wait for all that the judge has the device do."""
        self._stream.synchronize()

    def give_up(self, arena: DeviceArena, turn: int, kill: Callable[[], None]) -> None:
        """End a call that does not end by itself. `kill` is called where its worker keeps the judge from that.

        A kernel of the worker's can overwrite the end word again and again. So it is written until it was seen.
        """
        self._words.fill_(1)
        rest = _event()
        rest.record(self._stream)
        watched = _event()
        watched.record(self._watching)
        is_killed, started = False, time.monotonic()
        while not (rest.query() and watched.query()):
            waited_s = time.monotonic() - started
            if waited_s > _LONGEST_END_S:
                raise HarnessError("a worker's kernel does not let the judge's stream go on")
            if waited_s > _PATIENCE_S and not is_killed:
                kill()
                is_killed, started = True, time.monotonic()  # it may have taken long
            self._driver.write(int(self._rescuing.cuda_stream), arena.end, turn)
            time.sleep(_POLL_S)

    def _watch(self, arena: DeviceArena, turn: int, call: Opened) -> None:
        self._driver.wait(int(self._watching.cuda_stream), arena.end, turn)
        call.came.record(self._watching)
        with torch.cuda.stream(self._watching):
            for piece in call.watched:
                piece.then.copy_(piece.place, non_blocking=True)

    def _some_of(self, snapshots: Sequence[Pair]) -> list[Watched]:
        """Choose random pieces of the outputs, and room for their content when the end word comes."""
        pairs = [pair for pair in snapshots if len(pair[0])]
        pieces: list[Watched] = []
        for room in self._pieces if pairs else ():
            private, output = self._random.choices(pairs, [len(pair[0]) for pair in pairs])[0]
            start = self._random.randrange(max(1, len(output) - _WATCHED_BYTES + 1))
            part = slice(start, start + _WATCHED_BYTES)
            pieces.append(Watched(output[part], room[: len(output[part])], private[part]))
        return pieces

    def _flush(self) -> None:
        """Evict everything from L2 and leave clean lines: a dirty one would be written back on the kernel's account."""
        self._dirty.fill_(1)
        torch.sum(self._clean, dim=0, out=self._sum)
