"""A worker's part in a call on a CUDA device; the stand-in has the memory of the host and does all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.isolation.arena import Arena as JudgesArena
from robust_kbench.isolation.arena import Slot
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.worker import arguments
from robust_kbench.worker.cuda.call import CudaCall
from robust_kbench.worker.cuda.device import free_blocks

TASK, CASE = make_task(), make_case()
TURN, GATE, STREAM = 4711, 640, 77
RESULT: dict[str, Any] = {"type": "Tensor", "dtype": "float32", "device": "cpu", "shape": [4, 8], "stride": [8, 1]}


class Event:
    def __init__(self, device: StandIn) -> None:
        self.device, self.at_ms = device, -1.0

    def record(self) -> None:
        self.at_ms = self.device.now_ms
        self.device.log.append("event")
        self.device.at_event()

    def elapsed_time(self, end: Event) -> float:
        assert self.device.log[-1] == "synchronize"
        return end.at_ms - self.at_ms


class StandIn:
    """Stand-in for the device that writes down its requests, in order. `now_ms` moves when a kernel says so."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.now_ms = 0.0
        self.at_event: Callable[[], None] = lambda: None

    def wait(self, address: int, value: int) -> None:
        self.log.append(("wait", address, value))

    def write(self, address: int, value: int) -> None:
        self.log.append(("write", address, value))

    def event(self) -> Event:
        return Event(self)

    def launch_nothing(self) -> None:
        self.log.append("nothing")

    def stream(self) -> int:
        return STREAM

    @contextmanager
    def other_stream(self) -> Iterator[None]:
        self.log.append("other stream")
        yield
        self.log.append("usual stream")

    def enter_thread(self) -> None:
        self.log.append("thread")

    def synchronize(self) -> None:
        self.log.append("synchronize")


class Memory(arguments.Arena):
    """Memory of the judge, on the host."""

    def __init__(self, arena: JudgesArena, log: list[Any]) -> None:
        super().__init__(arena.lend(), arena.size_bytes)
        self.log = log

    @property
    def end(self) -> int:
        return self.address + 4096

    def offset_of(self, tensor: torch.Tensor) -> int | None:
        offset = tensor.data_ptr() - self.address
        return offset if 0 <= offset < self.size_bytes else None

    @contextmanager
    def serving_results(self) -> Iterator[None]:
        self.log.append("serving")
        yield
        self.log.append("served")


class Call:
    """A call of norm/scale whose tensors lie in the judge's memory."""

    def __init__(self, abi: str = "destination", scalars: Sequence[str] = (), **more: Any) -> None:
        self.arena = JudgesArena(4 * case_footprint(TASK, CASE))
        self.arena.begin(2 * case_footprint(TASK, CASE))
        inputs = make_inputs(TASK, CASE)
        self.x, self.weight = inputs.tensors["x"], inputs.tensors["weight"]
        self.slots = [self._place(self.x), self._place(self.weight)]
        self.output = self.arena.place("float32", (4, 8), (8, 1))
        self.arena.bytes_of(self.output).fill_(0xFF)
        self.another = self.arena.place("float32", (4, 8), (8, 1))
        self.device = StandIn()
        self.log = self.device.log
        self.memory = Memory(self.arena, self.log)
        request = {
            "inputs": [*(slot.describe() for slot in self.slots), *({"scalar": dtype} for dtype in scalars)],
            "outputs": [
                self.output.describe(),
                *([self.another.describe()] if len(more.get("use", {}).get("order", [0])) > 1 else []),
            ],
            "axes": [4, 8],
            **{"ends": True, "empty": False, "events": False, **more},
        }
        self.call = CudaCall(self.device, abi, self.memory, request)
        self.call.take_turn(TURN, GATE)

    @property
    def gate(self) -> int:
        """Address of the gate's word."""
        return self.memory.address + GATE

    def _place(self, tensor: torch.Tensor) -> Slot:
        slot = self.arena.place("float32", tuple(tensor.shape), tensor.stride())
        self.arena.bytes_of(slot).copy_(tensor.reshape(-1).view(torch.uint8))
        return slot

    def launch(self, kernel: Callable[..., Any]) -> dict[str, Any]:
        def logged(*passed: Any) -> Any:
            self.log.append("kernel")
            return kernel(*passed)

        return self.call.launch(logged)

    def claim(self, kernel: Callable[..., Any]) -> dict[str, Any]:
        """Return the worker's claim about the only result of `kernel`."""
        (claim,) = self.launch(kernel)["outputs"]
        found: dict[str, Any] = claim
        return found

    def result(self) -> torch.Tensor:
        """Return the contents of the judge's slot of the output."""
        return self.arena.bytes_of(self.output).view(torch.float32).reshape(4, 8)

    def is_poisoned(self) -> bool:
        return bool((self.arena.bytes_of(self.output) == 0xFF).all())


