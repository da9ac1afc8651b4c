"""A session may be the first to need a process, and needs it until its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import make_inputs
from robust_kbench.devices import open_device
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.plan import Plan
from robust_kbench.timing.session import TimingSession

SOURCE = """
import torch

def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""
PLAN = Plan(sessions=1, min_rounds=3, max_rounds=3, max_seconds=9.0, warm_up_rounds=1, warm_up_seconds=0.0)


@contextmanager
def session(submit: Submit, pool: WarmPool) -> Iterator[TimingSession]:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    case = Case(axes={"rows": 8, "cols": 16}, dtype="float32", seed=1, role="timed")
    sides = [
        contestant.build(name, submit(SOURCE), task.spec, ["float32"], device, pool.scratch())
        for name in ("candidate", "eager")
    ]
    with closing(Arena(2 * case_footprint(task.spec, case))) as arena:
        yield TimingSession(
            task.spec, case, sides, PLAN,
            judge=Judge(task.spec, Reference(task)), bank=Bank(task.spec, case), pool=pool, device=device,
            arenas=Arenas(arena),
            watch=Stopwatch(), timeout_s=20, distributions=(),
        )  # fmt: skip


def test_workers_outlive_the_threads_that_started_them(submit: Submit) -> None:
    with WarmPool() as pool, session(submit, pool) as only:  # nothing is warm yet
        result = only.run()
    assert result.failure == ""
    assert {name: len(samples) for name, samples in result.samples.items()} == {"candidate": 3, "eager": 3}


def test_both_are_called_equally_often_but_for_the_last_call(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    call, called = Caller.call, list[int]()

    def note_and_call(self: Caller, worker: Worker, *positional: Any, **named: Any) -> Observation:
        called.append(worker.pid)
        return call(self, worker, *positional, **named)

    monkeypatch.setattr(Caller, "call", note_and_call)
    with WarmPool() as pool, session(submit, pool) as only:
        only.run()
    assert len(set(called)) == 2
    # Each has its first call, one to warm up, and three that count.
    assert [called[:-1].count(pid) for pid in set(called)] == [1 + 1 + 3] * 2


@pytest.mark.rotating
@pytest.mark.parametrize("unlucky", ["candidate", "eager"])
def test_a_start_that_fails_by_our_fault_leaves_no_worker_behind(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, unlucky: str
) -> None:
    start, closed = contestant.Contestant.open, []

    def start_or_fail(self: contestant.Contestant, *positional: Any, **named: Any) -> Worker:
        if self.name == unlucky:
            raise HarnessError("no memory for the arena")
        worker = start(self, *positional, **named)
        close = worker.close

        def note_and_close() -> None:
            closed.append(self.name)
            close()

        monkeypatch.setattr(worker, "close", note_and_close)
        return worker

    monkeypatch.setattr(contestant.Contestant, "open", start_or_fail)
    with WarmPool() as pool, session(submit, pool) as only, pytest.raises(HarnessError, match="no memory"):
        only.run()
    assert closed == [({"candidate", "eager"} - {unlucky}).pop()]


@pytest.mark.rotating
def test_workers_of_one_warm_process_have_addresses_of_their_own(submit: Submit) -> None:
    telling = "import torch\n\ndef rmsnorm(x, weight):\n    raise RuntimeError(torch.empty(50_000).data_ptr())\n"
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    case = Case(axes={"rows": 8, "cols": 16}, dtype="float32", seed=1)
    with WarmPool() as pool, closing(Arena(2 * case_footprint(task.spec, case))) as arena:
        side = contestant.build("candidate", submit(telling), task.spec, ["float32"], device, pool.scratch())

        def address(padding_bytes: int) -> int:
            worker = side.start(pool, arena, device, "float32", heap_bytes=1 << 20, padding_bytes=padding_bytes)
            try:
                inputs = make_inputs(task.spec, case)
                seen = Caller(task.spec, arena, timeout_s=20).call(worker, "value", case, inputs)
                return int(seen.message.rpartition(" ")[2])
            finally:
                worker.close()

        usual = address(0)
        moved = [address(padding_bytes) - usual for padding_bytes in (0, 100_000, 300_000)]
    # What reads the request takes some heap, too, and not always as much: 17 KB more or less were seen.
    assert moved == pytest.approx([0, 100_000, 300_000], abs=40_000)
