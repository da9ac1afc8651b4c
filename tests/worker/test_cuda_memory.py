"""The region in which results are allocated, and when it is emptied. No device is here."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from robust_kbench.worker.cuda import device
from robust_kbench.worker.cuda.memory import Memory, Region


def test_the_first_free_range_is_taken() -> None:
    region = Region(100, 200)
    assert [region.take(30), region.take(40), region.take(40), region.take(30)] == [100, 130, None, 170]
    assert region.take(1) is None


def test_what_is_given_back_is_one_with_what_is_free_beside_it() -> None:
    region = Region(0, 90)
    taken = [region.take(30) for _ in range(3)]
    assert region.take(60) is None
    assert all(region.give_back(address, 30) for address in (taken[0], taken[2], taken[1]) if address is not None)
    assert region.take(90) == 0


def test_addresses_of_elsewhere_are_not_taken_back() -> None:
    region = Region(100, 200)
    assert not region.give_back(50, 10)
    assert not region.give_back(200, 10)
    assert region.take(100) == 100


@pytest.mark.parametrize("seed", range(5))
def test_ranges_never_overlap_and_none_is_lost(seed: int) -> None:
    source, region, held = random.Random(seed), Region(0, 1000), dict[int, int]()
    for _ in range(2000):
        if held and source.random() < 0.5:
            address = source.choice(list(held))
            assert region.give_back(address, held.pop(address))
        elif (found := region.take(size := source.randrange(1, 200))) is not None:
            spans = [(start, start + length) for start, length in held.items()]
            assert all(found + size <= start or stop <= found for start, stop in spans)
            held[found] = size
    for address, length in held.items():
        region.give_back(address, length)
    assert region.take(1000) == 0


class Pools:
    """PyTorch's functions for pools of memory, in place of a device's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = list[tuple[str, object]]()
        for name in ("_cuda_beginAllocateToPool", "_cuda_endAllocateToPool", "_cuda_releasePool"):
            monkeypatch.setattr(
                torch._C, name, lambda device, pool, name=name: self.log.append((name, pool)), raising=False
            )
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "use_mem_pool", self._use)

    @contextmanager
    def _use(self, pool: Any) -> Iterator[None]:
        self.log.append(("thread", pool.id))
        yield
        self.log.append(("thread ends", pool.id))


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_results_of_other_threads_have_a_pool_for_the_time_of_the_call(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None
) -> None:
    """Automatic differentiation computes gradients in threads of its own."""
    pools, memory = Pools(monkeypatch), object.__new__(Memory)
    first, second = (0, 1), (0, 2)
    memory._pools = SimpleNamespace(id=first), SimpleNamespace(id=second)  # type: ignore[assignment]
    with suppress(ZeroDivisionError), memory.serving_results():
        assert pools.log == [("thread", first), ("_cuda_beginAllocateToPool", second)]
        if error:
            raise error
    assert pools.log[2:4] == [("_cuda_endAllocateToPool", second), ("_cuda_releasePool", second)]
    assert memory.pool_ids == (first, second)


def test_room_is_made_before_calls_of_another_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the clock, which are empty calls, come between those of one size."""
    log = list[str]()
    monkeypatch.setattr(device, "CudaCall", lambda *_: log.append("call"))
    opened: Any = object.__new__(device.CudaDevice)
    opened._size, opened._poison_free_memory = (), lambda pool: None
    memory: Any = SimpleNamespace(make_room=lambda: log.append("room"), pool_ids=((0, 1), (0, 2)))
    for dtype, axes, is_empty in [
        ("float32", [8, 8], False),
        ("float32", [], True),
        ("float32", [8, 8], False),
        ("float16", [8, 8], False),
        ("float16", [8, 9], False),
    ]:
        opened.prepare("value", memory, {"dtype": dtype, "axes": axes, "empty": is_empty})
    assert log == ["room", "call", "call", "call", "room", "call", "room", "call"]
