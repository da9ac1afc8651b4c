"""A session on a CUDA device: launches hidden, a closer look at the candidate. The workers are made up, and honest."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench import guards
from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import Inputs
from robust_kbench.devices import machine
from robust_kbench.guards import agreement
from robust_kbench.isolation.arena import Arena
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.agreement import Activity, Audit, Calibration
from robust_kbench.schema.observation import Observation
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.plan import Plan
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession

US = 1_000
KERNEL_NS, FLUSH_NS, HOLD_NS, REST_NS = 100 * US, 60 * US, 200 * US, 150 * US
CALIBRATION = Calibration(event_ns=500, launch_ns=2_000, wall_gap_ns=0, join_gap_ns=10 * US, spread_ns=100)
PLAN = Plan(sessions=1, min_rounds=10, max_rounds=12, max_seconds=9.0, warm_up_rounds=2, warm_up_seconds=0.0)
IDLE: list[subprocess.Popen[bytes]] = []
HEAPS: list[int] = []
TASK = load_made_task()
CASE = make_case(role="timed")


class Device:
    """What a session asks of a device."""

    kind, copies_out, starts_at_once, spare_cores, judging_place = "cuda", True, 2, 0, "cpu"
    complaint, evict = "", None
    felt_cores: Collection[int] | None = None
    pinned = nullcontext

    def sweep(self) -> None:
        """Done by the worker."""

    def watch(self) -> Callable[[], str]:
        return lambda: self.complaint


@dataclass
class Worker:
    name: str
    host_ns: int
    pid: int

    def tree(self) -> list[int]:
        return [self.pid]

    def close(self) -> None:
        """Nothing runs."""


@dataclass(frozen=True)
class Contestant:
    name: str
    host_ns: int
    abi: str = "value"

    def warm_up(self, *_: Any) -> None:
        """Nothing to start."""

    def start(self, *_: Any, heap_bytes: int, **__: Any) -> Worker:
        HEAPS.append(heap_bytes)
        IDLE.append(subprocess.Popen(["sleep", "60"]))
        return Worker(self.name, self.host_ns, IDLE[-1].pid)


@dataclass
class Caller:
    """Answers calls as an honest worker would; `tamper` changes what is seen of the candidate."""

    tamper: Callable[[Observation, Mapping[str, Any]], Observation] = lambda seen, more: seen
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    given: list[tuple[str, Inputs]] = field(default_factory=list)

    def call(
        self, worker: Worker, abi: str, case: Any, inputs: Any, *, is_read: bool, more: Any, **flushes: Any
    ) -> Any:
        self.asked.append((worker.name, dict(more)))
        self.given.append((worker.name, inputs))
        batch = {"calls": 1, "flush": True, "empty": False, **more.get("batch", {})}
        work_ns = 0 if batch["empty"] else KERNEL_NS
        held_ns = FLUSH_NS + more["hold"] * HOLD_NS
        between_ns = held_ns if "batch" in more and batch["flush"] else 0
        event_ns = batch["calls"] * (work_ns + between_ns)
        activity = Activity("kernel", "scale", 5 * US, 5 * US + KERNEL_NS)
        seen = Observation(
            case, "returned",
            outputs={"y": inputs.tensors["x"] * inputs.tensors["weight"]} if is_read else {},
            elapsed_ns=REST_NS + held_ns + event_ns, event_ns=event_ns, join_ns=event_ns + 10 * US,
            wall_ns=event_ns + held_ns, host_ns=worker.host_ns, calibration=CALIBRATION,
            batch_ns=(work_ns,) * batch["calls"] if "batch" in more else (),
            hot_ns=(90 * US,) * more.get("hot", 0),
            audit=Audit((activity,), 0, 10 * US + KERNEL_NS) if "profile" in more else None,
        )  # fmt: skip
        return self.tamper(seen, more) if worker.name == "candidate" else seen


HOSTS = {"candidate": 120 * US, "eager": 500 * US, "control": 90 * US}


def run(
    caller: Caller, device: Device | None = None, hosts: Mapping[str, int] = HOSTS, **changes: Any
) -> SessionResult:
    contestants: Any = [Contestant(name, host_ns) for name, host_ns in hosts.items()]
    parts: Any = {"pool": None, "device": device or Device()}
    arena = Arena(1 << 20)
    session = TimingSession(
        TASK.spec, CASE, contestants, PLAN,
        judge=Judge(TASK.spec, Reference(TASK)), bank=Bank(TASK.spec, CASE), arena=arena, watch=Stopwatch(),
        timeout_s=1.0, distributions=(), **parts, **changes,
    )  # fmt: skip
    made_up: Any = caller
    session._caller = made_up
    try:
        return session.run()
    finally:
        arena.close()
        for process in IDLE:
            process.kill()
            process.wait()
        IDLE.clear()


def test_no_worker_gets_values_twice_and_only_baselines_share_theirs() -> None:
    caller = Caller()
    result = run(caller, hosts={**HOSTS, "functional": 90 * US})
    assert result.failure == ""
    owners: dict[int, list[str]] = defaultdict(list)
    for name, inputs in caller.given:
        owners[id(inputs)].append(name)
    shared = [sorted(names) for names in owners.values() if len(names) > 1]
    assert len(shared) >= PLAN.min_rounds
    assert all(names == ["eager", "functional"] for names in shared)


def test_an_honest_kernel_is_looked_at_closely_and_nothing_is_found() -> None:
    result = run(Caller())
    facts = result.agreement
    assert facts is not None
    assert None not in (facts.slope, facts.amortisation, facts.freshness, facts.idleness)
    assert (result.failure, agreement.inspect(facts), guards.inspect(result.seen)) == ("", (), ())
    assert sum(seen.audit is not None for seen in result.seen) == 4
    assert result.hot_us == {"candidate": 90.0, "eager": 90.0, "control": 90.0}


def test_the_device_is_held_for_as_long_as_the_slowest_host_launches() -> None:
    caller = Caller()
    run(caller)
    scored = [more["hold"] for _, more in caller.asked if set(more) == {"hold"}]
    assert scored[:12] == [1] * 12  # three first calls, and three of each to see how long the hosts launch
    assert set(scored[12:]) == {4}  # eager needs half a millisecond


def test_no_heap_is_made_ready_for_results_that_are_on_the_device() -> None:
    HEAPS.clear()
    run(Caller())
    assert HEAPS == [0, 0, 0]


def test_workers_are_closed_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = threading.Barrier(3)
    monkeypatch.setattr(Device, "starts_at_once", 3)
    monkeypatch.setattr(Worker, "close", lambda self: everybody.wait(timeout=10))
    assert run(Caller()).failure == ""  # else the barrier would be broken


def test_later_sessions_take_samples_alone() -> None:
    caller = Caller()
    result = run(caller, is_first=False)
    assert (result.agreement, result.hot_us) == (None, {})
    assert all(set(more) == {"hold"} for _, more in caller.asked)


@pytest.mark.parametrize("special", ["profile", "batch", "hot"])
def test_who_is_right_only_where_it_is_scored_fails(special: str) -> None:
    def spoil(seen: Observation, more: Mapping[str, Any]) -> Observation:
        return replace(seen, outputs={"y": torch.zeros(4, 8)}) if special in more else seen

    assert run(Caller(spoil)).failure.startswith("y[")


def test_forged_events_are_found_by_the_slope_of_the_judges_clock() -> None:
    def forge(seen: Observation, more: Mapping[str, Any]) -> Observation:
        return replace(seen, event_ns=(seen.event_ns or 0) // 2)

    facts = run(Caller(forge)).agreement
    assert facts is not None
    assert [finding.evidence["test"] for finding in agreement.inspect(facts)] == ["T5"]


@pytest.mark.parametrize(("felt", "is_quiet"), [({7}, False), ({5}, True)], ids=["on our cores", "elsewhere"])
def test_others_disturb_on_the_cores_where_they_are_felt(
    felt: set[int], is_quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device()
    device.felt_cores = felt
    busy_s = {5: lambda: 0.0, 7: lambda: 50 * time.monotonic()}  # of the others: 50 cores, and our own are subtracted
    monkeypatch.setattr(machine, "busy_seconds", lambda cores: sum(busy_s[core]() for core in cores))
    assert run(Caller(), device).as_record(0).is_quiet is is_quiet


def test_a_device_that_was_disturbed_is_told() -> None:
    device = Device()
    device.complaint = "the device had lowered its clocks: power brake"
    result = run(Caller(), device)
    assert not result.as_record(0).is_quiet
