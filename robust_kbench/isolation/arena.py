"""Shared memory that the judge owns and workers map: it holds inputs and outputs of every call as raw bytes."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from robust_kbench.isolation.memfd import sealed_memfd

PAGE_BYTES = 4096
REDZONE_BYTES = 4096
REDZONE = 0xA5
POISON = 0xFF
"""Byte that makes NaN in every float dtype, and -1 in signed integers."""


@dataclass(frozen=True)
class Slot:
    """Place of one tensor in the arena. `span` counts elements from the first to the last, gaps included."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    span: int
    itemsize: int

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last."""
        return self.span * self.itemsize

    def describe(self) -> dict[str, Any]:
        """Describe the slot to the worker."""
        return {
            "dtype": self.dtype,
            "shape": self.shape,
            "stride": self.stride,
            "offset": self.offset,
            "span": self.span,
        }


class Slots:
    """Memory in which every call gets its slots, between red zones, at addresses that no earlier call foretells."""

    size_bytes: int
    """Size of the whole memory in bytes."""
    results_at: int = 0
    """Offset of the region in which workers allocate results; 0 without such a region."""
    file: tuple[int, int] | None = None
    """Device and inode of the file that workers map; None where the memory is no file."""

    def __init__(self, memory: torch.Tensor, first: int, stop: int) -> None:
        """Lay out slots in `memory`, all of it as bytes, from the offset `first` up to `stop`."""
        self._bytes = memory
        self._first, self._stop = first, stop
        self._random = random.SystemRandom()
        self._start = self._next = first

    @property
    def kind(self) -> str:
        """Kind of device on which the memory lies."""
        return self._bytes.device.type

    @property
    def host_bytes(self) -> int:
        """Bytes of the memory that belong to the host."""
        return self.size_bytes if self.kind == "cpu" else 0

    def lend(self) -> int:
        """Open a file descriptor through which one worker maps the memory; the caller closes its own copy.

        Every worker has one of its own: flags and locks that a worker sets there must not reach the next one.
        """
        raise NotImplementedError

    def for_a_worker(self) -> Slots:
        """Return the memory of one of several workers: this one, which all share, or another of the same size."""
        return self

    def wipe(self) -> None:
        """Fill all of the memory with zeros."""
        self._bytes.zero_()

    def close(self) -> None:
        """Let go of the memory, as its kind requires."""
        raise NotImplementedError

    def begin(self, needed_bytes: int, *, same_place: bool = False) -> None:
        """Start laying out a call that needs `needed_bytes` (see `footprint`) at a random page.

        `same_place`: start where the last call began, if this one fits in there.
        """
        room = self._stop - self._first
        free_pages = (room - needed_bytes) // PAGE_BYTES
        if free_pages < 0:
            raise ValueError(f"a call of {needed_bytes:,} bytes does not fit into an arena of {room:,}")
        if not same_place or self._start - self._first > free_pages * PAGE_BYTES:
            self._start = self._first + self._random.randrange(free_pages + 1) * PAGE_BYTES
        self._next = self._start

    def place(self, dtype: str, shape: tuple[int, ...], stride: tuple[int, ...], *, misalign: bool = False) -> Slot:
        """Place the next slot: a red zone, then the tensor on a page boundary or (misaligned) one element behind."""
        itemsize = getattr(torch, dtype).itemsize
        span = span_of(shape, stride)
        offset = self._next + REDZONE_BYTES + (itemsize if misalign else 0)
        slot = Slot(dtype, shape, stride, offset, span, itemsize)
        self._next = -(-(offset + slot.nbytes) // PAGE_BYTES) * PAGE_BYTES + REDZONE_BYTES
        self._guard(slot).fill_(REDZONE)
        self._guard(slot, behind=True).fill_(REDZONE)
        return slot

    def bytes_of(self, slot: Slot) -> torch.Tensor:
        """Return the slot's bytes, a view of shared memory that a running worker can change at any time."""
        return self._bytes[slot.offset : slot.offset + slot.nbytes]

    def overrun(self, slot: Slot) -> int | None:
        """Find a write outside the slot; its distance in bytes: negative before, positive behind it, None if none."""
        for behind in (False, True):
            changed = (self._guard(slot, behind=behind) != REDZONE).nonzero()
            if len(changed):
                first, last = int(changed[0]), int(changed[-1])
                return first + 1 if behind else last - REDZONE_BYTES
        return None

    def overruns(self, slots: Mapping[str, Slot]) -> dict[str, int]:
        """Return distances of writes outside of `slots`, by name, see `overrun`; slots without any are left out."""
        distances = {name: self.overrun(slot) for name, slot in slots.items()}
        return {name: distance for name, distance in distances.items() if distance is not None}

    def _guard(self, slot: Slot, *, behind: bool = False) -> torch.Tensor:
        start = slot.offset + slot.nbytes if behind else slot.offset - REDZONE_BYTES
        return self._bytes[start : start + REDZONE_BYTES]


class Arena(Slots):
    """Arena: one sealed memfd, which the judge and all workers map."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = -(-size_bytes // PAGE_BYTES) * PAGE_BYTES
        self._descriptor = sealed_memfd("kbench-arena", self.size_bytes)
        about = os.fstat(self._descriptor)
        self.file = (about.st_dev, about.st_ino)
        self._memory = mmap.mmap(self._descriptor, self.size_bytes, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        super().__init__(torch.frombuffer(self._memory, dtype=torch.uint8), 0, self.size_bytes)

    def lend(self) -> int:
        """Open the file anew, so that the worker gets a descriptor of its own."""
        return os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the memory. It is unmapped with the last tensor that views it, never under one."""
        del self._bytes, self._memory
        os.close(self._descriptor)


def span_of(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Count the elements from the first to the last of a strided tensor, inclusive; 0 for an empty one."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def footprint(nbytes: int) -> int:
    """Return the arena bytes that a tensor of `nbytes` may take, red zones, misalignment and rounding included."""
    return nbytes + 2 * REDZONE_BYTES + 2 * PAGE_BYTES


def write_memory(pid: int, pointers: Iterable[int], content: bytes) -> None:
    """Write `content` to each of `pointers` of another process, read-only memory of its own included.

    Raises OSError when a place is not mapped there, or when the kernel does not let us write.
    """
    descriptor = os.open(f"/proc/{pid}/mem", os.O_WRONLY | os.O_CLOEXEC)
    try:
        for pointer in pointers:
            if os.pwrite(descriptor, content, pointer) != len(content):
                raise OSError(f"memory ends behind {pointer:#x}")
    finally:
        os.close(descriptor)


def read_memory(pid: int, pointer: int, nbytes: int) -> torch.Tensor:
    """Copy `nbytes` at `pointer` of another process to private memory.

    Raises OSError when the range is not mapped there, or when the kernel does not let us look.
    """
    private = torch.empty(nbytes, dtype=torch.uint8)
    if nbytes == 0:
        return private
    if not 0 < pointer < 2**63 - nbytes:
        raise OSError(f"{pointer:#x} is no address")
    buffer = (ctypes.c_char * nbytes).from_address(private.data_ptr())
    descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        view, done = memoryview(buffer).cast("B"), 0
        while done < nbytes:
            count = os.preadv(descriptor, [view[done:]], pointer + done)
            if count == 0:
                raise OSError(f"only {done} of {nbytes} bytes at {pointer:#x} are mapped")
            done += count
    finally:
        os.close(descriptor)
    return private
