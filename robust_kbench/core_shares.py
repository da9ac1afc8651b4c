"""Cores of their own for processes that measure side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise

FOR_TIMING = 2
"""One for the judge, and one for the worker: who shares a core with what it times measures nothing well."""


def shares_of(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """Neighbouring cores for each of `jobs` processes, or of as many as there are cores."""
    count = min(jobs, len(cores))
    bounds = [len(cores) * number // count for number in range(count + 1)]
    return [list(cores[low:high]) for low, high in pairwise(bounds)]


def settle(share: Sequence[int], folder: str) -> None:
    """Keep this process, and all that it starts, to `share`. Temporary files go to a new folder inside of `folder`.

    With cores of its own it need not wait until others have measured: machine_lock knows it by its temporary folder.
    """
    os.sched_setaffinity(0, share)
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(dir=folder)
