"""Shares of the machine for several processes: cores of their own and, on request, a GPU of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FOR_TIMING = 2
"""Cores for a timing: one for the judge and one for the worker. Sharing a core would spoil the times."""


@dataclass(frozen=True)
class Share:
    """Share of one process. `gpu` is a device as CUDA_VISIBLE_DEVICES names it, None for all that there are."""

    cores: tuple[int, ...]
    gpu: str | None = None

    @property
    def is_enough_for_timing(self) -> bool:
        """True if judge and worker can have a core each."""
        return len(self.cores) >= FOR_TIMING


def of_cores(cores: Sequence[int], jobs: int) -> list[Share]:
    """Return shares of neighbouring cores for `jobs` processes, or for as many as there are cores."""
    count = min(jobs, len(cores))
    bounds = [len(cores) * number // max(1, count) for number in range(count + 1)]
    return [Share(tuple(cores[low:high])) for low, high in pairwise(bounds)]


def of_gpus(gpus: Sequence[str], cores: Sequence[int], jobs: int) -> list[Share]:
    """Return shares of cores with a GPU each, for `jobs` processes, or for as many as there are GPUs."""
    shares = of_cores(cores, min(jobs, len(gpus)))
    return [Share(share.cores, gpu) for share, gpu in zip(shares, gpus, strict=False)]


def settle(share: Share, folder: str) -> None:
    """Keep this process, and all that it starts, to `share`. Temporary files go to a new folder inside `folder`.

    A process with cores of its own need not wait until others have measured: machine_lock knows it by its temporary
    folder. The GPU is chosen only for code that has not used CUDA yet.
    """
    os.sched_setaffinity(0, share.cores)
    if share.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = share.gpu
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(dir=folder)
