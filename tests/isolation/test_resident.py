"""Facts about a result in the page table of a stopped worker."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from conftest import Submit
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import calls, resident
from robust_kbench.isolation.arena import PAGE_BYTES, POISON, Arena, Slot
from robust_kbench.isolation.calls import Caller
from robust_kbench.isolation.resident import PAGE_NS, Found, Used, look, pages_of, spoil
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.worker.kernel import map_shared

Role = Literal["check", "timed"]
PAGES = 6
SIZE = PAGES * PAGE_BYTES


def slot(size: int = SIZE, offset: int = 0) -> Slot:
    return Slot("uint8", (size,), (1,), offset, size, 1)


def found(pointer: int, size: int = SIZE, inputs: tuple[Slot, ...] = (), arena: Arena | None = None) -> Found:
    return look(os.getpid(), pointer, slot(size), (1,), inputs, arena.file if arena else None)


def mapped(flags: int, descriptor: int = -1) -> tuple[mmap.mmap, int]:
    memory = mmap.mmap(descriptor, SIZE, flags=flags)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def test_memory_that_was_written_is_there() -> None:
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(SIZE)
    assert found(pointer) == Found()
    assert found(pointer + 1, SIZE - 1) == Found()


@pytest.mark.parametrize("written", [0, 1, PAGES - 1])
def test_pages_that_nobody_wrote_are_counted(written: int) -> None:
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[: written * PAGE_BYTES] = bytes(written * PAGE_BYTES)
    assert found(pointer) == Found(missing=PAGES - written)
    assert found(pointer, written * PAGE_BYTES) == Found()


@pytest.mark.parametrize("read", [1, PAGES])
def test_pages_that_were_only_read_count_as_missing(read: int) -> None:
    """Pages that were only read are all one page of zeros."""
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[read * PAGE_BYTES - 1] = 1
    assert sum(memory[page * PAGE_BYTES] for page in range(PAGES)) == 0
    assert found(pointer) == Found(missing=PAGES - 1)


def test_a_huge_page_of_zeros_that_was_only_read_counts_as_missing() -> None:
    """Readers of such memory share one page, which looks like a file's."""
    huge = 2 << 20
    memory = mmap.mmap(-1, 2 * huge, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    pointer = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // huge) * huge
    assert ctypes.c_char.from_address(pointer).value == b"\0"
    answer = found(pointer, huge)
    assert answer.problem == ""
    assert answer.missing in (0, huge // PAGE_BYTES - 1, huge // PAGE_BYTES)  # 0: no huge pages here; -1: a small one


def test_shared_pages_are_no_result() -> None:
    memory, pointer = mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(SIZE)
    assert (
        found(pointer).problem == f"{PAGES} of its {PAGES} pages are mapped from elsewhere; return memory of your own"
    )


def test_pages_of_a_file_are_no_result_until_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(SIZE))
    with open(tmp_path / "file", "r+b") as file:
        memory, pointer = mapped(mmap.MAP_PRIVATE, file.fileno())
    assert memory[0] + memory[PAGE_BYTES] == 0  # they are there now
    assert "mapped from elsewhere" in found(pointer).problem
    memory[:] = bytes(SIZE)
    assert found(pointer) == Found()


@pytest.fixture
def arena() -> Iterator[tuple[Arena, int]]:
    """Yield the judge's memory, and the address at which this process has mapped it as a worker does."""
    made = Arena(4 * SIZE)
    lent = made.lend()
    address = map_shared(lent, made.size_bytes)
    os.close(lent)
    yield made, address
    ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(made.size_bytes))
    made.close()


def test_an_input_may_be_handed_back_as_a_whole_or_in_part(arena: tuple[Arena, int]) -> None:
    judges, address = arena
    inputs = (slot(SIZE, offset=SIZE), slot(SIZE, offset=3 * SIZE))
    assert found(address + SIZE, SIZE, inputs, judges) == Found(may_be_an_input=True)
    assert found(address + SIZE + 7, 100, inputs, judges) == Found(may_be_an_input=True)
    assert found(address + 3 * SIZE, SIZE, inputs, judges) == Found(may_be_an_input=True)


