"""Variants that are tried on every case: the task's own bank, and the ones that the registry makes for every task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from robust_kbench.audit.bank import Bank, Member
from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.errors import SpecError
from robust_kbench.oracle.reference import full_precision

Kind = Literal["honest", "mutant", "non-answer"]
Answer = Callable[[Setting], Tensors | None]


@dataclass(frozen=True)
class Variant:
    """Way to answer a case. `answer` returns None where it does not apply; `is_generic`: not from `mutants.py`."""

    name: str
    kind: Kind
    description: str
    answer: Answer
    is_generic: bool = True


def own_variants(bank: Bank, dtype: str) -> Iterator[Variant]:
    """List the members of the task's own bank that exist in `dtype`."""
    for member in bank.members:
        if dtype in member.dtypes:
            kind: Kind = "honest" if member.is_honest else "mutant"
            yield Variant(member.name, kind, member.description, _Call(member), is_generic=False)


def _own(value: torch.Tensor | int | float) -> torch.Tensor | int | float:
    """Copy a value, since a variant may write into its arguments."""
    return value.clone() if isinstance(value, torch.Tensor) else value


@dataclass(frozen=True)
class _Call:
    """Call of a bank's member, made as a kernel is called. Raises SpecError if the outputs do not fit the task."""

    member: Member

    def __call__(self, setting: Setting) -> Tensors:
        with full_precision(), torch.no_grad():
            result = self.member.function(*(_own(value) for value in setting.inputs.values.values()))
        tensors = result if isinstance(result, tuple) else (result,)
        spec = setting.task.spec
        if len(tensors) != len(spec.outputs):
            raise SpecError(f"{spec.name}: {self.member.name} returns {len(tensors)} tensors, not {len(spec.outputs)}")
        answer = dict(zip(spec.outputs, tensors, strict=True))
        for name, tensor in answer.items():
            wanted = setting.native[name]
            if tensor.dtype != wanted.dtype or tensor.shape != wanted.shape:
                raise SpecError(
                    f"{spec.name}: {self.member.name} returns {name} as {tensor.dtype} {list(tensor.shape)}, "
                    f"not {wanted.dtype} {list(wanted.shape)} ({setting.case})"
                )
        return answer
