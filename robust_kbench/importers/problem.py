"""A foreign problem at given sizes: arguments of its call, its weights, its results. Runs in the sandbox alone."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from robust_kbench.importers import source_constants
from robust_kbench.importers.adapters.exact import tensors_of

Role = Literal["activation", "parameter", "gradient"]
_LARGE = 1 << 18
_FILLING = (
    "uniform_", "normal_", "trunc_normal_", "log_normal_", "exponential_", "kaiming_uniform_", "kaiming_normal_",
    "xavier_uniform_", "xavier_normal_", "orthogonal_",
)  # fmt: skip
_DRAWING = (torch.rand, torch.randn, torch.rand_like, torch.randn_like)
_RANDOM_TYPES = 2  # constructions whose tensors are compared


class Refused(ValueError):
    """Error for a problem that cannot be a task. The words say what its author's code raised."""


@dataclass
class Argument:
    """Positional argument of the call. `bound`: integers are drawn from [0, bound)."""

    name: str
    value: Any
    role: Role = "activation"
    bound: int | None = None


@dataclass
class Trace:
    """A problem at one binding of its constants, on one device. `run` calls it."""

    arguments: list[Argument]
    parameters: dict[str, Tensor]
    call: Callable[[], Any]
    draws: list[Tensor] = field(default_factory=list)
    results: tuple[str, ...] = ()
    """Names of the results, where they have any."""

    def run(self) -> list[Tensor]:
        """Call the problem, and return every tensor of its result; `draws` are then the random numbers that it drew."""
        recorder = _Draws()
        with torch.no_grad(), recorder:
            result = list(tensors_of(self.call()))
        self.draws = recorder.seen
        return result


class Problem(Protocol):
    """Problem that has integer constants and can be traced at other values of them."""

    @property
    def values(self) -> Mapping[str, int]:
        """Names of the constants, and their values where the problem comes from."""

    def promote(self, values: Mapping[str, int]) -> None:
        """Look, at these values, for weights that are not declared as such."""

    def trace(self, values: Mapping[str, int], device: str) -> Trace:
        """Build the problem with these constants. Raises any exception that its author's code raises."""


class ModelProblem:
    """A file in KernelBench's form: Model, get_inputs and get_init_inputs."""

    def __init__(self, source: str, constants: source_constants.Constants | None = None) -> None:
        """Take `constants` as those of the source that may be replaced; by default find them all."""
        self.source = source
        self.constants = constants or source_constants.find(source)
        self.values = {constant.name: constant.value for constant in self.constants.values}
        self.promoted: frozenset[str] = frozenset()

    def tied(self) -> ModelProblem | None:
        """Return the problem with equal constants as one: perhaps they cannot differ. None where none are equal."""
        constants = source_constants.tied(self.constants)
        return None if constants is None else ModelProblem(self.source, constants)

    def promote(self, values: Mapping[str, int]) -> None:
        """Find, at these values, other tensors than parameters that a model fills at random: these are weights."""
        self.promoted = frozenset(random_names(lambda: _others(self._model(values)[1])))

    def _model(self, values: Mapping[str, int]) -> tuple[dict[str, Any], Any]:
        text = source_constants.spliced(self.source, self.constants.splices, {**self.values, **values})
        namespace = execute(text)
        with hasty():
            arguments = list(namespace["get_init_inputs"]()) if "get_init_inputs" in namespace else []
            return namespace, namespace["Model"](*arguments)

    def trace(self, values: Mapping[str, int], device: str) -> Trace:
        """Build the model on the processor, since some models compute with their own tensors while they are made."""
        namespace, model = self._model(values)
        others = {name: tensor for name, tensor in _others(model) if name in self.promoted}
        parameters = {**dict(model.named_parameters()), **others}
        if device != "cpu":
            _move(model, device)
            parameters = {name: tensor.to(device) for name, tensor in parameters.items()}
        with torch.device(device), Bounds() as bounds:
            inputs = list(namespace["get_inputs"]())
        names = _names(model, len(inputs))
        described = [Argument(name, value, bound=bounds.of(value)) for name, value in zip(names, inputs, strict=True)]
        return Trace(described, parameters, lambda: model(*inputs))


def execute(text: str) -> dict[str, Any]:
    """Execute a file, and return the names that it defines."""
    module = types.ModuleType("problem")
    exec(compile(text, "problem.py", "exec"), module.__dict__)
    return module.__dict__


def _others(model: Any) -> list[tuple[str, Tensor]]:
    """Return buffers, and plain tensors of modules, by their paths."""
    found = list(model.named_buffers())
    for path, module in model.named_modules():
        own = [(name, value) for name, value in vars(module).items() if isinstance(value, Tensor)]
        found += [(f"{path}.{name}" if path else name, value) for name, value in own if value.is_floating_point()]
    return found


def _move(model: Any, device: str) -> None:
    model.to(device)
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                module.__dict__[name] = value.to(device)


def _names(model: Any, count: int) -> list[str]:
    """Return the names of the first arguments of forward; numbers where it has fewer."""
    code = type(model).forward.__code__
    own = list(code.co_varnames[1 : code.co_argcount])
    return [own[place] if place < len(own) else f"x{place}" for place in range(count)]


@contextmanager
def hasty() -> Iterator[None]:
    """Leave large tensors unfilled by random numbers: only their shapes and means matter here."""
    with _Hasty():
        yield


class _Hasty(TorchFunctionMode):
    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call one function, unless it fills a large tensor."""
        kwargs = kwargs or {}
        target = args[0] if args else kwargs.get("tensor")
        if getattr(function, "__name__", "") in _FILLING and isinstance(target, Tensor) and target.numel() > _LARGE:
            return target
        return function(*args, **kwargs)


class Bounds(TorchFunctionMode):
    """Mode that keeps the bounds that torch.randint was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[tuple[Tensor, int]] = []

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call one function, and keep the bound if it is torch.randint."""
        result = function(*args, **(kwargs or {}))
        if function is torch.randint:
            numbers = [value for value in [*args, *(kwargs or {}).values()] if type(value) is int]
            if numbers:
                self._seen.append((result, max(numbers)))
        return result

    def of(self, value: Any) -> int | None:
        """Return the bound of an integer tensor; the largest bound of all if torch.randint did not return it."""
        if not isinstance(value, Tensor) or value.is_floating_point():
            return None
        exact = [bound for tensor, bound in self._seen if tensor is value]
        return max(exact or [bound for _, bound in self._seen], default=None)


class _Draws(TorchFunctionMode):
    """Mode that keeps the random numbers that a model draws."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call one function, and keep the result if it draws random numbers."""
        result = function(*args, **(kwargs or {}))
        if function in _DRAWING:
            self.seen.append(result)
        return result


def random_names(make: Callable[[], Sequence[tuple[str, Tensor]]]) -> set[str]:
    """Return the names of the tensors that differ when the same thing is made twice."""
    made = []
    for seed in range(_RANDOM_TYPES):
        torch.manual_seed(seed)
        made.append(dict(make()))
    first, second = made
    return {name for name, tensor in first.items() if not torch.equal(tensor, second.get(name, tensor))}
