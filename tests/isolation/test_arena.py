from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_kbench.cases.layouts import strides
from robust_kbench.isolation.arena import (
    PAGE_BYTES,
    REDZONE_BYTES,
    Arena,
    Slot,
    footprint,
    read_memory,
    span_of,
)
from robust_kbench.isolation.memfd import sealed_memfd
from robust_kbench.schema.task import Layout

SHAPE, STRIDE = (4, 8), (8, 1)


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena(64 * PAGE_BYTES)
    yield arena
    arena.close()


@pytest.fixture
def descriptor() -> Iterator[int]:
    descriptor = sealed_memfd("test", 2 * PAGE_BYTES)
    yield descriptor
    os.close(descriptor)


def _write(arena: Arena, offset: int, byte: int = 0x11) -> None:
    """Write one byte of the arena, as a kernel with a wild pointer does."""
    lent = arena.lend()
    with mmap.mmap(lent, arena.size_bytes) as memory:
        memory[offset] = byte
    os.close(lent)


def _place(arena: Arena, count: int = 1, *, misalign: bool = False) -> list[Slot]:
    arena.begin(count * footprint(128))
    return [arena.place("float32", SHAPE, STRIDE, misalign=misalign) for _ in range(count)]


@pytest.mark.parametrize("misalign", [False, True], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("distance", [1, 2, 128, REDZONE_BYTES])
def test_a_write_behind_a_tensor_is_found_with_its_distance(distance: int, misalign: bool, arena: Arena) -> None:
    (slot,) = _place(arena, misalign=misalign)
    _write(arena, slot.offset + slot.nbytes + distance - 1)
    assert arena.overrun(slot) == distance


@pytest.mark.parametrize("misalign", [False, True], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("distance", [1, 2, 128, REDZONE_BYTES])
def test_a_write_before_a_tensor_is_found_with_its_distance(distance: int, misalign: bool, arena: Arena) -> None:
    (slot,) = _place(arena, misalign=misalign)
    _write(arena, slot.offset - distance)
    assert arena.overrun(slot) == -distance


def test_a_tensor_that_was_written_from_end_to_end_is_no_overrun(arena: Arena) -> None:
    slots = _place(arena, 3)
    for slot in slots:
        _write(arena, slot.offset)
        _write(arena, slot.offset + slot.nbytes - 1)
        arena.bytes_of(slot).fill_(0x77)
    assert [arena.overrun(slot) for slot in slots] == [None, None, None]


def test_an_overrun_is_charged_to_the_tensor_whose_zone_was_hit(arena: Arena) -> None:
    first, second = _place(arena, 2)
    _write(arena, second.offset + second.nbytes)
    assert (arena.overrun(first), arena.overrun(second)) == (None, 1)


def test_placing_a_tensor_again_forgets_an_old_overrun(arena: Arena) -> None:
    (slot,) = _place(arena)
    _write(arena, slot.offset + slot.nbytes)
    assert [arena.overrun(again) for again in _place(arena)] == [None]


def test_an_empty_tensor_has_zones_too(arena: Arena) -> None:
    arena.begin(footprint(0))
    slot = arena.place("float32", (0, 8), (8, 1))
    assert (slot.nbytes, arena.overrun(slot)) == (0, None)
    _write(arena, slot.offset)
    assert arena.overrun(slot) == 1


def test_addresses_differ_from_call_to_call(arena: Arena) -> None:
    offsets = {_place(arena)[0].offset for _ in range(60)}
    assert len(offsets) > 20


def test_a_call_that_fills_the_arena_has_one_place_only() -> None:
    tight = Arena(footprint(128))
    try:
        assert len({_place(tight)[0].offset for _ in range(20)}) == 1
    finally:
        tight.close()


def test_a_call_that_does_not_fit_is_refused(arena: Arena) -> None:
    with pytest.raises(ValueError, match="a call of 262,145 bytes does not fit into an arena of 262,144"):
        arena.begin(64 * PAGE_BYTES + 1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "uint8"])
def test_a_misaligned_tensor_lies_one_element_behind_a_page(dtype: str, arena: Arena) -> None:
    arena.begin(2 * footprint(256))
    aligned = arena.place(dtype, SHAPE, STRIDE)
    misaligned = arena.place(dtype, SHAPE, STRIDE, misalign=True)
    assert aligned.offset % PAGE_BYTES == 0
    assert misaligned.offset % PAGE_BYTES == aligned.itemsize == getattr(torch, dtype).itemsize


@settings(max_examples=60)
@given(
    tensors=st.lists(
        st.tuples(
            st.lists(st.integers(1, 24), min_size=2, max_size=3).map(tuple),
            st.sampled_from(["contiguous", "offset", "transposed", "strided", "expanded", "pitched"]),
            st.sampled_from(["float64", "float32", "bfloat16", "uint8"]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_footprint_suffices_for_every_layout(tensors: list[tuple[tuple[int, ...], Layout, str]]) -> None:
    slots = []
    sizes = [
        span_of(shape, strides(shape, layout)) * getattr(torch, dtype).itemsize for shape, layout, dtype in tensors
    ]
    arena = Arena(sum(map(footprint, sizes)))
    try:
        arena.begin(sum(map(footprint, sizes)))
        for shape, layout, dtype in tensors:
            slots.append(arena.place(dtype, shape, strides(shape, layout), misalign=layout == "offset"))
        ends = [slot.offset + slot.nbytes for slot in slots]
        assert [slot.nbytes for slot in slots] == sizes
        assert ends[-1] + REDZONE_BYTES <= arena.size_bytes
        # Not even the zones of two tensors overlap.
        assert all(end + 2 * REDZONE_BYTES <= slot.offset for end, slot in zip(ends, slots[1:], strict=False))
        assert slots[0].offset >= REDZONE_BYTES
    finally:
        arena.close()


def test_what_a_worker_is_told_is_where_the_tensor_lies(arena: Arena) -> None:
    (slot,) = _place(arena)
    expected = {"dtype": "float32", "shape": SHAPE, "stride": STRIDE, "offset": slot.offset, "span": 32}
    assert slot.describe() == expected


def test_the_bytes_of_a_slot_are_shared_memory(arena: Arena) -> None:
    (slot,) = _place(arena)
    _write(arena, slot.offset + 5, 0x42)
    assert int(arena.bytes_of(slot)[5]) == 0x42
    assert len(arena.bytes_of(slot)) == 4 * 8 * 4


def test_a_closed_arena_has_given_its_descriptor_back() -> None:
    arena = Arena(PAGE_BYTES)
    arena.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(arena._descriptor)


def test_what_a_worker_does_to_its_file_does_not_reach_the_next_one(arena: Arena) -> None:
    """Flags and locks of a file that all workers had would be messages from one session to another."""
    first = arena.lend()
    os.set_blocking(first, False)
    fcntl.flock(first, fcntl.LOCK_EX)
    os.lseek(first, 100, os.SEEK_SET)
    os.close(first)  # as its death does
    second = arena.lend()
    assert os.get_blocking(second)
    assert os.lseek(second, 0, os.SEEK_CUR) == 0
    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(second)


def test_a_tensor_that_outlives_its_arena_keeps_the_memory_alive() -> None:
    arena = Arena(PAGE_BYTES)
    view = arena.bytes_of(Slot("uint8", (8,), (1,), 0, 8, 1))
    arena.close()
    child = os.fork()  # reading unmapped memory would end the process
    if child == 0:
        os._exit(int(view.tolist() != [0] * 8))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [0, 1, PAGE_BYTES, 4 * PAGE_BYTES], ids=["empty", "a byte", "a page", "larger"])
def test_a_sealed_memory_file_cannot_be_resized(size: int, descriptor: int) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, size)
    assert os.fstat(descriptor).st_size == 2 * PAGE_BYTES


def test_a_sealed_memory_file_does_not_grow_by_writing_behind_its_end(descriptor: int) -> None:
    with pytest.raises(PermissionError):
        os.pwrite(descriptor, b"x", 2 * PAGE_BYTES)


def test_a_sealed_memory_file_can_be_written_and_is_not_inherited(descriptor: int) -> None:
    assert os.pwrite(descriptor, b"x", PAGE_BYTES) == 1
    assert not os.get_inheritable(descriptor)


def test_memory_of_a_process_is_copied() -> None:
    source = torch.arange(100_000, dtype=torch.int64)
    copy = read_memory(os.getpid(), source.data_ptr(), source.nbytes).view(torch.int64)
    source.zero_()
    assert torch.equal(copy, torch.arange(100_000))


def test_reading_nothing_needs_no_valid_address() -> None:
    assert read_memory(os.getpid(), 0, 0).numel() == 0


@pytest.mark.parametrize("pointer", [0, PAGE_BYTES, 2**47, 2**62, -1, -(2**62)], ids=hex)
def test_an_address_that_is_not_mapped_is_an_os_error(pointer: int) -> None:
    with pytest.raises(OSError, match="Input/output error|Invalid argument|are mapped|no address"):
        read_memory(os.getpid(), pointer, 8)


@pytest.mark.parametrize("pointer", [2**63, -(10**30)], ids=hex)
def test_a_number_that_is_no_address_at_all_is_an_os_error_too(pointer: int) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - which one is up to the kernel
        read_memory(os.getpid(), pointer, 8)


def test_a_range_that_ends_behind_the_mapping_is_an_os_error() -> None:
    with mmap.mmap(-1, 2 * PAGE_BYTES) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.munmap(ctypes.c_void_p(start + PAGE_BYTES), ctypes.c_size_t(PAGE_BYTES)) == 0
        assert read_memory(os.getpid(), start, PAGE_BYTES).numel() == PAGE_BYTES
        with pytest.raises(OSError):  # noqa: PT011 - which one is up to the kernel
            read_memory(os.getpid(), start + PAGE_BYTES - 4, 8)


def test_a_process_that_does_not_exist_is_an_os_error() -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - looked at below
        read_memory(2**22 + 1, PAGE_BYTES, 8)
    assert caught.value.errno in (errno.ENOENT, errno.ESRCH)
