"""Calls of one case on one worker: lay out the arguments, call, and inspect the stopped worker and its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from robust_kbench.cases import layouts
from robust_kbench.cases.values import Inputs
from robust_kbench.emulation import Mode
from robust_kbench.errors import WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation import processes, schedule
from robust_kbench.isolation.arena import PAGE_BYTES, POISON, Slot, Slots, footprint, read_memory, span_of
from robust_kbench.isolation.process import Reply, Worker
from robust_kbench.isolation.protocol import Claim, Raised, Returned
from robust_kbench.isolation.resident import PAGE_NS, Found, look, spoil
from robust_kbench.isolation.use import PLAIN, Use, label, name_of, reused
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation, Window
from robust_kbench.schema.task import ITEMSIZE, DeviceKind, Task, shape_of
from robust_kbench.worker import wire

_MAX_SPAN_FACTOR = 8  # a returned view may lie spread over this many times its own size,
_LEAST_SPAN = 1 << 22  # or over so many elements: kernels work in chunks, and short results are views of one
_FEW_PAGES = 16  # cleared in 3 us; small results wander through a heap


@dataclass(frozen=True)
class Placed:
    """Input in the arena: its slot and the bytes that belong into it, gaps included."""

    slot: Slot
    content: torch.Tensor


@dataclass
class _Began:
    """State of the stopped worker before each time it is woken: to prepare, to rehearse, and to begin."""

    preparation: schedule.Turn
    rehearsal: schedule.Turn | None = None
    turn: schedule.Turn = field(default_factory=schedule.Turn)
    handing_ns: int = 0
    private_bytes: int = 0
    """Memory of the worker's own just before the clock starts."""


class Placing:
    """Layout of the tensors of calls in the judge's memory, and their way out of it."""

    _arena: Slots

    def __init__(self, task: Task, place: str) -> None:
        """Lay out tensors of `task`. `place`: the kind of device on which the judge wants answers of timed calls."""
        self._task, self._judging_place = task, place

    def _place(self, name: str, tensor: torch.Tensor, case: Case, abi: str, use: Use = PLAIN) -> Placed:
        """Place an input in the layout of the case, or in the one that `use` asks for."""
        spec = self._task.inputs[name]
        layout = layouts.layout_of(spec, "contiguous" if name in use.dense else case.layout, dense=abi == "c")
        shape = tuple(tensor.shape)
        outer = use.outer if layout == "pitched" else None
        stride = layouts.outer_strides(shape, outer) if outer else layouts.strides(shape, layout)
        dtype = self._task.dtype_of(spec, case.dtype)
        slot = self._arena.place(dtype, shape, stride, misalign=layout == "offset")
        if layout in ("contiguous", "offset"):
            flat = tensor.contiguous().reshape(-1)
        else:
            flat = torch.empty(span_of(shape, stride), dtype=tensor.dtype, device=tensor.device)
            poison(flat.view(torch.uint8))
            source = tensor[:1] if layout == "expanded" else tensor  # repeated slices are one place in memory
            flat.as_strided(source.shape, stride).copy_(source)
        return Placed(slot, flat.view(torch.uint8).to(self._arena.kind))

    def _place_all(self, inputs: Inputs, use: Use, case: Case, abi: str) -> dict[str, Placed]:
        """Place the tensors of all sets of inputs, by their labels. Two inputs that are one tensor share one place."""
        placed: dict[str, Placed] = {}
        for number, each in enumerate((inputs, *use.others)):
            places: dict[int, Placed] = {}
            for name, tensor in each.tensors.items():
                if id(tensor) not in places:
                    places[id(tensor)] = self._place(name, tensor, case, abi, use)
                placed[label(name, number)] = places[id(tensor)]
        return placed

    def _output_slots(self, case: Case, use: Use = PLAIN) -> dict[str, Slot]:
        slots = {}
        for name, labelled in use.labels(list(self._task.outputs)):
            spec = self._task.outputs[name]
            shape = shape_of(spec, case.axes)
            dtype = self._task.dtype_of(spec, case.dtype)
            misalign = case.layout == "offset"
            slots[labelled] = self._arena.place(dtype, shape, layouts.strides(shape, "contiguous"), misalign=misalign)
        return slots

    def _described(self, placed: dict[str, Placed], use: Use) -> list[dict[str, object]]:
        """Describe the inputs of all sets for the worker, one set after the other."""
        labels = [(name, label(name, number)) for number in range(1 + len(use.others)) for name in self._task.inputs]
        return [
            placed[labelled].slot.describe() if labelled in placed else {"scalar": self._task.inputs[name].dtype}
            for name, labelled in labels
        ]

    def _copy(self, slot: Slot, place: str) -> torch.Tensor:
        private = self._arena.bytes_of(slot).to(place, copy=True)
        return private.view(getattr(torch, slot.dtype)).reshape(slot.shape)


