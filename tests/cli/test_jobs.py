"""Several evaluations: the bar that they draw on a terminal, and their shares of the machine."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_kbench import devices, evaluate, side_by_side, store
from robust_kbench.building import Building
from robust_kbench.cli import jobs
from robust_kbench.cli.bars import bar
from robust_kbench.cli.collect import Job, collect
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, nvml
from robust_kbench.errors import BuildError
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.built import Built
from robust_kbench.machine_shares import Share
from robust_kbench.schema.record import CANDIDATE, Status, Tier
from robust_kbench.schema.submission import Submission

ROOT = Path(__file__).parents[2]
SHARES = [Share((0, 1), "GPU-a"), Share((2, 3), "GPU-b")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_name_of_a_submission_is_no_markup_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", terminal)
    with bar("1/1 [/b][link=http://example.org]mine") as listener:
        listener("cases", 1, 2)
    assert "[/b][link=http://example.org]mine  cases" in terminal.getvalue()
    assert "\x1b]8;" not in terminal.getvalue()


def _evaluate(
    monkeypatch: pytest.MonkeyPatch, device: str, results: Sequence[object], opened: Device | None = None
) -> tuple[list[Any], list[Share]]:
    """Run as many evaluations as `results`, three at once, on two GPUs; return the outcomes and the shares given."""
    found, _ = collect([ROOT / "baselines/norm/rmsnorm"], None)
    todo = found[: len(results)]
    given: list[Share] = []

    def each(
        prepare: object, work: object, items: Sequence[Job], *, jobs: int, shares: Sequence[Share], begin: object
    ) -> Iterator[tuple[Job, object]]:
        assert jobs == 3
        given.extend(shares)
        yield from zip(items, results, strict=True)

    monkeypatch.setattr(jobs, "open_device", lambda _: opened or SimpleNamespace(kind=device))
    monkeypatch.setattr(side_by_side, "shares_of", lambda *_: SHARES)
    monkeypatch.setattr(side_by_side, "each_prepared", each)
    told = [result for _, result in jobs.run(todo, device, "full", None, None, 3, WarmPool())]
    return told, given


def test_on_several_gpus_evaluations_have_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _evaluate(monkeypatch, "cuda", ["one", "two"]) == (["one", "two"], SHARES)


def test_on_a_processor_they_take_turns_at_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _evaluate(monkeypatch, "cpu", ["one", "two"]) == (["one", "two"], [])


@pytest.mark.parametrize(
    ("tier", "shares", "cores", "others", "are_built"),
    [
        ("quick", SHARES, 16, "sm_90", True),
        ("full", SHARES, 16, "sm_90", False),
        ("quick", [], 16, "sm_90", False),
        ("quick", SHARES, 4, "sm_90", False),
        ("quick", SHARES, 16, "sm_80", False),  # what is built for one generation does not run on another
    ],
)
def test_at_quick_on_several_gpus_the_next_ones_are_built_while_others_are_judged(
    monkeypatch: pytest.MonkeyPatch, tier: Tier, shares: list[Share], cores: int, others: str, are_built: bool
) -> None:
    """A build can be pickled, to reach another process. That process builds a submission whose build failed here."""
    found, _ = collect([ROOT / "baselines/norm/rmsnorm"], None)
    todo = found[:2]

    def build(self: Building, submission: Submission) -> Contestant:
        if submission is todo[1].submission:
            raise BuildError("no", "log")
        built = Built(Path("of.so"), "rmsnorm", "torch")
        return Contestant(CANDIDATE, submission, {"float32": built})

    def each(
        prepare: Callable[[Job], Any], work: Callable[[Any], Any], items: Sequence[Job], **_: object
    ) -> Iterator[tuple[Job, Any]]:
        yield from ((item, work(pickle.loads(pickle.dumps(prepare(item))))) for item in items)

    class Evaluator:
        building = Building(SimpleNamespace(kind="cuda"), WarmPool())  # type: ignore[arg-type]

        def evaluate(self, submission: Submission, **_: object) -> str:
            taken = self.building.take(submission)
            return taken.result().built["float32"].symbol if taken else "nothing"

    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(nvml, "architecture_of", lambda gpu: "sm_90" if gpu == "GPU-a" else others)
    monkeypatch.setattr(Building, "build", build)
    monkeypatch.setattr(jobs, "open_device", lambda _: SimpleNamespace(kind="cuda"))
    monkeypatch.setattr(jobs, "_EVALUATORS", [Evaluator()])
    monkeypatch.setattr(side_by_side, "shares_of", lambda *_: shares)
    monkeypatch.setattr(side_by_side, "each_prepared", each)
    told: list[Any] = [result for _, result in jobs.run(todo, "cuda", tier, None, None, 3, WarmPool())]
    assert told == ["rmsnorm" if are_built else "nothing", "nothing"]


def test_who_hands_submissions_to_others_waits_for_no_torch() -> None:
    told = "import sys, robust_kbench.cli.jobs; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, check=True).stdout == b"False\n"


def test_each_process_has_another_one_warm_up_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = collect([ROOT / "baselines/norm/rmsnorm/triton_tile"], None)
    warmed: list[tuple[str, bool]] = []
    given: list[object] = []

    class Evaluator:
        def __init__(self, device: str, pool: WarmPool) -> None:
            given.append(pool)

        def evaluate(self, *_: object, **__: object) -> str:
            return "judged"

        def close(self) -> None: ...

    def each(
        prepare: Callable[[Job], Any], work: Callable[[Any], Any], items: Sequence[Job], *, begin: Any, **_: object
    ) -> Iterator[tuple[Job, Any]]:
        pickle.loads(pickle.dumps(begin))()
        assert len(jobs._POOLS) == 1
        yield from ((item, work(prepare(item))) for item in items)

    monkeypatch.setattr(WarmPool, "warm_up", lambda self, flavour, gpu: warmed.append((flavour, gpu)))
    monkeypatch.setattr(evaluate, "Evaluator", Evaluator)
    monkeypatch.setattr(jobs, "open_device", lambda _: SimpleNamespace(kind="cuda"))
    monkeypatch.setattr(jobs, "_EVALUATORS", [])
    monkeypatch.setattr(jobs, "_POOLS", [])
    monkeypatch.setattr(side_by_side, "shares_of", lambda *_: SHARES)
    monkeypatch.setattr(side_by_side, "each_prepared", each)
    told: list[Any] = [result for _, result in jobs.run([*found, *found], "cuda", "full", None, None, 2, WarmPool())]
    assert told == ["judged", "judged"]
    assert warmed == [("torch", True)]
    assert len(given) == 1
    assert jobs._POOLS == []


def test_a_judge_that_was_killed_costs_its_own_submission_a_failure_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    told, _ = _evaluate(monkeypatch, "cpu", ["one", None, "three"], devices.open_device("cpu"))
    assert (told[0], told[2]) == ("one", "three")
    record = told[1]
    assert (record.status, record.task, record.tier) == (Status.HARNESS_ERROR, "norm/rmsnorm", "full")
    assert record.reason == "HarnessError: the process that judged it was killed; is the machine out of memory?"
    assert record.environment["device"]
    assert store.parse_line(store.to_line(record).strip(), "here") == record


def test_a_wrong_file_stays_one_where_its_judge_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = collect([ROOT / "baselines/norm/rmsnorm"], None)
    file = found[0].submission.file.model_copy(update={"task": "norm/none"})
    wrong = replace(found[0], submission=found[0].submission.model_copy(update={"file": file}))
    told = jobs._killed(wrong, devices.open_device("cpu"), WarmPool(), "full", 3, None)
    assert isinstance(told, str)
    assert told.startswith(f"{wrong.path}: no task 'norm/none'")
