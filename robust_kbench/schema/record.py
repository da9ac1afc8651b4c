"""Record of one evaluation, as one line of a store: enough to score it again, to repeat it and to dispute it."""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from robust_kbench.schema.documents import Base64, Strict
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.task import DeviceKind, Distribution, FloatDType, Layout, Precision, Probe

SCHEMA_VERSION = 1
MAX_RECORD_BYTES = 256 * 1024
MAX_FOREIGN_LOAD = 0.05
MAX_REPEATED_SHARE = 0.2
"""Limit on repeated sessions, as a share of a record's sessions.

A session that is repeated is drawn again, perhaps because its submission saw to that.
"""
LOST_BASELINE = "baselines"
"""Guard of the finding that a baseline failed. The submission that is compared with the others may have caused it."""
OUT_OF_TIME = "slowness"
"""Guard of the finding that a submission is so slow that not all of its sessions were held."""
REPLACED_BASELINE = "eager"
"""Guard of the finding that eager PyTorch is wrong in halves where the task names an operator that stands in for it."""
ERRING_BASELINE = "accuracy"
"""Guard of the finding that a baseline errs by more than the rule allows. It is compared with all the same."""
COPIED_RESULTS = "copies"
"""Guard of the finding that results of the submission were copied on the clock.

Such a submission is faster than its times.
"""
REQUIRED_LAYERS = frozenset({"own process", "no new privileges", "seccomp"})
FILE_LAYERS = frozenset({"landlock", "private root"})
"""Layers of which one must be in force besides. They keep a submission from the files of others."""
_MAX_NS = 2**32 - 1  # samples above 4.29 s are stored as this; no timed binding comes near


class Status(StrEnum):
    """Status of a record, exactly one: the first failure in the order build, checks, guards, timing."""

    PASSED = "passed"
    INCORRECT = "incorrect"
    REJECTED = "rejected"
    BUILD_FAILED = "build_failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    UNSUPPORTED = "unsupported"
    HARNESS_ERROR = "harness_error"


Tier = Literal["quick", "full", "final"]
Execution = Literal["native", "interpreted", "emulated"]
StopReason = Literal["precision", "rounds", "time", "slowness"]
CaseStatus = Literal["passed", "incorrect", "crashed", "timed_out", "not_checked"]
LEAST_SEARCHED: Mapping[Tier, int] = {"quick": 0, "full": 30, "final": 150}
"""Least number of the search's examples for a rank: half of what is allowed, so that slowness gains nothing.

A kernel that passes is given so many however slow it is. Where time does not end the search they are at least 47 and
230, for any task and calling convention: some draws repeat an earlier case, or are none of the task's.
"""
Metrics = tuple[float, ...]


class CaseResult(Strict):
    """Judged case. `errors` and `limits` are those of the output that came closest to its limit.

    By the rule there are three of each: of the whole, of the worst row, of the worst element. The other modes have one.
    """

    axes: dict[str, int]
    dtype: FloatDType
    layout: Layout
    distribution: Distribution
    seed: int
    role: Literal["check", "timed"]
    probe: Probe | None = None
    status: CaseStatus
    reason: str = Field(default="", max_length=1000)
    kind: str = Field(default="", max_length=120, description="of an incorrect answer: what a smaller case has to show")
    output: str = ""
    errors: Metrics | None = None
    limits: Metrics | None = None
    inputs_digest: str = Field(default="", description="first 16 hex digits of the sha256 of all input bytes")

    @property
    def error_ratio(self) -> float | None:
        """Largest error in units of its limit; a passed case has at most 1."""
        if self.errors is None or self.limits is None:
            return None
        return max(error / limit for error, limit in zip(self.errors, self.limits, strict=True))


WIDE = "float32_inside"
"""Name that a task gives to its operator with wider sums.

On a GPU PyTorch adds some halves as halves, which is refused.
"""
CANDIDATE, EAGER, CONTROL = "candidate", "eager", "control"
"""Names in samples: the submission, PyTorch as it comes, and a second worker of that.

The last two are equal, so that their difference shows what the method can tell apart.
"""
REFERENCE, OPERATOR = "reference", "functional"
"""Names of the task's own decomposition, where PyTorch has an operator that is `eager`, and of that operator."""
_BEFORE = {EAGER: REFERENCE, OPERATOR: EAGER}
"""Current names by those in older records, in which the decomposition was `eager` in any case."""