class Caller(Placing):
    """Caller of workers on the cpu device, which share one arena."""

    def __init__(
        self,
        task: Task,
        arena: Slots,
        *,
        copy_out: bool = False,
        timeout_s: float,
        place: str = "cpu",
    ) -> None:
        """Call workers on `task`. `place`: the kind of device on which the judge wants answers of timed calls."""
        super().__init__(task, place)
        self._arena = arena
        self._copy_out = copy_out
        self._timeout_s = timeout_s

    def call(
        self,
        worker: Worker,
        abi: str,
        case: Case,
        inputs: Inputs,
        *,
        sweep: Callable[[], None] = lambda: None,
        evict: Callable[[Sequence[torch.Tensor]], None] | None = None,
        emulation: Mode | None = None,
        use: Use = PLAIN,
        is_read: bool = True,
    ) -> Observation:
        """Call the kernel once, or as `use` says.

        `sweep` empties caches of everything, `evict` of slots. With `evict` the worker rehearses in between, so that
        code of ours is in the caches when the clock starts. `emulation` says how a kernel that was built for the
        emulator runs. `is_read`: fetch the results, and compare the inputs with what was written. Calls of trusted
        kernels that are timed and not judged can do without both.
        """
        self._arena.begin(use.room * case_footprint(self._task, case), same_place=use.same_place)
        placed = self._place_all(inputs, use, case, abi)
        outputs = self._output_slots(case, use)
        passes_outputs = abi in ("destination", "c") or self._copy_out
        poisoned = outputs if passes_outputs or is_read else {}

        began = _Began(schedule.look(worker.pid, worker.tree()))

        def prepare() -> None:
            began.rehearsal = schedule.look(worker.pid, worker.tree())
            sweep()

        def hand_over() -> None:
            started = time.perf_counter_ns()
            slots = self._hand_over(placed, poisoned)
            began.handing_ns = time.perf_counter_ns() - started
            if evict is None:
                sweep()
            else:
                evict(slots)
            began.turn = schedule.look(worker.pid, worker.tree())
            began.private_bytes = processes.private_bytes(worker.pid)

        described = self._described(placed, use)
        request: dict[str, object] = {
            "inputs": described,
            **self._request(case, placed, outputs if passes_outputs else {}, emulation),
            **use.request(),
        }
        scalars = wire.pack_scalars(wire.places_of_scalars(described), use.scalars(inputs))
        try:
            reply = worker.call(
                request,
                hand_over,
                None if evict is None else prepare,
                scalars=scalars,
                copy_out=self._copy_out,
                timeout_s=self._timeout_s,
            )
            returned = time.perf_counter_ns()
            after = schedule.look(worker.pid, worker.tree())
            seen = self._observe(worker, abi, case, reply, placed, outputs, began, use, is_read=is_read)
            for slot in poisoned.values():  # what one worker has written, the next must not find
                poison(self._arena.bytes_of(slot))
            worker.check_parked()  # what was read was there when it was stopped
        except WorkerTimedOut as error:
            return Observation(case, "timed_out", f"{error} ({self._timeout_s:.0f} s)", error.log)
        except WorkerCrashed as error:
            return Observation(case, "crashed", str(error), error.log)
        if seen.ending != "returned":
            return replace(seen, changed_inputs=self._changed(placed)) if began.handing_ns else seen
        return replace(_timed(seen, worker, reply, began, after), draining_ns=time.perf_counter_ns() - returned)

    def _hand_over(self, placed: dict[str, Placed], outputs: dict[str, Slot]) -> list[torch.Tensor]:
        """Write poison and inputs, and return the bytes of the inputs.

        Results that a kernel allocates lie in memory that it has used before. Slots for results are like that: inputs
        are written after them, which leaves them in the cache that all cores share.
        """
        for output in outputs.values():
            poison(self._arena.bytes_of(output))
        taken = [(self._arena.bytes_of(item.slot), item.content) for item in placed.values()]
        for slot, content in taken:
            slot.copy_(content)
        return [slot for slot, _ in taken]

    def _request(
        self,
        case: Case,
        placed: dict[str, Placed],
        outputs: dict[str, Slot],
        emulation: Mode | None,
    ) -> dict[str, object]:
        """Describe the call for the worker, but for its inputs; `outputs` are those that the worker gets."""
        request: dict[str, object] = {
            "outputs": [slot.describe() for slot in outputs.values()],
            "axes": list(case.axes.values()),
            "dtype": case.dtype,
        }
        if emulation is not None:
            tensors = {name: item.slot for name, item in placed.items()} | outputs
            request["emulation"] = emulation.request() | {"tensors": _named(tensors, initialised=placed)}
        return request

    def _observe(
        self,
        worker: Worker,
        abi: str,
        case: Case,
        reply: Reply,
        placed: dict[str, Placed],
        outputs: dict[str, Slot],
        began: _Began,
        use: Use,
        *,
        is_read: bool,
    ) -> Observation:
        answer = reply.answer
        if isinstance(answer, Raised):
            return Observation(case, "raised", str(answer), worker.log, reports=_plain(answer))
        if not isinstance(answer, Returned):
            return Observation(
                case, "crashed", "broke the protocol: it answered a call with something else", worker.log
            )
        problems: list[str] = []
        missing = 0
        place = self._judging_place if case.role == "timed" else "cpu"
        claims = {}
        if abi in ("value", "torch"):
            claims = dict(zip(outputs, answer.outputs, strict=False))
            inputs = [item.slot for item in placed.values()]
            grown_bytes = processes.private_bytes(worker.pid) - began.private_bytes
            returned, missing = self._fetch(
                worker, answer, outputs, inputs, grown_bytes, problems, place, is_read=is_read
            )
        else:
            returned = {name: self._copy(slot, place) for name, slot in outputs.items()} if is_read else {}
        slots = {name: item.slot for name, item in placed.items()} | outputs
        overruns = self._arena.overruns(slots)
        return Observation(
            case=case,
            ending="returned",
            outputs=returned,
            problems=tuple(problems),
            changed_inputs=self._changed(placed) if is_read else (),
            overruns=overruns,
            reused=reused(claims, use.order),
            elapsed_ns=reply.elapsed_ns + missing * PAGE_NS,
            reports=_plain(answer),
        )

    def _changed(self, placed: Mapping[str, Placed]) -> tuple[str, ...]:
        """Name the inputs that no longer hold the bytes that were written to them."""
        return tuple(name for name, it in placed.items() if not _same(self._arena.bytes_of(it.slot), it.content))

    def _fetch(
        self,
        worker: Worker,
        answer: Returned,
        slots: dict[str, Slot],
        inputs: Sequence[Slot],
        grown_bytes: int,
        problems: list[str],
        place: str,
        *,
        is_read: bool = True,
    ) -> tuple[dict[str, torch.Tensor], int]:
        """Copy the kernel's results out of the stopped worker, after checking every claim against the contract.

        `inputs`: slots that the kernel may hand back as they are. `grown_bytes`: growth of the worker's own memory in
        the call. Returns also the number of pages to charge: not there yet, or made before the call for this result.
        """
        if len(answer.outputs) != len(slots):
            problems.append(f"returned {len(answer.outputs)} values, expected {len(slots)}: {', '.join(slots)}")
            return {}, 0
        found, missing, new, due = {}, 0, 0, []
        worker.used.begin()
        for (name, slot), claim in zip(slots.items(), answer.outputs, strict=True):
            pages = Found()
            problem = contradiction(claim, slot, "cpu", is_dense=self._task.outputs[name_of(name)].dense)
            if problem is None and not self._copy_out:
                try:
                    place_of = claim.pointer or 0, slot, _used_stride(claim)
                    pages = look(worker.pid, *place_of, inputs, self._arena.file, worker.used)
                    problem, missing, new = pages.problem, missing + pages.missing, new + pages.new
                except OSError as error:  # it may have died meanwhile
                    problem = f"its memory cannot be read: {error}"
            if problem:
                problems.append(f"{name}: {problem}")
            elif is_read:
                due.append((name, claim, slot, pages.may_be_an_input))
        for name, claim, slot, _ in due:  # reading one fetches pages, which may be another's
            try:
                found[name] = self._copy(slot, place) if self._copy_out else _read(worker, claim, slot)
            except OSError as error:
                problems.append(f"{name}: its memory cannot be read: {error}")
        for name, claim, slot, may_be_an_input in due:
            try:
                if name in found and not (self._copy_out or may_be_an_input):
                    spoil(worker.pid, claim.pointer or 0, slot, _used_stride(claim))
            except OSError as error:
                problems.append(f"{name}: its memory is not its caller's to change: {error}")
        ahead = new - max(0, grown_bytes) // PAGE_BYTES
        return found, missing + (ahead if ahead > _FEW_PAGES else 0)


