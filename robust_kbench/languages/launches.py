"""Abi launch: CUDA C++ without host code. Trusted code launches its kernels: the worker's on a device, else generated.

On a device nvcc compiles to a cubin, which holds no host code at all, and the worker launches by a plan that comes from
the judge (worker.cuda.launches). For the emulator the same plan becomes a host function behind the same source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robust_kbench.errors import SpecError
from robust_kbench.languages import signature
from robust_kbench.schema import arithmetic
from robust_kbench.schema.launch import Launch
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import Task

_GENERATED = "kbench_launches.cu"


def check(submission: Submission, task: Task) -> None:
    """Raise SpecError for a name that the task does not have, or for a scratch name that it has."""
    where = f"{submission.name}: submission.yaml"
    for name, size in submission.file.scratch.items():
        if strangers := sorted(arithmetic.names(size) - set(task.axes)):
            raise SpecError(
                f"{where}: scratch.{name}: no axis {strangers[0]!r}; {task.name} has {', '.join(task.axes)}"
            )
        if name in (*task.tensors, *task.inputs, *task.axes):
            raise SpecError(f"{where}: scratch.{name}: {task.name} has an argument of that name; take another one")
    known = [*_names(task), *submission.file.scratch]
    for number, launch in enumerate(submission.file.launches):
        if stranger := launch.unknown(known, task.axes):
            raise SpecError(f"{where}: launches.{number}: no {stranger!r}; there are {', '.join(known)}")


def plan(submission: Submission, task: Task) -> dict[str, Any]:
    """Return the worker's plan: sizes as programs for a stack, arguments by their place in the call or in scratch."""
    names = _names(task)
    scratch = list(submission.file.scratch)
    return {
        "axes": {name: names.index(name) for name in task.axes},
        "scratch": [arithmetic.postfix(size) for size in submission.file.scratch.values()],
        "launches": [
            {
                "kernel": launch.kernel,
                "grid": _three(launch.grid),
                "block": _three(launch.block),
                "shared_bytes": arithmetic.postfix(launch.shared_bytes),
                "arguments": [
                    ["scratch", scratch.index(name)] if name in scratch else ["call", names.index(name)]
                    for name in launch.arguments
                ],
            }
            for launch in submission.file.launches
        ],
    }


def with_host_code(submission: Submission, task: Task) -> Submission:
    """Return the submission in abi c: a host function that launches the kernels stands behind the source."""
    host = f'#include "{submission.entry_file}"\n{_host_function(submission, task)}'
    symbol = "kbench_launch_kernels"
    file = submission.file.model_copy(
        update={"abi": "c", "entry_point": f"{_GENERATED}::{symbol}", "launches": (), "scratch": {}}
    )
    sources = {**submission.sources, _GENERATED: host.replace(_PLACE, symbol)}
    return submission.model_copy(update={"file": file, "sources": sources})


_PLACE = "KBENCH_SYMBOL"
_SCRATCH = """struct kbench_scratch {
    void* address;
    explicit kbench_scratch(void* given) : address(given) {}
    template <typename T> operator T*() const { return static_cast<T*>(address); }
};
"""


def _host_function(submission: Submission, task: Task) -> str:
    scratch = submission.file.scratch
    allocations = [
        f"void* {_variable(name)} = nullptr;\n"
        f"    if (cudaMallocAsync(&{_variable(name)}, {_text(size)}, stream) != cudaSuccess) return;"
        for name, size in scratch.items()
    ]
    releases = [f"cudaFreeAsync({_variable(name)}, stream);" for name in scratch]
    lines = [*allocations, *(_launch(launch, submission) for launch in submission.file.launches), *releases]
    body = "\n    ".join(lines)
    return f"{_SCRATCH}{signature.declaration(task, 'cuda', _PLACE)} {{\n    {body}\n}}\n"


def _variable(scratch: str) -> str:
    """Name a scratch buffer's variable: the buffer's name may be a word of C++, or another variable's name."""
    return f"kbench_scratch_{scratch}"


def _launch(launch: Launch, submission: Submission) -> str:
    grid, block = (_dimensions(sizes) for sizes in (launch.grid, launch.block))
    is_empty = " || ".join(f"({_text(size)}) == 0" for size in launch.grid)
    arguments = ", ".join(
        f"kbench_scratch({_variable(name)})" if name in submission.file.scratch else name for name in launch.arguments
    )
    shared = _text(launch.shared_bytes)
    kernel = f"::{launch.kernel}"  # an argument of the host function may have the same name
    wide = f"cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});"
    call = f"{kernel}<<<{grid}, {block}, {shared}, stream>>>({arguments});"
    return f"if (!({is_empty})) {{ if (({shared}) > 48 * 1024) {wide} {call} }}"


def _dimensions(sizes: Sequence[int | str]) -> str:
    return "dim3(" + ", ".join(f"static_cast<unsigned>({_text(size)})" for size in sizes) + ")"


def _three(sizes: Sequence[int | str]) -> list[list[int | str]]:
    return [arithmetic.postfix(size) for size in (*sizes, 1, 1)][:3]


def _text(size: int | str) -> str:
    """Return C++ for a size that is never negative, for which the division of C++ is Python's."""
    stack: list[str] = []
    for token in arithmetic.postfix(size):
        if isinstance(token, int) or token.isidentifier():
            stack.append(f"int64_t({token})")
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(f"({left} {'/' if token == '//' else token} {right})")
    return stack[0]


def _names(task: Task) -> list[str]:
    """List the arguments of a call in its order: inputs, outputs, axes."""
    return [*task.inputs, *task.outputs, *task.axes]
