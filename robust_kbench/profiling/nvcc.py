"""Compilation of CUDA C++ to machine code without a device: the resources of each kernel, and the listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler, cpp, extensions
from robust_kbench.languages.built import write_sources
from robust_kbench.profiling import resources, sass, tools
from robust_kbench.profiling.reports import CompilerReport, InstructionMix, KernelResources, SassReport
from robust_kbench.profiling.text import shown
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType, Task

_TIMEOUT_S = 120
_TORCH_TIMEOUT_S = 300
_MEMORY_BYTES = 8 << 30
_LISTING_CHARACTERS = 1 << 20  # as much as a compiler's log may hold
_LOG_CHARACTERS = 1 << 18


@dataclass(frozen=True)
class Cubin:
    """Machine code of one dtype for one architecture."""

    path: Path
    dtype: FloatDType
    architecture: str


def compile_kernels(
    submission: Submission, task: Task, dtypes: Sequence[FloatDType], architectures: Sequence[str], folder: Path
) -> tuple[CompilerReport, list[Cubin]]:
    """Return ptxas's report on every kernel, and the machine code. A failure to compile is part of the report."""
    if (nvcc := tools.find("nvcc")) is None:
        return CompilerReport(notes=(tools.absence("nvcc"),)), []
    notes: tuple[str, ...] = ()
    if submission.abi == "torch":  # torch's headers take nvcc long, and dtypes are found out at run time
        dtypes, architectures = dtypes[:1], architectures[-1:]
        notes = (f"abi torch: compiled once for all dtypes, and for {architectures[0]} alone",)
    kernels: list[KernelResources] = []
    cubins = []
    try:
        for dtype in dtypes:
            for architecture in architectures:
                cubin = Cubin(folder / f"{dtype}-{architecture}" / "kernel.cubin", dtype, architecture)
                kernels += _compile(submission, task, cubin, nvcc)
                cubins.append(cubin)
    except BuildError as error:
        return CompilerReport(failure=shown(str(error)), notes=_lines(error.log)), []
    return CompilerReport(tuple(_named(kernels, folder)), notes=notes), cubins


def _compile(submission: Submission, task: Task, cubin: Cubin, nvcc: str) -> list[KernelResources]:
    folder = cubin.path.parent
    folder.mkdir()
    entry = write_sources(submission, folder)
    command = [nvcc, "-cubin", "-Xptxas", "-v", "-lineinfo", "-std=c++17", f"-I{cpp.INCLUDE}"]
    command += [f"-arch={cubin.architecture}", *(submission.file.build or ["-O3"])]
    result = [str(entry), "-o", str(cubin.path)]

    def attempt(more: Sequence[str], timeout_s: int) -> str:
        return compiler.run(
            [*command, *more, *result], folder,
            timeout_s=timeout_s, memory_bytes=_MEMORY_BYTES, max_characters=_LOG_CHARACTERS,
        )  # fmt: skip

    if submission.abi == "torch":
        result = [*cpp.torch_options("kernel"), *result]
        printed = extensions.compile_extension(submission.sources, folder, attempt, timeout_s=_TORCH_TIMEOUT_S)
    else:
        printed = attempt(cpp.c_options(submission, task, cubin.dtype, folder), _TIMEOUT_S)
    return resources.from_ptxas(printed, cubin.dtype)


def _named(kernels: Sequence[KernelResources], folder: Path) -> list[KernelResources]:
    """Return the kernels with the names that their author gave them."""
    names = resources.demangled((kernel.kernel for kernel in kernels), folder)
    return [replace(kernel, kernel=shown(names[kernel.kernel])) for kernel in kernels]


def disassemble(cubins: Sequence[Cubin], folder: Path, *, keep_listing: bool) -> SassReport:
    """Return mix and hints for every kernel of `cubins`; each listing is cut at a mebibyte."""
    if not cubins:
        return SassReport()
    if (nvdisasm := tools.find("nvdisasm")) is None:
        return SassReport(notes=(tools.absence("nvdisasm"),))
    mixes: list[InstructionMix] = []
    listings = []
    for cubin in cubins:
        try:
            listing = _listing(nvdisasm, cubin, folder)
        except BuildError as error:
            return SassReport(notes=(f"nvdisasm: {shown(str(error))}",))
        mixes += sass.kernels(listing, cubin.dtype, cubin.architecture)
        listings.append(f"// {cubin.dtype} {cubin.architecture}\n{listing}")
    names = resources.demangled((mix.kernel for mix in mixes), folder)
    kernels = tuple(replace(mix, kernel=shown(names[mix.kernel])) for mix in mixes)
    return SassReport(kernels, "\n".join(listings) if keep_listing else "")


def _listing(nvdisasm: str, cubin: Cubin, folder: Path) -> str:
    command = [nvdisasm, "-c", str(cubin.path)]
    return compiler.run(command, folder, timeout_s=_TIMEOUT_S, max_characters=_LISTING_CHARACTERS)


def usage(cubin: Cubin, folder: Path) -> list[KernelResources]:
    """Return the resources that cuobjdump finds in machine code of another compiler. Raises BuildError."""
    if (cuobjdump := tools.find("cuobjdump")) is None:
        raise BuildError(tools.absence("cuobjdump"))
    command = [cuobjdump, "-res-usage", str(cubin.path)]
    printed = compiler.run(command, folder, timeout_s=_TIMEOUT_S, max_characters=_LOG_CHARACTERS)
    return resources.from_usage(printed, cubin.dtype, cubin.architecture)


def _lines(log: str) -> tuple[str, ...]:
    return tuple(shown(line) for line in log.splitlines()[:12])
