"""Every kernel of the suite, in the order of its topics.

from suite import KERNELS
for kernel in KERNELS: ...
"""

from __future__ import annotations

from description import REGISTRY, Kernel

# Importing a module registers its kernels.
from references import (  # noqa: F401
    atomics,
    cooperative,
    dense,
    half,
    indexing,
    integers,
    language,
    libraries,
    mathematics,
    memory,
    ptx,
    rows,
    shared,
    torch_abi,
    warp,
    wmma,
)

KERNELS: list[Kernel] = list(REGISTRY.values())


def named(name: str) -> Kernel:
    return REGISTRY[name]
