"""Architectures whose machine code a profile looks at: the device's own, or two generations that most people have."""

from __future__ import annotations

from robust_kbench.devices import nvml

USUAL = ("sm_80", "sm_90")


def architectures(device: str) -> tuple[str, ...]:
    """Return the architectures' names as nvcc takes them, the most telling one last."""
    own = nvml.architecture() if device == "cuda" else None
    return USUAL if own is None else (own,)