class Session(Strict):
    """Raw samples of one fresh set of workers, in the order in which they were taken, one list per contestant.

    Sample number i of every contestant belongs to the same round, so that drift cancels between them.
    """

    samples: dict[str, Base64] = Field(description="contestant -> base64 of little-endian uint32 nanoseconds")
    foreign_load: float = Field(description="share of a core that other processes used meanwhile")
    repeated: int = Field(default=0, description="how often it was repeated, as others were at work")
    stop: StopReason = Field(default="rounds", description="why it ended: never because of a sign or a significance")
    first_call_us: dict[str, float] = Field(default_factory=dict, description="contestant -> its first, untimed call")
    hot_us: dict[str, float] = Field(
        default_factory=dict, description="contestant -> calls on a warm cache, not scored"
    )
    disturbance: str = Field(default="", description="why its samples must not count, such as lowered clocks")
    clock_spread_ns: int | None = Field(
        default=None, description="median absolute deviation of calls on equal terms, where the clock was calibrated"
    )
    clock_resolution_ns: int | None = Field(
        default=None, description="what the clock of a CUDA device tells apart in a single session"
    )

    @property
    def is_quiet(self) -> bool:
        """True if nothing else influenced its samples."""
        return self.foreign_load <= MAX_FOREIGN_LOAD and not self.disturbance


class Timing(Strict):
    """Sessions of one timed binding and dtype, all together."""

    axes: dict[str, int]
    dtype: FloatDType
    sessions: tuple[Session, ...]
    floor_us: float | None = Field(default=None, description="no device of this kind can be faster; None if unknown")

    @property
    def named(self) -> tuple[dict[str, Base64], ...]:
        """Samples of each session by their current names: `eager` is the code that a user of PyTorch writes.

        Raises ValueError where current and older names are mixed.
        """
        if self.controlled == EAGER:
            return tuple(session.samples for session in self.sessions)
        if any(REFERENCE in session.samples for session in self.sessions):
            raise ValueError(f"samples of {REFERENCE!r}, a name of now, beside those of {OPERATOR!r}, one of before")
        return tuple({_BEFORE.get(name, name): each for name, each in s.samples.items()} for s in self.sessions)

    @property
    def controlled(self) -> str:
        """Contestant, by its current name, of which the control is a second worker."""
        return REFERENCE if any(OPERATOR in session.samples for session in self.sessions) else EAGER


class Search(Strict):
    """Search by hypothesis beyond the drawn cases."""

    examples: int = Field(description="calls that looked for a failure, those that shrank one included")
    covered: dict[str, int] = Field(description="dtype, layout or distribution -> examples that had it")
    minimal: CaseResult | None = Field(default=None, description="the smallest failing case")


class Seconds(Strict):
    """Wall time of each stage. `harness` is the rest without the work of the kernels and the judge."""

    start: float = 0.0
    build: float = 0.0
    check: float = 0.0
    timing: float = 0.0
    kernels: float = Field(default=0.0, description="within check and timing: kernels running, baselines included")
    inputs: float = Field(default=0.0, description="within check and timing: making fresh values and handing them over")
    judging: float = Field(default=0.0, description="within check and timing: draining, references, comparing")
    workers: float = Field(
        default=0.0, description="within timing, on a processor: starting, loading and ending workers"
    )
    calls: float = Field(
        default=0.0, description="within timing: emptying caches, waking, rehearsing, stopping workers"
    )
    total: float = 0.0

    @property
    def harness(self) -> float:
        """Overhead: everything but building, running kernels, making inputs and judging outputs."""
        return self.total - self.build - self.kernels - self.inputs - self.judging


class Signature(Strict):
    """Signature of a record's digest (see signing). Its text is kept as it came: a wrong one vouches for nothing."""

    key: str = Field(description="public Ed25519 key, 64 hex digits")
    value: str = Field(description="128 hex digits")


