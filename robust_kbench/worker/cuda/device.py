"""The first visible CUDA device, in the worker; the context is created here, after the fork."""

import contextlib
from typing import Any

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.cuda import runtime
from robust_kbench.worker.cuda.call import CudaCall
from robust_kbench.worker.cuda.driver import Driver
from robust_kbench.worker.cuda.memory import Memory, Zeros
from robust_kbench.worker.loaders import Kernel

_MAX_POISON_BYTES = 1 << 30
_POISON = 0xFF  # NaN in every float dtype
_DEFAULT_POOL = (0, 0)


class CudaDevice:
    """Streams and memory of the device."""

    def __init__(self) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        self.synchronize()  # makes torch's context the current one
        self._driver = Driver()
        self._runtime = runtime.loaded_runtime()
        self._size: tuple[object, ...] = ()

    def open_memory(self, descriptor: int, request: dict[str, Any]) -> Memory:
        """Map the judge's device memory."""
        return Memory(descriptor, request["arena_bytes"], request["results_at"])

    def prepare(self, abi: str, memory: Memory, request: dict[str, Any]) -> CudaCall:
        """Build the arguments of one call."""
        if not request["empty"]:
            if self._size != (size := (request["dtype"], *request["axes"])):
                self._size = size
                memory.make_room()
            self._poison_free_memory(memory.pool_ids)
        return CudaCall(self, abi, memory, request)

    def rehearse(self, kernel: Kernel, abi: str, request: dict[str, Any]) -> None:
        """Call `kernel` once with zeros in memory of the worker's own, which is given back.

        `request`: inputs, outputs, axes, and the scalars by their places among the inputs.
        """
        passed = [] if abi in ("value", "torch") else request["outputs"]
        called_with = arguments.build(abi, Zeros(), request["inputs"], passed, request["axes"])
        arguments.receive(called_with, {int(place): value for place, value in request["scalars"].items()})
        kernel(*called_with)
        del called_with
        self.synchronize()
        torch.cuda.empty_cache()

    def wait(self, address: int, value: int) -> None:
        """Have the stream of calls wait for a word."""
        self._driver.wait(self.stream(), address, value)

    def write(self, address: int, value: int) -> None:
        """Have the stream of calls write a word, behind all that it did before."""
        self._driver.write(self.stream(), address, value)

    def event(self) -> Any:
        """A new event that takes times."""
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def stream(self) -> int:
        """The handle of the stream on which calls run: the default one, which kernels without a stream use too."""
        return int(torch.cuda.current_stream().cuda_stream)

    def other_stream(self) -> contextlib.AbstractContextManager[None]:
        """Another stream is the current one meanwhile, on which calls run, too."""
        return torch.cuda.stream(torch.cuda.Stream())  # type: ignore[no-untyped-call]

    def enter_thread(self) -> None:
        """Make the context current in a new thread, which kernels need that call the driver. It waits for nothing."""
        torch.cuda.current_stream().query()

    def synchronize(self) -> None:
        """Wait for every stream."""
        torch.cuda.synchronize()

    def launch_nothing(self) -> None:
        """Launch a kernel that does nothing."""
        torch.cuda._sleep(0)  # type: ignore[no-untyped-call]

    def _poison_free_memory(self, results: tuple[tuple[int, int], ...]) -> None:
        """Overwrite what torch keeps of freed memory, so that a kernel which reads what it never wrote shows it.

        It does not see memory that a submission allocates by itself, nor what CUDA graphs keep for their replays, and
        does at most 1 GiB a call.
        """
        left = _MAX_POISON_BYTES
        for address, size in free_blocks(torch.cuda.memory_snapshot(), (_DEFAULT_POOL, *results)):  # type: ignore[no-untyped-call]
            if size <= left and self._runtime.fill(address, _POISON, size):
                left -= size


def free_blocks(segments: list[dict[str, Any]], pools: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Address and bytes of the blocks that torch's allocator holds free in `pools`.

    `segments`: as torch.cuda.memory_snapshot returns them.
    """
    return [
        (block["address"], block["size"])
        for segment in segments
        if tuple(segment.get("segment_pool_id", _DEFAULT_POOL)) in pools
        for block in segment["blocks"]
        if block["state"] == "inactive" and "address" in block
    ]
