"""The entry point of abi `c` as the task fixes it, for compilers, for people and for scaffolds."""

from __future__ import annotations

from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import Task

GUARDED = "kbench_guarded_entry_point"
_INTEGERS = {"int64": "int64_t", "int32": "int32_t", "uint8": "uint8_t"}
_ELEMENT = {
    "cpp": {"float32": "float", "float64": "double", "float16": "kbench_half", "bfloat16": "kbench_bfloat16"},
    "cuda": {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"},
}


def element_type(language: str, dtype: str) -> str:
    """The C++ type that KBENCH_T stands for."""
    return _ELEMENT[language][dtype]


def parameters(task: Task, language: str) -> list[str]:
    """Types and names: inputs, outputs, axes, and on cuda the stream, in this order.

    A name that is taken already gets trailing underscores.
    """
    declared: list[tuple[str, str]] = []
    for name, spec in task.inputs.items():
        kind = _type(spec.dtype, language)
        declared.append((kind if spec.role == "scalar" else f"const {kind}*", name))
    declared += [(f"{_type(spec.dtype, language)}*", name) for name, spec in task.outputs.items()]
    declared += [("int64_t", name) for name in task.axes]
    if language == "cuda":
        declared.append(("cudaStream_t", "stream"))
    taken: set[str] = set()
    for number, (kind, name) in enumerate(declared):
        while name in taken:
            name += "_"
        taken.add(name)
        declared[number] = (kind, name)
    return [f"{kind} {name}" for kind, name in declared]


def _type(dtype: str, language: str) -> str:
    return "KBENCH_T" if dtype == "T" else _INTEGERS.get(dtype) or element_type(language, dtype)


def declaration(task: Task, language: str, symbol: str) -> str:
    """`extern "C" void symbol(...)`, one parameter a line."""
    return f'extern "C" void {symbol}(\n    ' + ",\n    ".join(parameters(task, language)) + ")"


def guarded(task: Task, symbol: str) -> str:
    """An entry point of its own for the emulator: what it cannot run leaves the kernel's host code as an exception."""
    names = ", ".join(parameter.split()[-1] for parameter in parameters(task, "cuda"))
    body = f"try {{ {symbol}({names}); }} catch (const kbemu::UnsupportedFeature&) {{}}"
    return f"{declaration(task, 'cuda', GUARDED)} {{ {body} }}\n"


def prelude(submission: Submission, task: Task) -> str:
    """The header that is included before the entry file: a definition that differs from it does not compile."""
    return f'#include "kbench.h"\n{declaration(task, submission.file.language, submission.symbol)};\n'
