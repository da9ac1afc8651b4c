"""One case on one worker on a CUDA device: launched before its inputs exist, timed and read by the judge's context."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation.arena import Slot, span_of
from robust_kbench.isolation.calls import Placed, Placing, case_footprint, contradiction, poison
from robust_kbench.isolation.device_arena import DeviceArena
from robust_kbench.isolation.gate import MOST_WITHHELD, WITHHELD_BYTES, Ends, Gate, Opened, Pair, open_gate
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.protocol import Claim, Raised, Returned
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation, Way
from robust_kbench.schema.task import Task
from robust_kbench.worker import wire

_ENQUEUE_S = 0.05
"""For how long a worker may launch. One that takes longer waits for the device: its gate is opened while it runs."""
_PATIENCE_S = 0.02
"""Time after which a stopped worker runs on in a call: only it can tell that the device has failed."""
_WITHHELD = 4
"""Pieces of each input that are written last, if there are not too many inputs."""


@dataclass
class DeviceCall:
    """One call while it is made."""

    worker: Worker
    arena: DeviceArena
    abi: str
    case: Case
    placed: dict[str, Placed]
    slots: dict[str, Slot]
    turn: int
    deadline: float
    way: Way
    is_empty: bool
    results: dict[str, tuple[torch.Tensor, Claim]] = field(default_factory=dict)
    """Bytes in which a kernel that returns its results has put them, as its worker says."""
    problems: list[str] = field(default_factory=list)
    snapshots: list[Pair] = field(default_factory=list)
    """Private copies of what the call has written, taken in the turn in which the clock stopped, and where that is."""


class DeviceCaller(Placing):
    """Calls workers that have device memory of their own."""

    def __init__(self, task: Task, *, timeout_s: float, place: str = "cpu", gate: Gate | None = None) -> None:
        """`place`: the kind of device on which the judge wants answers of timed calls; `gate`: not this process's."""
        super().__init__(task, place)
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
    ) -> Observation:
        """Call the kernel once. `way`: how the call ends; "wall": all is launched on the clock, and scalars come then.

        `is_empty`: an empty kernel in the place of the submission's, whose outputs nobody looks at. `with_events`: have
        the worker, which must be a trusted one, time its kernel by events.
        """
        self._arena = arena = cast("DeviceArena", worker.arena)
        self._arena.begin(case_footprint(self._task, case))
        placed = {name: self._place(name, tensor, case, abi) for name, tensor in inputs.tensors.items()}
        deadline = time.monotonic() + self._timeout_s
        slots, turn = self._output_slots(case), self._gate.turn()
        call = DeviceCall(worker, arena, abi, case, placed, slots, turn, deadline, way, is_empty)
        described = [self._describe(name, placed) for name in self._task.inputs]
        scalars = wire.pack_scalars(wire.places_of_scalars(described), inputs.scalars)
        request = {
            "turn": turn,
            "ends": way != "turn",
            "waits": way == "wall",
            "empty": is_empty,
            "events": with_events,
            "inputs": described,
            "outputs": [slot.describe() for slot in slots.values()],
            "axes": list(case.axes.values()),
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

    def _gated(self, call: DeviceCall, request: dict[str, object], scalars: bytes) -> Observation:
        started = time.perf_counter_ns()
        answer = call.worker.launch(request, scalars, within_s=_ENQUEUE_S)
        if isinstance(answer, Raised):
            return self._raised(call, answer)
        if answer is None:
            return self._beside_its_host(call, started)
        self._locate(call, answer)
        opened = self._open(
            call, "turn" if call.way == "turn" else "word", [] if call.is_empty else self._written(call)
        )
        self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
        return self._seen(call, opened, "gate", opened.elapsed_ns())

    def _beside_its_host(self, call: DeviceCall, started_ns: int) -> Observation:
        """A call whose host waits for the device: it goes on as soon as the gate is open. Its time is no sample."""
        opened = self._open(call, "turn" if call.way == "turn" else "word", watched=())
        answer = call.worker.launched(call.deadline)
        return self._ended_by_host(call, opened, answer, started_ns, None)

    def _on_the_wall_clock(self, call: DeviceCall, request: dict[str, object], scalars: bytes) -> Observation:
        """A call that is launched when its inputs are there."""
        call.worker.prepare(request, timeout_s=self._timeout_s)
        opened = self._open(call, "word", watched=())
        started = time.perf_counter_ns()
        call.worker.arm(scalars)
        answer = call.worker.launched(call.deadline)
        return self._ended_by_host(call, opened, answer, started, "wall")

    def _ended_by_host(
        self,
        call: DeviceCall,
        opened: Opened,
        answer: Returned | Raised,
        started_ns: int,
        clock: Literal["wall"] | None,
    ) -> Observation:
        if isinstance(answer, Raised):
            return self._raised(call, answer)
        self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
        elapsed_ns = time.perf_counter_ns() - started_ns
        self._locate(call, answer)
        return self._seen(call, opened, clock, elapsed_ns)

    def _look_after(self, call: DeviceCall, seconds: float) -> None:
        """Bound the time of a call that the device is at, and hear a worker that has something to tell."""
        worker = call.worker
        if time.monotonic() > call.deadline:
            worker.kill()
            raise WorkerTimedOut("gave no answer in time while running the kernel", worker.log)
        if seconds > _PATIENCE_S:
            worker.go_on()

    def _open(self, call: DeviceCall, ends: Ends, watched: Sequence[torch.Tensor]) -> Opened:
        poisoned = [self._bytes_of(slot) for slot in call.slots.values()]
        poisoned += [result for result, _ in call.results.values()]  # views of inputs become these again
        inputs = [(self._bytes_of(item.slot), item.content) for item in call.placed.values() if len(item.content)]
        withheld, decoys = self._withhold(call)

        def write() -> None:
            for memory in poisoned:
                poison(memory)
            for place, content in (*inputs, *decoys):
                place.copy_(content, non_blocking=True)

        call.snapshots = [(torch.empty_like(place), place) for place in self._written(call)]
        return self._gate.open(call.arena, call.turn, write, withheld, watched, ends, call.snapshots)

    def _written(self, call: DeviceCall) -> list[torch.Tensor]:
        """Bytes that the judge copies in its turn; of an empty call what others would write, as that takes time."""
        if call.results and not call.is_empty:
            return [result for result, _ in call.results.values()]
        return [self._bytes_of(slot) for slot in call.slots.values()]

    def _withhold(self, call: DeviceCall) -> tuple[list[Pair], list[Pair]]:
        """Random pieces of each input, in whole elements; and what stands in their places until the clock has started.

        Those are other values of the same input, so that nobody sees where they are.
        """
        withheld, decoys = [], []
        count = min(_WITHHELD, MOST_WITHHELD // max(1, len(call.placed)))
        for item in call.placed.values():
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

    def _bytes_of(self, slot: Slot) -> torch.Tensor:
        return self._arena.bytes_of(slot)

    def _locate(self, call: DeviceCall, answer: Returned) -> None:
        """Hold what a kernel is said to return against the contract, and find it in the judge's memory."""
        if call.is_empty or call.abi not in ("value", "torch"):
            return
        if len(answer.outputs) != len(call.slots):
            due = ", ".join(call.slots)
            call.problems.append(f"returned {len(answer.outputs)} values, expected {len(call.slots)}: {due}")
            return
        for (name, slot), claim in zip(call.slots.items(), answer.outputs, strict=True):
            problem = contradiction(claim, slot, "cuda", is_dense=self._task.outputs[name].dense)
            if problem is None:
                span_bytes = span_of(claim.shape, claim.stride) * slot.itemsize
                result = call.arena.results(claim.pointer or 0, span_bytes)
                if result is not None:
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
        """Take everything out of the judge's memory, and let the worker come to rest."""
        case = call.case
        place = self._judging_place if case.role == "timed" else "cpu"
        changed, overruns = self._damage(call)
        has_changed = opened.changed()
        self._gate.settle()
        told = call.worker.finish(call.deadline)
        final = self._taken(call, place)
        more = self._damage(call)  # what a call that has outlasted its turn did later
        changed, overruns = list(dict.fromkeys([*changed, *more[0]])), {**overruns, **more[1]}
        is_late = clock is not None and not call.is_empty and _is_late(has_changed, call.snapshots)
        if is_late and opened.ends == "turn":
            clock = None  # it has outlasted the worker's turn
        delays = opened.delays()
        return Observation(
            case=case,
            ending="returned",
            outputs=final,
            problems=tuple(call.problems),
            changed_inputs=tuple(changed),
            overruns=overruns,
            elapsed_ns=elapsed_ns,
            clock=clock,
            delays_ns=(delays.device_ns, delays.host_ns),
            event_ns=told.event_ns if isinstance(told, Returned) else None,
            is_late=is_late,
        )

    def _damage(self, call: DeviceCall) -> tuple[list[str], dict[str, int]]:
        """Names of changed inputs, and distances of writes outside of tensors by name."""
        slots = {name: item.slot for name, item in call.placed.items()} | call.slots
        changed = [name for name, it in call.placed.items() if not torch.equal(self._bytes_of(it.slot), it.content)]
        return changed, self._arena.overruns(slots)

    def _taken(self, call: DeviceCall, place: str) -> dict[str, torch.Tensor]:
        if call.is_empty:
            return {}
        if call.abi not in ("value", "torch"):
            return {name: self._copy(slot, place) for name, slot in call.slots.items()}
        return {
            name: _dense(result, claim, call.slots[name]).to(place) for name, (result, claim) in call.results.items()
        }


def _dense(memory: torch.Tensor, claim: Claim, slot: Slot) -> torch.Tensor:
    """Copy a result. The stride of an axis of one element is never used, so it may be any number."""
    dtype = getattr(torch, slot.dtype)
    if 0 in slot.shape:
        return torch.empty(slot.shape, dtype=dtype, device=memory.device)
    stride = tuple(0 if size == 1 else step for size, step in zip(claim.shape, claim.stride, strict=True))
    return torch.empty(slot.shape, dtype=dtype, device=memory.device).copy_(
        memory.clone().view(dtype).as_strided(slot.shape, stride)
    )


def _is_late(has_changed: bool, snapshots: Sequence[Pair]) -> bool:
    """Tell if outputs changed after the end word, or after the turn in which the clock stopped."""
    return has_changed or any(not torch.equal(private, place) for private, place in snapshots)
