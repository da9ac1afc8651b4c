"""The checks that take workers as an evaluation has them: toy cheats, two workers in turn; and baselines to time."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from robust_kbench import contestant, guards, languages
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.devices import open_device
from robust_kbench.errors import KBenchError
from robust_kbench.guards import agreement, amortisation
from robust_kbench.guards.activity import union_ns
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.redteam import corpus
from robust_kbench.redteam.corpus import Attack, Specimen
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.agreement import Agreement
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.submission import Submission, SubmissionFile
from robust_kbench.schema.task import shape_of
from robust_kbench.timing.agreement import gather
from robust_kbench.timing.peers import Peers
from robust_kbench.timing.plan import HOLD_NS, holds
from robust_kbench.worker import loaders
from robust_kbench.worker.cuda.device import CudaDevice
from robust_kbench.worker.cuda.problem import native

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
TASK = "norm/rmsnorm"
AXES = {"rows": 1024, "cols": 4096}
CALLS, AUDITS = 12, 3
EAGER = """
import torch

def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""


class Bench:
    """Workers on the device that share one arena."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.device = open_device("cuda")
        self.task = load_task(TASK).spec
        self.case = Case(axes=AXES, dtype="float32", seed=1, role="timed")
        self._pool = stack.enter_context(WarmPool())
        self._arena = Arena(2 * case_footprint(self.task, self.case))
        stack.callback(self._arena.close)
        self._caller = Caller(self.task, self._arena, device="cuda", copy_out=True, timeout_s=60)
        self._seed = 0

    def start(self, name: str, source: str) -> Worker:
        """A worker with a submission of one file."""
        fields = {
            "task": TASK,
            "language": "python",
            "abi": "value",
            "entry_point": "kernel.py::rmsnorm",
            "author": "x",
        }
        file = SubmissionFile.model_validate({**fields, "dtypes": ("float32",)})
        submission = Submission(name=name, file=file, sources={"kernel.py": source})
        built = contestant.build(name, submission, self.task, ["float32"], self.device, self._pool.scratch())
        return built.start(self._pool, self._arena, self.device, "float32")

    def fresh(self) -> tuple[Case, Inputs]:
        """A case that was not called before."""
        self._seed += 1
        case = self.case.model_copy(update={"seed": self._seed})
        return case, make_inputs(self.task, case)

    def call(self, worker: Worker, drawn: tuple[Case, Inputs] | None = None, **more: object) -> Observation:
        """One call, or what `more` asks for. Raises KBenchError when the worker does not return."""
        case, inputs = drawn or self.fresh()
        seen = self._caller.call(worker, "value", case, inputs, more=more)
        if seen.ending != "returned":
            raise KBenchError(f"{seen.ending}: {seen.message} {seen.log[-500:]}")
        return replace(seen, outputs={})


def trips() -> Iterator[Row]:
    """Each specimen for a CUDA device: what tripped, and what its first lines say."""
    with ExitStack() as stack:
        bench = Bench(stack)
        eager = bench.start("eager", EAGER)
        stack.callback(eager.close)
        for specimen in (*corpus.attacks(), *corpus.honest()):
            if specimen.header.device == "cuda":
                yield {"kernel": specimen.name, **_try(bench, eager, specimen)}


def _try(bench: Bench, eager: Worker, specimen: Specimen) -> Row:
    expected = set(specimen.header.trips) if isinstance(specimen, Attack) else set()
    try:
        worker = bench.start(specimen.name, specimen.path.read_text())
    except KBenchError as error:
        return {"error": str(error)[:300]}
    try:
        seen, facts = observe(bench, eager, worker)
    except KBenchError as error:
        return {"error": str(error)[:300]}
    finally:
        worker.close()
    return outcome((*guards.inspect(seen), *agreement.inspect(facts)), expected) | times(seen, facts)


def outcome(findings: tuple[Finding, ...], expected: set[str]) -> Row:
    """What tripped, and how that differs from what was expected; only rejections are compared."""
    found = {str(finding.evidence.get("test", finding.guard)): finding.severity for finding in findings}
    rejected = {test for test, severity in found.items() if severity == "reject"}
    return {
        "rejected by": " ".join(sorted(rejected)),
        "warned by": " ".join(sorted(set(found) - rejected)),
        "missing": " ".join(sorted(expected - rejected)),
        "unexpected": " ".join(sorted(rejected - expected)),
    }


def times(seen: list[Observation], facts: Agreement) -> Row:
    """Medians of what the tests looked at, in us."""
    timed = [call for call in seen if call.is_timed]
    medians: Mapping[str, float] = {
        name: statistics.median(getattr(call, f"{name}_ns") or 0 for call in timed) / 1e3
        for name in ("event", "join", "wall", "elapsed", "host", "peer_gap")
    }
    unions = [union_ns(call.audit) / 1e3 for call in seen if call.audit]
    return {
        **{f"{name}_us": value for name, value in medians.items()},
        "union_us": statistics.median(unions) if unions else None,
        "slope_us": facts.slope.call_ns / 1e3 if facts.slope else None,
        "further_us": amortisation.further_ns(facts.amortisation) / 1e3 if facts.amortisation else None,
    }


def observe(bench: Bench, eager: Worker, worker: Worker) -> tuple[list[Observation], Agreement]:
    """Timed calls beside the baseline's, audits, and the facts that take calls of their own."""
    launching_ns = [min(bench.call(each).host_ns or 0 for _ in range(3)) for each in (worker, eager)]
    hold = holds(max(launching_ns))
    ours, theirs = partial(bench.call, worker, hold=hold), partial(bench.call, eager, hold=hold)
    peers, timed = Peers(), []
    for _ in range(CALLS):
        peers.add(theirs())
        timed.append(peers.beside(ours()))
    audits = [peers.beside(ours(profile=True)) for _ in range(AUDITS)]
    return [*timed, *audits], gather(str(bench.case), ours, theirs, timed, worker.tree, hold * HOLD_NS)


