"""Contents of a profile: plain facts and claims, ready for a person, a program or a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Limit = Literal["warps", "blocks", "registers", "shared memory"]


@dataclass(frozen=True)
class Occupancy:
    """Number of a kernel's warps that fit on a multiprocessor at once, and the limit that keeps out the next block."""

    warps: int
    of: int
    limit: Limit

    @property
    def fraction(self) -> float:
        """Fraction of the possible warps: from 0, where a block does not fit at all, to 1."""
        return self.warps / self.of


@dataclass(frozen=True)
class KernelResources:
    """Resources of one kernel on one architecture. Spills and constant memory are None where no compiler told them.

    `occupancy`: by threads of a block, without dynamic shared memory, which only a launch knows.
    """

    kernel: str
    dtype: str
    architecture: str
    registers: int
    stack_bytes: int
    shared_bytes: int
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    constant_bytes: int | None = None
    occupancy: Mapping[int, Occupancy] = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """A loop of C++ source: the widest vectors that it was given in bytes, or 0 and the compiler's reason."""

    file: str
    line: int
    dtype: str
    vector_bytes: int
    reason: str = ""


@dataclass(frozen=True)
class CompilerReport:
    """Report of a compiler; needs no device. `notes` name missing things and remedies, as in all reports below."""

    kernels: tuple[KernelResources, ...] = ()
    loops: tuple[Loop, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    """Reason why the submission does not compile; empty where it does."""


@dataclass(frozen=True)
class InstructionMix:
    """Machine instructions of one kernel, counted in the listing. Only a device can say how often each runs."""

    kernel: str
    dtype: str
    architecture: str
    instructions: int
    classes: Mapping[str, int]
    widths: Mapping[str, Mapping[int, int]]
    """Memory operation (`LDG`, `STS` ...) -> bits moved by a thread -> number of instructions."""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class SassReport:
    """Machine code of a CUDA or Triton submission; `listing` only where it was asked for."""

    kernels: tuple[InstructionMix, ...] = ()
    listing: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorTime:
    """Times of one operator over all profiled calls; `device_us` is its time on a CUDA device."""

    name: str
    calls: int
    self_us: float
    total_us: float
    device_us: float


@dataclass(frozen=True)
class DeviceActivity:
    """Kernel, copy or fill on a CUDA device, timed from the first activity of the call."""

    kind: Literal["kernel", "copy", "fill"]
    name: str
    start_us: float
    duration_us: float
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True)
class RunTimeReport:
    """Claim of the submission: the profiler runs in its process, so no part of it ever enters a verdict."""

    calls: int = 0
    operators: tuple[OperatorTime, ...] = ()
    activities: tuple[DeviceActivity, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def busy_us(self) -> float:
        """Time of one call in which the device had something to do."""
        return sum(activity.duration_us for activity in self.activities)

    @property
    def gap_us(self) -> float:
        """Time of one call in which the device waited between two activities."""
        gaps, end = 0.0, None
        for activity in self.activities:
            gaps += max(0.0, activity.start_us - end) if end is not None else 0.0
            end = max(end or 0.0, activity.start_us + activity.duration_us)
        return gaps


@dataclass(frozen=True)
class KernelCounters:
    """Hardware counters of one launch; a value is None where the profiler gave none."""

    kernel: str
    duration_us: float | None
    multiprocessor_percent: float | None
    memory_percent: float | None
    l2_hit_percent: float | None
    occupancy_percent: float | None
    stalls: Mapping[str, float] = field(default_factory=dict)
    """Stall reason -> warps that wait for it per issued instruction, the longest first."""


@dataclass(frozen=True)
class CounterReport:
    """Hardware counters that Nsight Compute measured, launch by launch."""

    kernels: tuple[KernelCounters, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SanitizerFinding:
    """Undefined behaviour that a checker saw; `case` or `tool` says when."""

    tool: str
    message: str
    case: str = ""
    count: int = 1


@dataclass(frozen=True)
class SanitizerReport:
    """Report of the checkers. `checked`: the cases or tools that ran to their end."""

    checked: tuple[str, ...] = ()
    findings: tuple[SanitizerFinding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """Profile of one submission, with every finding on one timed binding of one device."""

    task: str
    submission: str
    language: str
    device: str
    dtype: str
    axes: Mapping[str, int]
    compiler: CompilerReport
    sass: SassReport
    run_time: RunTimeReport
    counters: CounterReport
    sanitizer: SanitizerReport

    @property
    def is_clean(self) -> bool:
        """True if the submission compiles and no checker objects."""
        return not self.compiler.failure and not self.sanitizer.findings

    def as_json(self) -> dict[str, Any]:
        """Return plain data, with derived values beside the values that were found."""
        data = asdict(self)
        data["run_time"] |= {"busy_us": self.run_time.busy_us, "gap_us": self.run_time.gap_us, "is_claim": True}
        return data
