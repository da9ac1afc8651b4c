"""Reliability of timing: equal kernels, planted slow-downs, and the harness's cost between calls.

    python tests/perf/paired_timing.py                     the whole table, up to two hours on a quiet machine
    python tests/perf/paired_timing.py --comparisons 6 --trials 4
    python tests/perf/paired_timing.py share               only the share of time that is spent in kernels
    python tests/perf/paired_timing.py returned            only operators that write beside ones that return

Every comparison is one timed binding of an evaluation at tier full, by the code that evaluations use: candidate,
baseline and control are workers of one binary. A slow-down is another entry point of it, which passes a larger number
of iterations to the same loop. Beside it stands the method of other benchmarks: all calls of one kernel, then all of
the other, and Welch's test.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics as exact
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from scipy.stats import ttest_ind

from robust_kbench import contestant
from robust_kbench.cases.bank import Bank
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, open_device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.progress import silent
from robust_kbench.registry import LoadedTask, read_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CANDIDATE, CONTROL, MAX_FOREIGN_LOAD, Timing
from robust_kbench.schema.submission import Submission, SubmissionFile
from robust_kbench.scoring import noise_floor, score_case
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.measure import measure
from robust_kbench.timing.plan import PLANS
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession

_TASK = """name: perf/double
version: 1
summary: Twice the input.
source: made for this measurement
axes: {n: {low: 1, high: 67108864}}
inputs: {x: {shape: [n]}}
outputs: {y: {shape: [n]}}
dtypes: [float32]
precision: ieee
reduction: 1
distributions: [normal, uniform]
timed: {cpu: [{n: 1024}], cuda: [{n: 1024}]}
cost: {flops: n, bytes: 2 * n * itemsize}
"""
_REFERENCE = '''import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [n] -> y: [n]."""
    return x * 2
