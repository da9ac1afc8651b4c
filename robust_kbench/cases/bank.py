"""Fresh inputs for timed calls at the price of a copy: windows, at secret places, of longer streams made in advance.

Drawing 64 MiB of normal numbers takes half a second, a hundred times as long as the kernel that is being timed. Another
window holds the same kind of values, and each of them at another place, so that no earlier answer is right for it.
"""

from __future__ import annotations

import math
import random

import torch

from robust_kbench.cases.values import Inputs, draw_elements, make_inputs
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Input, Task, shape_of

_MIN_SPARE_ELEMENTS = 4096
_SPARE_SHARE = 0.25


class Bank:
    """Streams of values for one timed binding, private to the judge."""

    def __init__(self, task: Task, case: Case) -> None:
        self._task, self._case = task, case
        self._random = random.SystemRandom()
        self._generator = torch.Generator().manual_seed(self._random.getrandbits(62))
        self._streams: dict[tuple[Distribution, str], _Stream] = {}

    def draw(self, case: Case) -> Inputs:
        """Inputs for one call with the distribution of `case`; its seed decides about scalars alone."""
        scalars = {name for name, spec in self._task.inputs.items() if spec.role == "scalar"}
        drawn = make_inputs(self._task, case, only=scalars).values
        return Inputs(
            {name: drawn[name] if name in scalars else self._window(case, name) for name in self._task.inputs}
        )

    def _window(self, case: Case, name: str) -> torch.Tensor:
        spec = self._task.inputs[name]
        shape = shape_of(spec, case.axes)
        stream = self._streams.get((case.distribution, name))
        if stream is None or stream.is_used_up:
            count = math.prod(shape)
            spare = max(_MIN_SPARE_ELEMENTS, int(_SPARE_SHARE * count))
            values = self._draw(case, name, spec, count + spare)
            stream = _Stream(values, row=shape[-1] if shape else 1, spare=spare)
            self._streams[case.distribution, name] = stream
        offset = stream.take(self._random)
        return stream.values[offset : offset + math.prod(shape)].view(shape)

    def _draw(self, case: Case, name: str, spec: Input, count: int) -> torch.Tensor:
        dtype = getattr(torch, self._task.dtype_of(spec, case.dtype))
        return draw_elements(case, name, spec, (count,), dtype, self._generator)


class _Stream:
    """Values, and which windows of them were taken: no two begin at the same place of a row.

    Otherwise a row of one call would be a row of an earlier one, whose answer a kernel could have kept.
    """

    def __init__(self, values: torch.Tensor, *, row: int, spare: int) -> None:
        self.values = values
        self._spare = spare
        self._row = min(max(row, 1), spare)
        self._taken: set[int] = set()

    @property
    def is_used_up(self) -> bool:
        """Half of all places: from there on it would take long to find another one."""
        return 2 * len(self._taken) >= self._row

    def take(self, source: random.Random) -> int:
        """A random offset in elements."""
        while True:
            offset = source.randrange(self._spare)
            if offset % self._row not in self._taken:
                self._taken.add(offset % self._row)
                return offset
