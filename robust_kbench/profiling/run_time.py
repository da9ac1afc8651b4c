"""Operators and kernels of a few calls, as PyTorch's profiler saw them from inside a sandboxed worker.

The worker is the one that an evaluation uses, with the same layers. The profile comes back as one more output tensor,
so that the boundary knows no new message, and is parsed strictly: it is the submission's claim about itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from robust_kbench.cases.values import make_inputs
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.errors import WorkerError
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import open_arena, open_caller
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.built import Built
from robust_kbench.profiling.reports import DeviceActivity, OperatorTime, RunTimeReport
from robust_kbench.profiling.text import shown
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import Strict
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import Output, Task

CALL_TIMEOUT_S = 180.0
PAGE = "kbench_profile"
PAGE_BYTES = 64 << 10
_ROOM = 2
_ENTRY = """from robust_kbench.worker.profiled import Profiled

profiled = Profiled({request!r})
"""
_UNTIMED = {
    "emulated": "emulated on the cpu device, which says nothing about a GPU's time; use --device cuda",
    "interpreted": "interpreted on the cpu device, which says nothing about a GPU's time; use --device cuda",
}

_Name = Annotated[str, Field(max_length=200)]
_Time = Annotated[float, Field(ge=0, lt=1e12)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Sizes = Annotated[tuple[_Count, ...], Field(max_length=3)]


class _Operator(Strict):
    name: _Name
    calls: _Count
    self_us: _Time
    total_us: _Time
    device_us: _Time


class _Activity(Strict):
    kind: Literal["kernel", "copy", "fill"]
    name: _Name
    start_us: _Time
    duration_us: _Time
    grid: _Sizes
    block: _Sizes
    registers: _Count
    shared_bytes: _Count


class _Page(Strict):
    calls: Annotated[int, Field(ge=1, le=1000)]
    operators: Annotated[tuple[_Operator, ...], Field(max_length=40)]
    activities: Annotated[tuple[_Activity, ...], Field(max_length=64)]


def run_time(task: Task, contestant: Contestant, case: Case, device: Device, pool: WarmPool) -> RunTimeReport:
    """Profile calls of `case`. Any other behaviour of the submission becomes a note."""
    if (reason := _UNTIMED.get(contestant.execution)) is not None:
        return RunTimeReport(notes=(reason,))
    wrapped = _wrapped(task, contestant.built[case.dtype], case, pool)
    extended = task.model_copy(update={"outputs": {**task.outputs, PAGE: Output(shape=(PAGE_BYTES,), dtype="uint8")}})
    needed_bytes = case_footprint(extended, case)
    arena = open_arena(device, needed_bytes, (_ROOM - 1) * needed_bytes)
    try:
        observation = _call(extended, contestant, wrapped, case, device, pool, arena)
    except WorkerError as error:
        return RunTimeReport(notes=(f"the submission could not be loaded: {shown(str(error))}",))
    finally:
        arena.close()
    if observation.ending != "returned":
        return RunTimeReport(notes=(f"the submission {observation.ending}: {shown(observation.message)}",))
    return parse(bytes(observation.outputs[PAGE].numpy()), device.kind)


def _wrapped(task: Task, built: Built, case: Case, pool: WarmPool) -> Built:
    """Wrap the submission in a module of ours that has it profiled."""
    request = {**built.entry, "inputs": len(task.inputs), "axes": list(case.axes.values())}
    entry = pool.scratch() / "kbench_profiled.py"
    source = _ENTRY.format(request=request)
    return Built(
        entry, "profiled", "destination", home=entry.parent, sources={entry.name: source},
        flavour=built.flavour, compiles_at_run_time=built.compiles_at_run_time, environment=built.environment,
        needs=built.folders,
    )  # fmt: skip


def _call(
    task: Task, contestant: Contestant, wrapped: Built, case: Case, device: Device, pool: WarmPool, arena: Slots
) -> Observation:
    worker = contestant.start(pool, arena, device, case.dtype, wrapped)
    try:
        caller = open_caller(device, task, arena, timeout_s=CALL_TIMEOUT_S)
        return caller.call(worker, wrapped.abi, case, make_inputs(task, case))
    finally:
        worker.close()


def parse(page: bytes, device: str) -> RunTimeReport:
    """Parse the worker's page; if it is no profile, a note says so. Names are made fit for a terminal."""
    try:
        found = _Page.model_validate_json(page)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, problem["loc"]))
        return RunTimeReport(notes=(f"the worker's profile is none: {place}: {problem['msg']}",))
    operators = tuple(OperatorTime(**{**row.model_dump(), "name": shown(row.name)}) for row in found.operators)
    activities = tuple(DeviceActivity(**{**row.model_dump(), "name": shown(row.name)}) for row in found.activities)
    silent = device == "cuda" and not activities
    notes = (
        ("no activity of the device was recorded; is CUPTI installed, and may this user profile?",) if silent else ()
    )
    return RunTimeReport(found.calls, operators, activities, notes)
