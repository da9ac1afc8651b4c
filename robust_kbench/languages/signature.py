"""The entry point of abi `c` as the task fixes it, for compilers, for people and for scaffolds."""

from __future__ import annotations

from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import Task

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "int64": "int64_t",
    "int32": "int32_t",
    "uint8": "uint8_t",
    "T": "KBENCH_T",
}
_ELEMENT = {
    "cpp": {"float32": "float", "float64": "double", "float16": "kbench_half", "bfloat16": "kbench_bfloat16"},
    "cuda": {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"},
}


def element_type(language: str, dtype: str) -> str:
    """The C++ type that KBENCH_T stands for."""
    return _ELEMENT[language][dtype]


def parameters(task: Task, language: str) -> list[str]:
    """Types and names: inputs, outputs, axes, and on cuda the stream, in this order.

    An axis that shares its name with an input is declared with a trailing underscore.
    """
    declared = [
        f"{_C_TYPES[spec.dtype]} {name}" if spec.role == "scalar" else f"const {_C_TYPES[spec.dtype]}* {name}"
        for name, spec in task.inputs.items()
    ]
    declared += [f"{_C_TYPES[spec.dtype]}* {name}" for name, spec in task.outputs.items()]
    taken = set(task.inputs) | set(task.outputs)
    declared += [f"int64_t {name}_" if name in taken else f"int64_t {name}" for name in task.axes]
    return [*declared, "cudaStream_t stream"] if language == "cuda" else declared


def declaration(task: Task, language: str, symbol: str) -> str:
    """`extern "C" void symbol(...)`, one parameter a line."""
    return f'extern "C" void {symbol}(\n    ' + ",\n    ".join(parameters(task, language)) + ")"


def prelude(submission: Submission, task: Task) -> str:
    """The header that is included before the entry file: a definition that differs from it does not compile."""
    return f'#include "kbench.h"\n{declaration(task, submission.file.language, submission.symbol)};\n'
