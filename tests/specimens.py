"""Ordinary specimens of a task, a case, an observation and a record; tests change the parts that they are about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_kbench.devices.ceilings import Ceilings
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import parse
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import (
    CaseResult,
    RunRecord,
    Search,
    Seconds,
    Session,
    Status,
    Timing,
    encode_samples,
)
from robust_kbench.schema.task import Task

if TYPE_CHECKING:
    from robust_kbench.agents.summary import Summary as RunSummary
    from robust_kbench.leaderboard.summary import Loaded, Summary

TASK: Mapping[str, Any] = {
    "name": "norm/scale",
    "version": 1,
    "summary": "Every row times a weight.",
    "source": "made for these tests",
    "axes": {"rows": {"low": 1, "high": 512}, "cols": {"low": 1, "high": 512}},
    "constraints": ["rows * cols <= 65536"],
    "inputs": {
        "x": {"shape": ["rows", "cols"]},
        "weight": {"shape": ["cols"], "role": "parameter", "shift": 1.0},
    },
    "outputs": {"y": {"shape": ["rows", "cols"]}},
    "dtypes": ["float32", "float16"],
    "reduction": 1,
    "timed": {"cpu": [{"rows": 64, "cols": 64}, {"rows": 8, "cols": 64}], "cuda": [{"rows": 64, "cols": 64}]},
    "cost": {"flops": "rows * cols", "bytes": "(2 * rows * cols + cols) * itemsize"},
}
REFERENCE = "def reference(x, weight):\n    return x * weight\n"


def make_task(**changes: Any) -> Task:
    """Make `TASK` with some of its keys replaced."""
    return parse(Task, {**TASK, **changes}, "task.yaml")


def load_made_task(reference: str = REFERENCE, **changes: Any) -> LoadedTask:
    """Make the same task with a reference, as the registry would have read it."""
    return LoadedTask(make_task(**changes), Path("norm/scale"), reference, "sha256:0")


def nest(folder: Path, levels: int) -> None:
    """Make `levels` folders below `folder`, each in the one before. System calls refuse a path of that length."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


def make_case(**changes: Any) -> Case:
    """Make a checked case of that task."""
    return Case(**{"axes": {"rows": 4, "cols": 8}, "dtype": "float32", "seed": 7, **changes})


def make_observation(**changes: Any) -> Observation:
    """Make an honest call that returned."""
    case = changes.pop("case", None) or make_case(role=changes.pop("role", "check"))
    return Observation(
        case=case,
        **{"ending": "returned", "elapsed_ns": 1_000_000, **changes},
    )


def make_result(**changes: Any) -> CaseResult:
    """Make a passed case as a record keeps it."""
    return CaseResult(**{**make_case().model_dump(), "status": "passed", **changes})


def make_record(**changes: Any) -> RunRecord:
    """Make a record that may stand on a leaderboard."""
    session = Session(
        samples={"candidate": encode_samples([10, 11]), "eager": encode_samples([20, 22])}, foreign_load=0
    )
    fields: dict[str, Any] = {
        "task": "norm/scale",
        "task_version": 1,
        "task_digest": "sha256:0",
        "submission": "mine",
        "submission_digest": "sha256:1",
        "language": "python",
        "abi": "value",
        "precision": "ieee",
        "dtypes": ("float32",),
        "device": "cpu",
        "execution": "native",
        "tier": "full",
        "seed": 7,
        "replay": False,
        "status": Status.PASSED,
        "search": Search(examples=300, covered={}),
        "timings": (Timing(axes={"rows": 64, "cols": 64}, dtype="float32", sessions=(session,)),),
        "handshake": "spin",
        "isolation": ALL_LAYERS,
        "rule": "three-metric-v1",
        "seconds": Seconds(total=1.0),
        "environment": {"torch": "2.13.0"},
        "started_at": "2026-01-01T00:00:00Z",
    }
    return RunRecord(**{**fields, **changes})


def make_summaries(records: Iterable[RunRecord]) -> list[Summary]:
    """Make a leaderboard's summaries of the records, as if these stood in one store, line after line."""
    from robust_kbench.leaderboard.reading import Place
    from robust_kbench.leaderboard.summary import summarise

    return [
        summarise(record, Place(Path("results.jsonl"), 0, 0, number)) for number, record in enumerate(records, start=1)
    ]


def make_loaded(records: Iterable[RunRecord]) -> Loaded:
    """Make everything that a leaderboard loads from such a store."""
    from robust_kbench.leaderboard.summary import Loaded, distinct

    found = make_summaries(records)
    runs = distinct(found)
    return Loaded(runs, [], len(found) - len(runs))


def make_run_summary(**changes: Any) -> RunSummary:
    """Make a run of an agent that found a kernel twice as fast as eager PyTorch."""
    from robust_kbench.agents.budget import Limits
    from robust_kbench.agents.summary import Interval
    from robust_kbench.agents.summary import Summary as RunSummary

    facts: dict[str, Any] = {
        "task": "norm/scale",
        "agent": "stark",
        "agent_digest": "01234567",
        "llm": ("improver",),
        "seed": 1,
        "device": "cpu",
        "hardware": "a processor",
        "tier": "full",
        "kbench": "0.1.0",
        "harness": "0123456789abcdef",
        "start": "kernel",
        "limits": Limits(evaluations=45),
        "stop": "budget",
        "evaluations": 45,
        "calls": 90,
        "input_tokens": 1000,
        "output_tokens": 500,
        "usd": 0.5,
        "stages": {"time": 30, "correct": 15},
        "candidates": 45,
        "parse_rate": 1.0,
        "compile_rate": 0.9,
        "validity": 0.6,
        "distinct_rate": 1.0,
        "operators": {},
        "plans": 0,
        "plan_rate": None,
        "repairs": 0,
        "repair_rate": None,
        "best": "g1.p0",
        "best_speedup": Interval(value=2.2, low=2.0, high=2.4),
        "final_status": "passed",
        "final_speedup": Interval(value=2.0, low=1.8, high=2.2),
        "over_all": Interval(value=1.25, low=1.2, high=1.3),
        "over_start": Interval(value=8.0, low=7.5, high=8.5),
        "gap": 1.1,
        "verifiers": {},
        "curve": (),
        "area": {"evaluations": 1.5, "tokens": 1.5, "usd": 1.5},
        "deviations": (),
    }
    return RunSummary.model_validate({**facts, **changes})


def make_ceilings(**changes: Any) -> Ceilings:
    """Make ceilings of this processor: 10, 12 and 8 GB/s for copies, reads and fills, 100 Gflop/s in float32."""
    fields = {
        "device": CpuDevice().facts()["device"],
        "kind": "cpu",
        "torch": "2.13.0",
        "cache_bytes": 1 << 20,
        "copy_bytes_per_s": 10e9,
        "read_bytes_per_s": 12e9,
        "fill_bytes_per_s": 8e9,
        "flops_per_s": {"float32": 100e9},
    }
    return Ceilings.model_validate({**fields, **changes})


ALL_LAYERS = (
    "own process", "user namespace", "pid namespace", "network namespace", "ipc namespace", "resource limits",
    "no new privileges", "no capabilities", "landlock", "seccomp",
)  # fmt: skip