'''
_KERNEL = """#include <cstdint>
// All entries run the same code, which noinline alone does not ensure: the compiler may copy it for each constant.
// Caches are empty when a call begins, and lines are fetched in pairs: an entry in a pair with `work` would cost 0.1 us
// less than another one.
#define ENTRY extern "C" __attribute__((aligned(128))) void
static volatile double sink;
static __attribute__((noipa, aligned(128))) void work(const float* x, float* y, int64_t n, int64_t iterations) {
    double chain = x[0];
    for (int64_t i = 0; i < iterations; ++i) chain = chain * 0.999999 + 1e-9;
    sink = chain;
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
}
ENTRY even(const float* x, float* y, int64_t n) { work(x, y, n, ITERATIONS); }
ENTRY slower_2(const float* x, float* y, int64_t n) { work(x, y, n, ITERATIONS * 102 / 100); }
ENTRY slower_5(const float* x, float* y, int64_t n) { work(x, y, n, ITERATIONS * 105 / 100); }
ENTRY empty(const float* x, float* y, int64_t n) { work(x, y, n, 0); }
"""
# The same operator of PyTorch: one writes to the judge's memory, one returns its own.
_WRITES = "import torch\n\ndef f(x, y):\n    torch.mul(x, 2, out=y)\n"
_RETURNS = "def f(x):\n    return x * 2\n"
_SMALL = 1024  # elements of a kernel that is bound by computing
_SHARE_SESSIONS = 5
_SEQUENTIAL_CALLS = 50


@dataclass(frozen=True)
class Kernel:
    """A kernel of a given duration, spent in a chain of multiplications or in memory."""

    kind: str
    target_ms: float
    elements: int
    iterations: int

    @property
    def label(self) -> str:
        """Name of the kernel in the table."""
        return f"{self.kind} {self.target_ms:g} ms"


@dataclass
class Row:
    """Log ratios from which one line of the table is computed, each with its interval."""

    label: str
    truth: float = 0.0
    estimates: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    medians: list[tuple[float, ...]] = field(default_factory=list)
    """Medians of each session's log ratios, on which the intervals rest."""
    repeated: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """Format the line: shares in percent, and errors against the truth."""
        count = len(self.estimates)
        errors = sorted(abs(x - self.truth) for x in self.estimates)
        covered = sum(low <= self.truth <= high for low, high in zip(self.lows, self.highs, strict=True))
        widths = [(high - low) / 2 for low, high in zip(self.lows, self.highs, strict=True)]
        told = {name: self.verdicts.count(name) / count for name in ("faster", "slower", "same", "ambiguous")}
        return (
            f"| {self.label} | {count} | {told['faster']:.0%} | {told['slower']:.0%} | {told['same']:.0%} "
            f"| {covered / count:.0%} | {errors[int(0.95 * (count - 1))]:.2%} | {exact.median(widths):.2%} "
            f"| {exact.mean(self.sessions):.1f} | {self.repeated} | {self.seconds / count:.1f} |"
        )


HEAD = (
    "| kernel | comparisons | faster | slower | same | interval covers the truth | 95 % of errors below "
    "| half interval | sessions | repeated | s each |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


class Bench:
    """Bench that compares entry points of one binary."""

    def __init__(self, task: LoadedTask, pool: WarmPool, device: Device) -> None:
        self._task, self._pool, self._device = task, pool, device
        self._judge = Judge(task.spec, Reference(task))

    def build(self, kernel: Kernel, entry: str, name: str) -> Contestant:
        """Build one entry point, always from the same source, so that the code is the same byte for byte."""
        file = SubmissionFile.model_validate(
            {"task": "perf/double", "language": "cpp", "abi": "c", "entry_point": f"kernel.cpp::{entry}"}
        )
        source = _KERNEL.replace("ITERATIONS", f"INT64_C({kernel.iterations})")
        submission = Submission(name=name, file=file, sources={"kernel.cpp": source})
        return contestant.build(name, submission, self._task.spec, ["float32"], self._device, self._pool.scratch())

    def build_python(self, source: str, abi: str, name: str) -> Contestant:
        """Build a kernel of a few lines of PyTorch."""
        file = SubmissionFile.model_validate(
            {"task": "perf/double", "language": "python", "abi": abi, "entry_point": "kernel.py::f"}
        )
        submission = Submission(name=name, file=file, sources={"kernel.py": source})
        return contestant.build(name, submission, self._task.spec, ["float32"], self._device, self._pool.scratch())

    def case(self, kernel: Kernel) -> Case:
        """Return the only timed binding of a kernel."""
        return Case(axes={"n": kernel.elements}, dtype="float32", seed=1, role="timed")

    def compare(self, kernel: Kernel, entry: str, count: int, truth: float, told: Callable[[str], None]) -> Row:
        """Make `count` comparisons of `entry` against the even kernel."""
        row = Row(f"{kernel.label}, {entry}" if entry != "even" else kernel.label, truth)
        return self._fill(
            row, kernel, [self.build(kernel, entry, CANDIDATE), self.build(kernel, "even", "eager")], count, told
        )

    def compare_abis(self, kernel: Kernel, count: int, told: Callable[[str], None]) -> Row:
        """Make `count` comparisons of an operator that writes to the judge's memory with one that returns its own."""
        row = Row(f"{kernel.label}, written against returned")
        sides = [self.build_python(_WRITES, "destination", CANDIDATE), self.build_python(_RETURNS, "value", "eager")]
        return self._fill(row, kernel, sides, count, told)

    def _fill(self, row: Row, kernel: Kernel, sides: list[Contestant], count: int, told: Callable[[str], None]) -> Row:
        sides.append(replace(sides[1], name=CONTROL))
        while len(row.estimates) < count:
            started = time.monotonic()
            timing, loaded = self._measure(kernel, sides)
            if loaded:
                row.repeated += 1
                continue
            scored = score_case(timing, noise_floor([timing]))
            row.estimates.append(math.log(scored.speedup.value))
            row.lows.append(math.log(scored.speedup.low))
            row.highs.append(math.log(scored.speedup.high))
            row.verdicts.append(scored.verdict.value)
            row.sessions.append(len(timing.sessions))
            row.medians.append(tuple(round(exact.median(logs), 6) for logs in scored.sessions))
            row.seconds += time.monotonic() - started
            told(f"{row.label}: {len(row.estimates)} of {count}")
        return row

    def _measure(self, kernel: Kernel, sides: Sequence[Contestant]) -> tuple[Timing, bool]:
        measured = measure(
            self._task.spec, sides, [self.case(kernel)], "full",
            judge=self._judge, pool=self._pool, device=self._device, watch=Stopwatch(), progress=silent,
        )  # fmt: skip
        if measured.failure:
            raise SystemExit(measured.failure)
        (timing,) = measured.timings
        return timing, any(session.foreign_load > MAX_FOREIGN_LOAD for session in timing.sessions)

    def sequential(self, kernel: Kernel, count: int, told: Callable[[str], None]) -> Row:
        """Compare by running first one side, then the other, as most benchmarks do."""
        row = Row(f"{kernel.label}, one after the other")
        sides = [self.build(kernel, "even", name) for name in (CANDIDATE, "eager")]
        while len(row.estimates) < count:
            started = time.monotonic()
            result = self.session(kernel, sides, Sequential)
            if result.foreign_load > MAX_FOREIGN_LOAD:
                row.repeated += 1
                continue
            mine, other = ([float(t) for t in result.samples[name]] for name in (CANDIDATE, "eager"))
            test = ttest_ind(other, mine, equal_var=False)
            centre = math.log(exact.mean(other) / exact.mean(mine))
            interval = test.confidence_interval(0.95)
            row.estimates.append(centre)
            row.lows.append(float(interval.low) / exact.mean(mine))
            row.highs.append(float(interval.high) / exact.mean(mine))
            is_different = float(test.pvalue) < 0.05
            row.verdicts.append(("faster" if centre > 0 else "slower") if is_different else "same")
            row.sessions.append(1)
            row.seconds += time.monotonic() - started
            told(f"{row.label}: {len(row.estimates)} of {count}")
        return row

    def session(
        self, kernel: Kernel, sides: Sequence[Contestant], kind: type[TimingSession], watch: Stopwatch | None = None
    ) -> SessionResult:
        """Run one session of fresh workers."""
        case = self.case(kernel)
        arena = Arena(self._device.pool_bytes + case_footprint(self._task.spec, case))
        try:
            return kind(
                self._task.spec, case, sides, PLANS["full"],
                judge=self._judge, bank=Bank(self._task.spec, case), pool=self._pool, device=self._device,
                arenas=Arenas(arena), watch=watch or Stopwatch(), timeout_s=60, distributions=[],
            ).run()  # fmt: skip
        finally:
            arena.close()

    def calibrated(self, kind: str, target_ms: float) -> Kernel:
        """Return a kernel that takes about `target_ms` here."""
        if kind == "compute":
            kernel = Kernel(kind, target_ms, _SMALL, 4_000_000)  # some 5 ms, so that the call itself hardly counts
            return replace(kernel, iterations=int(kernel.iterations * target_ms / self.median_ms(kernel)))
        kernel = Kernel(kind, target_ms, 1 << 20, 0)
        elements = int(kernel.elements * target_ms / self.median_ms(kernel))
        return replace(kernel, elements=max(1 << 16, elements))

    def median_ms(self, kernel: Kernel, entry: str = "even") -> float:
        """Return the median time of an entry point in one session, in ms."""
        sides = [self.build(kernel, entry, CANDIDATE), self.build(kernel, entry, "eager")]
        return exact.median(self.session(kernel, sides, TimingSession).samples[CANDIDATE]) / 1e6

    def own_share(self, kernel: Kernel) -> float:
        """Return the share of a call's time that iterations account for, in sessions with an empty call beside it."""
        sides = [self.build(kernel, "even", CANDIDATE), self.build(kernel, "empty", "eager")]
        found = [self.session(kernel, sides, TimingSession).samples for _ in range(_SHARE_SESSIONS)]
        return exact.median(1 - exact.median(each["eager"]) / exact.median(each[CANDIDATE]) for each in found)


class Sequential(TimingSession):
    """Session that makes all calls of one side, then all of the other."""

    def _take_samples(self, checks: object) -> None:
        for each in self._in_random_order():
            for _ in range(_SEQUENTIAL_CALLS):
                case, inputs = self._drawing.of_call()
                elapsed_ns = self._settle(each, inputs, self._call(each, case, inputs), in_full=False)
                self._result.samples[each.name].append(elapsed_ns or 0)


class Shared(TimingSession):
    """Session that tells which share of the time between the first and the last timed call was spent in kernels."""

    share = 0.0

    def _take_samples(self, checks: list[object]) -> None:  # type: ignore[override]
        before = self._watch.result()
        super()._take_samples([])
        after = self._watch.result()
        own = (after.total - before.total) - (after.inputs - before.inputs) - (after.judging - before.judging)
        Shared.share = (after.kernels - before.kernels) / own


def shares(bench: Bench) -> list[tuple[float, float]]:
    """Return milliseconds of a kernel, and the share of time spent in it, values and judging taken off."""
    found = []
    for target_ms in (0.1, 1.0, 10.0):
        kernel = bench.calibrated("compute", target_ms)
        sides = [bench.build(kernel, "even", name) for name in (CANDIDATE, "eager")]
        bench.session(kernel, sides, Shared)
        found.append((target_ms, Shared.share))
    return found


def main() -> None:
    """Measure, and print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=("all", "equal", "returned", "planted", "share"))
    parser.add_argument("--kind", default="both", choices=("compute", "memory", "both"), help="of equal kernels")
    parser.add_argument("--ms", type=float, nargs="*", default=(0.02, 0.2, 5.0), help="of compute-bound kernels")
    parser.add_argument("--comparisons", type=int, default=60, help="of equal kernels and operators, each")
    parser.add_argument("--trials", type=int, default=40, help="of each planted slow-down")
    parser.add_argument("--json", type=Path, help="write all estimates here, row by row")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []

    def told(line: str) -> None:
        print(f"\r{line:60}", end="", file=sys.stderr, flush=True)

    def publish(row: Row) -> None:
        rows.append(row)
        print(f"\r{row.line()}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps([asdict(each) for each in rows]) + "\n")

    with TemporaryDirectory() as folder, WarmPool() as pool:
        place = Path(folder) / "perf/double"
        place.mkdir(parents=True)
        (place / "task.yaml").write_text(_TASK)
        (place / "reference.py").write_text(_REFERENCE)
        bench = Bench(read_task(place), pool, open_device("cpu"))
        if arguments.what in ("all", "share"):
            print("| kernel | share of the time in kernels |\n|---|---:|")
            for target_ms, share in shares(bench):
                print(f"| {target_ms:g} ms | {share:.0%} |", flush=True)
        has_compute = arguments.what in ("all", "equal", "planted")
        compute = [bench.calibrated("compute", target) for target in arguments.ms] if has_compute else []
        has_memory = arguments.what in ("all", "equal", "returned") and arguments.kind != "compute"
        memory = [bench.calibrated("memory", target) for target in (0.2, 5.0)] if has_memory else []
        if arguments.what in ("all", "equal"):
            print(f"\n{HEAD}")
            for kernel in (*(compute if arguments.kind != "memory" else ()), *memory):
                publish(bench.compare(kernel, "even", arguments.comparisons, 0.0, told))
                publish(bench.sequential(kernel, arguments.comparisons, told))
        if arguments.what in ("all", "returned"):
            print(f"\n{HEAD}")
            for kernel in memory:
                publish(bench.compare_abis(kernel, arguments.comparisons, told))
        if arguments.what in ("all", "planted"):
            print(f"\n{HEAD}")
            for kernel in compute:
                share = bench.own_share(kernel)
                for entry, more in (("slower_5", 0.05), ("slower_2", 0.02)):
                    truth = -math.log1p(more * share)
                    publish(bench.compare(kernel, entry, arguments.trials, truth, told))


if __name__ == "__main__":
    main()
