"""Device memory of one tensor, with the strides and the misalignment of its twin in shared memory, between red zones.

The zones are looked at on the device after the call: the judge's own ones, in shared memory, do not see device memory.
"""

import random
from typing import Any

import torch

from robust_kbench.worker import arguments

ZONE_BYTES = 4096
_PATTERN = 0xA7
_ALIGNMENT_BYTES = 256
_MAX_PADDING = 64  # units of _ALIGNMENT_BYTES: addresses differ from call to call


class Buffer:
    """One tensor at `place`. `view` is what a kernel is called with, `flat` its bytes, `host` the judge's."""

    def __init__(self, arena: arguments.Arena, spec: dict[str, Any], place: str) -> None:
        self.host = arena.tensor({**spec, "shape": [spec["span"]], "stride": [1]})
        size = self.host.numel() * self.host.element_size()
        shift = spec["offset"] % _ALIGNMENT_BYTES + random.randrange(_MAX_PADDING) * _ALIGNMENT_BYTES
        start = ZONE_BYTES + shift
        storage = torch.empty(start + size + ZONE_BYTES, dtype=torch.uint8, device=place)
        self._before = storage[start - ZONE_BYTES : start]
        self._behind = storage[start + size : start + size + ZONE_BYTES]
        self.flat = storage[start : start + size].view(self.host.dtype)
        self.view = self.flat.as_strided(spec["shape"], spec["stride"])

    def upload(self) -> None:
        """Copy the judge's bytes to the device, gaps included, and draw the red zones."""
        self.flat.copy_(self.host)
        self._before.fill_(_PATTERN)
        self._behind.fill_(_PATTERN)

    def download(self) -> None:
        """Copy the device's bytes to where the judge reads them."""
        self.host.copy_(self.flat)

    def roll(self) -> None:
        """Make another problem of it: the same values in other places. Integers stay, for they may be an order."""
        if self.flat.is_floating_point() and self.flat.numel() == self.view.numel() > 1:
            self.flat.copy_(self.flat.roll(random.randrange(1, self.flat.numel())))

    def damage(self) -> torch.Tensor:
        """Whether a red zone was written to, as a tensor on the device."""
        return (self._before != _PATTERN).any() | (self._behind != _PATTERN).any()

    def overrun(self) -> int | None:
        """Distance in bytes of a write outside the tensor: negative before it, positive behind it, None if none."""
        before = (self._before != _PATTERN).nonzero()
        if len(before):
            return int(before[-1]) - ZONE_BYTES
        behind = (self._behind != _PATTERN).nonzero()
        return int(behind[0]) + 1 if len(behind) else None


def overruns(tensors: list[Any]) -> list[dict[str, int]]:
    """Which of `tensors` (scalars among them count) have damaged red zones, and how far from the tensor."""
    buffers = [(place, tensor) for place, tensor in enumerate(tensors) if isinstance(tensor, Buffer)]
    if not buffers or not bool(torch.stack([buffer.damage() for _, buffer in buffers]).any()):
        return []
    found = [(place, buffer.overrun()) for place, buffer in buffers]
    return [{"tensor": place, "distance": distance} for place, distance in found if distance is not None]
