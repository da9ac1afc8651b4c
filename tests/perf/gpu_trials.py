"""Sessions of an evaluation for kernels of our choice, and a profiler's view of the same kernels."""

from __future__ import annotations

import ctypes
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from robust_kbench import contestant
from robust_kbench.baselines import baselines_for
from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import make_inputs
from robust_kbench.contestant import Contestant
from robust_kbench.devices import open_device
from robust_kbench.errors import KBenchError
from robust_kbench.isolation.calling import open_arena
from robust_kbench.isolation.gate import open_gate
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.built import Built
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import LoadedTask, load_task, read_submission
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER
from robust_kbench.schema.submission import Submission, SubmissionFile
from robust_kbench.schema.task import FloatDType, shape_of
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import spot_checks
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.plan import Plan
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession
from robust_kbench.worker import loaders

ROOT = Path(__file__).resolve().parents[2]
PLAN = Plan(sessions=1, min_rounds=20, max_rounds=40, max_seconds=0.6, warm_up_rounds=3, warm_up_seconds=0.1)
_NEIGHBOUR = """
import sys, torch
number = torch.zeros(1, device="cuda")
for _ in sys.stdin:
    number += 1
    torch.cuda.synchronize()
    print("done", flush=True)
"""
_PROFILED, _PUBLISHED, _BUILDS = 8, 26, 8
_LAUNCHING_CYCLES = 4_000_000  # some two milliseconds
_WAIT = "spin_kernel"  # what torch.cuda._sleep launches


class Bench:
    """Workers on the device, as an evaluation has them."""

    def __init__(self, stack: ExitStack) -> None:
        """Start the pool of workers, which `stack` closes."""
        self.device = open_device("cuda")
        self._pool = stack.enter_context(WarmPool())

    def build(self, name: str, submission: Submission, task: LoadedTask, dtype: FloatDType) -> Contestant:
        """Build one side of a comparison."""
        return contestant.build(name, submission, task.spec, [dtype], self.device, self._pool.scratch())

    def eager(self, task: LoadedTask, dtype: FloatDType, name: str = EAGER) -> Contestant:
        """Build eager PyTorch, as evaluations compare with it."""
        submission = next(each for each in baselines_for(task, "quick") if each.name == EAGER)
        return self.build(name, submission, task, dtype)

    def session(
        self, task: LoadedTask, case: Case, contestants: Sequence[Contestant], plan: Plan = PLAN
    ) -> SessionResult:
        """Run one session of fresh workers. Raises KBenchError when the candidate fails."""
        spec = task.spec
        call_bytes = spot_checks.footprint(spec, case)
        with (
            closing(open_arena(self.device, call_bytes, self.device.pool_bytes)) as common,
            closing(Arenas(common)) as arenas,
        ):
            result = TimingSession(
                spec, case, contestants, plan,
                judge=Judge(spec, Reference(task), "cuda"), bank=Bank(spec, case, "cuda"), pool=self._pool,
                device=self.device,
                arenas=arenas, watch=Stopwatch(), timeout_s=60, distributions=(), is_first=False,
            ).run()  # fmt: skip
        if result.failure:
            raise KBenchError(result.failure)
        return result


def python(task: str, source: str, abi: str = "value") -> Submission:
    """Return a submission of one file with the entry point `f`."""
    fields = {"task": task, "language": "python", "abi": abi, "entry_point": "kernel.py::f", "author": "x"}
    file = SubmissionFile.model_validate({**fields, "dtypes": ("float32",)})
    return Submission(name="kernel", file=file, sources={"kernel.py": source})


def equals(bench: Bench, task_name: str, axes: dict[str, int], source: str) -> SessionResult:
    """Compare an operator with itself in another worker, and in a third."""
    task = load_task(task_name)
    case = Case(axes=axes, dtype="float32", seed=1, role="timed")
    submission = python(task_name, source)
    same = bench.build(EAGER, submission, task, "float32")
    return bench.session(task, case, [replace(same, name=CANDIDATE), same, replace(same, name=CONTROL)])


def slower(bench: Bench, task_name: str, axes: dict[str, int], source: str, more: str) -> SessionResult:
    """Compare an operator that has something planted behind it with the operator itself."""
    task = load_task(task_name)
    case = Case(axes=axes, dtype="float32", seed=1, role="timed")
    plain = bench.build(EAGER, python(task_name, source.replace("MORE", "0")), task, "float32")
    planted = bench.build(CANDIDATE, python(task_name, source.replace("MORE", more)), task, "float32")
    return bench.session(task, case, [planted, plain])


