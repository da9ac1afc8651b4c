"""Device memory that the judge owns and one worker maps: words of the gate, slots of calls, a region for results."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import ExitStack

import torch

from robust_kbench.isolation.arena import REDZONE, Slot, Slots
from robust_kbench.worker import wire
from robust_kbench.worker.cuda.driver import Driver, bytes_at, whole_granules

MAPPING = threading.Lock()
"""Held while memory is mapped or given back, and while the judge's stream waits for what its host is launching."""


class DeviceArena(Slots):
    """Memory of the current CUDA device, which one worker at a time is called with."""

    def __init__(self, slots_bytes: int, results_bytes: int) -> None:
        """`slots_bytes`: room for the tensors of a call; `results_bytes`: for what a worker allocates in calls."""
        self._driver = Driver()
        self._sizes = slots_bytes, results_bytes
        self.results_at = whole_granules(wire.SLOTS_OFFSET + slots_bytes)
        self.size_bytes = self.results_at + whole_granules(results_bytes)
        with MAPPING, ExitStack() as undone:
            torch.cuda.synchronize()  # makes torch's context the current one
            self._handle = self._driver.allocate(self.size_bytes)
            undone.callback(self._driver.release, self._handle)
            self._address = self._driver.map(self._handle, self.size_bytes)
            undone.callback(self._driver.unmap, self._address, self.size_bytes)
            super().__init__(bytes_at(self._address, self.size_bytes), wire.SLOTS_OFFSET, self.results_at)
            self._bytes[: wire.SLOTS_OFFSET].zero_()
            undone.pop_all()

    def lend(self) -> int:
        """Export the memory anew."""
        with MAPPING:
            torch.cuda.synchronize()
            return self._driver.export(self._handle)

    @property
    def gate(self) -> int:
        """Address of the word that opens a call."""
        return self._address + wire.GATE_OFFSET

    @property
    def end(self) -> int:
        """Address of the word that ends one."""
        return self._address + wire.END_OFFSET

    def for_a_worker(self) -> DeviceArena:
        """Memory of its own: what a worker leaves running on the device must not reach another's."""
        return DeviceArena(*self._sizes)

    def wipe(self) -> None:
        """Fill it with zeros, and wait for that: the words of the gate are read by other contexts, too."""
        self._bytes.zero_()
        torch.cuda.synchronize()

    @property
    def words(self) -> torch.Tensor:
        """The words of the gate, as bytes."""
        return self._bytes[: wire.SLOTS_OFFSET]

    def results(self, offset: int, size_bytes: int) -> torch.Tensor | None:
        """The bytes that a worker says hold a result; None where that is not in memory for tensors."""
        is_inside = wire.SLOTS_OFFSET <= offset <= self.size_bytes - size_bytes
        return self._bytes[offset : offset + size_bytes] if is_inside else None

    def is_overrun(self, slots: Collection[Slot]) -> torch.Tensor:
        """Tell if there was a write outside of any slot, as a tensor, which is not waited for."""
        guards = [self._guard(slot, behind=behind) for slot in slots for behind in (False, True)]
        return (torch.stack(guards) != REDZONE).any() if guards else self._bytes[:0].any()

    def close(self) -> None:
        """Let go of the memory, which must not be in use any longer; the device has it back when the worker is gone."""
        with MAPPING:
            torch.cuda.synchronize()
            del self._bytes
            self._driver.unmap(self._address, self.size_bytes)
            self._driver.release(self._handle)
