"""Triton kernels compiled without a device: the submission's host code runs in the builder's sandbox, on stand-ins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler
from robust_kbench.languages.built import write_sources
from robust_kbench.own_modules import confined_python
from robust_kbench.profiling import nvcc, tools
from robust_kbench.profiling.device_tools import read_regular
from robust_kbench.profiling.nvcc import Cubin
from robust_kbench.profiling.occupancy import occupancy
from robust_kbench.profiling.reports import CompilerReport, KernelResources
from robust_kbench.profiling.stand_ins import stand_ins
from robust_kbench.profiling.text import shown
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import Strict
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import Task
from robust_kbench.worker.ahead_of_time import MANIFEST, MAX_KERNELS

_TIMEOUT_S = 180
_MEMORY_BYTES = 12 << 30  # torch, LLVM and the tensors of the largest binding
_MANIFEST_BYTES = 1 << 16
_COMPILER_ERROR = "triton.compiler.errors."  # anything else went wrong in host code, which may want a real device


class _Kernel(Strict):
    """Kernel of the manifest; a hostile submission may have written it."""

    capability: Annotated[int, Field(ge=10, lt=1000)]
    name: Annotated[str, Field(max_length=4000)]
    shared_bytes: Annotated[int, Field(ge=0, lt=2**31)]
    warps: Annotated[int, Field(ge=1, le=64)]
    stages: Annotated[int, Field(ge=0, le=64)]


_MANIFEST: TypeAdapter[tuple[_Kernel, ...]] = TypeAdapter(Annotated[tuple[_Kernel, ...], Field(max_length=MAX_KERNELS)])


def compile_kernels(
    submission: Submission, task: Task, cases: Sequence[Case], architectures: Sequence[str], folder: Path
) -> tuple[CompilerReport, list[Cubin]]:
    """Compile the kernels that the submission launches on the sizes of each case. A failure is part of the report."""
    kernels: list[KernelResources] = []
    cubins: list[Cubin] = []
    notes = ["compiled for the sizes of this binding; of an autotuner's configurations, the first"]
    for case in cases:
        try:
            found, made = _compile(submission, task, case, architectures, folder / case.dtype)
        except BuildError as error:
            reason = f"{case.dtype}: {shown(error.log.strip() or str(error))}"
            if _COMPILER_ERROR in error.log:
                return CompilerReport(failure=reason), []
            notes.append(f"not compiled ahead of time: {reason}")
            continue
        kernels += found
        cubins += made
        if not made:
            notes.append(f"{case.dtype}: the submission launches no Triton kernel")
    if tools.find("cuobjdump") is None:
        notes.append(tools.absence("cuobjdump"))
    return CompilerReport(tuple(kernels), notes=tuple(notes)), cubins


def _compile(
    submission: Submission, task: Task, case: Case, architectures: Sequence[str], folder: Path
) -> tuple[list[KernelResources], list[Cubin]]:
    folder.mkdir()
    path = write_sources(submission, folder)
    load = {"abi": submission.abi, "path": str(path), "symbol": submission.symbol}
    capabilities = [int(architecture.removeprefix("sm_")) for architecture in architectures]
    request = folder / "request.json"
    request.write_text(json.dumps({**load, **stand_ins(task, case), "capabilities": capabilities}))
    command = confined_python("robust_kbench.worker.ahead_of_time", str(request))
    compiler.run(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    listed = read_manifest(folder / MANIFEST)
    cubins = [Cubin(folder / f"{n}.cubin", case.dtype, f"sm_{kernel.capability}") for n, kernel in enumerate(listed)]
    if tools.find("cuobjdump") is None:
        return [], cubins
    return [_resources(kernel, cubin, folder) for kernel, cubin in zip(listed, cubins, strict=True)], cubins


def _resources(kernel: _Kernel, cubin: Cubin, folder: Path) -> KernelResources:
    """Combine registers from the machine code with Triton's shared memory, all of which is given at the launch."""
    found = nvcc.usage(cubin, folder)
    if len(found) != 1:
        raise BuildError(f"machine code with {len(found)} kernels, expected one")
    fits = occupancy(cubin.architecture, found[0].registers, kernel.shared_bytes, (32 * kernel.warps,))
    name = f"{shown(kernel.name)} ({kernel.warps} warps, {kernel.stages} stages)"
    return replace(found[0], kernel=name, shared_bytes=kernel.shared_bytes, occupancy=fits)


def read_manifest(path: Path) -> tuple[_Kernel, ...]:
    """Read the manifest. Raises BuildError for anything but a small regular file with a list of kernels."""
    if not (text := read_regular(path, _MANIFEST_BYTES)):
        raise BuildError("the submission ended the process before its kernels were listed")
    try:
        return _MANIFEST.validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise BuildError(f"the list of compiled kernels is none: {problem['msg']}") from None
