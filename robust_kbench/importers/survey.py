"""Survey that turns a traceable problem into a task: axes, inputs, outputs, sizes, cost. Runs in the sandbox alone."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from robust_kbench.importers import axes
from robust_kbench.importers.axes import Expression, Range, Sizes, Space
from robust_kbench.importers.description import Adapter
from robust_kbench.importers.measuring import Bench, Shape
from robust_kbench.importers.naming import Names
from robust_kbench.importers.problem import Argument, Problem, Refused, Trace
from robust_kbench.schema import arithmetic

LAYOUTS = ["contiguous"]
"""Layouts of inputs: kernels for another suite were written under the promise that inputs are dense."""
_CPU_BYTES, _CPU_FLOPS = 32 << 20, 1 << 30
_MOST_ELEMENTS = 1 << 28
"""Most elements of the smallest call that works: it is made in float64, several times over."""
_ONES_SPREAD, _BIAS_SPREAD = 36, 4
_USUAL = 4.0
_ITEMSIZE = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "uint8": 1}


@dataclass
class Draft:
    """Task that is being written, and the names that its reference has to know."""

    task: dict[str, Any]
    adapter: Adapter
    space: Space
    axes: Mapping[str, str]
    """Constants of the problem -> axes of the task."""
    weights: Mapping[str, str]
    """Inputs of the task -> parameters of the model."""
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Survey:
    """A problem whose axes are known. Raises Refused where the problem does not run."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._bench = problem, Bench(problem)
        self.space = axes.find(self._bench, problem.values, problem.promote)
        if (elements := self.space.measure.elements) > _MOST_ELEMENTS:
            raise Refused(f"none of its sizes can be small, and together its tensors have {elements:,} elements")
        self._trace = self._bench.real(self.space.origin)

    @property
    def origin(self) -> dict[str, int]:
        """A small binding of all constants of the problem."""
        return {**self._problem.values, **self.space.origin}

    @property
    def neighbours(self) -> list[dict[str, int]]:
        """Bindings that differ from the origin in one axis each."""
        return [
            {**self.origin, name: next(size for size in found.sizes if size > self.space.origin[name])}
            for name, found in self.space.ranges.items()
            if found.sizes[-1] > self.space.origin[name]
        ]

    @property
    def argument_names(self) -> list[str]:
        """Names of the arguments, as the problem has them."""
        return [argument.name for argument in self._trace.arguments]

    def input_shapes(self, binding: Mapping[str, int]) -> Mapping[str, Shape]:
        """Return the shapes of all tensors that are inputs, at a binding that works; empty at any other."""
        found = self._bench.shapes(binding)
        return {} if found is None else found.inputs

    def place(self, tensor: str, draft: Draft) -> int:
        """Return the position of an input among the inputs of the task."""
        return int(draft.adapter.arguments[self.argument_names.index(tensor)][1])  # type: ignore[arg-type]

    def draft(self, adapter: Adapter, *, summary: str, origin: str, without: Collection[str] = ()) -> Draft:
        """Draft the task. Parameters in `without` are left to the model, unless they alone tell an axis."""
        if any(self.space.place_of(axis, without) is None for axis in self.space.ranges):
            without = ()
        return _Writer(self._problem, self._trace, self.space, without).write(adapter, summary, origin)