def contradiction(claim: Claim, slot: Slot, device: DeviceKind, *, is_dense: bool) -> str | None:
    """Find the contradiction between a claim and the `slot` in whose form the result is due; None if there is none."""
    if claim.type != "Tensor":
        return f"returned a {claim.type}; expected a plain torch.Tensor"
    if claim.device != device:
        return f"returned a tensor on {claim.device!r}; expected one on {device!r}"
    if claim.shape != slot.shape:
        return f"returned shape {list(claim.shape)}; expected {list(slot.shape)}"
    if claim.dtype != slot.dtype:
        return f"returned {claim.dtype}; expected {slot.dtype}"
    if claim.pointer is None or len(claim.stride) != len(slot.shape) or min(claim.stride, default=0) < 0:
        return "returned a tensor without strided memory; expected a dense one"
    if is_dense and not _is_row_major(claim):
        return f"returned a view with strides {list(claim.stride)}; this op is about layout: return it row-major"
    if span_of(claim.shape, claim.stride) > max(_LEAST_SPAN, _MAX_SPAN_FACTOR * slot.span):
        return f"returned a view with strides {list(claim.stride)}; return a dense tensor"
    return None


def _is_row_major(claim: Claim) -> bool:
    """Tell if the elements lie one after the other; the stride of an axis of one element may be any number."""
    due = layouts.strides(claim.shape, "contiguous")
    return 0 in claim.shape or all(
        size == 1 or own == step for size, own, step in zip(claim.shape, claim.stride, due, strict=True)
    )


