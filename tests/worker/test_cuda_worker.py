"""What the worker does around a call on a CUDA device; the stand-in has the memory of the host and a clock of ours."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.isolation.arena import Arena as JudgesArena
from robust_kbench.isolation.arena import Slot
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.worker import arguments
from robust_kbench.worker.cuda import buffers, clocks, hold, profile, runtime
from robust_kbench.worker.cuda.call import CudaCall
from robust_kbench.worker.cuda.device import free_blocks

TASK, CASE = make_task(), make_case()


class Event:
    def __init__(self, device: StandIn) -> None:
        self.device, self.at_us = device, -1.0

    def record(self) -> None:
        self.at_us = self.device.stream_us = max(self.device.stream_us, self.device.now_us)
        self.device.log.append("event")

    def synchronize(self) -> None:
        assert self.at_us >= 0

    def elapsed_time(self, end: Event) -> float:
        return (end.at_us - self.at_us) / 1e3


class StandIn:
    """One stream and one side stream, in microseconds."""

    place = "cpu"
    calibration = {"event_ns": 1, "launch_ns": 2, "wall_gap_ns": 3, "join_gap_ns": 4, "spread_ns": 0}

    def __init__(self) -> None:
        self.now_us = self.stream_us = self.side_us = 0.0
        self.first_wall_ns: dict[str, int] = {}
        self.log: list[str] = []
        self.used = iter(range(1000, 10_000, 7))

    def event(self) -> Event:
        return Event(self)

    def launch(self, us: float, *, aside: bool = False) -> None:
        if aside:
            self.side_us = max(self.side_us, self.now_us) + us
        else:
            self.stream_us = max(self.stream_us, self.now_us) + us

    def launch_nothing(self) -> None:
        self.launch(2)

    def flush(self) -> None:
        self.log.append("flush")
        self.launch(50)

    def hold(self, times: int = 1) -> None:
        self.flush()
        self.log.append("hold")
        self.launch(200 * times)
        self.side_us = self.stream_us  # it leaves no room for other streams

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.now_us = max(self.now_us, self.stream_us, self.side_us)

    def reset_cache(self) -> None:
        self.log.append("reset")

    def poison_free_memory(self) -> None:
        self.log.append("poison")

    def used_bytes(self) -> int:
        return next(self.used)

    def stream(self) -> int:
        return 77


class Call:
    """A call of norm/scale with its slots in the judge's arena."""

    def __init__(self, abi: str = "destination", scalars: Sequence[str] = (), **more: Any) -> None:
        self.arena = JudgesArena(2 * case_footprint(TASK, CASE))
        self.arena.begin(case_footprint(TASK, CASE))
        inputs = make_inputs(TASK, CASE)
        self.x, self.weight = inputs.tensors["x"], inputs.tensors["weight"]
        slots = [self._place(self.x), self._place(self.weight)]
        self.output = self.arena.place("float32", (4, 8), (8, 1))
        self.arena.bytes_of(self.output).fill_(0xFF)
        passed = [*(slot.describe() for slot in slots), *({"scalar": dtype} for dtype in scalars)]
        described = {"inputs": passed, "outputs": [self.output.describe()], "axes": [4, 8]}
        self.device = StandIn()
        shared = arguments.Arena(self.arena.descriptor, self.arena.size_bytes)
        self.inputs = slots
        self._call = CudaCall(self.device, abi, shared, {**described, **more})

    def _place(self, tensor: torch.Tensor) -> Slot:
        slot = self.arena.place("float32", tuple(tensor.shape), tensor.stride())
        self.arena.bytes_of(slot).copy_(tensor.reshape(-1).view(torch.uint8))
        return slot

    def run(self, kernel: Callable[..., Any]) -> dict[str, Any]:
        self._call.fill()
        return self._call.copy_out(self._call.run(kernel))

    def result(self) -> torch.Tensor:
        return self.arena.bytes_of(self.output).view(torch.float32).reshape(4, 8)


