"""Which machine code to look at: the device's own, or that of two generations that most people have."""

from __future__ import annotations

from robust_kbench.devices import nvml

USUAL = ("sm_80", "sm_90")


def architectures(device: str) -> tuple[str, ...]:
    """Names as nvcc takes them, the most telling one last."""
    own = nvml.architecture() if device == "cuda" else None
    return USUAL if own is None else (own,)
