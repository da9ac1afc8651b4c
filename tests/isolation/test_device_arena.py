"""Memory of a device that is taken and given back, also where that goes wrong half-way. The driver is made up."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from robust_kbench.isolation import device_arena
from robust_kbench.isolation.device_arena import MAPPING, DeviceArena


class Driver:
    """Notes what it is asked for; `fails` names the step that it refuses."""

    log: list[str]
    fails: str

    def _does(self, step: str) -> int:
        assert MAPPING.locked()
        self.log.append(step)
        if step == self.fails:
            raise RuntimeError(f"{step}: out of memory")
        return 7

    def allocate(self, size_bytes: int) -> int:
        return self._does("allocate")

    def export(self, handle: int) -> int:
        self._does("export")
        return os.open(os.devnull, os.O_RDONLY)

    def map(self, handle: int, size_bytes: int) -> int:
        return self._does("map")

    def unmap(self, address: int, size_bytes: int) -> None:
        self._does("unmap")

    def release(self, handle: int) -> None:
        self._does("release")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    Driver.log, Driver.fails = [], ""
    monkeypatch.setattr(device_arena, "Driver", Driver)
    monkeypatch.setattr(device_arena, "bytes_at", lambda address, size: torch.zeros(size, dtype=torch.uint8))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return Driver.log


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(("fails", "undone"), [("allocate", []), ("map", ["release"]), ("", [])])
def test_what_fails_half_way_leaves_nothing_taken(log: list[str], fails: str, undone: list[str]) -> None:
    Driver.fails, before = fails, open_files()
    if fails:
        with pytest.raises(RuntimeError, match=fails):
            DeviceArena(1 << 20, 1 << 20)
        assert log[log.index(fails) + 1 :] == undone
    else:
        arena: Any = DeviceArena(1 << 20, 1 << 20)
        assert log == ["allocate", "map"]
        arena.close()
        assert log[2:] == ["unmap", "release"]
    assert open_files() == before
    assert not MAPPING.locked()


def test_each_worker_is_lent_a_file_of_its_own(log: list[str]) -> None:
    arena: Any = DeviceArena(1 << 20, 1 << 20)
    first, second = arena.lend(), arena.lend()
    assert log.count("export") == 2
    os.set_blocking(first, False)
    assert os.get_blocking(second)
    os.close(first)
    os.close(second)
    Driver.fails = "export"
    with pytest.raises(RuntimeError, match="export"):
        arena.lend()
    arena.close()


def test_nothing_of_an_earlier_worker_is_left_where_it_was_wiped(log: list[str]) -> None:
    arena: Any = DeviceArena(1 << 20, 1 << 20)
    arena._bytes.fill_(7)
    arena.wipe()
    assert not arena._bytes.any()
    arena.close()
