"""A task as text: what must be computed, how an entry point is declared, and how fast it can be at best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robust_kbench.devices.peaks import Peaks
    from robust_kbench.registry import LoadedTask
    from robust_kbench.schema.submission import Abi
    from robust_kbench.schema.task import Axis, DeviceKind, FloatDType, Input, Output, Property, Task

_INDENT = "  "
_KEY = 14
_BOUND = {"flops": "arithmetic", "bytes": "memory"}


def lines(task: LoadedTask, device: DeviceKind, peaks: Peaks | None) -> Iterator[str]:
    """The whole page. `peaks`: what was measured on the device at hand, None where nothing was."""
    spec = task.spec
    yield f"{spec.name}  version {spec.version}: {spec.summary}"
    yield _row("source", spec.source)
    yield _row("reference", str(task.folder / "reference.py"))
    yield from _contract(spec)
    yield ""
    yield "entry points"
    yield from _entry_points(spec)
    yield ""
    yield from _roofline(spec, device, peaks)
    yield ""
    yield from _kernels(spec.name)


def _contract(task: Task) -> Iterator[str]:
    for name, tensor in task.inputs.items():
        yield _row(f"in   {name}", _input(tensor))
    for name, result in task.outputs.items():
        yield _row(f"out  {name}", _output(task, result))
    yield _row("axes", ", ".join(f"{name} {_axis(axis)}" for name, axis in task.axes.items()))
    yield from (_row("where", constraint) for constraint in task.constraints)
    yield _row(
        "dtypes", f"{', '.join(task.dtypes)}: T above; precision {task.precision}, sums of {task.reduction} terms"
    )
    yield _row("values", ", ".join(task.distributions))
    yield _row("not finite", {"none": "never among the inputs"}.get(task.nonfinite, task.nonfinite))
    if task.properties:
        yield _row("holds", "; ".join(map(_property, task.properties)))


def _input(tensor: Input) -> str:
    from robust_kbench.cases.structures import structures_of

    notes: list[str] = [tensor.role] if tensor.role != "activation" else []
    notes += [f"below {tensor.below}"] if tensor.below is not None else []
    notes += ["ascending"] if tensor.offsets else []
    notes += [f"laid out as {', '.join(('uniform', *held))}"] if (held := structures_of(tensor)) else []
    notes += [f"= {tensor.value}"] if tensor.value is not None else []
    notes += [f"plus {tensor.shift:g}"] if tensor.shift else []
    notes += [", ".join(tensor.layouts)] if tensor.shape else []
    return "  ".join([_tensor(tensor), *notes])


def _output(task: Task, result: Output) -> str:
    return f"{_tensor(result)}  compared by {task.comparison_of(result)}"


def _tensor(tensor: Input | Output) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]" if tensor.shape else tensor.dtype


def _axis(axis: Axis) -> str:
    if axis.values is not None:
        return f"one of {', '.join(map(str, axis.values))}"
    steps = f" in steps of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"{axis.low}..{axis.high}{steps}"


def _property(held: Property) -> str:
    if held.kind == "sums_to":
        return f"sums to {held.value:g}"
    about = ", ".join(held.inputs) or held.axis
    return f"{held.kind.replace('_', ' ')} ({about})" if about else held.kind.replace("_", " ")


def _entry_points(task: Task) -> Iterator[str]:
    from robust_kbench.schema.submission import ABIS

    of_python: dict[Abi, list[str]] = {}
    for language, abis in ABIS.items():
        for abi in abis:
            if language in ("python", "triton"):
                of_python.setdefault(abi, []).append(language)
            else:
                yield f"{_INDENT}{language}, abi {abi}"
                yield from (f"{_INDENT * 2}{line}" for line in _declared(task, language, abi).splitlines())
    for abi, languages in of_python.items():
        yield f"{_INDENT}{' and '.join(languages)}, abi {abi}"
        yield f"{_INDENT * 2}{_defined(task, abi)}"


def _declared(task: Task, language: str, abi: Abi) -> str:
    from robust_kbench.languages import signature
    from robust_kbench.schema.submission import usual_symbol

    symbol = usual_symbol(task.name, language)
    if abi == "c":
        return f"{signature.declaration(task, language, symbol)};"
    if abi == "torch":
        kind = "torch::Tensor" if len(task.outputs) == 1 else "std::vector<torch::Tensor>"
        names = ", ".join(_argument(name, tensor) for name, tensor in task.inputs.items())
        return f"{kind} {symbol}({names});  // bound by PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)"
    return f'extern "C" __global__ void {symbol}(...);  // any kernels; submission.yaml lists what is launched'


def _argument(name: str, tensor: Input) -> str:
    of_scalar = {"int64": "int64_t", "float64": "double"}
    return f"{of_scalar[tensor.dtype] if tensor.role == 'scalar' else 'torch::Tensor'} {name}"


def _defined(task: Task, abi: Abi) -> str:
    symbol, outputs = task.name.rpartition("/")[2], list(task.outputs)
    if abi == "destination":
        return f"def {symbol}({', '.join([*task.inputs, *outputs])}): ...  # writes {' and '.join(outputs)}"
    return f"def {symbol}({', '.join(task.inputs)}): ...  # returns {', '.join(outputs)}"


def _roofline(task: Task, device: DeviceKind, peaks: Peaks | None) -> Iterator[str]:
    if peaks is None:
        yield f"roofline on {device}: not measured on this machine; kbench doctor --measure"
        return
    yield f"roofline on {device}, {peaks.source}: {peaks.bytes_per_s / 1e9:.0f} GB/s; no call can take less than"
    rows = [row for dtype in task.dtypes for row in _floors(task, dtype, task.timed[device], peaks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _INDENT + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _floors(
    task: Task, dtype: FloatDType, bindings: tuple[dict[str, int], ...], peaks: Peaks
) -> Iterator[tuple[str, ...]]:
    from robust_kbench.schema import arithmetic
    from robust_kbench.schema.task import ITEMSIZE
    from robust_kbench.timing.floor import task_floor

    for axes in bindings:
        floor = task_floor(task, axes, dtype, peaks)
        assert floor is not None
        known: Mapping[str, int] = {**axes, "itemsize": ITEMSIZE[dtype]}
        flops, moved = (arithmetic.evaluate(each, known) for each in (task.cost.flops, task.cost.bytes))
        sizes = " ".join(f"{name}={size}" for name, size in axes.items())
        intensity = f"{flops / moved:.3g} flop/byte" if moved else ""
        yield dtype, sizes, intensity, f"{floor.ns / 1e3:.3g} us ({_BOUND[floor.by]})"


def _kernels(task: str) -> Iterator[str]:
    from robust_kbench.registry import baselines_of

    names = [folder.name for folder in baselines_of(task)]
    yield f"published kernels: {', '.join(names) or 'none'}"
    yield f"next: kbench new {task} DIR --language python|triton|cpp|cuda"


def _row(key: str, text: str) -> str:
    return f"{_INDENT}{key:<{_KEY}} {text}"
