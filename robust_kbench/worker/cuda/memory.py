"""The judge's device memory as a worker sees it: two words, the slots of calls, and a region for results."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from robust_kbench.worker import wire
from robust_kbench.worker.cuda.driver import Driver, bytes_at, whole_granules


class Memory:
    """Memory that the judge has allocated and exported, and owns: it reads results where they are."""

    def __init__(self, descriptor: int, size_bytes: int, results_at: int) -> None:
        """Import `size_bytes` from `descriptor`; from the offset `results_at` on, results may be allocated."""
        driver = Driver()
        self.size_bytes = size_bytes
        self.address = driver.map(driver.import_memory(descriptor), size_bytes)
        self._bytes = bytes_at(self.address, size_bytes)
        self._region = Region(self.address + results_at, self.address + size_bytes)
        self._functions = (
            _ALLOCATE(self._allocate),
            _FREE(self._give_back),
        )  # these live as long as the pool, which calls them
        allocate, free = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in self._functions)
        self._allocator = torch._C._cuda_customAllocator(allocate, free)
        self._pools = self._empty_pools()

    @property
    def end(self) -> int:
        """Address of the word that ends a call."""
        return self.address + wire.END_OFFSET

    @property
    def pool_ids(self) -> tuple[tuple[int, int], ...]:
        """PyTorch's names of the pools of results."""
        return tuple(pool.id for pool in self._pools)

    def tensor(self, spec: dict[str, Any]) -> torch.Tensor:
        """The tensor that `spec` describes: dtype, shape, stride (elements) and offset (bytes)."""
        dtype = getattr(torch, spec["dtype"])
        if spec["span"] == 0:
            return torch.empty(spec["shape"], dtype=dtype, device="cuda")
        flat = self._bytes[spec["offset"] : spec["offset"] + spec["span"] * dtype.itemsize].view(dtype)
        return flat.as_strided(spec["shape"], spec["stride"])

    def pointer(self, spec: dict[str, Any]) -> ctypes.c_void_p:
        """The address of the first element, for kernels of abi c."""
        return ctypes.c_void_p(self.address + spec["offset"])

    def offset_of(self, tensor: torch.Tensor) -> int | None:
        """Offset of a tensor in the judge's memory, in bytes; None where it lies elsewhere."""
        offset = tensor.data_ptr() - self.address
        return offset if 0 <= offset < self.size_bytes else None

    def make_room(self) -> None:
        """Have the region be empty, before calls of another size.

        PyTorch's allocator would keep segments of the sizes of earlier calls. Once they fill the region, results would
        lie elsewhere and be copied, on the clock.
        """
        self._pools = self._empty_pools()  # the former ones give back all that nobody holds
        torch.cuda.empty_cache()

    @contextmanager
    def serving_results(self) -> Iterator[None]:
        """Have PyTorch take from the region for results, as long as it has room.

        One pool is for what this thread allocates, on any stream, the other for what any thread allocates on the
        stream of calls: automatic differentiation computes its gradients in threads of its own.
        """
        device, others = torch.cuda.current_device(), self._pools[1].id
        with torch.cuda.use_mem_pool(self._pools[0]):
            torch._C._cuda_beginAllocateToPool(device, others)
            try:
                yield
            finally:
                torch._C._cuda_endAllocateToPool(device, others)
                torch._C._cuda_releasePool(device, others)

    def _empty_pools(self) -> tuple[torch.cuda.MemPool, torch.cuda.MemPool]:
        return torch.cuda.MemPool(self._allocator), torch.cuda.MemPool(self._allocator)

    def _allocate(self, size_bytes: int, device: int, stream: int) -> int | None:
        """A segment for PyTorch's allocator: a part of the region, or memory of the worker's own."""
        size_bytes = whole_granules(size_bytes)
        if (address := self._region.take(size_bytes)) is not None:
            return address
        elsewhere = ctypes.c_uint64()
        code = _library().cuMemAlloc_v2(ctypes.byref(elsewhere), ctypes.c_size_t(size_bytes))
        return None if code else elsewhere.value

    def _give_back(self, address: int, size_bytes: int, device: int, stream: int) -> None:
        if not self._region.give_back(address, whole_granules(size_bytes)):
            _library().cuMemFree_v2(ctypes.c_uint64(address))


class Region:
    """Addresses from `start` to `stop`, of which the first that are free are taken."""

    def __init__(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        self._free = [(start, stop)]

    def take(self, size_bytes: int) -> int | None:
        """Take the first range of so many bytes; None where none is free."""
        for number, (start, stop) in enumerate(self._free):
            if stop - start >= size_bytes:
                self._free[number : number + 1] = [(start + size_bytes, stop)] if stop - start > size_bytes else []
                return start
        return None

    def give_back(self, address: int, size_bytes: int) -> bool:
        """Have a range be free again, as one with those beside it; False where it is none of this region."""
        if not self._start <= address < self._stop:
            return False
        joined = list[tuple[int, int]]()
        for start, stop in sorted([*self._free, (address, address + size_bytes)]):
            if joined and joined[-1][1] == start:
                joined[-1] = joined[-1][0], stop
            else:
                joined.append((start, stop))
        self._free = joined
        return True


class Zeros:
    """Memory of the worker's own, for tensors like those that lie in the judge's.

    Each has an offset of its own there: what is compiled for equal ones is compiled anew when they differ.
    """

    def __init__(self, device: str = "cuda") -> None:
        self._device = device
        self._offset = 0

    def tensor(self, spec: dict[str, Any]) -> torch.Tensor:
        """The tensor that `spec` describes: dtype, shape, stride and span (elements)."""
        dtype = getattr(torch, spec["dtype"])
        self._offset += _PAGE_BYTES
        flat = torch.zeros(self._offset + spec["span"] * dtype.itemsize, dtype=torch.uint8, device=self._device)
        return flat[self._offset :].view(dtype).as_strided(spec["shape"], spec["stride"])

    def pointer(self, spec: dict[str, Any]) -> ctypes.c_void_p:
        """Refuse: memory that is passed on by its address alone would be given back before the call."""
        raise NotImplementedError("kernels of abi c are not rehearsed")


_PAGE_BYTES = 4096
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
