"""Calls of one case on one worker on a CUDA device, which the judge's context times and reads.

A call is launched before its inputs exist.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, cast

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import HarnessError, WorkerCrashed, WorkerError, WorkerTimedOut
from robust_kbench.isolation.arena import POISON, Slot, span_of
from robust_kbench.isolation.calls import Placed, Placing, case_footprint, contradiction, poison
from robust_kbench.isolation.device_arena import DeviceArena
from robust_kbench.isolation.gate import MOST_WITHHELD, WITHHELD_BYTES, Delays, Ends, Gate, Opened, Pair, open_gate
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.protocol import Claim, Raised, Returned
from robust_kbench.isolation.use import PLAIN, Use, name_of, reused
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation, Way
from robust_kbench.schema.task import Task
from robust_kbench.worker import wire

_ENQUEUE_S = 0.05
"""Seconds in which a worker may launch.

One that takes longer waits for the device: its gate is opened while it runs.
"""
_PATIENCE_S = 0.02
"""Seconds after which a stopped worker runs on in a call: only it can tell that the device has failed."""
_LONGEST_TAKING_NS = 200_000
"""Longest time from an end word to the copies of pieces of outputs.

A candidate may keep the copy engines from making them, and is charged with the rest.
"""
_REHEARSALS = 4
_WITHHELD = 4
"""Pieces of each input that are written last, if there are not too many inputs."""


Aside = Callable[[], AbstractContextManager[None]]


@dataclass
class DeviceCall:
    """Call on a CUDA device, from its launch to its last check."""

    worker: Worker
    arena: DeviceArena
    abi: str
    case: Case
    placed: dict[str, Placed]
    slots: dict[str, Slot]
    turn: int
    gate: int
    """Offset of the gate's word in the judge's memory."""
    deadline: float
    way: Way
    is_empty: bool
    use: Use = PLAIN
    with_events: bool = False
    results: dict[str, tuple[torch.Tensor, Claim]] = field(default_factory=dict)
    """Bytes in which a kernel that returns its results has put them, as its worker says."""
    copied: bool = False
    """True if results were copied on the clock, as there was no room for them in the judge's memory."""
    problems: list[str] = field(default_factory=list)
    snapshots: dict[str, torch.Tensor] = field(default_factory=dict)
    """Private copies of the bytes that the call has written, by output, from the turn in which the clock stopped."""

    @property
    def told(self) -> bytes:
        """Turn and place of the gate's word, in the bytes that the worker gets."""
        return wire.pack_turn(self.turn, self.gate)

    @property
    def returned(self) -> list[torch.Tensor]:
        """Bytes of all results that the kernel has returned."""
        return [result for result, _ in self.results.values()]


