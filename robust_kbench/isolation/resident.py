"""Memory of a result: the worker's own, there before the judge reads it, and the caller's to change afterwards.

The loophole: a result need not be computed to be read. Pages that a kernel has only mapped, over its inputs or over
nothing, are fetched or made zero when the judge looks at them, which costs the kernel nothing on the clock.
How it is detected: in the page table of the stopped worker (`/proc/PID/pagemap`, see Linux'
Documentation/admin-guide/mm/pagemap.rst). No page of a result is a file's or shared, unless the whole result is an
input, at the place where the judge has put it. A page that is not there is charged with the time that making it takes.
So is a page that was read and never written: all such pages are one page of zeros, which is cheap to look through.
Zeros of a new heap, as NumPy hands them out, are right but not free. A kernel may also keep its last result, and
compute only what differs. So the judge writes poison to random elements of each result that it has read. Nor may a
kernel clear the memory of many results in a call that is not scored. Pages are charged that no result of the worker's
latest calls has lain on, if its memory has not grown by as much during the call.
What it lets through: results that are kept and compared with what they were, all of them. Scratch memory that was
cleared ahead, another piece for each call. Huge pages of zeros cost a quarter of the charge. Nothing is known where the
table cannot be read, as on gVisor.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from robust_kbench.isolation.arena import PAGE_BYTES, POISON, Slot, span_of, write_memory

PAGE_NS = 2_000
"""To fault in a page and to make it zero: 1.3 to 1.9 us were measured in a virtual machine, so that nothing is gained.
Zeros take 0.2 us in a page that is there."""
_FULL = 7 / 8
"""Least share of its pages that a result fills, if all of each page counts as used."""
_RECENT = 8
"""Calls for which a page counts as used. An allocator gives what was freed last; a kernel that clears the memory of
many results in one call would have to do so within so many calls, among those that are timed."""
_SPOILT = 64
"""Elements of a result that are spoilt."""
_random = np.random.default_rng()
_ENTRY_BYTES = 8
_PRESENT, _SWAPPED, _SHARED, _EXCLUSIVE = (np.uint64(1 << bit) for bit in (63, 62, 61, 56))
Numbers = npt.NDArray[np.int64]
File = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True)
class Found:
    """Facts from the page table: a problem in words, numbers of pages, and if the result may be an input.

    `missing`: pages that are not there; `new`: pages that are there, and on which no earlier result has lain.
    """

    problem: str = ""
    missing: int = 0
    may_be_an_input: bool = False
    new: int = 0


Form = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Address, shape and stride."""


@dataclass
class Used:
    """Pages of one worker on which results of its latest calls have lain."""

    _call: int = 0
    _pages: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _since: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Number of the latest call, for each of the pages."""
    _forms: dict[Form, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin with the results of another call."""
        self._call += 1

    def add(self, pages: Numbers, form: Form | None = None) -> int:
        """Add a result's `pages`, in order, and count the ones that are new.

        `form`: of a result that does not fill its pages. Only the same one is known later, at the same place: between
        its rows there may lie others, which have never been handed out.
        """
        at = np.searchsorted(self._pages, pages)
        at[at == len(self._pages)] = 0
        is_known = self._pages[at] == pages if len(self._pages) else np.zeros(len(pages), dtype=bool)
        is_used = is_known.copy()
        is_used[is_known] = self._since[at[is_known]] >= self._call - _RECENT
        new = int(np.count_nonzero(~is_used))
        if form is not None:
            before, self._forms[form] = self._forms.get(form), self._call
            return 0 if before is not None and before >= self._call - _RECENT else new
        self._since[at[is_known]] = self._call
        if not is_known.all():
            self._pages = np.concatenate([self._pages, pages[~is_known]])
            self._since = np.concatenate([self._since, np.full(len(self._pages) - len(self._since), self._call)])
            order = np.argsort(self._pages)
            self._pages, self._since = self._pages[order], self._since[order]
        return new


@dataclass(frozen=True)
class _Mapping:
    start: int
    end: int
    offset: int
    file: File
    is_private: bool

    @property
    def is_anonymous(self) -> bool:
        return self.is_private and self.file == (0, 0)


