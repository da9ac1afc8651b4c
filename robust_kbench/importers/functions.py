"""Problems in robust-kbench's form at given sizes: a function that a model calls, and its gradients.

Runs in the sandbox alone. The keyword arguments of a problem's configuration are its constants.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from robust_kbench.importers.problem import Argument, Bounds, Trace, execute, hasty

_MOST_GRADIENTS = 32
_FUNCTION = "forward_fn"
Options = Mapping[str, Any]


class _Called(Exception):
    """Signal from the injected function, with the arguments of its call."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        super().__init__("called")
        self.arguments = list(arguments)


class FunctionProblem:
    """Problem of func_forward.py with one configuration. The model hands its arguments to an injected function."""

    def __init__(self, source: str, inputs: Options, init: Options) -> None:
        self.namespace = execute(source)
        self._inputs, self._init = inputs, init
        known = {**_defaults(self.namespace["get_inputs"]), **_defaults(self.namespace["Model"].__init__)}
        known |= {**init, **inputs}
        self.values = {name: value for name, value in known.items() if type(value) is int and value > 0}

    def promote(self, values: Mapping[str, int]) -> None:
        """Do nothing: every tensor that the function is given is an argument already."""

    def trace(self, values: Mapping[str, int], device: str) -> Trace:
        """Return the arguments of the function, and the way to call it."""
        arguments = self.forward_arguments(values, device)
        function = self.namespace[_FUNCTION]
        return Trace(arguments, {}, lambda: function(*(argument.value for argument in arguments)))

    def forward_arguments(self, values: Mapping[str, int], device: str) -> list[Argument]:
        """Return the arguments of the forward function, with the roles that their tensors have in the model."""
        make, maker = self.namespace["get_inputs"], self.namespace["Model"]
        with hasty():
            model = maker(**_accepted(maker.__init__, {**self._init, **values}))
        if device != "cpu":
            model.to(device)
        with torch.device(device), Bounds() as bounds:
            inputs = list(make(**_accepted(make, {**self._inputs, **values})))
        own = {id(tensor) for tensor in [*model.parameters(), *model.buffers()]}
        names = list(inspect.signature(self.namespace[_FUNCTION]).parameters)
        found = self._injected(model, inputs)
        return [
            Argument(name, _detached(value), "parameter" if id(value) in own else "activation", bounds.of(value))
            for name, value in zip(names, found, strict=False)
        ]

    def _injected(self, model: Any, inputs: Sequence[Any]) -> list[Any]:
        def inject(*arguments: Any) -> Any:
            raise _Called(arguments)

        try:
            model.forward(*inputs, fn=inject)
        except _Called as called:
            return called.arguments
        raise TypeError("its model does not call the function that is injected")


@dataclass(frozen=True)
class Call:
    """Call of a foreign gradient function: for each of its arguments how, and which.

    `value`: the number of one of ours; `tuple`: several of ours in one; `constant`: a value.
    """

    arguments: tuple[tuple[str, Any], ...]


class GradientProblem:
    """Problem of func_backward.py with one configuration: AutogradFunction.backward calls an injected function."""

    def __init__(self, source: str, inputs: Options, init: Options) -> None:
        self._forward = FunctionProblem(source, inputs, init)
        self.values = self._forward.values
        self._class = self._forward.namespace["AutogradFunction"]
        self.gradients: tuple[int, ...] = ()
        self.call = Call(())

    def promote(self, values: Mapping[str, int]) -> None:
        """Do nothing, for the same reason as FunctionProblem."""

    def forward_at(self, values: Mapping[str, int]) -> list[Argument]:
        """Return the arguments of the forward function, without values."""
        return self._forward.forward_arguments(values, "meta")

    def trace(self, values: Mapping[str, int], device: str) -> Trace:
        """Return the arguments of the gradient function, in its order, with tuples taken apart."""
        forward = self._forward.forward_arguments(values, device)
        context = _Context()
        with torch.no_grad():
            result = self._class.forward(context, *(argument.value for argument in forward))
        upstream = torch.ones_like(result)
        arguments, self.call = _described(self._asked_for(context, upstream), forward, upstream)
        self.gradients = self._returned(context, upstream)
        leaves = [forward[place].value for place in self.gradients]
        return Trace(arguments, {}, lambda: self._differentiate(forward, leaves, upstream))

    def _differentiate(self, forward: Sequence[Argument], leaves: Sequence[Tensor], upstream: Tensor) -> Any:
        with torch.enable_grad():
            for leaf in leaves:
                leaf.requires_grad_()
            result = self._forward.namespace[_FUNCTION](*(argument.value for argument in forward))
            return torch.autograd.grad(result, list(leaves), upstream)

    def _asked_for(self, context: _Context, upstream: Tensor) -> list[Any]:
        def inject(*arguments: Any) -> Any:
            raise _Called(arguments)

        self._class.backward_fn = staticmethod(inject)
        try:
            self._class.backward(context, upstream)
        except _Called as called:
            return called.arguments
        raise TypeError("its AutogradFunction does not call the function that is injected")

    def _returned(self, context: _Context, upstream: Tensor) -> tuple[int, ...]:
        """Return for each result of the gradient function the forward function's argument that it belongs to."""
        for count in range(_MOST_GRADIENTS):
            marks = [object() for _ in range(max(1, count))]
            self._class.backward_fn = staticmethod(lambda *_, m=marks, c=count: tuple(m) if c else m[0])
            try:
                result = self._class.backward(context, upstream)
            except (TypeError, ValueError):
                continue
            slots = list(result) if isinstance(result, tuple) else [result]
            if all(any(slot is mark for slot in slots) for mark in marks):
                return tuple(next(place for place, slot in enumerate(slots) if slot is mark) for mark in marks)
        raise TypeError("it is not clear what its gradient function returns")


class _Context(SimpleNamespace):
    """Part of autograd's context that a forward and a backward pass use."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * _MOST_GRADIENTS

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors


def _described(asked: Sequence[Any], forward: Sequence[Argument], upstream: Tensor) -> tuple[list[Argument], Call]:
    """Return our arguments, and the foreign function's arguments in terms of ours."""
    own = {id(argument.value): argument for argument in forward if isinstance(argument.value, Tensor)}
    numbers = {argument.name: argument for argument in forward if isinstance(argument.value, int | float)}
    arguments: list[Argument] = []

    def place(value: Any) -> int:
        if value is upstream:
            arguments.append(Argument("grad_output", value, "gradient"))
        elif id(value) in own:
            known = own[id(value)]
            arguments.append(Argument(known.name, value, known.role, known.bound))
        else:
            raise TypeError("its backward pass computes with tensors before it calls the gradient function")
        return len(arguments) - 1

    how: list[tuple[str, Any]] = []
    for value in asked:
        if isinstance(value, Tensor):
            how.append(("value", place(value)))
        elif isinstance(value, tuple) and value and all(isinstance(each, Tensor) for each in value):
            how.append(("tuple", [place(each) for each in value]))
        elif isinstance(value, float) and (known := next((a for a in numbers.values() if a.value == value), None)):
            arguments.append(Argument(known.name, value))
            how.append(("value", len(arguments) - 1))
        else:
            how.append(("constant", list(value) if isinstance(value, tuple | list) else value))
    return arguments, Call(tuple(how))


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}


def _accepted(function: Callable[..., Any], options: Options) -> dict[str, Any]:
    """Select the options that the function takes. A problem's configurations sometimes name others."""
    known = inspect.signature(function).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values()):
        return dict(options)
    return {name: value for name, value in options.items() if name in known}


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
