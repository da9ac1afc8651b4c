"""Run a task's reference: in float64 for the truth, in the task's dtype for the error that PyTorch itself makes."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.record import OPERATOR

Tensors = Mapping[str, torch.Tensor]
_FILE = "reference.py"
_OPERATORS = ("matmul", "conv", "rnn")
_REDUCED_SUMS = (
    "allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduced_precision_reduction",
    "allow_fp16_accumulation",
)


class Reference:
    """Reference of one task. It is our own source, reviewed with the task, and runs in the judge."""

    def __init__(self, task: LoadedTask) -> None:
        self._task = task
        path = str(task.folder / _FILE)
        self.function = _compile(task.reference, path)
        file, _, entry = task.spec.baselines.get(OPERATOR, "").partition("::")
        self._operator = _compile(task.reference, path, entry) if file == _FILE else None

    def exact(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        """Compute the outputs in float64, from the values (rounded to the case's dtype) that the submission got."""
        return self._run({name: _widen(value) for name, value in inputs.values.items()})

    def native(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        """Compute the outputs in the case's dtype, with every reduced-precision short cut of PyTorch switched off."""
        return self._run(inputs.values)

    def of_operator(self, inputs: Inputs) -> dict[str, torch.Tensor] | None:
        """Compute the answer of PyTorch's own operator in the case's dtype.

        None where there is no such operator, or it refuses the inputs.
        """
        if self._operator is None:
            return None
        try:
            return self._run(inputs.values, self._operator)
        except Exception:  # whatever it refuses: it serves as an excuse alone
            return None

    def _run(self, arguments: Mapping[str, Any], function: Callable[..., Any] | None = None) -> dict[str, torch.Tensor]:
        with full_precision(), torch.no_grad():
            result = (function or self.function)(*arguments.values())
        tensors = result if isinstance(result, tuple) else (result,)
        names = self._task.spec.outputs
        if len(tensors) != len(names):
            raise SpecError(f"{self._task.spec.name}: reference returns {len(tensors)} tensors, declared: {len(names)}")
        return dict(zip(names, tensors, strict=True))


@lru_cache(maxsize=256)
def _compile(source: str, path: str, name: str = "reference") -> Callable[..., Any]:
    module = types.ModuleType("reference")
    exec(compile(source, path, "exec"), module.__dict__)
    function = module.__dict__.get(name)
    if not callable(function):
        raise SpecError(f"{path}: defines no function `{name}`")
    return function  # type: ignore[no-any-return]


def _widen(value: torch.Tensor | int | float) -> torch.Tensor | int | float:
    is_real = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.double() if is_real and isinstance(value, torch.Tensor) else value


@dataclass(frozen=True)
class _Switch:
    """Setting of PyTorch that trades precision for speed, and its value where it does not."""

    read: Callable[[], Any]
    write: Callable[[Any], object]
    precise: Any


@contextmanager
def full_precision() -> Iterator[None]:
    """Switch off TF32 and bfloat16 in PyTorch where it is given float32, and sums of halves in half precision."""
    before = []
    for switch in _switches():
        with suppress(RuntimeError):  # an older name of a setting that has been changed under its newer ones
            before.append((switch, switch.read()))
    for switch, _ in before:
        switch.write(switch.precise)
    try:
        yield
    finally:
        for switch, value in before:
            switch.write(value)


def precision_facts() -> dict[str, str]:
    """Report the references' arithmetic for a record, as PyTorch describes it while they run."""
    with full_precision():
        float32 = {str(getattr(owner, "fp32_precision", "ieee")) for owner in _float32_backends()}
        reduced = any(getattr(torch.backends.cuda.matmul, name, False) for name in _REDUCED_SUMS)
    return {"reference_float32": "/".join(sorted(float32)), "reference_reduced_sums": "on" if reduced else "off"}


@lru_cache(maxsize=1)
def _switches() -> list[_Switch]:
    """List the settings, older names first: they change the newer ones, and must not have the last word."""
    matmul = torch.backends.cuda.matmul
    older = [
        _Switch(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        _attribute(torch.backends.cudnn, "allow_tf32", False),
    ]
    newer = [_attribute(owner, "fp32_precision", "ieee") for owner in _float32_backends()]
    return older + newer + [_attribute(matmul, name, False) for name in _REDUCED_SUMS if hasattr(matmul, name)]


def _float32_backends() -> list[Any]:
    """List the parts of PyTorch that have a float32 precision of their own; none before 2.9."""
    backends = torch.backends
    operators = [getattr(owner, name, None) for owner in (backends.cudnn, backends.mkldnn) for name in _OPERATORS]
    return [owner for owner in (backends.cuda.matmul, *operators) if hasattr(owner, "fp32_precision")]


def _attribute(owner: Any, name: str, precise: Any) -> _Switch:
    return _Switch(partial(getattr, owner, name), partial(setattr, owner, name), precise)
