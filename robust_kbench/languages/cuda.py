"""CUDA C++: compiled by nvcc for the cuda device, rewritten and compiled by g++ for the emulator on the cpu device."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_kbench.devices import nvml
from robust_kbench.emulator import report, toolchain, torch_headers
from robust_kbench.errors import BuildError, Unsupported
from robust_kbench.languages import compiler, cpp, extensions, launches, nvcc, rewriting, signature
from robust_kbench.languages.built import SOURCES, Built, write_sources
from robust_kbench.schema.defect import Defect
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

_TIMEOUT_S = 120
_FIRST_WITH_OWN_INSTRUCTIONS = 90
_TORCH_TIMEOUT_S = 300
_MEMORY_BYTES = 8 << 30
_LOOK_UP_TIMEOUT_S = 30
_LOOK_UP_CHARACTERS = 1 << 18
_NEEDS_COMPILER = "CUDA kernels cannot be built on this machine: no nvcc on the PATH; install the CUDA toolkit"
# What a flag of nvcc means to the emulator; the others concern code that it does not generate.
_FLAGS = {"--use_fast_math": "-DKBEMU_FAST_MATH", "-use_fast_math": "-DKBEMU_FAST_MATH"}
_KEPT_FLAGS = ("-D", "-U")
_LAUNCHING = ("cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC")


@dataclass(frozen=True)
class _Job:
    """Job of one build for the emulator."""

    submission: Submission
    task: Task
    dtype: FloatDType
    folder: Path

    @property
    def entry(self) -> Path:
        """Path of the rewritten entry file."""
        return self.folder / SOURCES / self.submission.entry_file

    @property
    def target(self) -> Path:
        """Path of the shared object that is built."""
        return self.folder / f"kernel_{self.dtype}.so"


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Compile to a shared object for the device, or for the emulator. Raises BuildError and Unsupported."""
    if submission.abi == "launch":
        launches.check(submission, task)
    if device == "cuda" and submission.abi == "launch":
        return _compile_device_code(submission, task, dtype, folder)
    if device == "cuda":
        return _compile(submission, task, dtype, folder, architecture=[_for_this_device()])
    return emulate(submission, task, dtype, folder, checked=False)


def emulate(submission: Submission, task: Task, dtype: FloatDType, folder: Path, *, checked: bool) -> Built:
    """Compile for the emulator; `checked` makes every memory access visible to its checker.

    Raises Unsupported for code that the emulator cannot run, and BuildError for code that no compiler accepts.
    """
    if submission.abi == "launch":
        submission = launches.with_host_code(submission, task)
    library = toolchain.runtime_library()
    job = _Job(submission, task, dtype, folder)
    spins = rewriting.write_rewritten(submission, folder)
    # A thread that polls plain memory gives way to others only where the compiler's instrumentation makes it call us.
    instrumented = checked or spins
    try:
        log = _compile_rewritten(job, library, instrumented)
    except BuildError as error:
        raise _whose_fault(error, job) from None
    symbol = submission.symbol if submission.abi == "torch" else signature.GUARDED
    needs = (toolchain.cache_folder(),)
    return Built(job.target, symbol, submission.abi, execution="emulated", log=log, needs=needs)


def _compile_rewritten(job: _Job, library: Path, instrumented: bool) -> str:
    common = [f"-I{cpp.INCLUDE}", *_emulated_flags(job.submission.file.build)]
    if job.submission.abi == "torch":
        return _compile_extension(job, library, instrumented, common)
    options = common + cpp.c_options(job.submission, job.task, job.dtype, job.folder, guarded=True)
    return _run_all(job, toolchain.commands(job.entry, job.target, library, checked=instrumented, options=options))


def _compile_extension(job: _Job, library: Path, instrumented: bool, common: Sequence[str]) -> str:
    """Compile with the few torch headers that most kernels need; if they seem to be at fault, with all of them."""
    text = "\n".join(job.submission.sources.values())
    linked = torch_headers.library(toolchain.cache_folder(), library)

    def attempt(whole: bool) -> str:
        options = [*common, *torch_headers.compile_options(text, job.target.stem, whole=whole)]
        libraries = torch_headers.link_options(linked)
        return _run_all(
            job,
            toolchain.commands(
                job.entry, job.target, library, checked=instrumented, options=options, libraries=libraries
            ),
        )

    if torch_headers.needs_whole(text):
        return attempt(whole=True)
    try:
        return attempt(whole=False)
    except BuildError as error:
        if not torch_headers.may_need_whole(error.log):
            raise
    return attempt(whole=True)


def _run_all(job: _Job, commands: Sequence[Sequence[str]]) -> str:
    limit = _TORCH_TIMEOUT_S if job.submission.abi == "torch" else _TIMEOUT_S
    return "".join(
        compiler.run(
            command, job.folder, timeout_s=limit, memory_bytes=_MEMORY_BYTES, readable=[toolchain.cache_folder()]
        )
        for command in commands
    )