class _Writer:
    def __init__(self, problem: Problem, trace: Trace, space: Space, without: Collection[str]) -> None:
        self._problem, self._space = problem, space
        self._arguments = {argument.name: argument for argument in trace.arguments}
        self._parameters = {name: tensor for name, tensor in trace.parameters.items() if name not in without}
        names = Names()
        self._tensors = names.give_all([*self._called_with, *self._parameters], "input")
        self._draws = [names.give(f"draw_{number}") for number in range(len(space.draws))]
        count = len(space.outputs)
        usual = ["y"] if count == 1 else [f"y{number}" for number in range(count)]
        wanted = trace.results if len(trace.results) == count else usual
        self._outputs = [names.give(name, "output") for name in wanted]
        self._axes = names.give_all(space.ranges)
        self._real = _common_dtype(self._arguments.values())

    @property
    def _called_with(self) -> list[str]:
        """Arguments that a kernel gets: tensors and numbers, but not truth values or words."""
        return [name for name, each in self._arguments.items() if _is_input(each.value)]

    def write(self, adapter: Adapter, summary: str, origin: str) -> Draft:
        inputs = {self._tensors[name]: self._input(self._arguments[name]) for name in self._called_with}
        inputs |= {self._tensors[name]: self._parameter(name) for name in self._parameters}
        inputs |= {
            name: {"shape": self._sizes(sizes), "role": "parameter", "layouts": LAYOUTS}
            for name, sizes in zip(self._draws, self._space.draws, strict=True)
        }
        outputs = {name: self._output(place) for place, name in enumerate(self._outputs)}
        task = {
            "version": 1,
            "summary": summary,
            "source": origin,
            "axes": self._ranges(),
            "inputs": inputs,
            "outputs": outputs,
            "dtypes": [self._real],
            "precision": "ieee",
            "reduction": self._renamed(self._space.lengths),
            "distributions": ["normal"],
            "nonfinite": "none",
            "timed": {},
            "cost": {
                "flops": self._renamed(self._space.flops),
                "least_flops": _total(self._sizes(sizes) for sizes in self._space.outputs),
                "bytes": self._bytes(inputs, outputs),
            },
        }
        if not self._space.ranges:
            task["summary"] = f"{summary[:180]} (fixed shapes)"
        own = {self._axes[name]: self._problem.values[name] for name in self._space.ranges} or {"one": 1}
        task["timed"] = {"cpu": [_small_enough(task, own, self._range_of)], "cuda": [own]}
        places = {name: place for place, name in enumerate(inputs)}
        kept = {**self._problem.values, **{name: f"{{{name}}}" for name in self._space.ranges}}
        finished = adapter.model_copy(
            update={
                "splices": tuple(
                    (start, end, text.format_map(kept))
                    for start, end, text in adapter.splices
                    if any(f"{{{name}}}" in text for name in self._space.ranges)
                ),
                "sizes": tuple(self._size(name, places) for name in self._space.ranges),
                "arguments": tuple(self._argument(each, places) for each in self._arguments.values()),
                "results": self._results(),
                "parameters": tuple((name, places[self._tensors[name]]) for name in self._parameters),
                "draws": tuple(places[name] for name in self._draws),
            }
        )
        fixed = {name: size for name, size in self._problem.values.items() if name not in self._space.ranges}
        notes = [f"not axes: {', '.join(f'{name}={size}' for name, size in fixed.items())}"] if fixed else []
        weights = {self._tensors[name]: name for name in self._parameters}
        return Draft(task, finished, self._space, self._axes, weights, notes)

    def _range_of(self, axis: str) -> Range:
        return next((self._space.ranges[theirs] for theirs, ours in self._axes.items() if ours == axis), Range(1, 1))

    def _ranges(self) -> dict[str, Any]:
        if not self._space.ranges:
            return {"one": {"values": [1]}}
        return {self._axes[name]: _axis(each) for name, each in self._space.ranges.items()}

    def _renamed(self, expression: Expression) -> Expression:
        return renamed(expression, self._axes)

    def _sizes(self, sizes: Sizes) -> list[Expression]:
        return [self._renamed(size) for size in sizes]

    def _input(self, argument: Argument) -> dict[str, Any]:
        value = argument.value
        if not isinstance(value, Tensor):
            return _scalar(value, self._renamed(self._space.numbers.get(argument.name, 0)))
        sizes = self._sizes(self._space.inputs[argument.name])
        found: dict[str, Any] = {"shape": sizes, "layouts": LAYOUTS}
        if value.is_floating_point():
            if (dtype := _name(value.dtype)) != self._real:
                found["dtype"] = dtype
            if argument.role == "parameter":
                return {**found, "role": "parameter", **_scale(value, sizes)}
            return found if argument.role == "activation" else {**found, "role": argument.role}
        if value.dtype == torch.bool:
            return {**found, "dtype": "uint8", "role": "mask"}
        bound = self._space.numbers.get(argument.name, max(1, int(value.max()) + 1 if value.numel() else 1))
        dtype = "int64" if value.dtype not in (torch.int32, torch.uint8) else _name(value.dtype)
        return {**found, "dtype": dtype, "role": "index", "below": self._renamed(bound)}

    def _parameter(self, name: str) -> dict[str, Any]:
        sizes = self._sizes(self._space.inputs[name])
        return {"shape": sizes, "role": "parameter", **_scale(self._parameters[name], sizes), "layouts": LAYOUTS}

    def _output(self, place: int) -> dict[str, Any]:
        found: dict[str, Any] = {"shape": self._sizes(self._space.outputs[place])}
        dtype = self._space.measure.output_dtypes[place]
        return found if dtype == self._real else {**found, "dtype": dtype}

    def _results(self) -> tuple[str, ...]:
        """Return the dtypes of results that differ from the arguments' dtype; empty where none differ."""
        own = tuple(self._space.measure.output_dtypes)
        reals = tuple(dtype if dtype != self._real and dtype.startswith(("float", "bfloat")) else "" for dtype in own)
        return reals if any(reals) else ()

    def _bytes(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Expression:
        tensors = [spec for spec in [*inputs.values(), *outputs.values()] if "shape" in spec]
        real = _total(spec["shape"] for spec in tensors if spec.get("dtype", "T") == "T")
        whole = [f"{_bracketed(real)} * itemsize"] if real else []
        for dtype in sorted({spec["dtype"] for spec in tensors if spec.get("dtype", "T") != "T"}):
            part = _total(spec["shape"] for spec in tensors if spec.get("dtype") == dtype)
            whole.append(f"{_ITEMSIZE.get(dtype, 8)} * {_bracketed(part)}")
        return " + ".join(whole)

    def _size(self, name: str, places: Mapping[str, int]) -> tuple[str, int, int]:
        found = self._space.place_of(name, self._space.measure.parameters.keys() - self._parameters.keys())
        assert found is not None
        return name, places[self._tensors[found[0]]], found[1]

    def _argument(self, argument: Argument, places: Mapping[str, int]) -> tuple[str, Any]:
        if not _is_input(argument.value):
            return "constant", argument.value
        return _structure(argument.value), places[self._tensors[argument.name]]


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Rewrite `expression` over the problem's constants as one over our axes."""
    if isinstance(expression, int):
        return expression
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), expression)


