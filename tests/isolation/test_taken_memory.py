"""Device memory that a worker has kept from others, and gives back when it ends. No device is here."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from robust_kbench.isolation import device_memory
from robust_kbench.isolation.device_memory import take_too_much

GIB = 1 << 30
TOTAL = 80 * GIB


class Worker:
    """A worker whose memory, if it holds any, comes back some looks after its end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, held: int, total: int = TOTAL, looks: int = 1) -> None:
        self.held, self.total, self.looks, self.is_alive = held, total, looks, True
        monkeypatch.setattr(torch.cuda, "mem_get_info", self._info)
        monkeypatch.setattr(device_memory, "_LONGEST_S", 0.02)
        monkeypatch.setattr(device_memory, "_STEP_S", 0.001)

    def kill(self) -> None:
        self.is_alive = False

    def _info(self) -> tuple[int, int]:
        self.looks -= not self.is_alive
        return GIB + (self.held if self.looks < 0 else 0), self.total


def told(worker: Any, call_bytes: int = 0) -> str:
    return take_too_much([worker], call_bytes)


@pytest.mark.parametrize(
    ("held", "call_bytes", "total", "is_blamed"),
    [
        pytest.param(70 * GIB, 0, TOTAL, True, id="nearly all"),
        pytest.param(4 * GIB + 1, 0, TOTAL, True, id="more than any kernel needs"),
        pytest.param(4 * GIB, 0, TOTAL, False, id="as much as one may need"),
        pytest.param(0, 0, TOTAL, False, id="nothing"),
        pytest.param(16 * GIB, GIB, TOTAL, False, id="as much as one may need for large calls"),
        pytest.param(16 * GIB + 1, GIB, TOTAL, True, id="more than one needs for large calls"),
        pytest.param(40 * GIB, 5 * GIB, TOTAL, False, id="half of the device"),
        pytest.param(40 * GIB + 1, 5 * GIB, TOTAL, True, id="more than half of the device"),
        pytest.param(3 * GIB + 1, 0, 6 * GIB, True, id="more than half of a small device"),
    ],
)
def test_a_worker_is_blamed_for_what_comes_back_at_its_end_if_no_kernel_needs_as_much(
    monkeypatch: pytest.MonkeyPatch, held: int, call_bytes: int, total: int, is_blamed: bool
) -> None:
    worker = Worker(monkeypatch, held, total)
    problem = told(worker, call_bytes)
    assert bool(problem) is is_blamed
    assert not worker.is_alive
    if is_blamed:
        assert problem == f"held {held / GIB:.1f} GiB of the device's memory, so that others found none"


def test_memory_that_comes_back_a_moment_later_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(Worker(monkeypatch, 70 * GIB, looks=4))


@pytest.mark.parametrize(
    ("free", "call_bytes", "total", "is_expected"),
    [
        (GIB, 0, TOTAL, False),
        (GIB - 1, 0, TOTAL, True),
        (8 * GIB, 2 * GIB, TOTAL, False),
        (8 * GIB - 1, 2 * GIB, TOTAL, True),
        (GIB // 2, 0, GIB, False),
    ],
)
def test_memory_is_short_where_a_call_might_find_none(
    monkeypatch: pytest.MonkeyPatch, free: int, call_bytes: int, total: int, is_expected: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, total))
    assert device_memory.is_short(call_bytes) is is_expected


@pytest.mark.parametrize(("looks", "is_expected"), [(3, False), (10_000, True)])
def test_memory_that_comes_back_in_a_moment_is_not_short(
    monkeypatch: pytest.MonkeyPatch, looks: int, is_expected: bool
) -> None:
    left = [looks]

    def info() -> tuple[int, int]:
        left[0] -= 1
        return (0 if left[0] > 0 else TOTAL), TOTAL

    monkeypatch.setattr(torch.cuda, "mem_get_info", info)
    monkeypatch.setattr(device_memory, "_LONGEST_S", 0.02)
    monkeypatch.setattr(device_memory, "_STEP_S", 0.001)
    assert device_memory.stays_short(0) is is_expected


@pytest.mark.parametrize(("held", "is_blamed"), [(11 * GIB, False), (11 * GIB + 1, True)])
def test_each_further_worker_has_a_context_of_its_own(
    monkeypatch: pytest.MonkeyPatch, held: int, is_blamed: bool
) -> None:
    workers: list[Any] = [Worker(monkeypatch, held) for _ in range(8)]
    assert bool(take_too_much(workers, 0)) is is_blamed


@pytest.mark.parametrize(
    ("words", "is_expected"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", True),
        ("CUDA_ERROR_OUT_OF_MEMORY", True),
        ("CUDNN_STATUS_ALLOC_FAILED", True),
        ("std::bad_alloc", True),
        ("cudaErrorMemoryAllocation", True),
        ("illegal memory access was encountered", False),
        ("", False),
    ],
)
def test_many_words_say_that_memory_was_not_found(words: str, is_expected: bool) -> None:
    assert device_memory.says_short(words) is is_expected


def test_what_others_have_just_given_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([1, 2, 3, 3, 4])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (next(free), TOTAL))
    monkeypatch.setattr(device_memory, "_STEP_S", 0.001)
    device_memory.wait_until_steady()
    assert next(free) == 4
