"""A task, a case, an observation and a record of which nothing is special; tests change what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    """`TASK` with some of its keys replaced."""
    return parse(Task, {**TASK, **changes}, "task.yaml")


def load_made_task(reference: str = REFERENCE, **changes: Any) -> LoadedTask:
    """The same with a reference, as the registry would have read it."""
    return LoadedTask(make_task(**changes), Path("norm/scale"), reference, "sha256:0")


def make_case(**changes: Any) -> Case:
    """A checked case of that task."""
    return Case(**{"axes": {"rows": 4, "cols": 8}, "dtype": "float32", "seed": 7, **changes})


def make_observation(**changes: Any) -> Observation:
    """An honest call that returned."""
    case = changes.pop("case", None) or make_case(role=changes.pop("role", "check"))
    return Observation(
        case=case,
        **{"ending": "returned", "elapsed_ns": 1_000_000, "wake_ns": 30_000, "peer_wake_ns": 30_000, **changes},
    )


def make_result(**changes: Any) -> CaseResult:
    """A passed case as a record keeps it."""
    return CaseResult(**{**make_case().model_dump(), "status": "passed", **changes})


def make_record(**changes: Any) -> RunRecord:
    """A record that may stand on a leaderboard."""
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


ALL_LAYERS = (
    "own process", "user namespace", "pid namespace", "network namespace", "ipc namespace", "resource limits",
    "no new privileges", "no capabilities", "landlock", "seccomp",
)  # fmt: skip