@pytest.mark.parametrize(("start", "size"), [(0, SIZE), (SIZE - 1, SIZE), (SIZE + 1, SIZE), (2 * SIZE, 8)])
def test_other_memory_of_the_judges_is_no_result(arena: tuple[Arena, int], start: int, size: int) -> None:
    judges, address = arena
    assert "mapped from elsewhere" in found(address + start, size, (slot(SIZE, offset=SIZE),), judges).problem


@pytest.mark.parametrize("folder", [".", "a\r{line}"])
def test_a_file_of_the_same_name_is_not_the_judges_memory(
    arena: tuple[Arena, int], tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name does not vouch for other memory: one with a carriage return looked like a line of its own."""
    judges, _ = arena
    inputs = (slot(SIZE),)
    memory, pointer = mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(SIZE)
    line = f"{pointer:x}-{pointer + SIZE:x} rw-p 0 y"
    monkeypatch.chdir(tmp_path)
    os.makedirs(folder.format(line=line), exist_ok=True)
    with open(os.path.join(folder.format(line=line), "memfd:kbench-arena"), "w+b") as file:
        file.truncate(SIZE)
        other = mmap.mmap(file.fileno(), SIZE)
    other[:] = bytes(SIZE)
    itself = ctypes.addressof(ctypes.c_char.from_buffer(other))
    for place in (pointer, itself):
        assert "mapped from elsewhere" in found(place, SIZE, inputs, judges).problem


def test_pages_of_an_input_among_others_are_no_result(arena: tuple[Arena, int]) -> None:
    """A cache could move its pages to the result's address, around rows that are fresh."""
    made, address = arena
    inputs = (slot(SIZE, offset=SIZE),)
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(SIZE)
    libc = ctypes.CDLL(None)
    libc.mremap.restype = ctypes.c_void_p
    sizes = ctypes.c_size_t(PAGE_BYTES), ctypes.c_size_t(PAGE_BYTES)
    moved = libc.mremap(ctypes.c_void_p(address + SIZE), *sizes, 3, ctypes.c_void_p(pointer + PAGE_BYTES))
    assert moved == pointer + PAGE_BYTES
    assert found(pointer, SIZE, inputs, made).problem == (
        f"1 of its {PAGES} pages are mapped from elsewhere; return memory of your own"
    )
    assert found(pointer + PAGE_BYTES, PAGE_BYTES, inputs, made) == Found(may_be_an_input=True)


def test_nothing_is_said_of_nothing_and_of_what_is_no_address() -> None:
    assert found(8, 0) == found(0) == found(-8) == Found()


def test_nothing_is_known_where_nobody_lets_us_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError

    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert found(pointer).missing == PAGES
    monkeypatch.setattr(os, "open", refused)
    assert found(pointer) == Found(may_be_an_input=True)  # and is not spoilt
    memory[0] = 1


@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 4, 60, 4096, 5000, 9000, 20480])), max_size=3),
    st.integers(0, 5000),
    st.sampled_from([1, 2, 4, 8]),
)
def test_pages_are_those_on_which_elements_have_bytes(axes: list[tuple[int, int]], pointer: int, itemsize: int) -> None:
    """Pages between two elements that are no page apart count as well."""
    shape, stride = [size for size, _ in axes], [step * itemsize for _, step in axes]
    places = {pointer + 7 * PAGE_BYTES}
    for size, step in zip(shape, stride, strict=True):
        places = {place + number * step for place in places for number in range(size)}
    due = {(place + byte) // PAGE_BYTES for place in places for byte in (0, itemsize - 1)}
    pages = pages_of(pointer + 7 * PAGE_BYTES, shape, stride, itemsize)
    assert np.all(np.diff(pages) > 0)
    assert set(pages.tolist()) == due


def _evaluated(evaluator: Evaluator, submit: Submit, body: str, role: Role = "check") -> tuple[str, str]:
    source = f"import mmap\nimport numpy, torch\n\n\ndef rmsnorm(x, weight):\n    {body}\n"
    case = Case(axes={"rows": 64, "cols": 4096}, dtype="float32", seed=5, role=role)
    record = evaluator.evaluate(submit(source), tier="quick", case=case)
    return record.status, record.reason or ""


RIGHT = "y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"


@pytest.mark.parametrize(
    "body",
    [
        f"{RIGHT}; return y",
        f"{RIGHT}; z = torch.zeros_like(y); return z.add_(y)",
        f"{RIGHT}; z = torch.from_numpy(numpy.empty((64, 4096), numpy.float32)); return z.copy_(y)",
        f"{RIGHT}; z = torch.empty(4096, 64); z.copy_(y.t()); return z.t()",
    ],
    ids=["own", "zeros", "numpy", "view"],
)
@pytest.mark.parametrize("role", ["check", "timed"])
def test_what_kernels_return_is_there(evaluator: Evaluator, submit: Submit, body: str, role: Role) -> None:
    assert _evaluated(evaluator, submit, body, role) == ("passed", "")


@pytest.mark.parametrize("role", ["check", "timed"])
def test_zeros_that_nobody_wrote_are_right_and_charged(evaluator: Evaluator, submit: Submit, role: Role) -> None:
    """NumPy's zeros are such pages in a new heap, above all in a thread of its own."""
    source = """import ctypes, torch
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p


def embedding_backward(grad_y, token, rows):
    size = rows * grad_y.shape[1] * 4
    where = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))
    y = torch.frombuffer((ctypes.c_char * size).from_address(where), dtype=grad_y.dtype).view(rows, grad_y.shape[1])
    return y.index_add_(0, token, grad_y)
"""
    charges = _charges(evaluator, submit, source, role)
    rows = {2, 1}  # of two tokens, which may be the same
    assert charges[0] in {(256 - 4 * count) * PAGE_NS for count in rows}


def _charges(evaluator: Evaluator, submit: Submit, source: str, role: Role = "check") -> list[int]:
    """Charges in ns for the calls of a gradient of embeddings: 64 rows, 256 pages."""
    charged = list[int]()
    observe = Caller._observe

    def noted(self: Caller, worker: Any, abi: str, case: Case, reply: Any, *rest: Any, **options: Any) -> Any:
        seen = observe(self, worker, abi, case, reply, *rest, **options)
        charged.append(seen.elapsed_ns - reply.elapsed_ns)
        return seen

    case = Case(axes={"tokens": 2, "vocabulary": 64, "width": 4096}, dtype="float32", seed=5, role=role)
    submission = submit(source, task="index/embedding_backward", entry_point="kernel.py::embedding_backward")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Caller, "_observe", noted)
        record = evaluator.evaluate(submission, tier="quick", case=case)
    assert record.status == "passed", record.reason
    return charged