def _timed(seen: Observation, worker: Worker, reply: Reply, began: _Began, after: schedule.Turn) -> Observation:
    """Add to an observation what the judge's clock and the kernel's accounts say of the call."""
    prepared = began.rehearsal or began.turn
    pages_ns, used_ns = seen.elapsed_ns - reply.elapsed_ns, after.used_since(began.turn)
    return replace(
        seen,
        elapsed_ns=max(0, seen.elapsed_ns - reply.judge_waited_ns),
        waited_ns=after.waited_since(began.turn),
        used_ns=None if used_ns is None else used_ns + pages_ns,
        handing_ns=began.handing_ns,
        preparation=_window(worker, began.preparation, prepared, reply.preparation_ns),
        rehearsal=None
        if began.rehearsal is None or reply.rehearsal_ns is None
        else _window(worker, began.rehearsal, began.turn, reply.rehearsal_ns),
        stopping_ns=reply.stopping_ns,
        may_miss=worker.may_start_processes and after.may_miss(began.turn),
        left_processes=after.processes - 1,
        threads_before=began.turn.threads,
        threads_after=after.threads,
    )


def _window(worker: Worker, before: schedule.Turn, after: schedule.Turn, took_ns: int) -> Window:
    """Return the window of `took_ns` between two looks at the stopped worker."""
    used_ns = after.used_since(before)
    return Window(
        took_ns,
        took_ns if used_ns is None else used_ns,
        may_miss=worker.may_start_processes and after.may_miss(before),
    )


def poison(memory: torch.Tensor) -> None:
    """Fill with bytes that are NaN in every float dtype."""
    memory.fill_(POISON)


def _named(slots: Mapping[str, Slot], *, initialised: Collection[str]) -> list[dict[str, object]]:
    return [
        {"name": name, "offset": slot.offset, "size": slot.nbytes, "initialised": name in initialised}
        for name, slot in slots.items()
    ]


def _plain(answer: Raised | Returned) -> tuple[dict[str, Any], ...]:
    return tuple(report.model_dump(exclude_none=True) for report in answer.reports)


def _used_stride(claim: Claim) -> tuple[int, ...]:
    """Return the stride of a claim, with zero for axes of one element, where it is never used and may be any number."""
    return tuple(0 if size == 1 else step for size, step in zip(claim.shape, claim.stride, strict=True))


def _read(worker: Worker, claim: Claim, slot: Slot) -> torch.Tensor:
    stride = _used_stride(claim)
    span = span_of(claim.shape, stride)
    if span == 0 or claim.pointer is None:
        return torch.empty(slot.shape, dtype=getattr(torch, slot.dtype))
    flat = read_memory(worker.pid, claim.pointer, span * slot.itemsize).view(getattr(torch, slot.dtype))
    return flat.as_strided(slot.shape, stride).contiguous()


def _same(shared: torch.Tensor, content: torch.Tensor) -> bool:
    """Compare byte by byte, in words as wide as both places allow, which is up to eight times as fast."""
    if content.device != shared.device:
        return torch.equal(shared.to(content.device), content)
    for word in (torch.int64, torch.int32, torch.int16):
        if all(number % word.itemsize == 0 for number in (_start(shared), _start(content), len(content))):
            return torch.equal(shared.view(word), content.view(word))
    return torch.equal(shared, content)


def _start(tensor: torch.Tensor) -> int:
    return int(tensor.storage_offset())


def case_footprint(task: Task, case: Case) -> int:
    """Return the arena bytes that a call of `case` may take in any layout."""
    total = 0
    for spec in task.tensors.values():
        itemsize = ITEMSIZE[task.dtype_of(spec, case.dtype)]
        total += footprint(layouts.spread(shape_of(spec, case.axes), case.layout) * itemsize)
    return total
