"""Evidence of all calls of an evaluation about a random op, where each call by itself says too little.

Every call of the candidate adds to it, in checks as in timing. Of calls with equal seeds the first one counts: equal
seeds give equal random numbers. Seeds are taken modulo 2**32, since PyTorch's generator on the CPU knows no others.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.copied_masks import CopiedMasks
from robust_kbench.oracle.pooled_draws import PooledDraws
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task, shape_of

_SEEDS = 1 << 32


class Pool:
    """Pool of all calls of one kernel; `problem` is the first that was found."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._seeds: set[int] = set()
        laws = {name: output.law for name, output in task.outputs.items()}
        self._draws = {name: PooledDraws() for name, law in laws.items() if law == "categorical"}
        self._masks = {name: CopiedMasks() for name, law in laws.items() if law == "dropout"}
        self.problem: str | None = None

    def add(
        self, case: Case, inputs: Inputs, outputs: Mapping[str, torch.Tensor], *, thorough: bool = True
    ) -> str | None:
        """Add a call. Tell what is wrong with all calls so far, or return None. Skips answers of a wrong shape.

        `thorough`: True if masks are looked at, which takes up to four seconds for 16 million places.
        """
        if self.problem or not (self._draws or self._masks) or not self._is_new(inputs):
            return self.problem
        inputs = inputs.to("cpu")
        for name, draws in self._draws.items():
            answer = self._fitting(case, name, outputs)
            if answer is not None:
                found = draws.add(case, int(inputs.values["seed"]), inputs.tensors["logits"], answer)
                self.problem = self.problem or (found and f"{name}: over all calls until now, {found}")
        for name, masks in self._masks.items() if thorough else ():
            answer = self._fitting(case, name, outputs)
            if answer is not None:
                found = masks.add(inputs, answer)
                self.problem = self.problem or (found and f"{name}: {found}")
        return self.problem

    def _is_new(self, inputs: Inputs) -> bool:
        seed = int(inputs.values["seed"]) % _SEEDS
        is_new = seed not in self._seeds
        self._seeds.add(seed)
        return is_new

    def _fitting(self, case: Case, name: str, outputs: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
        answer = outputs.get(name)
        is_fit = answer is not None and tuple(answer.shape) == shape_of(self._task.outputs[name], case.axes)
        return answer.to("cpu") if answer is not None and is_fit else None