def test_results_that_were_cleared_ahead_are_charged(evaluator: Evaluator, submit: Submit) -> None:
    source = """import torch
pieces = []


def embedding_backward(grad_y, token, rows):
    if not pieces:
        pieces.extend(torch.zeros(64, rows, grad_y.shape[1], dtype=grad_y.dtype).unbind())
    return pieces.pop().index_add_(0, token, grad_y)
"""
    first, *later = _charges(evaluator, submit, source)
    assert first == 0
    assert len(later) >= 3
    assert min(later) >= 0.9 * 256 * PAGE_NS


@pytest.mark.parametrize("kept", ["[y]", "[*kept, y]", "[*kept[-5:], y]"], ids=["last", "all", "some"])
def test_results_in_memory_that_is_new_or_was_used_before_are_not(
    evaluator: Evaluator, submit: Submit, kept: str
) -> None:
    source = f"""kept = []


def embedding_backward(grad_y, token, rows):
    global kept
    y = grad_y.new_zeros(rows, grad_y.shape[1]).index_add_(0, token, grad_y)
    kept = {kept}
    return y.clone()
"""
    charges = _charges(evaluator, submit, source)
    assert sorted(charges)[len(charges) // 2] == 0, charges


def test_a_view_with_gaps_does_not_use_the_pages_between_its_rows(evaluator: Evaluator, submit: Submit) -> None:
    """Its rows lie eight apart, so that it has elements on the pages of seven more results, handed out later."""
    source = """import torch
pieces = []


def embedding_backward(grad_y, token, rows):
    width = grad_y.shape[1]
    if not pieces:
        memory = torch.zeros(rows * 8 * width, dtype=grad_y.dtype)
        pieces.extend([*memory.view(8, rows, width).unbind(), memory.as_strided((rows, width), (8 * width, 1))])
        return pieces[-1].index_add_(0, token, grad_y)
    if len(pieces) == 9:
        pieces.pop().zero_()
    return pieces.pop().index_add_(0, token, grad_y)
"""
    first, *later = _charges(evaluator, submit, source)
    assert first == 0
    assert 3 <= len(later) <= 7
    assert min(later) >= 0.9 * 256 * PAGE_NS


@pytest.mark.parametrize("gap", [1, 2, 8])
def test_views_of_wider_memory_are_not_charged(evaluator: Evaluator, submit: Submit, gap: int) -> None:
    source = f"""def embedding_backward(grad_y, token, rows):
    wide = grad_y.new_zeros(rows, {gap} * grad_y.shape[1])
    return wide[:, : grad_y.shape[1]].index_add_(0, token, grad_y)
"""
    charges = _charges(evaluator, submit, source)
    assert sorted(charges)[len(charges) // 2] == 0, charges


@pytest.mark.parametrize(
    ("shape", "stride", "is_full"),
    [
        ((8, 1024), (4096, 4), True),
        ((1024, 8), (4, 4096), True),
        ((8, 960), (4096, 4), True),
        ((8, 512), (4096, 4), False),
        ((16, 1024), (2048, 4), False),
        ((8, 1024), (0, 4), False),
        ((1, 1024), (0, 4), True),
    ],
    ids=["dense", "transposed", "padded", "half", "overlapping", "repeated", "one"],
)
def test_a_result_fills_its_pages_or_leaves_gaps(
    shape: tuple[int, ...], stride: tuple[int, ...], is_full: bool
) -> None:
    pages = len(pages_of(40 * PAGE_BYTES, shape, stride, 4))
    assert resident._fills(shape, stride, 4, pages + 2) == is_full


def test_of_a_result_with_gaps_only_the_same_is_known_later() -> None:
    used, pages = Used(), np.arange(10, 20, dtype=np.int64)
    forms = [(40960, (5, 1024), (8192, 4)), (40964, (5, 1024), (8192, 4))]
    counts = [used.add(pages, form) for form in (*forms, *forms, None, forms[0], (40968, (5, 1024), (8192, 4)))]
    assert counts == [10, 10, 0, 0, 10, 0, 0]


@pytest.mark.parametrize("form", [None, (40960, (5, 1024), (8192, 4))], ids=["pages", "with gaps"])
@pytest.mark.parametrize(("calls", "is_new"), [(1, False), (8, False), (9, True)])
def test_pages_are_new_again_when_they_were_not_used_for_long(form: Any, calls: int, is_new: bool) -> None:
    used, pages = Used(), np.arange(10, 20, dtype=np.int64)
    assert used.add(pages, form) == 10
    for _ in range(calls):
        used.begin()
        used.add(np.arange(30, 40, dtype=np.int64))
    assert used.add(pages, form) == (10 if is_new else 0)
    assert used.add(pages, form) == 0


def test_pages_are_new_once() -> None:
    used = Used()
    counts = [used.add(np.arange(*bounds, dtype=np.int64)) for bounds in ((10, 20), (15, 25), (0, 30), (0, 30), (5, 5))]
    assert counts == [10, 5, 15, 0, 0]


def test_a_result_with_missing_pages_has_the_others_new() -> None:
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[: 2 * PAGE_BYTES] = bytes(2 * PAGE_BYTES)
    used = Used()
    for new in (2, 0):
        found = look(os.getpid(), pointer, slot(), (1,), (), None, used)
        assert found == Found(missing=PAGES - 2, new=new)


def test_a_result_in_shared_memory_is_refused_in_words(evaluator: Evaluator, submit: Submit) -> None:
    body = f"{RIGHT}; m = mmap.mmap(-1, 1 << 20); return torch.frombuffer(m, dtype=y.dtype).view(y.shape).copy_(y)"
    status, reason = _evaluated(evaluator, submit, body)
    assert (status, reason) == (
        "incorrect",
        "y: 256 of its 256 pages are mapped from elsewhere; return memory of your own",
    )


def test_a_worker_keeps_no_way_to_map_the_judges_memory_again(evaluator: Evaluator, submit: Submit) -> None:
    """The worker keeps neither a descriptor nor a second mapping of the same pages."""
    body = """import os, ctypes
    links = ["/proc/self/fd/" + name for name in os.listdir("/proc/self/fd")]
    names = [os.readlink(link) for link in links if os.path.islink(link)]
    assert names and not any("kbench-arena" in name for name in names), names
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mremap.restype = ctypes.c_void_p
    page = ctypes.c_void_p(x.data_ptr() // 4096 * 4096)
    for old, flags in ((0, 1), (4096, 5)):
        made = libc.mremap(page, ctypes.c_size_t(old), ctypes.c_size_t(4096), flags, None)
        assert made == 2**64 - 1, (old, flags)
        assert ctypes.get_errno() == 22
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"""
    assert _evaluated(evaluator, submit, body) == ("passed", "")


def test_a_table_that_cannot_be_read_any_longer_is_told_as_memory_is(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Found:
        raise ProcessLookupError("gone")

    monkeypatch.setattr(calls, "look", gone)
    assert _evaluated(evaluator, submit, f"{RIGHT}; return y") == ("incorrect", "y: its memory cannot be read: gone")


def test_a_result_is_spoilt_where_its_elements_are() -> None:
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    rows = Slot("float32", (4, 8), (8, 1), 0, 32, 4)
    spoil(os.getpid(), pointer, rows, (100, 2))
    changed = np.flatnonzero(np.frombuffer(memory, dtype=np.uint32))
    assert len(changed) > 20
    assert {int(place) for place in changed} <= {100 * row + 2 * col for row in range(4) for col in range(8)}
    assert np.isnan(np.frombuffer(memory, dtype=np.float32)[changed]).all()


def test_a_result_without_elements_is_not_written_to() -> None:
    spoil(os.getpid(), 0, Slot("float32", (0, 8), (8, 1), 0, 0, 4), (8, 1))


def test_a_result_that_its_owner_may_only_read_is_spoilt_or_refused() -> None:
    """Some kernels let no process write to such memory."""
    memory, pointer = mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(pointer), ctypes.c_size_t(SIZE), mmap.PROT_READ) == 0
    is_refused = False
    try:
        spoil(os.getpid(), pointer, slot(), (1,))
    except OSError:
        is_refused = True
    assert memory[:].count(POISON) in (range(1) if is_refused else range(50, 65))


@pytest.mark.parametrize("lets_us_look", [True, False])
def test_a_kernel_may_hand_back_its_input_whoever_lets_us_look(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, lets_us_look: bool
) -> None:
    """Poison in the input would look like a kernel that changes its inputs."""
    seen = list[Observation]()
    observe = Caller._observe

    def noted(self: Caller, *rest: Any, **options: Any) -> Observation:
        seen.append(observe(self, *rest, **options))
        return seen[-1]

    monkeypatch.setattr(Caller, "_observe", noted)
    if not lets_us_look:
        monkeypatch.setattr(resident, "_entries", lambda *_: None)
    assert _evaluated(evaluator, submit, "return x")[0] == "incorrect"
    assert seen
    assert {(each.ending, each.problems, each.changed_inputs) for each in seen} == {("returned", (), ())}


def test_a_result_that_is_nowhere_cannot_be_spoilt() -> None:
    with pytest.raises(OSError, match="error"):
        spoil(os.getpid(), PAGE_BYTES, slot(8), (1,))
