"""Whether a result is memory of the worker's own that is there, before the judge reads it.

The loophole: a result need not be computed to be read. Pages that a kernel has only mapped, over its inputs or over
nothing, are fetched or made zero when the judge looks at them, which costs the kernel nothing on the clock.
How it is detected: in the page table of the stopped worker (`/proc/PID/pagemap`, see Linux'
Documentation/admin-guide/mm/pagemap.rst). All pages of a result are there, and none is a file's or shared, unless the
whole result is an input, at the place where the judge has put it.
What it lets through: pages of zeros that were read and never written, which takes nearly as long. Nothing is known
where the table cannot be read, as on gVisor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from robust_kbench.isolation.arena import PAGE_BYTES, Slot, span_of

_ENTRY_BYTES = 8
_PRESENT, _SWAPPED, _SHARED = (np.uint64(1 << bit) for bit in (63, 62, 61))
_ARENA = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) .*/memfd:kbench-arena")
Numbers = npt.NDArray[np.int64]


def absence(
    pid: int, pointer: int, slot: Slot, stride: tuple[int, ...], inputs: Sequence[Slot], *, is_timed: bool
) -> str | None:
    """Say in words why what worker `pid` has at `pointer` is no result of its own, or None.

    It has the shape and the type of `slot`, and lies there with `stride`, in elements. `inputs`: slots of the judge's
    memory, each of which a kernel may hand back as it is. `is_timed`: whether pages must be there. Zeros of a heap that
    is new, as NumPy's, are not, and cost nobody anything in a call that is only checked; in one that is timed the heap
    is not new.
    """
    nbytes = span_of(slot.shape, stride) * slot.itemsize
    if nbytes == 0 or not 0 < pointer < 2**63 - nbytes:
        return None  # what is wrong with such an address is said by whoever reads it
    pages = pages_of(pointer, slot.shape, [step * slot.itemsize for step in stride], slot.itemsize)
    entries = _entries(pid, pages)
    if entries is None:
        return None
    missing = int(np.count_nonzero((entries & (_PRESENT | _SWAPPED)) == 0))
    if missing and is_timed:
        return f"{missing:,} of its {len(pages):,} pages were never written; a result must be there when a call ends"
    shared = int(np.count_nonzero(entries & _SHARED))
    if shared and not _is_an_input(pid, pointer, nbytes, inputs):
        return f"{shared:,} of its {len(pages):,} pages are mapped from elsewhere; return memory of your own"
    return None


def pages_of(pointer: int, shape: Sequence[int], stride: Sequence[int], itemsize: int) -> Numbers:
    """Numbers of the pages on which there are bytes of elements, in order; `stride` is in bytes."""
    axes = sorted((step, size) for size, step in zip(shape, stride, strict=True) if size > 1)
    run_bytes, elements = itemsize, 1
    while axes and (axes[0][0] <= PAGE_BYTES or run_bytes == elements * itemsize == axes[0][0]):
        # Neighbours along such an axis are no page apart, or what lies between them is full of elements.
        step, size = axes.pop(0)
        run_bytes += (size - 1) * step
        elements *= size
    starts = np.array([pointer], dtype=np.int64)
    for step, size in axes:
        starts = (starts[:, None] + np.arange(size, dtype=np.int64) * step).reshape(-1)
    first, last = starts // PAGE_BYTES, (starts + run_bytes - 1) // PAGE_BYTES
    if len(starts) == 1:
        return np.arange(first[0], last[0] + 1, dtype=np.int64)
    most = int((last - first).max()) + 1
    return np.unique(np.minimum(first[:, None] + np.arange(most, dtype=np.int64), last[:, None]))


def _entries(pid: int, pages: Numbers) -> npt.NDArray[np.uint64] | None:
    """Entries of the page table; None where nobody lets us read it."""
    start, count = int(pages[0]), int(pages[-1] - pages[0]) + 1
    try:
        descriptor = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        table = os.pread(descriptor, count * _ENTRY_BYTES, start * _ENTRY_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    found = np.zeros(count, dtype=np.uint64)  # what lies behind the last mapping has no entries
    known = np.frombuffer(table[: len(table) // _ENTRY_BYTES * _ENTRY_BYTES], dtype=np.uint64)
    found[: len(known)] = known
    return found[pages - start]


def _is_an_input(pid: int, pointer: int, nbytes: int, inputs: Sequence[Slot]) -> bool:
    """Tell if bytes that a worker has at `pointer` are a part of one input, where its mapping of the arena has it."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        found = [match for line in maps if (match := _ARENA.match(line))]
    for match in found:
        start, end, offset = (int(group, 16) for group in match.groups())
        if start <= pointer and pointer + nbytes <= end:
            place = offset + pointer - start
            return any(slot.offset <= place and place + nbytes <= slot.offset + slot.nbytes for slot in inputs)
    return False