def scale(call: Call, us: float = 20) -> Callable[..., None]:
    def kernel(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        call.device.launch(us)
        torch.mul(x, weight, out=y)

    return kernel


def test_scalars_come_when_everything_else_is_done() -> None:
    call = Call(scalars=("float64", "int64"))
    passed: list[Any] = []
    call._call.fill()
    call._call.receive({2: 0.25, 3: 2**53})
    call._call.run(lambda *arguments: passed.extend(arguments[2:4]))
    assert passed == [0.25, 2**53]


def test_the_events_enclose_the_kernel_and_the_answer_comes_back() -> None:
    call = Call()
    answer = call.run(scale(call))
    assert answer["event_ns"] == 20_000
    assert torch.equal(call.result(), call.x * call.weight)


def test_work_on_a_side_stream_shows_behind_the_completion_of_the_device_and_not_in_the_events() -> None:
    call = Call()

    def kernel(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        call.device.launch(900, aside=True)

    answer = call.run(kernel)
    assert (answer["event_ns"], answer["join_ns"]) == (0, 900_000)


def test_before_the_clock_the_cache_is_reset_and_flushed_in_this_order() -> None:
    call = Call()
    call.run(scale(call))
    assert call.device.log[:6] == ["poison", "reset", "synchronize", "flush", "hold", "event"]


def test_what_the_host_needs_to_launch_disappears_behind_what_the_device_is_doing() -> None:
    call = Call()

    def slow_to_launch(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        call.device.now_us += 150
        call.device.launch(20)

    assert call.run(slow_to_launch)["event_ns"] == 20_000


@pytest.mark.parametrize("threads", [1024, 1536, 2048])
def test_what_holds_the_device_leaves_no_room_for_a_block_of_another_stream(threads: int) -> None:
    assert hold.blocks(132, threads) * 512 >= 132 * threads


def test_an_answer_that_nobody_reads_stays_on_the_device() -> None:
    call = Call(is_read=False)
    before = call.result().clone()
    answer = call.run(scale(call))
    assert (answer["event_ns"], answer["overruns"]) == (20_000, [])
    assert torch.equal(call.result().view(torch.int32), before.view(torch.int32))


def test_a_kernel_that_returns_its_answer_is_copied_out_too() -> None:
    call = Call("value")
    answer = call.run(lambda x, weight: x * weight)
    assert torch.equal(call.result(), call.x * call.weight)
    assert answer["outputs"][0]["shape"] == [4, 8]


def test_a_native_kernel_is_called_with_addresses_axes_and_the_stream() -> None:
    told: list[Any] = []
    Call("c").run(lambda *passed: told.extend(passed))
    assert [type(value).__name__ for value in told] == ["c_void_p"] * 3 + ["c_long"] * 2 + ["c_void_p"]
    assert (told[3].value, told[4].value, told[5].value) == (4, 8, 77)


def test_what_is_written_to_an_output_after_the_snapshot_does_not_reach_the_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = Call()
    outputs: list[torch.Tensor] = []

    def forgetful(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        outputs.append(y)

    def late() -> None:
        if outputs:
            outputs[0].fill_(1.0)

    call._call.fill()
    answer = call._call.run(forgetful)
    monkeypatch.setattr(call.device, "synchronize", late)
    call._call.copy_out(answer)
    assert call.result().isnan().all()


@pytest.mark.parametrize(("place", "distance"), [(-1, -1), (0, 1), (5, 21), (-1024, -4093)])
def test_a_write_outside_a_tensor_in_device_memory_is_told_with_its_distance(place: int, distance: int) -> None:
    call = Call()

    def kernel(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        behind = place if place < 0 else y.numel() + place
        ctypes.memset(y.data_ptr() + 4 * behind, 0, 4)

    assert call.run(kernel)["overruns"] == [{"tensor": 2, "distance": distance}]


def test_a_kernel_that_stays_within_its_tensors_damages_no_red_zone() -> None:
    call = Call()
    assert call.run(scale(call))["overruns"] == []


def test_addresses_differ_from_call_to_call() -> None:
    offsets = set()
    for _ in range(12):
        call = Call()
        call.run(lambda x, weight, y: offsets.add(x.data_ptr() - x.untyped_storage().data_ptr()))
    assert len(offsets) > 3


def test_the_first_call_of_a_shape_is_remembered() -> None:
    call = Call()
    call.device.first_wall_ns = {call._call._shape: 123}
    assert call.run(scale(call))["first_wall_ns"] == 123
    assert Call().run(lambda *_: None)["first_wall_ns"] > 123
    assert Call(batch={"calls": 2}).run(lambda *_: None)["first_wall_ns"] is None


def test_a_batch_solves_different_problems_and_times_each_call() -> None:
    random.seed(5)  # by chance, two of them are rolled by the same distance
    call = Call(batch={"calls": 6, "problems": 3, "flush": True})
    seen = []

    def kernel(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        seen.append(x.clone())
        call.device.launch(20)
        torch.mul(x, weight, out=y)

    answer = call.run(kernel)
    assert answer["batch_ns"] == [20_000] * 6
    assert answer["event_ns"] == 6 * 270_000
    assert len({tuple(x.flatten().tolist()) for x in seen}) == 3
    assert any(torch.equal(x, call.x) for x in seen)
    assert torch.equal(call.result(), call.x * call.weight)


@pytest.mark.parametrize("attempt", range(8))
def test_a_batch_of_fewer_calls_than_problems_still_solves_the_one_that_is_verified(attempt: int) -> None:
    call = Call("value", batch={"calls": 1, "problems": 4, "flush": False})
    answer = call.run(lambda x, weight: x * weight)
    assert answer["outputs"][0]["type"] == "Tensor"
    assert torch.equal(call.result(), call.x * call.weight)


def test_an_empty_batch_calls_no_kernel_and_costs_its_flushes() -> None:
    call = Call(batch={"calls": 4, "flush": True, "empty": True})
    answer = call.run(lambda *_: pytest.fail("the kernel was called"))
    assert answer["event_ns"] == 4 * 250_000


def test_hot_calls_come_after_the_answer_was_copied_and_are_listed_one_by_one() -> None:
    call = Call(hot=5)
    count = 0

    def kernel(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
        nonlocal count
        count += 1
        call.device.launch(20 if count == 1 else 8)
        y.fill_(count)

    answer = call.run(kernel)
    assert answer["hot_ns"] == [8_000] * 5
    assert answer["event_ns"] == 20_000
    assert bool((call.result() == 1.0).all())


def test_rolling_makes_another_problem_of_the_same_values_and_leaves_integers_alone() -> None:
    call = Call()
    shared = arguments.Arena(call.arena.descriptor, call.arena.size_bytes)
    spec = call.inputs[0].describe()
    floats, integers = (buffers.Buffer(shared, {**spec, "dtype": dtype}, "cpu") for dtype in ("float32", "int32"))
    floats.upload()
    integers.upload()
    before, whole = floats.view.clone(), integers.view.clone()
    floats.roll()
    integers.roll()
    assert not torch.equal(floats.view, before)
    assert torch.equal(floats.view.flatten().sort().values, before.flatten().sort().values)
    assert torch.equal(integers.view, whole)


def test_an_empty_call_is_calibrated_to_what_it_costs() -> None:
    device = StandIn()
    told = clocks.calibrate(device)
    assert (told["event_ns"], told["launch_ns"], told["join_gap_ns"]) == (0, 2_000, 0)


# --- the profiler's output --------------------------------------------------------------------------------------------


def kernel_event(name: str, ts: float, dur: float, correlation: int, **args: Any) -> dict[str, Any]:
    details = {"correlation": correlation, "stream": 7, "grid": [4, 1, 1], "block": [128, 1, 1], **args}
    return {"ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": dur, "args": details}


TRACE = [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 90.0, "dur": 1.0, "args": {"correlation": 1}},
    kernel_event("spin_kernel(long)", 100.0, 2.0, 1),
    kernel_event("mine", 110.0, 20.5, 2),
    kernel_event("spin_kernel(long)", 131.0, 2.0, 4),
    {**kernel_event("Memcpy DtoD", 135.0, 5.0, 3, stream=9), "cat": "gpu_memcpy"},
    {"ph": "M", "name": "process_name", "args": {}},
]


def test_a_trace_becomes_activities_between_two_markers_in_the_order_of_their_launch() -> None:
    told = profile.parse({"traceEvents": TRACE})
    assert [(each["kind"], each["start_ns"], each["end_ns"], each["stream"]) for each in told["activities"]] == [
        ("kernel", 10_000, 30_500, 7),
        ("memcpy", 35_000, 40_000, 9),
    ]
    assert (told["start_ns"], told["stop_ns"], told["has_markers"]) == (2_000, 31_000, True)


def test_a_trace_without_markers_says_so() -> None:
    told = profile.parse({"traceEvents": TRACE[:3]})
    assert (told["has_markers"], told["activities"]) == (False, [])


def test_a_marker_of_the_submission_ends_its_window_early() -> None:
    told = profile.parse({"traceEvents": [*TRACE, kernel_event("spin_kernel(long)", 105.0, 1.0, 2)]})
    assert told["stop_ns"] == 5_000


def test_a_trace_of_many_activities_is_cut_and_says_by_how_many() -> None:
    more = [kernel_event("k", 200.0 + number, 1.0, 10 + number) for number in range(200)]
    told = profile.parse({"traceEvents": [*TRACE, *more]})
    assert (len(told["activities"]), told["dropped"]) == (profile.MAX_ACTIVITIES, 202 - profile.MAX_ACTIVITIES)


def test_where_the_profiler_sees_no_device_the_audit_says_so_and_the_answer_is_right() -> None:
    call = Call("value", profile=True)
    answer = call.run(lambda x, weight: x * weight)
    assert answer["audit"] == {"activities": [], "start_ns": 0, "stop_ns": 0, "has_markers": False, "dropped": 0}
    assert torch.equal(call.result(), call.x * call.weight)


# --- the runtime ------------------------------------------------------------------------------------------------------


class Library:
    def __init__(self, error: int = 0) -> None:
        self.called: list[str] = []
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return lambda *_: self.called.append(name) or self._error  # type: ignore[func-returns-value]


def test_the_persisting_part_of_the_cache_is_given_back() -> None:
    library = Library()
    runtime.Runtime(library).reset_persisting_cache()
    assert library.called == ["cudaDeviceSetLimit", "cudaCtxResetPersistingL2Cache"]


def test_memory_that_cannot_be_pinned_is_copied_as_it_is() -> None:
    assert runtime.Runtime(library := Library()).pin(4096, 4096)
    assert not runtime.Runtime(refusing := Library(error=304)).pin(4096, 4096)
    assert (library.called, refusing.called) == (["cudaHostRegister"], ["cudaHostRegister", "cudaGetLastError"])


def test_an_error_of_ours_is_not_left_for_torch_to_find() -> None:
    library = Library(error=801)
    assert not runtime.Runtime(library).fill(4096, 255, 16)
    assert library.called == ["cudaMemset", "cudaGetLastError"]


def test_without_a_runtime_nothing_happens() -> None:
    runtime.Runtime(None).reset_persisting_cache()
    assert not runtime.Runtime(None).fill(0, 0, 0)
    assert not runtime.Runtime(None).pin(0, 0)


def test_the_runtime_that_is_mapped_is_found() -> None:
    maps = [
        "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libc.so.6\n",
        "7f02-7f03 r-xp 00000000 08:01 13 /opt/site packages/cuda_runtime/lib/libcudart.so.12\n",
    ]
    assert runtime.find_library(maps) == "/opt/site packages/cuda_runtime/lib/libcudart.so.12"
    assert runtime.find_library(maps[:1]) is None


def test_only_free_blocks_of_the_common_pool_are_poisoned() -> None:
    blocks = [
        {"address": 1, "size": 512, "state": "inactive"},
        {"address": 2, "size": 512, "state": "active_allocated"},
        {"address": 3, "size": 512, "state": "active_pending_free"},
    ]
    segments: list[dict[str, Any]] = [
        {"segment_pool_id": (0, 0), "blocks": blocks},
        {"segment_pool_id": (0, 1), "blocks": [{"address": 4, "size": 512, "state": "inactive"}]},
        {"blocks": [{"address": 5, "size": 512, "state": "inactive"}]},
    ]
    assert free_blocks(segments) == [(1, 512), (5, 512)]