class Published(NamedTuple):
    """A kernel of baselines/: our time, a profiler's, and a profiler's after a turn of another process, in us."""

    name: str
    ours_us: float
    profiled_us: float
    after_turn_us: float
    error: str = ""


def published(bench: Bench) -> Iterator[Published]:
    """Time some twenty CUDA and Triton kernels of baselines/. A refused kernel has an error in place of times."""
    folders = sorted(path for kind in ("cuda_*", "triton_*") for path in (ROOT / "baselines").glob(f"*/*/{kind}"))
    chosen: list[tuple[str, Submission, LoadedTask]] = []
    for folder in folders[:: max(1, len(folders) // _PUBLISHED)]:
        submission = read_submission(folder)
        task = load_task(submission.file.task)
        if "float32" in (submission.file.dtypes or task.spec.dtypes) and not task.spec.is_random:
            chosen.append((str(folder.relative_to(ROOT / "baselines")), submission, task))
    with ThreadPoolExecutor(_BUILDS) as threads:  # nothing is timed yet
        built = list(threads.map(lambda each: bench.build(CANDIDATE, each[1], each[2], "float32"), chosen))
    with closing(Neighbour()) as neighbour:
        for (name, submission, task), candidate in zip(chosen, built, strict=True):
            case = Case(axes=task.spec.timed["cuda"][0], dtype="float32", seed=1, role="timed")
            try:
                result = bench.session(task, case, [candidate, bench.eager(task, "float32")])
            except KBenchError as error:
                yield Published(name, math.nan, math.nan, math.nan, str(error))
                continue
            work = _prepared(candidate.built["float32"], submission, task, case)
            ours_us = statistics.median(result.times(CANDIDATE)) / 1e3
            yield Published(name, ours_us, profiled_us(work), profiled_us(work, neighbour.take_a_turn))


class Neighbour:
    """A process with a context of its own, as the judge's is beside a worker's."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def take_a_turn(self) -> None:
        """Have it work on the device; when this returns, the device has changed contexts."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        if not self._process.stdout.readline():
            raise RuntimeError("the process beside the profiler has ended")

    def close(self) -> None:
        """End the process, and with it the context."""
        self._process.kill()
        self._process.wait()


def profiled_us(work: Callable[[], Any], before: Callable[[], None] = lambda: None) -> float:
    """Return the time from a call's first start on the device to its last end in us, a median by CUPTI on a cold cache.

    `before` is called between the emptying of the cache and `work`. The device is kept busy while `work` is launched,
    so that its launches follow each other as closely as behind the judge's gate.
    """
    kinds = torch.profiler.ProfilerActivity
    for _ in range(3):
        work()
    times = []
    for _ in range(_PROFILED):
        open_gate()._flush()
        torch.cuda.synchronize()
        before()
        with torch.profiler.profile(activities=[kinds.CUDA]) as profiler:
            torch.cuda._sleep(_LAUNCHING_CYCLES)  # type: ignore[no-untyped-call]
            work()
            torch.cuda.synchronize()
        times.append(_span_us(profiler.events()))
    return statistics.median(times)


def _span_us(events: Iterable[Any]) -> float:
    """Return the span of a call's events in us; zero where the profiler has seen nothing of the call."""
    spans = [event.time_range for event in events if event.device_type.name == "CUDA" and _WAIT not in event.name]
    return max(span.end for span in spans) - min(span.start for span in spans) if spans else 0.0


def _prepared(built: Built, submission: Submission, task: LoadedTask, case: Case) -> Callable[[], Any]:
    spec = task.spec
    kernel = loaders.load(built.load_request("cuda"))
    values = make_inputs(spec, case).values.values()
    inputs = [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]
    outputs = [
        torch.empty(shape_of(each, case.axes), dtype=getattr(torch, spec.dtype_of(each, "float32")), device="cuda")
        for each in spec.outputs.values()
    ]
    if submission.abi in ("value", "torch"):
        return lambda: kernel(*inputs)
    if submission.abi == "destination":
        return lambda: kernel(*inputs, *outputs)
    passed = [*map(_native, (*inputs, *outputs)), *map(ctypes.c_int64, case.axes.values()), ctypes.c_void_p()]
    return lambda: (kernel(*passed), inputs, outputs)


def _native(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