def _is_input(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, int | float) and not isinstance(value, bool))


def _common_dtype(arguments: Any) -> str:
    reals = [a.value.dtype for a in arguments if isinstance(a.value, Tensor) and a.value.is_floating_point()]
    name = _name(max(reals, key=reals.count)) if reals else "float32"
    return name if name in ("float32", "float16", "bfloat16", "float64") else "float32"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _axis(found: Range) -> dict[str, Any]:
    if found.values:
        return {"values": list(found.values)}
    step = {"multiple_of": found.multiple_of} if found.multiple_of > 1 else {}
    return {"low": found.low, "high": found.high, **step}


def _scalar(value: float, size: Expression) -> dict[str, Any]:
    """Describe a number: an integer keeps its value, since it may be a size; others are drawn from around it."""
    if isinstance(value, int):
        return {"dtype": "int64", "role": "scalar", "value": size}
    around = {"between": sorted((value / 2, value * 2))} if value and math.isfinite(value) else {}
    return {"dtype": "float64", "role": "scalar", "choices": [value], **around}


def _scale(tensor: Tensor, sizes: Sequence[Expression]) -> dict[str, Any]:
    """Return the way to draw values of a weight: as large as its own values are, but never all alike."""
    fan_in = _product(sizes[1:])
    usual = 1.0 / math.sqrt(max(1, math.prod(tensor.shape[1:])))
    if tensor.is_meta or tensor.numel() > 1 << 18 or not tensor.numel():
        return {"fan_in": fan_in} if tensor.dim() > 1 else {"fan_in": _BIAS_SPREAD}
    values = tensor.detach().double()
    mean, deviation = float(values.mean()), float(values.std(unbiased=False))
    if deviation < 1e-12:
        if mean == 0.0:
            return {"fan_in": _BIAS_SPREAD}
        return {"fan_in": max(1, round(_ONES_SPREAD / mean**2)), "shift": mean}
    if tensor.dim() > 1 and usual / _USUAL <= deviation <= usual * _USUAL:
        return {"fan_in": fan_in} if fan_in != 1 else {}
    if tensor.dim() == 1:
        return {"fan_in": _BIAS_SPREAD} if abs(mean) < deviation else {"fan_in": _ONES_SPREAD, "shift": mean}
    return {"fan_in": max(1, round(deviation**-2))}


