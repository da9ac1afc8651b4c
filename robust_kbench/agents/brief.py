"""Text that every prompt of a run begins with: the task's contract, and the hardware that the kernel runs on.

All of it is public. It is the same whenever it is made on a machine: it has no clock, no temperature and no seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from robust_kbench.agents.context import Brief, fenced
from robust_kbench.agents.judging import Form
from robust_kbench.devices import Device, machine
from robust_kbench.errors import SpecError
from robust_kbench.languages import signature
from robust_kbench.languages.cpp import DEFAULT_FLAGS
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.task import Axis, Input, Output

HINTS = (
    "Read and write memory once; fuse passes over the same data.",
    "Load and store as wide as the hardware allows, and look after what is left at the ends.",
    "Keep what is used again in registers, then in the cache or in shared memory; choose tiles that fit.",
    "Break long chains of dependent operations: several sums side by side.",
    "Go through memory in the order in which it lies; change the order of loops for that.",
    "Give each thread, or each pass of a loop, more work, until registers run out.",
    "Replace divisions, roots and exponentials by cheaper forms that are as precise as the task asks for.",
    "Handle the usual shapes by a path without checks, and the others by a general one.",
)
_ABIS = {
    "c": (
        "It is a C function that writes its results to the output pointers. All tensors are dense, row-major, and "
        "aligned to their elements only:"
    ),
    "torch": (
        "It is a C++ function of torch::Tensor, bound by PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) under this name and "
        "called with the inputs in their order; it returns the outputs, several as a tuple."
    ),
    "value": (
        "It is a Python function, called with the inputs in their order; it returns the outputs, several as a tuple."
    ),
    "destination": (
        "It is a Python function, called with the inputs and then the outputs in their order; it writes to the "
        "outputs, which are dense and filled with NaN, and returns nothing."
    ),
    "launch": (
        'There is no host code: extern "C" __global__ kernels are launched as listed below, which stays as it is; keep '
        "their names and parameters."
    ),
}
_FENCES = {"python": "python", "triton": "python", "cpp": "cpp", "cuda": "cuda"}
_KEPT_FACTS = (
    "device", "architecture", "last_level_cache", "memory", "capability", "sm_clock_max", "memory_clock_max",
    "driver", "torch", "triton",
)  # fmt: skip
"""Facts about machine and device that a kernel is written for, without the clocks and temperatures that change."""
_VECTORS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "sve")
_CPU_FLAGS = Path("/proc/cpuinfo")


def brief_for(task: LoadedTask, form: Form, device: Device) -> Brief:
    """Return the brief for candidates of this form on this device."""
    return Brief(_contract(task, form, device.kind), _hardware(form, device), _FENCES[form.language], HINTS)


def write(brief: Brief, file: Path) -> None:
    """Write the brief to a file, for a process that resumes the run or reads it elsewhere."""
    file.write_text(json.dumps(asdict(brief), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(file: Path) -> Brief:
    """Read a brief that `write` has written. Raises SpecError for a missing or broken file."""
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        texts = {name: data[name] for name in ("task", "hardware", "fence")}
        hints = tuple(data["hints"])
        if not all(isinstance(text, str) for text in (*texts.values(), *hints)):
            raise TypeError
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SpecError(f"{file}: does not hold what a run tells its models") from None
    return Brief(**texts, hints=hints)


def _hardware(form: Form, device: Device) -> str:
    facts = machine.facts() | device.facts()
    lines = [f"{name}: {facts[name]}" for name in _KEPT_FACTS if facts.get(name, "absent") != "absent"]
    if device.kind == "cpu":
        lines += [f"vector instructions: {_vector_instructions()}", "threads: one, on a core of its own"]
        lines += ["caches: emptied before every timed call"]
    if form.language == "cpp":
        lines.append(f"compiler: g++ -std=c++17 {' '.join(form.start.file.build or DEFAULT_FLAGS)}")
    return "\n".join(f"- {line}" for line in lines)


def _vector_instructions() -> str:
    try:
        lines = _CPU_FLAGS.read_text().splitlines()
    except OSError:
        return "unknown"
    words = next((line.split() for line in lines if line.startswith(("flags", "Features"))), [])
    return " ".join(name for name in _VECTORS if name in words) or "unknown"


def _contract(task: LoadedTask, form: Form, device: str) -> str:
    spec, start = task.spec, form.start
    dtypes, precision = start.file.dtypes or spec.dtypes, start.file.precision or spec.precision
    timed = [_binding(axes) for kind, bindings in spec.timed.items() if kind == device for axes in bindings]
    lines = [
        f"{spec.name}: {spec.summary}",
        f"Axes: {', '.join(_axis(name, axis) for name, axis in spec.axes.items())}.",
        f"Always: {'; '.join(spec.constraints)}." if spec.constraints else "",
        f"Inputs: {'; '.join(_tensor(name, each) for name, each in spec.inputs.items())}.",
        f"Outputs: {'; '.join(_tensor(name, each) for name, each in spec.outputs.items())}.",
        f"T is {' or '.join(dtypes)}. Precision: {precision}.",
        f"Timed at: {'; '.join(timed)}.",
        f"The entry point is {start.symbol} in {start.entry_file}. {_ABIS[start.abi]}",
        *_details(task, form),
        "The reference, in PyTorch; what it gives in float64 is right:",
        fenced(task.reference, "python"),
    ]
    return "\n".join(line for line in lines if line)


def _axis(name: str, axis: Axis) -> str:
    if axis.values is not None:
        return f"{name} one of {', '.join(map(str, axis.values))}"
    step = f" in steps of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"{name} {axis.low} to {axis.high}{step}"


def _tensor(name: str, tensor: Input | Output) -> str:
    if isinstance(tensor, Input) and tensor.role == "scalar":
        return f"{name} {tensor.dtype}"
    return f"{name} {tensor.dtype}[{', '.join(map(str, tensor.shape))}]{_range(tensor)}"


def _range(tensor: Input | Output) -> str:
    """Describe the known range of an index's values; empty for any other tensor."""
    if not isinstance(tensor, Input) or tensor.below is None:
        return ""
    if tensor.offsets:
        return f" of offsets, ascending from 0 to {tensor.below} - 1"
    return f" of values below {tensor.below}"


def _binding(axes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in axes.items())


def _details(task: LoadedTask, form: Form) -> Iterator[str]:
    """Yield the details of the calling convention, then the other source files beside the entry file."""
    start = form.start
    if start.abi == "c":
        yield fenced(f"{signature.declaration(task.spec, form.language, start.symbol)};", _FENCES[form.language])
        yield "KBENCH_T is T; this declaration, and the types in it, are included before the file."
    elif start.abi == "launch":
        launches = [each.model_dump(mode="json") for each in start.file.launches]
        yield fenced(json.dumps({"scratch": start.file.scratch, "launches": launches}, indent=1), "json")
    else:
        layouts = sorted({layout for each in task.spec.inputs.values() if each.shape for layout in each.layouts})
        yield f"Tensors among the inputs may be {', '.join(layouts)}."
    for name, text in sorted(start.sources.items()):
        if name != start.entry_file:
            yield f"Beside it lies {name}, which stays as it is:"
            yield fenced(text)
