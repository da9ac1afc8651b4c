"""Calls of a model whose weights are arguments, at the sizes that the arguments have."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from robust_kbench.importers.adapters.exact import argument, exactly, tensors_of

# constants: an import writes others
PROBLEM = ""  # the imported file
SPLICES: tuple[tuple[int, int, str], ...] = ()  # characters of it, and what sizes make of them
SIZES: tuple[tuple[str, int, int], ...] = ()  # a size, and where it is found: position of the argument, dimension
ARGUMENTS: tuple[tuple[str, Any], ...] = ()  # how, and the position among the arguments or a value
PARAMETERS: tuple[tuple[str, int], ...] = ()  # a tensor of the model, and the position
DRAWS: tuple[int, ...] = ()  # positions of what stands for random numbers that the model draws
# end of constants

Value = Tensor | int | float
_LARGE, _MOST_BUILT = 1 << 18, 64
_FILLING = (
    "uniform_", "normal_", "trunc_normal_", "log_normal_", "exponential_", "kaiming_uniform_", "kaiming_normal_",
    "xavier_uniform_", "xavier_normal_", "orthogonal_",
)  # fmt: skip
_built: dict[tuple[Any, ...], _Built] = {}


def reference(*values: Value) -> Tensor | tuple[Tensor, ...]:
    """Return the outputs of the imported model, in training mode, as it is called there."""
    return run(None, *values)


def run(maker: Callable[..., Any] | None, *values: Value) -> Tensor | tuple[Tensor, ...]:
    """Return the outputs of a model of class `maker`, or of the imported one, built once for sizes and dtype."""
    first = next(value for value in values if isinstance(value, Tensor) and value.is_floating_point())
    sizes = tuple(value.shape[dim] for value, dim in ((values[place], dim) for _, place, dim in SIZES))  # type: ignore[union-attr]
    key = (maker, sizes, first.dtype, first.device)
    built = _built.get(key) or _build(key, values)
    arguments = [argument(how, detail, values) for how, detail in ARGUMENTS]
    weights = [values[place] for _, place in PARAMETERS]
    if first.dtype == torch.float64 or DRAWS:
        with exactly(first.dtype, [values[place] for place in DRAWS]):
            result = built.call(weights, arguments)
    else:
        result = built.call(weights, arguments)
    tensors = tuple(tensors_of(result))
    return tensors[0] if len(tensors) == 1 else tensors


def source_at(sizes: dict[str, int]) -> str:
    """Return the text of the imported file with these sizes."""
    parts, position = [], 0
    for start, end, text in SPLICES:
        parts += [PROBLEM[position:start], text.format_map(sizes)]
        position = end
    return "".join([*parts, PROBLEM[position:]])


class _Built:
    """Model, with the places in it where the tensors of PARAMETERS belong."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        self.model, self.names = model, tuple(names)
        self._slots = [_slot(model, name) for name in names]
        self.is_functional = all(table is not owner.__dict__ for owner, table, _ in self._slots)
        owners = {id(owner): owner for owner, _, _ in self._slots}
        # Recurrent layers keep a list of their weights besides.
        self._recurrent = [owner for owner in owners.values() if hasattr(owner, "_flat_weights_names")]

    def call(self, weights: Sequence[Any], arguments: Sequence[Any]) -> Any:
        """Call the model with these weights, and return its result."""
        if torch.compiler.is_compiling() and self.is_functional:
            named = dict(zip(self.names, weights, strict=True))
            return torch.func.functional_call(self.model, named, tuple(arguments))
        self.bind(weights)
        try:
            return self.model(*arguments)
        finally:
            self.release()  # else weights of every size would stay in memory

    def bind(self, tensors: Sequence[Any]) -> None:
        """Put tensors into their places, without a copy."""
        for (_, table, key), tensor in zip(self._slots, tensors, strict=True):
            table[key] = tensor
        for module in self._recurrent:
            module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]

    def release(self) -> None:
        """Empty the places of these tensors."""
        self.bind([None] * len(self._slots))


def _slot(model: Any, path: str) -> tuple[Any, dict[str, Any], str]:
    """Return the module that owns a tensor, its table, and the key in it."""
    owner, _, key = path.rpartition(".")
    module = model.get_submodule(owner)
    for table in (module._parameters, module._buffers):
        if key in table:
            return module, table, key
    return module, module.__dict__, key


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _build(key: tuple[Any, ...], values: Sequence[Value]) -> _Built:
    maker, sizes, dtype, device = key
    namespace = types.ModuleType("problem").__dict__
    named = dict(zip([name for name, _, _ in SIZES], sizes, strict=True))
    exec(compile(source_at(named), "problem.py", "exec"), namespace)
    arguments = namespace["get_init_inputs"]() if "get_init_inputs" in namespace else []
    with _Hasty():
        model = (maker or namespace["Model"])(*arguments)
    shapes = {name: tuple(values[place].shape) for name, place in PARAMETERS}  # type: ignore[union-attr]
    built = _Built(model, list(shapes) if maker is None else _names_in(model, shapes))
    built.release()
    model.to(dtype=dtype, device=device)
    for module in model.modules():
        for name, tensor in vars(module).items():
            if isinstance(tensor, Tensor):
                module.__dict__[name] = tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
    if len(_built) >= _MOST_BUILT:
        _built.clear()
    _built[key] = built
    return built


def _names_in(model: Any, shapes: dict[str, tuple[int, ...]]) -> list[str]:
    """Return another model's names of these parameters: the same name, or else the next one that has the shape."""
    own = {name: tuple(tensor.shape) for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
    free = [name for name in own if name not in shapes]
    names = []
    for name, shape in shapes.items():
        if own.get(name) != shape:
            found = next((other for other in free if own[other] == shape), None)
            if found is None:
                raise ValueError(f"the model has no parameter of shape {list(shape)} for {name}; it has {own}")
            free.remove(found)
            name = found
        names.append(name)
    return names


class _Hasty(TorchFunctionMode):
    """Mode that leaves large tensors unfilled while a model is made: they are weights, and come as arguments."""

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        target = args[0] if args else kwargs.get("tensor")
        if getattr(function, "__name__", "") in _FILLING and isinstance(target, Tensor) and target.numel() > _LARGE:
            return target
        return function(*args, **kwargs)
