"""Caches are emptied before every call, at a price that a short kernel can bear."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from robust_kbench.devices import cpu, machine
from robust_kbench.devices.cpu import CpuDevice

MIB = 1 << 20
Pushed = list[tuple[int, int]]


@pytest.fixture
def make_device(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[CpuDevice, Pushed]]:
    def make(last_level: int, *, by_address: bool) -> tuple[CpuDevice, Pushed]:
        pushed: Pushed = []
        monkeypatch.setattr(machine, "last_level_cache_bytes", lambda: last_level)
        monkeypatch.setattr(machine, "core_caches_bytes", lambda: 2 * MIB)
        evict = (lambda address, size: pushed.append((address, size))) if by_address else None
        monkeypatch.setattr(cpu, "evictor", lambda: evict)
        return CpuDevice(), pushed

    return make


@pytest.mark.parametrize(
    ("last_level_mib", "by_address", "swept_mib", "pool_mib"),
    [(32, True, 64, 64), (32, False, 64, 64), (480, True, 8, 64), (480, False, 256, 960), (8, True, 16, 16)],
)
def test_a_cache_too_large_to_be_read_is_emptied_by_address(
    make_device: Callable[..., tuple[CpuDevice, Pushed]],
    last_level_mib: int,
    by_address: bool,
    swept_mib: int,
    pool_mib: int,
) -> None:
    device, _ = make_device(last_level_mib * MIB, by_address=by_address)
    assert (device.sweep_bytes, device.pool_bytes) == (swept_mib * MIB, pool_mib * MIB)


def test_every_slot_of_a_call_is_pushed_out(make_device: Callable[..., tuple[CpuDevice, Pushed]]) -> None:
    device, pushed = make_device(MIB, by_address=True)
    slots = [torch.zeros(100, dtype=torch.uint8), torch.zeros(7, dtype=torch.uint8)]
    assert device.evict is not None
    device.evict(slots)
    assert pushed == [(slot.data_ptr(), len(slot)) for slot in slots]


def test_a_record_says_how_the_cache_was_emptied(make_device: Callable[..., tuple[CpuDevice, Pushed]]) -> None:
    assert make_device(480 * MIB, by_address=True)[0].facts()["cache_flush"] == "by address, 8 MiB read"
    assert make_device(32 * MIB, by_address=False)[0].facts()["cache_flush"] == "64 MiB read"