class DeviceCaller(Placing):
    """Caller of workers that have device memory of their own."""

    def __init__(
        self,
        task: Task,
        *,
        timeout_s: float,
        place: str = "cpu",
        gate: Gate | None = None,
        aside: Aside = nullcontext,
    ) -> None:
        """Call workers on `task`. `place`: the kind of device on which the judge wants answers.

        `gate`: a gate other than this process's. `aside`: entered while a worker's host is waited for, and nothing of
        the judge's is in use.
        """
        super().__init__(task, place)
        self._aside = aside
        self._timeout_s = timeout_s
        self._gate = gate or open_gate()
        self._random = random.SystemRandom()

    def call(
        self,
        worker: Worker,
        abi: str,
        case: Case,
        inputs: Inputs,
        *,
        way: Way = "word",
        is_empty: bool = False,
        with_events: bool = False,
        use: Use = PLAIN,
    ) -> Observation:
        """Call the kernel once, or as `use` says.

        `way`: how the call ends; "wall": the whole call is launched on the clock, and scalars come then. `is_empty`: an
        empty kernel takes the place of the submission's, and its outputs are not checked. `with_events`: have the
        worker, which must be a trusted one, time its kernel by events.
        """
        self._arena = arena = cast("DeviceArena", worker.arena)
        self._arena.begin(use.room * case_footprint(self._task, case), same_place=use.same_place)
        placed = self._place_all(inputs, use, case, abi)
        deadline = time.monotonic() + self._timeout_s
        slots, turn = self._output_slots(case, use), self._gate.turn()
        place = self._gate.place() if way == "wall" else wire.GATE_OFFSET
        call = DeviceCall(
            worker, arena, abi, case, placed, slots, turn, place, deadline, way, is_empty, use, with_events
        )
        described = self._described(placed, use)
        scalars = wire.pack_scalars(wire.places_of_scalars(described), use.scalars(inputs))
        request = {
            "ends": way != "turn",
            "waits": way == "wall",
            "empty": is_empty,
            "events": with_events,
            "inputs": described,
            "outputs": [slot.describe() for slot in slots.values()],
            "axes": list(case.axes.values()),
            "dtype": case.dtype,
            **use.request(),
        }
        try:
            seen = (
                self._on_the_wall_clock(call, request, scalars)
                if way == "wall"
                else self._gated(call, request, scalars)
            )
            worker.check_parked()
            return seen
        except BaseException as error:
            self._gate.give_up(call.arena, call.turn, call.worker.kill)  # or the judge's own stream would wait for ever
            if isinstance(error, WorkerTimedOut):
                return Observation(case, "timed_out", f"{error} ({self._timeout_s:.0f} s)", error.log)
            if isinstance(error, WorkerCrashed):
                return Observation(case, "crashed", str(error), error.log)
            raise

    def call_nothing(self, worker: Worker, case: Case, *, with_events: bool = False) -> Observation:
        """Call an empty kernel that has no tensors, in a worker that has loaded nothing yet, or in a trusted one."""
        self._arena = arena = cast("DeviceArena", worker.arena)
        arena.begin(0)
        deadline, turn = time.monotonic() + self._timeout_s, self._gate.turn()
        call = DeviceCall(
            worker, arena, "destination", case, {}, {}, turn, wire.GATE_OFFSET, deadline, "turn", is_empty=True,
            with_events=with_events,
        )  # fmt: skip
        flags = {"ends": False, "waits": False, "empty": True, "events": with_events}
        try:
            nothing: dict[str, object] = {"inputs": [], "outputs": [], "axes": [], "dtype": case.dtype}
            seen = self._gated(call, {**flags, **nothing}, b"")
            worker.check_parked()
            return seen
        except BaseException as error:
            self._gate.give_up(arena, turn, worker.kill)
            if isinstance(error, WorkerError):  # no code of a submission has run in it
                raise HarnessError(f"an empty call failed: {error}") from None
            raise

    def _gated(self, call: DeviceCall, request: dict[str, object], scalars: bytes) -> Observation:
        started = time.perf_counter_ns()
        with self._aside():
            answer = call.worker.launch(request, call.told, scalars, within_s=_ENQUEUE_S)
        call.deadline = time.monotonic() + self._timeout_s  # others may have judged meanwhile
        if isinstance(answer, Raised):
            return self._raised(call, answer)
        if answer is None:
            return self._beside_its_host(call, started)
        self._locate(call, answer)
        opened = self._open(call, "turn" if call.way == "turn" else "word", is_watched=not call.is_empty)
        self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
        return self._seen(call, opened, "gate", opened.elapsed_ns())

    def _beside_its_host(self, call: DeviceCall, started_ns: int) -> Observation:
        """Finish a call whose host waits for the device: it goes on once the gate is open. Its time is no sample."""
        opened = self._open(call, "turn")
        self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
        with self._aside():
            answer = call.worker.launched(call.deadline)
        call.deadline = time.monotonic() + self._timeout_s
        if isinstance(answer, Raised):
            return self._raised(call, answer)
        elapsed_ns = time.perf_counter_ns() - started_ns
        self._locate(call, answer)
        return self._seen(call, opened, None, elapsed_ns)

    def _on_the_wall_clock(self, call: DeviceCall, request: dict[str, object], scalars: bytes) -> Observation:
        """Make a call that is launched when its inputs are there.

        The clock starts first, and the worker is told a moment later. A launch ahead of that, behind a wait, would save
        it some microseconds; but it knows neither the word nor the value to wait for.
        """
        call.worker.prepare(request, timeout_s=self._timeout_s)
        opened = self._open(call, "host")
        call.worker.go_on()
        self._gate.start()
        call.worker.arm(call.told, scalars)

        def keep(answer: Returned | Raised) -> None:
            if isinstance(answer, Returned):
                self._locate(call, answer)
                self._gate.keep(opened, self._snapshots(call))

        answer = call.worker.launched(call.deadline, lambda: self._gate.take(opened), keep)
        if isinstance(answer, Raised):
            return self._raised(call, answer)
        self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
        return self._seen(call, opened, "wall" if opened.kept_turn else None, opened.elapsed_ns())

    def _look_after(self, call: DeviceCall, seconds: float) -> None:
        """Bound the time of a call that the device is at, and hear a worker that has something to tell."""
        worker = call.worker
        if time.monotonic() > call.deadline:
            worker.kill()
            raise WorkerTimedOut("gave no answer in time while running the kernel", worker.log)
        if seconds > _PATIENCE_S:
            worker.go_on(seconds)

    def _open(self, call: DeviceCall, ends: Ends, *, is_watched: bool = False) -> Opened:
        outputs = [*map(self._bytes_of, call.slots.values()), *call.returned]
        withheld, decoys = self._withhold(call.placed, call.returned or outputs)
        write = partial(self._write, outputs, call.placed, decoys)
        snapshots = [] if ends == "host" else self._snapshots(call)
        return self._gate.open(
            call.arena, call.turn, write, withheld, ends, snapshots, call.gate, is_watched=is_watched
        )

    def usual_delays(self, arena: DeviceArena, abi: str, case: Case, inputs: Inputs) -> Delays:
        """Measure the judge's own work before calls in an arena that no worker maps, while no worker is busy."""
        self._arena = arena
        arena.begin(case_footprint(self._task, case))
        placed = {name: self._place(name, tensor, case, abi) for name, tensor in inputs.tensors.items()}
        outputs = [*map(self._bytes_of, self._output_slots(case).values())]
        outputs += outputs if abi in ("value", "torch") else []  # there are results beside the slots
        _, decoys = self._withhold(placed, outputs)
        write = partial(self._write, outputs, placed, decoys)
        seen = [self._gate.rehearse(arena, write) for _ in range(_REHEARSALS)]
        return Delays(min(each.device_ns for each in seen), min(each.host_ns for each in seen))

    def _write(self, outputs: Sequence[torch.Tensor], placed: Mapping[str, Placed], decoys: Sequence[Pair]) -> None:
        """Poison the outputs, and write the inputs; neither allocates memory nor waits for the device."""
        for memory in outputs:
            poison(memory)
        for item in placed.values():  # results that are views of inputs become these again
            if len(item.content):
                self._bytes_of(item.slot).copy_(item.content, non_blocking=True)
        for place, content in decoys:
            place.copy_(content, non_blocking=True)

    def _snapshots(self, call: DeviceCall) -> list[Pair]:
        """Allocate private copies of the outputs that the call writes, and pair each with its output."""
        written = self._written(call)
        call.snapshots = {name: torch.empty_like(place) for name, place in written.items()}
        return [(call.snapshots[name], place) for name, place in written.items()]

    def _written(self, call: DeviceCall) -> dict[str, torch.Tensor]:
        """Return the bytes that the judge copies, by output; for an empty call, too, as copying takes time."""
        if call.results and not call.is_empty:
            return {name: result for name, (result, _) in call.results.items()}
        return {name: self._bytes_of(slot) for name, slot in call.slots.items()}

    def _withhold(self, placed: Mapping[str, Placed], outputs: Sequence[torch.Tensor]) -> tuple[list[Pair], list[Pair]]:
        """Choose random pieces of each input, in whole elements, and decoys that fill them until the clock has started.

        Decoys are other values of the same input, so that their places cannot be seen. Where there are no tensors among
        the inputs, poison is written anew to pieces of the outputs: a result that was computed ahead would be lost.
        """
        if not any(len(item.content) for item in placed.values()):
            return self._poison_again(outputs), []
        withheld, decoys = [], []
        count = min(_WITHHELD, MOST_WITHHELD // max(1, len(placed)))
        for item in placed.values():
            memory, content = self._bytes_of(item.slot), item.content
            size = min(len(content), WITHHELD_BYTES)
            starts = (len(content) - size) // item.slot.itemsize + 1
            for _ in range(count if starts > 1 else min(size, 1)):
                place = self._random.randrange(starts)
                start = place * item.slot.itemsize
                other = (place + self._random.randrange(1, max(2, starts))) % starts * item.slot.itemsize
                decoy = content[other : other + size] if starts > 1 else content.roll(size // 2)
                withheld.append((memory[start : start + size], content[start : start + size]))
                decoys.append((memory[start : start + size], decoy))
        return withheld[:MOST_WITHHELD], decoys[:MOST_WITHHELD]

    def _poison_again(self, outputs: Sequence[torch.Tensor]) -> list[Pair]:
        """Pair random pieces of outputs with poison for them."""
        outputs = [output for output in outputs if len(output)][: MOST_WITHHELD // _WITHHELD]
        starts = [(output, self._random.randrange(len(output))) for output in outputs for _ in range(_WITHHELD)]
        pieces = [output[start : start + WITHHELD_BYTES] for output, start in starts]
        return [(piece, torch.full_like(piece, POISON)) for piece in pieces]

    def _bytes_of(self, slot: Slot) -> torch.Tensor:
        return self._arena.bytes_of(slot)

    def _locate(self, call: DeviceCall, answer: Returned) -> None:
        """Check the claims about a kernel's results against the contract, and find those in the judge's memory."""
        if call.is_empty or call.abi not in ("value", "torch"):
            return
        if len(answer.outputs) != len(call.slots):
            due = ", ".join(call.slots)
            call.problems.append(f"returned {len(answer.outputs)} values, expected {len(call.slots)}: {due}")
            return
        for (name, slot), claim in zip(call.slots.items(), answer.outputs, strict=True):
            problem = contradiction(claim, slot, "cuda", is_dense=self._task.outputs[name_of(name)].dense)
            if problem is None:
                span_bytes = span_of(claim.shape, claim.stride) * slot.itemsize
                result = call.arena.results(claim.pointer or 0, span_bytes)
                if result is not None:
                    call.copied |= claim.pointer == slot.offset and span_bytes > 0
                    call.results[name] = result, claim
                    continue
                problem = "its memory is not the judge's: the worker broke the protocol"
            call.problems.append(f"{name}: {problem}")

    def _raised(self, call: DeviceCall, answer: Raised) -> Observation:
        self._gate.open_empty(call.arena, call.turn)
        call.worker.finish(call.deadline)
        self._gate.give_up(call.arena, call.turn, call.worker.kill)
        return Observation(call.case, "raised", str(answer), call.worker.log)

    def _seen(
        self, call: DeviceCall, opened: Opened, clock: Literal["gate", "wall"] | None, elapsed_ns: int
    ) -> Observation:
        """Take everything out of the judge's memory, and let the worker come to rest.

        Outputs are read once. The answer is made of that copy, and the same copy must equal the memory at the stop of
        the clock: memory that is read twice can be right for one and late for the other.
        """
        case = call.case
        changed, overruns = self._damage(call)
        has_changed = opened.changed()
        self._gate.settle()
        event_ns = call.worker.finish(call.deadline)
        outputs = {} if call.is_empty else {name: memory.clone() for name, memory in self._written(call).items()}
        more = self._damage(call)  # what a call that has outlasted its turn did later
        changed, overruns = list(dict.fromkeys([*changed, *more[0]])), {**overruns, **more[1]}
        is_late = clock is not None and not call.is_empty and _is_late(has_changed, call.snapshots, outputs)
        if is_late and opened.ends == "turn":
            clock = None  # it has outlasted the worker's turn
        delays = opened.delays()
        return Observation(
            case=case,
            ending="returned",
            outputs=self._answer(call, outputs, self._judging_place),
            problems=tuple(call.problems),
            changed_inputs=tuple(changed),
            overruns=overruns,
            elapsed_ns=elapsed_ns,
            clock=clock,
            delays_ns=(delays.device_ns, delays.host_ns),
            event_ns=event_ns if call.with_events else None,
            is_late=is_late,
            is_copied=call.copied,
            reused=reused({name: claim for name, (_, claim) in call.results.items()}, call.use.order),
            taking_excess_ns=max(0, opened.taking_ns() - _LONGEST_TAKING_NS),
        )

    def _damage(self, call: DeviceCall) -> tuple[list[str], dict[str, int]]:
        """Return the names of changed inputs, and the distances of writes outside of tensors by name.

        Asks the device once: each question waits until the device gets to it, beside the contexts of all workers.
        """
        slots = {name: item.slot for name, item in call.placed.items()} | call.slots
        differs = [(self._bytes_of(it.slot) != it.content).any() for it in call.placed.values()]
        *differs, is_overrun = torch.stack([*differs, call.arena.is_overrun(slots.values())]).tolist()
        changed = [name for name, is_changed in zip(call.placed, differs, strict=True) if is_changed]
        return changed, self._arena.overruns(slots) if is_overrun else {}

    def _answer(self, call: DeviceCall, outputs: Mapping[str, torch.Tensor], place: str) -> dict[str, torch.Tensor]:
        """Make tensors on `place` of the bytes of `outputs`, which are private."""
        strides = {name: slot.stride for name, slot in call.slots.items()}
        if call.abi in ("value", "torch"):
            strides = {name: claim.stride for name, (_, claim) in call.results.items()}
        return {
            name: _dense(outputs[name], call.slots[name], stride).to(place)
            for name, stride in strides.items()
            if name in outputs
        }


def _dense(memory: torch.Tensor, slot: Slot, stride: Sequence[int]) -> torch.Tensor:
    """Copy an output. The stride of an axis of one element is never used, so it may be any number."""
    dtype = getattr(torch, slot.dtype)
    dense = torch.empty(slot.shape, dtype=dtype, device=memory.device)
    if 0 in slot.shape:
        return dense
    used = tuple(0 if size == 1 else step for size, step in zip(slot.shape, stride, strict=True))
    return dense.copy_(memory.view(dtype).as_strided(slot.shape, used))


def _is_late(has_changed: bool, snapshots: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]) -> bool:
    """Tell if outputs changed after the end word, or after the turn in which the clock stopped."""
    if has_changed or not snapshots:
        return has_changed
    return bool(torch.stack([(private != outputs[name]).any() for name, private in snapshots.items()]).any())
