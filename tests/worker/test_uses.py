"""A worker's handling of a request with a `use`: several calls, PyTorch's modes, another thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from robust_kbench.isolation.arena import Arena as JudgesArena
from robust_kbench.worker import arguments
from robust_kbench.worker.devices import CpuCall, CpuDevice
from robust_kbench.worker.uses import CpuCalls, Use


class Memory:
    """Two sets of an input of two elements and a scalar, and room for the outputs of three calls."""

    def __init__(self) -> None:
        self.judges = JudgesArena(1 << 18)
        self.judges.begin(1 << 17)
        self.inputs = [self.judges.place("float32", (2,), (1,)) for _ in range(2)]
        self.outputs = [self.judges.place("float32", (2,), (1,)) for _ in range(3)]
        for number, slot in enumerate(self.inputs):
            values = torch.tensor([1.0, 2.0]) + 10 * number
            self.judges.bytes_of(slot).copy_(values.view(torch.uint8))
        self.arena = arguments.Arena(self.judges.lend(), self.judges.size_bytes)

    def request(self, **use: Any) -> dict[str, Any]:
        """Return a request for three calls: on the first set, the second one, the first one."""
        scalar = {"scalar": "float64"}
        return {
            "inputs": [self.inputs[0].describe(), scalar, self.inputs[1].describe(), scalar],
            "outputs": [slot.describe() for slot in self.outputs],
            "axes": [2],
            "copy_out": False,
            "use": {"sets": 2, "order": [0, 1, 0], "mode": None, "in_thread": False, "on_stream": False, **use},
        }

    def output(self, number: int) -> list[float]:
        """Return the present contents of an output."""
        return self.judges.bytes_of(self.outputs[number]).view(torch.float32).tolist()


@pytest.fixture
def memory() -> Memory:
    return Memory()


def scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    return x * scale


def into(x: torch.Tensor, scale: float, y: torch.Tensor) -> None:
    y.copy_(x * scale)


def made(memory: Memory, abi: str, kernel: Any, **changes: Any) -> tuple[CpuCalls, dict[str, Any]]:
    request = {**memory.request(**changes.pop("use", {})), **changes}
    call = CpuCalls(abi, memory.arena, request)
    call.receive({1: 2.0, 3: 100.0})
    return call, call.run(kernel)


def test_each_call_gets_its_set_and_its_scalars(memory: Memory) -> None:
    made(memory, "destination", into)
    assert [memory.output(number) for number in range(3)] == [[2.0, 4.0], [1100.0, 1200.0], [2.0, 4.0]]


def test_results_are_claimed_one_call_after_the_other(memory: Memory) -> None:
    _, answer = made(memory, "value", scaled)
    claims = answer["outputs"]
    assert len(claims) == 3
    assert len({claim["pointer"] for claim in claims}) == 3  # all are kept until the judge has read them


def test_results_are_copied_to_where_the_judge_reads_them(memory: Memory) -> None:
    call, answer = made(memory, "value", scaled, copy_out=True)
    call.copy_out(answer)
    assert [memory.output(number) for number in range(3)] == [[2.0, 4.0], [1100.0, 1200.0], [2.0, 4.0]]


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("mode", [None, "no_grad", "inference_mode", "requires_grad"])
def test_the_kernel_finds_the_mode_and_the_thread_that_it_is_called_in(
    memory: Memory, mode: str | None, in_thread: bool
) -> None:
    found: list[tuple[bool, bool, bool, bool]] = []

    def kernel(x: torch.Tensor, scale: float) -> torch.Tensor:
        is_here = threading.get_ident() == home
        found.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), x.requires_grad, is_here))
        return x * scale

    home, threads = threading.get_ident(), threading.active_count()  # other tests' devices may have one
    made(memory, "value", kernel, use={"mode": mode, "in_thread": in_thread})
    is_enabled = mode not in ("no_grad", "inference_mode")
    assert set(found) == {(is_enabled, mode == "inference_mode", mode == "requires_grad", not in_thread)}
    assert torch.is_grad_enabled()
    assert threading.active_count() == threads


@pytest.mark.parametrize("in_thread", [False, True])
def test_what_a_call_raises_is_raised(memory: Memory, in_thread: bool) -> None:
    def kernel(x: torch.Tensor, scale: float) -> torch.Tensor:
        if scale > 2.0:
            raise ValueError("too large")
        return x

    with pytest.raises(ValueError, match="too large"):
        made(memory, "value", kernel, use={"in_thread": in_thread})


def test_a_plain_request_is_one_call(memory: Memory) -> None:
    request = memory.request()
    del request["use"]
    use = Use(request)
    assert use.calls == 1
    assert len(use.outputs_of(0)) == 3
    assert isinstance(CpuDevice().prepare("value", memory.arena, request), CpuCall)