def scale_into(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
    torch.mul(x, weight, out=y)


def scaled(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * weight


# --- in which order ---------------------------------------------------------------------------------------------------


def test_the_gate_comes_before_the_kernel_and_the_end_word_behind_it() -> None:
    call = Call()
    assert call.launch(scale_into) == {"outcome": "returned", "outputs": []}
    assert call.log == [("wait", call.gate, TURN), "kernel", ("write", call.memory.end, TURN)]
    assert torch.equal(call.result(), call.x * call.weight)


def test_a_turn_and_a_gate_that_are_told_last_count() -> None:
    call = Call()
    call.call.take_turn(12, 128)
    call.launch(scale_into)
    assert call.log == [("wait", call.memory.address + 128, 12), "kernel", ("write", call.memory.end, 12)]


def test_a_call_that_the_judge_ends_writes_no_word() -> None:
    call = Call(ends=False)
    call.launch(scale_into)
    assert call.log == [("wait", call.gate, TURN), "kernel"]


def test_results_are_allocated_in_the_judges_memory_during_the_kernel_alone() -> None:
    call = Call("value")
    call.launch(scaled)
    assert call.log[1:4] == ["serving", "kernel", "served"]
    call = Call("destination")
    call.launch(scale_into)
    assert "serving" not in call.log


def test_what_an_empty_call_launches_is_not_the_submissions() -> None:
    for abi in ("value", "destination", "c"):
        call = Call(abi, empty=True)
        assert call.launch(lambda *_: pytest.fail("the kernel was called")) == {"outcome": "returned", "outputs": []}
        assert call.log == [("wait", call.gate, TURN), "nothing", ("write", call.memory.end, TURN)]


def test_an_exception_of_the_submission_leaves_the_call() -> None:
    call = Call()
    with pytest.raises(ZeroDivisionError):
        call.launch(lambda *_: 1 // 0)
    assert call.log == [("wait", call.gate, TURN), "kernel"]


def test_the_end_is_to_wait_for_every_stream() -> None:
    call = Call()
    call.launch(scale_into)
    assert "synchronize" not in call.log
    assert call.call.finish() == 0
    assert call.log[-1] == "synchronize"


# --- events -----------------------------------------------------------------------------------------------------------


def test_events_enclose_the_kernel_where_they_are_asked_for() -> None:
    call = Call(events=True)
    call.launch(scale_into)
    assert call.log == [
        ("wait", call.gate, TURN), "event", "kernel", "event", ("write", call.memory.end, TURN),
    ]  # fmt: skip


def test_events_enclose_copies_of_results_as_the_judges_clock_does() -> None:
    call, copied = Call("value", events=True), list[bool]()
    call.device.at_event = lambda: copied.append(not call.is_poisoned())
    call.launch(scaled)
    assert copied == [False, True]


def test_the_time_between_the_events_is_told_when_the_device_has_come_to_rest() -> None:
    call = Call(events=True)

    def slow(*passed: torch.Tensor) -> None:
        call.device.now_ms += 0.25

    call.launch(slow)
    assert call.call.finish() == 250_000


# --- arguments --------------------------------------------------------------------------------------------------------


def test_scalars_take_the_places_of_zeros() -> None:
    call = Call(scalars=("float64", "int64"))
    passed: list[Any] = []
    call.call.receive({2: 0.25, 3: 2**53})
    call.launch(lambda *arguments: passed.extend(arguments[2:4]))
    assert passed == [0.25, 2**53]


def test_a_native_kernel_is_called_with_addresses_axes_and_last_the_stream() -> None:
    call = Call("c", scalars=("float64",))
    passed: list[Any] = []
    call.call.receive({2: 0.5})
    assert call.launch(lambda *arguments: passed.extend(arguments))["outputs"] == []
    kinds = ["c_void_p", "c_void_p", "c_double", "c_void_p", "c_long", "c_long", "c_void_p"]
    assert [type(value).__name__ for value in passed] == kinds
    addresses = [call.memory.address + slot.offset for slot in (*call.slots, call.output)]
    assert [value.value for value in passed] == [*addresses[:2], 0.5, addresses[2], 4, 8, STREAM]


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_result_in_the_judges_memory_is_claimed_by_its_offset_and_stays_there() -> None:
    call = Call("value")
    claim = call.claim(lambda x, weight: x)
    assert claim == {**RESULT, "pointer": call.slots[0].offset}
    assert call.is_poisoned()


def test_a_view_in_the_judges_memory_is_claimed_with_its_own_strides() -> None:
    call = Call("value")
    claim = call.claim(lambda x, weight: x.reshape(8, 4).T)
    assert (claim["stride"], claim["pointer"]) == ([1, 4], call.slots[0].offset)


def test_a_result_elsewhere_is_copied_to_the_judges_slot_before_the_end_word() -> None:
    call = Call("value")
    there: list[torch.Tensor] = []
    call.device.write = lambda *_: there.append(call.result().clone())  # type: ignore[method-assign]
    assert call.claim(scaled) == {**RESULT, "pointer": call.output.offset}
    assert torch.equal(there[0], call.x * call.weight)


def test_a_strided_result_elsewhere_is_claimed_as_it_lies_in_the_slot() -> None:
    call = Call("value")
    claim = call.claim(lambda x, weight: (x * weight).T.contiguous().T)
    assert claim == {**RESULT, "pointer": call.output.offset}
    assert torch.equal(call.result(), call.x * call.weight)


def test_a_view_that_is_negated_only_when_it_is_read_is_copied() -> None:
    call = Call("value")
    assert call.claim(lambda x, weight: x._neg_view())["pointer"] == call.output.offset
    assert torch.equal(call.result(), -call.x)


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (lambda x, weight: (x * weight).T.contiguous(), {"shape": [8, 4]}),
        (lambda x, weight: (x * weight).double(), {"dtype": "float64"}),
        (lambda x, weight: (x * weight).half(), {"dtype": "float16"}),
        (lambda x, weight: torch.empty(4, 8, device="meta"), {"device": "meta"}),
        (lambda x, weight: x.sum(), {"shape": []}),
    ],
    ids=["shape", "wider dtype", "narrower dtype", "device", "broadcastable"],
)
def test_a_result_that_does_not_fit_is_claimed_as_it_is_and_not_copied(
    kernel: Callable[..., Any], told: dict[str, Any]
) -> None:
    call = Call("value")
    claim = call.claim(kernel)
    assert {key: claim[key] for key in told} == told
    assert claim.get("pointer") is None
    assert call.is_poisoned()


def test_what_is_no_tensor_is_claimed_by_its_type() -> None:
    assert Call("value").claim(lambda x, weight: 3) == {"type": "int"}
    assert Call("value").claim(lambda x, weight: torch.nn.Parameter(x)) == {"type": "Parameter"}


def test_more_results_than_outputs_are_claimed_and_none_beyond_them_is_copied() -> None:
    call = Call("value")
    first, second = call.launch(lambda x, weight: (x * weight, x + weight))["outputs"]
    assert first["pointer"] == call.output.offset
    assert not 0 <= second["pointer"] < call.arena.size_bytes
    assert torch.equal(call.result(), call.x * call.weight)


# --- freed memory -----------------------------------------------------------------------------------------------------


def test_only_free_blocks_of_the_given_pools_are_poisoned() -> None:
    blocks = [
        {"address": 1, "size": 512, "state": "inactive"},
        {"address": 2, "size": 512, "state": "active_allocated"},
        {"address": 3, "size": 512, "state": "active_pending_free"},
        {"size": 512, "state": "inactive"},
    ]
    segments: list[dict[str, Any]] = [
        {"segment_pool_id": (0, 0), "blocks": blocks},
        {"segment_pool_id": (0, 1), "blocks": [{"address": 4, "size": 256, "state": "inactive"}]},
        {"segment_pool_id": [0, 2], "blocks": [{"address": 5, "size": 128, "state": "inactive"}]},
        {"blocks": [{"address": 6, "size": 512, "state": "inactive"}]},
    ]
    assert free_blocks(segments, ((0, 0),)) == [(1, 512), (6, 512)]
    assert free_blocks(segments, ((0, 0), (0, 2))) == [(1, 512), (5, 128), (6, 512)]
    assert free_blocks(segments, ((0, 1),)) == [(4, 256)]


def test_a_thread_has_the_context_before_it_calls_the_kernel() -> None:
    made = Call("destination", use={"sets": 1, "order": [0], "mode": None, "in_thread": True, "on_stream": False})
    made.call.launch(lambda *arguments: made.log.append("kernel"))
    assert made.log == [("wait", made.gate, TURN), "thread", "kernel", ("write", made.memory.end, TURN)]


def test_several_calls_are_launched_behind_one_gate_and_claimed_one_after_the_other() -> None:
    use = {"sets": 1, "order": [0, 0], "mode": None, "in_thread": False, "on_stream": True}
    made = Call("value", use=use)

    def kernel(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        made.log.append("kernel")
        return x * weight

    answer = made.call.launch(kernel)
    assert made.log == [
        "other stream", ("wait", made.gate, TURN), "serving", "kernel", "kernel", "served",
        ("write", made.memory.end, TURN), "usual stream",
    ]  # fmt: skip
    slots = [made.output, made.another]
    assert [claim["pointer"] for claim in answer["outputs"]] == [slot.offset for slot in slots]
    for slot in slots:
        found = made.arena.bytes_of(slot).view(torch.float32).view(4, 8)
        assert torch.equal(found, made.x * made.weight)


def test_results_of_a_burst_that_are_copied_say_where_they_were() -> None:
    use = {"sets": 1, "order": [0, 0], "mode": None, "in_thread": False, "on_stream": False}
    made = Call("value", use=use)
    own = torch.empty(4, 8)
    answer = made.call.launch(lambda x, weight: torch.mul(x, weight, out=own))
    assert [claim["pointer"] for claim in answer["outputs"]] == [made.output.offset, made.another.offset]
    assert [claim["source"] for claim in answer["outputs"]] == [own.data_ptr()] * 2
