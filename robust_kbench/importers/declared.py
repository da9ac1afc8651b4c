"""A flashinfer-trace definition at given sizes. Runs in the sandbox alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from robust_kbench.importers.definitions import DTYPES, Definition, ForeignTensor
from robust_kbench.importers.problem import Argument, Bounds, Role, Trace, execute

_WEIGHT = ("weight", "bias", "gamma", "beta", "proj")


class DeclaredProblem:
    """Reference of a definition, called with the declared inputs. `numbers`: values of inputs that are numbers."""

    def __init__(self, definition: Definition, values: Mapping[str, int], numbers: Mapping[str, Any]) -> None:
        self._definition, self._numbers = definition, numbers
        self._namespace = execute(definition.reference)
        self.values = dict(values)

    def promote(self, values: Mapping[str, int]) -> None:
        """Do nothing, since every input is declared."""

    def trace(self, values: Mapping[str, int], device: str) -> Trace:
        """Build the call. Its values are random, or those of the definition's own function."""
        sizes = self._definition.sizes(dict(values))
        with Bounds() as bounds:
            made = self._made(sizes, device)
        arguments = []
        for name, declared in self._definition.inputs.items():
            value = made[name] if name in made else self._value(name, declared, sizes, device)
            value = value.to(device) if isinstance(value, Tensor) else value
            role: Role = "parameter" if any(word in name.lower() for word in _WEIGHT) else "activation"
            arguments.append(Argument(name, value, role, _bound(value, bounds)))
        return Trace(arguments, {}, lambda: self._call(arguments), results=tuple(self._definition.outputs))

    def _call(self, arguments: list[Argument]) -> Any:
        result = self._namespace["run"](*(argument.value for argument in arguments))
        if isinstance(result, dict):
            return tuple(result[name] for name in self._definition.outputs)
        return result

    def _made(self, sizes: Mapping[str, int], device: str) -> dict[str, Any]:
        """Return inputs that the definition's own function makes of sizes and numbers. It may take the device, too."""
        entry = self._definition.custom_inputs_entrypoint
        if entry is None:
            return {}
        function = self._namespace[entry]
        numbers = {name: value for name, value in self._numbers.items() if value is not None}
        given = [{**sizes, **numbers}, torch.device(device)]
        count = len(inspect.signature(function).parameters)
        made = function(*given[:count])
        return {name: value for name, value in made.items() if name in self._definition.inputs}

    def _value(self, name: str, declared: ForeignTensor, sizes: Mapping[str, int], device: str) -> Any:
        if declared.shape is None:
            return self._numbers[name]
        shape = [sizes[axis] for axis in declared.shape]
        dtype = getattr(torch, DTYPES[declared.dtype])
        if dtype.is_floating_point:
            return torch.randn(shape, device=device).to(dtype)
        if dtype == torch.bool:
            return torch.ones(shape, dtype=dtype, device=device)
        raise ValueError(f"input {name}: integers without a function that makes them; their range is not known")


def _bound(value: Any, bounds: Bounds) -> int | None:
    if not isinstance(value, Tensor) or value.is_floating_point() or value.dtype == torch.bool:
        return None
    return bounds.of(value)