def turns() -> Iterator[Row]:
    """Eager PyTorch alone, and in turn with a second worker of the same."""
    with ExitStack() as stack:
        bench = Bench(stack)
        one, two = (bench.start(name, EAGER) for name in ("one", "two"))
        stack.callback(one.close)
        stack.callback(two.close)
        drawn = bench.fresh()
        for _ in range(10):
            bench.call(one, drawn), bench.call(two, drawn)
        alone = [_timed(bench, one, drawn) for _ in range(60)]
        in_turn = [(_timed(bench, one, drawn), _timed(bench, two, drawn))[0] for _ in range(60)]
        for name, rows in (("alone", alone), ("in turn", in_turn)):
            yield {"worker": name, **{key: statistics.median(row[key] for row in rows) for key in rows[0]}}


def _timed(bench: Bench, worker: Worker, drawn: tuple[Case, Inputs]) -> dict[str, float]:
    started = time.perf_counter_ns()
    seen = bench.call(worker, drawn)
    whole_us = (time.perf_counter_ns() - started) / 1e3
    return {
        "event_us": (seen.event_ns or 0) / 1e3,
        "elapsed_us": seen.elapsed_ns / 1e3,
        "wake_us": seen.wake_ns / 1e3,
        "whole_call_us": whole_us,
    }


def baseline_calls(device: CudaDevice) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every CUDA and Triton kernel of baselines/ on its task's first timed binding, ready to be called."""
    for folder in sorted((ROOT / "baselines").glob("*/*/*")):
        submission = read_submission(folder)
        if submission.file.language not in ("cuda", "triton"):
            continue
        try:
            yield str(folder.relative_to(ROOT / "baselines")), _prepared(submission, device)
        except KBenchError as error:
            print(f"{folder.name}: {error}", file=sys.stderr)


def _prepared(submission: Submission, device: CudaDevice) -> Callable[[], Any]:
    task = load_task(submission.file.task).spec
    axes = task.timed["cuda"][0]
    case = Case(axes=axes, dtype="float32", seed=1)
    built = languages.build(submission, task, "float32", "cuda", Path(tempfile.mkdtemp()))
    kernel = loaders.load(built.load_request("cuda"))
    values = make_inputs(task, case).values.values()
    inputs = [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]
    outputs = [
        torch.empty(shape_of(spec, axes), dtype=getattr(torch, task.dtype_of(spec, "float32")), device="cuda")
        for spec in task.outputs.values()
    ]
    if submission.abi == "value":
        return lambda: kernel(*inputs)
    if submission.abi == "destination":
        return lambda: kernel(*inputs, *outputs)
    passed = native([*inputs, *outputs], list(axes.values()), device.stream())
    return lambda: (kernel(*passed), outputs)
