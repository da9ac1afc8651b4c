"""The first visible CUDA device, in the worker; the context is created here, after the fork."""

from typing import Any

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.cuda import clocks, runtime
from robust_kbench.worker.cuda.call import CudaCall
from robust_kbench.worker.cuda.hold import Hold

_MIN_FLUSH_BYTES = 64 << 20
_MAX_FLUSH_BYTES = 512 << 20
_MAX_POISON_BYTES = 4 << 30
_POISON = 0xFF  # NaN in every float dtype
_DEFAULT_POOL = (0, 0)


class CudaDevice:
    """Memory, streams, events and the cache of the device, and what an empty call costs on it."""

    place = "cuda"

    def __init__(self) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        properties = torch.cuda.get_device_properties(0)
        size = min(max(2 * properties.L2_cache_size, _MIN_FLUSH_BYTES), _MAX_FLUSH_BYTES)
        self._scratch = torch.zeros(size, dtype=torch.uint8, device=self.place)
        self._clean = torch.zeros(size // 4, dtype=torch.int32, device=self.place)
        self._hold = Hold(properties)
        self._runtime = runtime.loaded_runtime()
        self._arena: arguments.Arena | None = None
        self.first_wall_ns: dict[str, int] = {}
        self.calibration = clocks.calibrate(self)

    def prepare(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> CudaCall:
        """Allocate this call's own buffers."""
        if self._arena is not arena:
            self._arena = arena
            self._runtime.pin(arena.address, arena.size_bytes)  # 64 MiB there and back: 14 ms without, 3 ms with it
        return CudaCall(self, abi, arena, request)

    def flush(self) -> None:
        """Evict everything from L2 and leave clean lines: a dirty one would be written back on the kernel's account."""
        self._scratch.fill_(1)
        self._clean.sum()

    def hold(self, times: int = 1) -> None:
        """Flush, then keep the device busy for some time, so that the host can launch what is to be timed."""
        self.flush()
        self._hold(times)

    def reset_cache(self) -> None:
        """Undo what a submission has set aside of the L2 cache for its own data."""
        self._runtime.reset_persisting_cache()

    def poison_free_memory(self) -> None:
        """Overwrite what torch keeps of freed memory, so that a kernel which reads what it never wrote shows it.

        It does not see memory that a submission allocates by itself, nor what CUDA graphs keep for their replays, and
        does at most 4 GiB a call.
        """
        left = _MAX_POISON_BYTES
        for address, size in free_blocks(torch.cuda.memory_snapshot()):  # type: ignore[no-untyped-call]
            if size <= left and self._runtime.fill(address, _POISON, size):
                left -= size

    def used_bytes(self) -> int:
        """Memory in use on the whole device."""
        free, total = torch.cuda.mem_get_info()
        return int(total - free)

    def event(self) -> clocks.Event:
        """A new event that takes times."""
        event: clocks.Event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        return event

    def stream(self) -> int:
        """The handle of the stream on which calls run."""
        return int(torch.cuda.current_stream().cuda_stream)

    def synchronize(self) -> None:
        """Wait for every stream."""
        torch.cuda.synchronize()

    def launch_nothing(self) -> None:
        """Launch a kernel that does nothing; the profiler's markers are such kernels too."""
        torch.cuda._sleep(0)  # type: ignore[no-untyped-call]


def free_blocks(segments: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Address and bytes of the blocks that torch's allocator holds free; `segments` as torch.cuda.memory_snapshot."""
    return [
        (block["address"], block["size"])
        for segment in segments
        if tuple(segment.get("segment_pool_id", _DEFAULT_POOL)) == _DEFAULT_POOL
        for block in segment["blocks"]
        if block["state"] == "inactive" and "address" in block
    ]