def look(
    pid: int,
    pointer: int,
    slot: Slot,
    stride: tuple[int, ...],
    inputs: Sequence[Slot],
    arena: File | None,
    used: Used | None = None,
) -> Found:
    """Look at what worker `pid` has at `pointer`.

    It has the shape and the type of `slot`, and lies there with `stride`, in elements. `inputs`: slots of the judge's
    memory, which is the file `arena`; a kernel may hand back each as it is. `used`: pages of earlier results of the
    worker, to which the pages of this one are added.
    """
    nbytes = span_of(slot.shape, stride) * slot.itemsize
    if nbytes == 0 or not 0 < pointer < 2**63 - nbytes:
        return Found()  # what is wrong with such an address is said by whoever reads it
    steps = [step * slot.itemsize for step in stride]
    pages = pages_of(pointer, slot.shape, steps, slot.itemsize)
    entries = _entries(pid, pages)
    if entries is None:
        return Found(may_be_an_input=True)
    # A page that a process has written is its own alone, unless it has started another process since.
    is_own = (entries & (_SWAPPED | _SHARED | _EXCLUSIVE)) != 0
    missing = int(np.count_nonzero(~is_own))
    shared = pages[(entries & _SHARED) != 0]
    if not len(shared):
        form = None if _fills(slot.shape, steps, slot.itemsize, len(pages)) else (pointer, slot.shape, tuple(steps))
        return Found(missing=missing, new=0 if used is None else used.add(pages[is_own], form))
    mappings = _mappings(pid)
    zeros = _count_anonymous(mappings, shared)  # of one huge page, which all share
    if zeros == len(shared):
        return Found(missing=missing + zeros)
    if _is_an_input(mappings, pointer, nbytes, inputs, arena):
        return Found(may_be_an_input=True)
    words = f"{len(shared) - zeros:,} of its {len(pages):,} pages are mapped from elsewhere; return memory of your own"
    return Found(words, missing)


def spoil(pid: int, pointer: int, slot: Slot, stride: tuple[int, ...]) -> None:
    """Write poison over random elements of a result at `pointer` of the stopped worker `pid`.

    Takes the result's form as `look` does. Raises OSError where the memory cannot be written.
    """
    if 0 in slot.shape:
        return
    places = np.zeros(_SPOILT, dtype=np.int64)
    for size, step in zip(slot.shape, stride, strict=True):
        places += _random.integers(size, size=_SPOILT) * step
    write_memory(pid, (pointer + places * slot.itemsize).tolist(), bytes([POISON]) * slot.itemsize)


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


def _fills(shape: Sequence[int], stride: Sequence[int], itemsize: int, pages: int) -> bool:
    """Tell if elements that do not overlap fill nearly all of so many pages; `stride` is in bytes."""
    end = itemsize
    for step, size in sorted((step, size) for step, size in zip(stride, shape, strict=True) if size > 1):
        if step < end:
            return False
        end += step * (size - 1)
    return math.prod(shape) * itemsize >= _FULL * (pages - 2) * PAGE_BYTES


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


def _mappings(pid: int) -> list[_Mapping]:
    """Mappings of a process. Names come last in each line, and are a submission's to choose: nobody reads them."""
    with open(f"/proc/{pid}/maps", "rb") as maps:
        lines = maps.read().split(b"\n")
    found = []
    for line in lines[:-1]:
        bounds, mode, offset, device, inode = line.split(None, 5)[:5]
        start, end = (int(number, 16) for number in bounds.split(b"-"))
        major, minor = (int(number, 16) for number in device.split(b":"))
        node = int(inode)
        file = (os.makedev(major, minor), node) if node else (0, 0)
        if end < 2**63:  # else it is the kernel's
            found.append(_Mapping(start, end, int(offset, 16), file, is_private=mode[3:4] == b"p"))
    return found


def _count_anonymous(mappings: Sequence[_Mapping], pages: Numbers) -> int:
    """Count pages of private memory that is no file's."""
    own = list(chain.from_iterable((each.start, each.end) for each in mappings if each.is_anonymous))
    return int(np.count_nonzero(np.searchsorted(np.array(own, dtype=np.int64), pages * PAGE_BYTES, "right") % 2))


def _is_an_input(
    mappings: Sequence[_Mapping], pointer: int, nbytes: int, inputs: Sequence[Slot], arena: File | None
) -> bool:
    """Tell if bytes that a worker has at `pointer` are a part of one input, where a mapping of the arena has it."""
    for each in mappings:
        if each.file == arena and each.start <= pointer and pointer + nbytes <= each.end:
            place = each.offset + pointer - each.start
            return any(slot.offset <= place and place + nbytes <= slot.offset + slot.nbytes for slot in inputs)
    return False