def _structure(value: Any) -> str:
    """Name the structure of a matrix that a problem makes for itself: parts that are zero, or the same twice."""
    if not isinstance(value, Tensor):
        return "value"
    if value.dtype == torch.bool:
        return "bool"
    if value.dim() != 2 or value.shape[0] != value.shape[1] or value.shape[0] < 2 or not value.is_floating_point():
        return "value"
    if torch.equal(value, value.triu()):
        return "upper"
    if torch.equal(value, value.tril()):
        return "lower"
    return "symmetric" if torch.equal(value, value.mT) else "value"


def _product(sizes: Sequence[Expression]) -> Expression:
    constant = math.prod(size for size in sizes if isinstance(size, int))
    terms = [size if size.isidentifier() else f"({size})" for size in sizes if isinstance(size, str)]
    if not terms:
        return constant
    return " * ".join([*([] if constant == 1 else [str(constant)]), *terms])


def _total(shapes: Any) -> Expression:
    """Return the elements of all tensors together; of many alike, a multiple. A long sum is cut to a lower bound."""
    counted: dict[str, int] = {}
    constant = 0
    for sizes in shapes:
        product = _product(sizes)
        if isinstance(product, int):
            constant += product
        else:
            counted[product] = counted.get(product, 0) + 1
    terms = [product if count == 1 else f"{count} * {product}" for product, count in counted.items()]
    whole = " + ".join([*terms, *([str(constant)] if constant or not terms else [])])
    while len(whole) > 150 and len(terms) > 1:  # a bound from below is one, too
        terms.pop()
        whole = " + ".join([*terms, *([str(constant)] if constant else [])])
    return constant if not terms else whole


def _bracketed(expression: Expression) -> str:
    text = str(expression)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _small_enough(task: Mapping[str, Any], own: Mapping[str, int], range_of: Any) -> dict[str, int]:
    """Halve the problem's own sizes until a processor can do them in milliseconds."""
    sizes = dict(own)
    while True:
        known = {**sizes, "itemsize": 4}
        bytes_, flops = (arithmetic.evaluate(task["cost"][key], known) for key in ("bytes", "flops"))
        if bytes_ <= _CPU_BYTES and flops <= _CPU_FLOPS:
            return sizes
        halves = {name: half for name, size in sizes.items() if (half := _half(size, range_of(name))) is not None}
        if not halves:
            return sizes
        largest = max(halves, key=lambda name: sizes[name])
        sizes[largest] = halves[largest]


def _half(size: int, found: Range) -> int | None:
    """Return about a half of `size` that the axis admits; None where there is none."""
    half = size // 2 // found.multiple_of * found.multiple_of
    return half if half in found.sizes and half < size else None
