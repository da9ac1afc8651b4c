"""Run a task's reference: in float64 for the truth, in the task's dtype for the error that PyTorch itself makes."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.registry import LoadedTask

Tensors = Mapping[str, torch.Tensor]


class Reference:
    """The reference of one task. It is our own source, reviewed with the task, and runs in the judge."""

    def __init__(self, task: LoadedTask) -> None:
        self._task = task
        self.function = _compile(task.reference, str(task.folder / "reference.py"))

    def exact(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        """The outputs in float64, from the very values (rounded to the case's dtype) that the submission got."""
        return self._run({name: _widen(value) for name, value in inputs.values.items()})

    def native(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        """The outputs in the case's dtype, with every reduced-precision short cut of PyTorch switched off."""
        return self._run(inputs.values)

    def _run(self, arguments: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        with full_precision(), torch.no_grad():
            result = self.function(*arguments.values())
        tensors = result if isinstance(result, tuple) else (result,)
        names = self._task.spec.outputs
        if len(tensors) != len(names):
            raise SpecError(f"{self._task.spec.name}: reference returns {len(tensors)} tensors, declared: {len(names)}")
        return dict(zip(names, tensors, strict=True))


@lru_cache(maxsize=256)
def _compile(source: str, path: str) -> Callable[..., Any]:
    module = types.ModuleType("reference")
    exec(compile(source, path, "exec"), module.__dict__)
    function = module.__dict__.get("reference")
    if not callable(function):
        raise SpecError(f"{path}: defines no function `reference`")
    return function  # type: ignore[no-any-return]


def _widen(value: torch.Tensor | int | float) -> torch.Tensor | int | float:
    is_real = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.double() if is_real and isinstance(value, torch.Tensor) else value


@contextmanager
def full_precision() -> Iterator[None]:
    """PyTorch's defaults let float32 convolutions use TF32 and half products sum in half precision: not here."""
    matmul = torch.backends.cuda.matmul
    before = (
        torch.backends.cudnn.allow_tf32,
        matmul.allow_tf32,
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_bf16_reduced_precision_reduction,
    )
    torch.backends.cudnn.allow_tf32 = matmul.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = matmul.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, matmul.allow_tf32 = before[:2]
        matmul.allow_fp16_reduced_precision_reduction = before[2]
        matmul.allow_bf16_reduced_precision_reduction = before[3]