def _emulated_flags(flags: Sequence[str] | None) -> list[str]:
    return [_FLAGS.get(flag, flag) for flag in flags or () if flag in _FLAGS or flag.startswith(_KEPT_FLAGS)]


def _whose_fault(error: BuildError, job: _Job) -> BuildError | Unsupported:
    """Return Unsupported if CUDA's own compiler accepts the source: then the emulator's headers lack something."""
    if shutil.which("nvcc") is None or job.submission.abi == "torch":  # which takes nvcc too long
        return error
    original = job.folder.with_name(f"{job.folder.name}-nvcc")  # where no build has been
    original.mkdir()
    architecture = ["-gencode", "arch=compute_80,code=sm_80"]
    try:
        _compile(job.submission, job.task, job.dtype, original, architecture=architecture)
    except BuildError as refused:
        return refused
    return Unsupported(f"{error}: this cannot be emulated; a CUDA device can run it (nvcc accepts the source)")


def _compile(
    submission: Submission, task: Task, dtype: FloatDType, folder: Path, *, architecture: Sequence[str]
) -> Built:
    if (found := shutil.which("nvcc")) is None:
        raise Unsupported(_NEEDS_COMPILER)
    entry = write_sources(submission, folder)
    target = folder / f"kernel_{dtype}.so"
    command = [found, "-shared", "-Xcompiler", "-fPIC", "-std=c++17", f"-I{cpp.INCLUDE}", *architecture]
    command += submission.file.build or ["-O3"]
    if submission.file.track == "custom":
        command += _launches_that_can_be_knocked_out(found, folder)
    if submission.abi == "torch":
        rest = [*cpp.torch_options(target.stem), str(entry), "-o", str(target), *cpp.torch_libraries()]

        def attempt(headers: Sequence[str], timeout_s: int) -> str:
            return nvcc.run([*command, *headers, *rest], folder, timeout_s=timeout_s, memory_bytes=_MEMORY_BYTES)

        log = extensions.compile_extension(submission.sources, folder, attempt, timeout_s=_TORCH_TIMEOUT_S)
    else:
        command += [*cpp.c_options(submission, task, dtype, folder), str(entry), "-o", str(target)]
        command += ["-Xlinker", f"--require-defined={submission.symbol}"]
        log = compiler.run(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    return Built(target, submission.symbol, submission.abi, log=log)


def _launches_that_can_be_knocked_out(compiler_path: str, folder: Path) -> list[str]:
    """Return options that link the functions by which kernels are launched to ours; see checking.knock_out."""
    target = folder / "kbench_launches.o"
    command = [compiler_path, "-c", "-Xcompiler", "-fPIC", str(cpp.INCLUDE / "kbench_launches.cpp"), "-o", str(target)]
    compiler.run(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    return [str(target), *(part for name in _LAUNCHING for part in ("-Xlinker", f"--wrap={name}"))]


def _for_this_device() -> str:
    """Return nvcc's flag for the machine code of the device at hand, which a compiler in a sandbox cannot ask.

    From Hopper on the code has the instructions that only that very generation has. By `-arch=sm_90a` nvcc means code
    of sm_90, too: it would compile everything twice, and kernels with such instructions not at all.
    """
    own = nvml.architecture()
    if own is None:
        return "-arch=native"
    number = own.removeprefix("sm_")
    if int(number) < _FIRST_WITH_OWN_INSTRUCTIONS:
        return f"-arch={own}"
    return f"-gencode=arch=compute_{number}a,code=sm_{number}a"


def _compile_device_code(submission: Submission, task: Task, dtype: FloatDType, folder: Path) -> Built:
    """Compile a cubin, which holds no code for a processor, and make the plan by which its kernels are launched."""
    if (found := shutil.which("nvcc")) is None:
        raise Unsupported(_NEEDS_COMPILER)
    entry = write_sources(submission, folder)
    target = folder / f"kernel_{dtype}.cubin"
    element = f"-DKBENCH_T={signature.element_type('cuda', dtype)}"
    command = [found, "-cubin", "-std=c++17", f"-I{cpp.INCLUDE}", _for_this_device(), element, "-include", "kbench.h"]
    command += [*(submission.file.build or ["-O3"]), str(entry), "-o", str(target)]
    log = compiler.run(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    return Built(target, submission.symbol, "launch", log=log, plan=launches.plan(submission, task))


def defects(reports: Sequence[Mapping[str, Any]], built: Built, submission: Submission) -> tuple[Defect, ...]:
    """Look up files and lines of the emulator's reports about a call; lines are 0 where the tool fails."""
    folder = built.path.parent

    def run(command: list[str]) -> str:
        try:
            return compiler.run(command, folder, timeout_s=_LOOK_UP_TIMEOUT_S, max_characters=_LOOK_UP_CHARACTERS)
        except BuildError:  # a hostile artefact must not hide what was found
            return ""

    return report.resolve(reports, built.path, submission.sources.keys(), run)
