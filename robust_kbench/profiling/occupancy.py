"""Number of warps of a kernel that fit on a multiprocessor: the arithmetic of CUDA's occupancy calculator.

A block needs all its warps, registers and shared memory at once. Registers are given out per warp in units of 256, by
each of the four parts of a multiprocessor on its own; shared memory per block in units of 128 bytes, of which the
system takes 1024 for itself. Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.profiling.reports import Limit, Occupancy

BLOCK_SIZES = (128, 256, 512, 1024)
_WARP = 32
_PARTS = 4
_REGISTERS = 65536
_REGISTER_UNIT = 256
_SHARED_UNIT_BYTES = 128
_RESERVED_BYTES = 1024


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one multiprocessor of an architecture."""

    warps: int
    blocks: int
    shared_bytes: int


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(64, 32, 164 << 10),
    "sm_86": Multiprocessor(48, 16, 100 << 10),
    "sm_87": Multiprocessor(48, 16, 164 << 10),
    "sm_89": Multiprocessor(48, 24, 100 << 10),
    "sm_90": Multiprocessor(64, 32, 228 << 10),
    "sm_100": Multiprocessor(64, 32, 228 << 10),
    "sm_103": Multiprocessor(64, 32, 228 << 10),
    "sm_120": Multiprocessor(48, 24, 100 << 10),
}


def occupancy(
    architecture: str, registers: int, shared_bytes: int, block_sizes: Sequence[int] = BLOCK_SIZES
) -> dict[int, Occupancy]:
    """Return the occupancy by threads of a block; empty for an architecture that is not in the table."""
    known = MULTIPROCESSORS.get(architecture)
    if known is None:
        return {}
    return {threads: _at(known, threads, registers, shared_bytes) for threads in block_sizes}


def _at(has: Multiprocessor, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    block = -(-threads // _WARP)
    blocks: dict[Limit, int] = {
        "warps": has.warps // block,
        "blocks": has.blocks,
        "registers": _warps_by_registers(registers) // block,
        "shared memory": has.shared_bytes // _rounded(shared_bytes + _RESERVED_BYTES, _SHARED_UNIT_BYTES),
    }
    limit = min(blocks, key=lambda name: blocks[name])
    return Occupancy(blocks[limit] * block, has.warps, limit)


def _warps_by_registers(registers: int) -> int:
    per_warp = _rounded(max(1, registers) * _WARP, _REGISTER_UNIT)
    return _REGISTERS // _PARTS // per_warp * _PARTS


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
