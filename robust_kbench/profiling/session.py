"""Profile one submission: every report that this machine can give, and for the others the reason and the remedy."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_kbench import machine_lock
from robust_kbench.contestant import Contestant, build
from robust_kbench.devices import Device, open_device
from robust_kbench.errors import BuildError, SpecError, Unsupported, UsageError
from robust_kbench.isolation.pool import WarmPool, flavour_of
from robust_kbench.profiling import emulated, nsight, nvcc, run_time, sanitizer, triton_kernels, vectorisation
from robust_kbench.profiling.architectures import architectures
from robust_kbench.profiling.nvcc import Cubin
from robust_kbench.profiling.reports import (
    CompilerReport,
    CounterReport,
    Profile,
    RunTimeReport,
    SanitizerReport,
    SassReport,
)
from robust_kbench.profiling.text import shown
from robust_kbench.registry import LoadedTask, task_of
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType

_NAME = "profiled"
_SEED_BITS = 53
_ONLY_CUDA = "Nsight Compute needs a CUDA device; use --device cuda"
_ONLY_KERNELS = "only CUDA and Triton kernels have machine code that this report knows"
_ONLY_RACES = {
    "python": "PyTorch operators need no checker here; on --device cuda compute-sanitizer runs them",
    "triton": "Triton's interpreter has no checker; on --device cuda compute-sanitizer runs the kernels",
    "cpp": "the checker is for CUDA kernels; for C++, build with -fsanitize=address,undefined by hand",
}


def profile(
    submission: Submission,
    task: LoadedTask | None = None,
    *,
    device: DeviceKind | str = "auto",
    dtype: str | None = None,
    binding: int = 0,
    keep_listing: bool = False,
    pool: WarmPool | None = None,
) -> Profile:
    """Profile `submission` on the timed binding of the number `binding`.

    `dtype` is the only one to look at. By default compilers are asked about all, and the first one runs. Any behaviour
    of the submission becomes a line of a report. Raises UsageError and SpecError for requests that make no sense.
    """
    loaded = task or task_of(submission.file.task)
    opened = open_device(device)
    dtypes = _dtypes(submission, loaded, dtype)
    axes = _binding(loaded, opened.kind, binding)
    cases = tuple(Case(axes=axes, dtype=known, seed=secrets.randbits(_SEED_BITS)) for known in dtypes)
    own = pool or WarmPool()
    try:
        own.warm_up(flavour_of(submission.file.language, opened.kind), gpu=opened.kind == "cuda")
        with machine_lock.busy():
            return _Session(submission, loaded, opened, cases, own, keep_listing).run()
    finally:
        if pool is None:
            own.close()


def _dtypes(submission: Submission, task: LoadedTask, dtype: str | None) -> tuple[FloatDType, ...]:
    declared = submission.file.dtypes or task.spec.dtypes
    if unknown := [name for name in declared if name not in task.spec.dtypes]:
        raise SpecError(f"{submission.name}: dtypes: {task.spec.name} has no {unknown[0]}; it has {_listed(task)}")
    chosen = tuple(name for name in declared if dtype in (None, name))
    if not chosen:
        raise UsageError(f"--dtype {dtype}: the submission declares {', '.join(declared)}")
    return chosen


def _listed(task: LoadedTask) -> str:
    return ", ".join(task.spec.dtypes)


def _binding(task: LoadedTask, device: DeviceKind, number: int) -> dict[str, int]:
    bindings = task.spec.timed[device]
    if not 0 <= number < len(bindings):
        raise UsageError(f"--binding {number}: {task.spec.name} has the {device} bindings 0 to {len(bindings) - 1}")
    return bindings[number]


@dataclass(frozen=True)
class _Session:
    """Session that makes one profile; the first of `cases` is the one that runs."""

    submission: Submission
    task: LoadedTask
    device: Device
    cases: Sequence[Case]
    pool: WarmPool
    keep_listing: bool

    def run(self) -> Profile:
        compiler, cubins = self._compile()
        contestant = self._build() if not compiler.failure else compiler.failure
        return Profile(
            task=self.task.spec.name,
            submission=shown(self.submission.name),
            language=self.submission.file.language,
            device=self.device.kind,
            dtype=self._case.dtype,
            axes=self._case.axes,
            compiler=compiler,
            sass=self._disassemble(cubins),
            run_time=self._run_time(contestant),
            counters=self._counters(contestant),
            sanitizer=self._sanitizer(contestant),
        )

    @property
    def _case(self) -> Case:
        return self.cases[0]

    def _compile(self) -> tuple[CompilerReport, list[Cubin]]:
        submission, spec, folder = self.submission, self.task.spec, self.pool.scratch()
        dtypes = [case.dtype for case in self.cases]
        targets = architectures(self.device.kind)
        if submission.file.language == "cuda":
            return nvcc.compile_kernels(submission, spec, dtypes, targets, folder)
        if submission.file.language == "triton":
            return triton_kernels.compile_kernels(submission, spec, self.cases, targets, folder)
        if submission.file.language == "cpp":
            return vectorisation.compile_loops(submission, spec, dtypes, folder), []
        return CompilerReport(notes=("Python: nothing is compiled",)), []

    def _disassemble(self, cubins: Sequence[Cubin]) -> SassReport:
        """Disassemble code of the last architecture alone: the listings of two generations tell the same twice."""
        if self.submission.file.language not in ("cuda", "triton"):
            return SassReport(notes=(_ONLY_KERNELS,))
        if not cubins:
            return SassReport(notes=("no machine code: see the compiler's report",))
        last = [cubin for cubin in cubins if cubin.architecture == cubins[-1].architecture]
        return nvcc.disassemble(last, self.pool.scratch(), keep_listing=self.keep_listing)

    def _build(self) -> Contestant | str:
        """Build the submission as an evaluation does, for the dtype that runs, or return the reason why that fails."""
        try:
            return build(
                _NAME, self.submission, self.task.spec, [self._case.dtype], self.device, self.pool.scratch()
            )  # fmt: skip
        except (BuildError, Unsupported) as error:
            return shown(str(error))

    def _run_time(self, contestant: Contestant | str) -> RunTimeReport:
        if isinstance(contestant, str):
            return RunTimeReport(notes=(contestant,))
        return run_time.run_time(self.task.spec, contestant, self._case, self.device, self.pool)

    def _counters(self, contestant: Contestant | str) -> CounterReport:
        if self.device.kind != "cuda":
            return CounterReport(notes=(_ONLY_CUDA,))
        if isinstance(contestant, str):
            return CounterReport(notes=(contestant,))
        built = contestant.built[self._case.dtype]
        return nsight.counters(self.task.spec, built, self._case, self._room())

    def _sanitizer(self, contestant: Contestant | str) -> SanitizerReport:
        if isinstance(contestant, str):
            return SanitizerReport(notes=(contestant,))
        if self.device.kind == "cuda":
            built = contestant.built[self._case.dtype]
            return sanitizer.check(self.task.spec, built, self._case, self._room())
        if (reason := _ONLY_RACES.get(self.submission.file.language)) is not None:
            return SanitizerReport(notes=(reason,))
        return emulated.check(self.task, contestant, self._case.dtype, self.device, self.pool)

    def _room(self) -> Path:
        return self.pool.scratch()