class RunRecord(Strict):
    """Record of one evaluation, one line of a store. Everything that can be derived from samples is derived on read.

    The digest leaves out values that equal their default, so that an optional key can be added. A default that has been
    published stays as it is, and no required key gets one.
    """

    schema_version: Literal[1] = 1
    task: str
    task_version: int
    task_digest: str
    submission: str
    submission_digest: str
    author: str = ""
    language: str
    abi: str
    track: str = "open"
    precision: Precision
    dtypes: tuple[FloatDType, ...]
    device: DeviceKind
    execution: Execution
    tier: Tier
    seed: int
    replay: bool = Field(description="the seed was given, so the author could have known it: never ranked")
    status: Status
    reason: str = Field(default="", max_length=4000)
    log: str = Field(default="", max_length=4000, description="end of the compiler's or the worker's output")
    findings: tuple[Finding, ...] = ()
    labels: tuple[str, ...] = Field(default=(), description="what the source looks like it does; decides nothing")
    cases: tuple[CaseResult, ...] = ()
    search: Search | None = None
    timings: tuple[Timing, ...] = ()
    handshake: Literal["spin", "blocking", "none"] = "none"
    clock: Literal["judge", "gate", "wall", "trusted", "worker", "none"] = Field(
        default="none",
        description="whose clock times are from: the judge's on a processor; the judge's on a device, from the last of "
        "the inputs to the end of the call (gate), or with launches (wall), where a call needs its host; before 0.2 "
        "that of a worker in which no code of the submission's ran on the host (trusted), or did (worker)",
    )
    isolation: tuple[str, ...] = ()
    rule: str
    seconds: Seconds
    environment: dict[str, str]
    objection: str = Field(
        default="", max_length=1000, description="why the audit refused the task, which was imported: never ranked"
    )
    started_at: str = Field(description="RFC 3339, UTC")
    digest: str = Field(default="", description="sha256:… of all keys but this and the next, see docs/formats.md")
    signature: Signature | None = None

    @property
    def coverage(self) -> dict[str, dict[str, int]]:
        """Number of judged cases with each dtype, layout, distribution and probe, in order of their names.

        A probe overrides the distribution. Cases of the search are counted in `search`.
        """
        judged = [case for case in self.cases if case.status != "not_checked"]
        columns: dict[str, list[str]] = {
            "dtype": [case.dtype for case in judged],
            "layout": [case.layout for case in judged],
            "distribution": [case.distribution for case in judged if case.probe is None],
            "probe": [case.probe for case in judged if case.probe is not None],
        }
        return {key: dict(sorted(Counter(values).items())) for key, values in columns.items() if values}

    @property
    def is_contender(self) -> bool:
        """True if it was run in order to be ranked: secret seed, native, beyond tier quick."""
        return not self.replay and self.execution == "native" and self.tier != "quick"

    @property
    def is_rankable(self) -> bool:
        """True if it may be ranked: a contender that passed in a sandbox on a quiet machine.

        Its search must have tried enough examples, and no baseline may have failed. Its task must not be an imported
        one that the audit refused.
        """
        return (
            self.is_contender
            and self.status is Status.PASSED
            and self.handshake == "spin"
            and self.clock not in ("worker", "trusted", "wall")  # told, or ended, by the process that was to be timed
            and set(self.isolation) >= REQUIRED_LAYERS
            and not FILE_LAYERS.isdisjoint(self.isolation)
            and bool(self.timings)
            and not self.disturbance
            and not self.is_out_of_time
            and not self.objection
        )

    @property
    def is_out_of_time(self) -> bool:
        """True if it is so slow that not all of its sessions were held."""
        return any(finding.guard == OUT_OF_TIME for finding in self.findings)

    @property
    def is_discarded(self) -> bool:
        """True if a contender came to nothing without blame, although its submission may have caused that."""
        passed_in_vain = self.status is Status.PASSED and bool(self.disturbance)
        return self.is_contender and (self.status is Status.HARNESS_ERROR or passed_in_vain)

    @property
    def disturbance(self) -> str:
        """Reason why its times must not be ranked, whatever the cause; empty where nothing disturbed them."""
        sessions = [session for timing in self.timings for session in timing.sessions]
        if any(finding.guard == LOST_BASELINE for finding in self.findings):
            return "a baseline failed"
        if not all(session.is_quiet for session in sessions):
            return "others were at work, or the device was disturbed"
        repeated = sum(session.repeated for session in sessions)
        if repeated > MAX_REPEATED_SHARE * len(sessions):
            return f"{repeated} sessions had to be repeated, for {len(sessions)} that count"
        tried, least = self.search.examples if self.search else 0, LEAST_SEARCHED[self.tier]
        if sessions and self.is_contender and tried < least:
            return f"the search tried {tried} cases of at least {least}"
        return ""


def encode_samples(nanoseconds: Iterable[int]) -> str:
    """Encode nanoseconds as base64 of little-endian uint32; values beyond its range become its largest."""
    clipped = [min(value, _MAX_NS) for value in nanoseconds]
    return base64.b64encode(struct.pack(f"<{len(clipped)}I", *clipped)).decode()


def decode_samples(text: str) -> list[int]:
    """Decode the text of `encode_samples`. Raises ValueError for anything else."""
    data = base64.b64decode(text, validate=True)
    if len(text) != 4 * math.ceil(len(data) / 3):  # Python forgives what stands behind whole groups of four characters
        raise ValueError(f"{len(text)} characters are no base64 of {len(data)} bytes")
    if len(data) % 4:
        raise ValueError(f"{len(data)} bytes are no whole number of samples")
    return list(struct.unpack(f"<{len(data) // 4}I", data))
