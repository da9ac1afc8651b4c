"""Sweeps: every combination once, at equal budgets, despite failures of single runs, and resumed where they stopped."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_compiler
from made_runs import evolved, node, record

from robust_kbench.agents import evolution, starts, sweep
from robust_kbench.agents import preset as presets
from robust_kbench.agents.budget import Limits
from robust_kbench.agents.evolution import Evolved, Observe, RunFile
from robust_kbench.agents.summary import Summary
from robust_kbench.agents.sweep import Run, SweepFile
from robust_kbench.agents.tables import COLUMNS
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.schema.submission import Submission

SMALL: dict[str, Any] = {
    "agents": ("best-of-n", "stark"),
    "tasks": ("norm/rmsnorm", "activation/softmax"),
    "llms": ("improver",),
    "seeds": (1, 2),
    "evaluations": 3,
    "device": "cpu",
    "starts": "demo",
}


def asked(**changes: Any) -> SweepFile:
    return SweepFile.model_validate({**SMALL, **changes})


@dataclass
class World:
    """Stand-in for evolution, with runs that take no time. `broken` names the failure of a run, if it has one."""

    broken: Callable[[RunFile], Exception | str | None] = lambda file: None
    files: dict[Path, RunFile] = field(default_factory=dict)
    starts: dict[Path, Submission | None] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    concluded: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    code: Callable[[RunFile], str] = lambda file: "// found\n"
    unanswered: dict[Path, bool] = field(default_factory=dict)
    shared: set[Path] = field(default_factory=set)

    def begin(self, folder: Path, file: RunFile, start: Submission | None) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder}: already exists and is not empty")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / evolution.RUN).touch()
        self.files[folder], self.starts[folder] = file, start

    def read(self, folder: Path) -> RunFile:
        return self.files[folder]

    def search(self, folder: Path, *, observe: Observe, shared: Path) -> Evolved:
        self.searched.append(folder.name)
        self.shared.add(shared)
        problem = self.broken(self.files[folder])
        if isinstance(problem, Exception):
            raise problem
        self.unanswered[folder] = problem is not None
        return self.replayed(folder)

    def finalists(self, folder: Path) -> dict[str, Submission]:
        start = self.starts[folder]
        if start is None or self.unanswered[folder] or (folder / evolution.FINAL).exists():
            return {}
        best = start.model_copy(update={"sources": {**start.sources, start.entry_file: self.code(self.files[folder])}})
        return {evolution.BEST: best, evolution.START: start}

    def judge_finalist(self, folder: Path, name: str, *, shared: Path) -> None:
        self.shared.add(shared)
        assert not self.concluded
        self.judged.append(f"{self.files[folder].task} {name}")

    def conclude(self, folder: Path, *, shared: Path) -> Evolved:
        self.shared.add(shared)
        if not self.unanswered[folder]:
            self.concluded.append(folder.name)
            (folder / evolution.FINAL).touch()
        return self.replayed(folder)

    def replayed(self, folder: Path) -> Evolved:
        file = self.files[folder]
        best = 100 / (2.0 + file.seed)
        made = evolved(
            [node("g1.p0", speedup=2.0 + file.seed)], final=[record("best", best), record("start", 400.0)],
            limits=file.agent.limits,
        )  # fmt: skip
        if not (folder / evolution.FINAL).exists():
            made = replace(made, final=())
        if self.unanswered.get(folder, False):
            made.outcome.stop = "provider_error"
        return replace(made, file=file)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World()
    monkeypatch.chdir(tmp_path)  # where mailboxes come to be
    for name in ("begin", "read", "search", "finalists", "judge_finalist", "conclude", "replayed"):
        monkeypatch.setattr(evolution, name, getattr(made, name))
    return made


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "runs.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_combination_is_run_once_seed_after_seed(world: World, tmp_path: Path) -> None:
    swept = sweep.carry_out(asked(llms=("improver", "mailbox:box")), tmp_path)
    assert len(swept.summaries) == len(set(world.searched)) == 2 * 2 * 2 * 2
    assert world.concluded == world.searched
    assert world.shared == {tmp_path / "shared"}
    assert [run.seed for run in swept.summaries] == [1] * 8 + [2] * 8
    assert {(run.task, run.agent, run.llm, run.seed) for run in swept.summaries} == {
        (task, agent, (llm,), seed)
        for task in SMALL["tasks"]
        for agent in SMALL["agents"]
        for llm in ("improver", "mailbox:box")
        for seed in (1, 2)
    }


def test_all_have_the_same_budget_whatever_their_own_is(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(agents=tuple(presets.names()), tasks=("norm/rmsnorm",), seeds=(1,), evaluations=7), tmp_path)
    assert [file.agent.limits for file in world.files.values()] == [Limits(evaluations=7)] * len(presets.names())


def test_all_search_on_the_same_cases_whatever_their_seed(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(seeds=(1, 2), public_seed=5), tmp_path)
    assert {(file.seed, file.public_seed) for file in world.files.values()} == {(1, 5), (2, 5)}


def test_what_is_finished_is_not_done_again_and_gives_the_same_tables(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path)
    tables = [(tmp_path / name).read_bytes() for name in ("runs.csv", "README.md")]
    done = list(world.searched)
    again = sweep.carry_out(asked(), tmp_path)
    assert world.searched == done
    assert len(again.summaries) == 8
    assert [(tmp_path / name).read_bytes() for name in ("runs.csv", "README.md")] == tables


def test_nothing_is_judged_in_the_end_while_anybody_searches(world: World, tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    sweep.carry_out(
        asked(),
        tmp_path,
        searched=lambda run, what: told.append(("searched", what.final_status if isinstance(what, Summary) else "")),
        ended=lambda run, what: told.append(("ended", what.final_status if isinstance(what, Summary) else "")),
    )
    assert told == [("searched", "pending")] * 8 + [("ended", "passed")] * 8


def test_a_kernel_that_several_runs_have_found_is_judged_once_in_the_end(world: World, tmp_path: Path) -> None:
    """Starts come first. Each kernel has a process to itself, so no process waits for a judge of the same kernel."""
    world.code = lambda file: f"// found by seed {file.seed}\n"
    told: list[tuple[str, str, int, int]] = []
    sweep.carry_out(
        asked(), tmp_path, judged=lambda run, name, number, count: told.append((run.task, name, number, count))
    )
    starts_of = [(task, "start") for task in SMALL["tasks"]]
    assert [(task, name) for task, name, _, _ in told[:2]] == starts_of
    assert sorted((task, name) for task, name, _, _ in told[2:]) == sorted(
        (task, "best") for task in SMALL["tasks"] * 2
    )
    assert [(number, count) for _, _, number, count in told] == [(number, 6) for number in range(1, 7)]
    assert len(world.judged) == 6
    sweep.carry_out(asked(), tmp_path)
    assert len(world.judged) == 6


def test_a_finalist_that_cannot_be_judged_ends_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path, name: str, *, shared: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(evolution, "judge_finalist", broken)
    assert len(sweep.carry_out(asked(), tmp_path).summaries) == len(world.concluded) == 8


def test_what_was_interrupted_is_gone_on_with_and_not_begun_anew(world: World, tmp_path: Path) -> None:
    def interrupted(file: RunFile) -> Exception | None:
        if len(world.searched) == 3:
            raise KeyboardInterrupt
        return None

    world.broken = interrupted
    with pytest.raises(KeyboardInterrupt):
        sweep.carry_out(asked(), tmp_path)
    first = list(world.searched)
    assert len(rows(tmp_path)) == 2
    world.broken = lambda file: None
    begun = len(world.files)
    sweep.carry_out(asked(), tmp_path)
    assert world.searched[3:6] == first
    assert (begun, len(world.files)) == (3, 8)
    assert len(rows(tmp_path)) == 8


@pytest.mark.parametrize("error", [UsageError("no key"), ValueError("our own mistake"), OSError("disk full")])
def test_a_run_that_fails_is_told_and_ends_nothing(error: Exception, world: World, tmp_path: Path) -> None:
    world.broken = lambda file: error if file.agent.name == "stark" and file.seed == 1 else None
    told: list[tuple[Run, Summary | str]] = []
    swept = sweep.carry_out(asked(), tmp_path, searched=lambda run, what: told.append((run, what)))
    assert len(swept.summaries) == 6
    assert [(run.agent.name, run.seed) for run, _ in swept.failures] == [("stark", 1)] * 2
    assert [what for _, what in told if isinstance(what, str)] == [f"{type(error).__name__}: {error}"] * 2
    page = (tmp_path / "README.md").read_text()
    assert page.count(f"{type(error).__name__}: {error}") == 2
    assert "6 of 8 runs" in page


def test_a_run_that_nobody_answered_is_not_counted_and_tried_again(world: World, tmp_path: Path) -> None:
    world.broken = lambda file: "nobody" if file.agent.name == "stark" else None
    swept = sweep.carry_out(asked(), tmp_path)
    assert [run.is_over for run in swept.summaries].count(False) == 4
    assert "ended by provider_error" in (tmp_path / "README.md").read_text()
    world.broken = lambda file: None
    before = len(world.searched)
    assert all(run.is_over for run in sweep.carry_out(asked(), tmp_path).summaries)
    assert all("stark" in name for name in world.searched[before:])
    assert len(world.searched) == before + 4


def test_another_budget_does_not_mix_with_what_is_there(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path)
    swept = sweep.carry_out(asked(evaluations=4), tmp_path)
    assert len(swept.failures) == 8
    assert "was begun with another budget; choose another --out" in swept.failures[0][1]


def test_what_a_killed_sweep_left_before_there_was_a_run_is_cleared_and_nothing_else_is(
    world: World, tmp_path: Path
) -> None:
    half, foreign = (tmp_path / run.name for run in sweep.runs(asked())[:2])
    (half / "start").mkdir(parents=True)
    (half / "brief.json").touch()
    foreign.mkdir()
    (foreign / "precious").touch()
    swept = sweep.carry_out(asked(), tmp_path)
    assert len(swept.summaries) == 7
    assert "already exists" in swept.failures[0][1]
    assert (foreign / "precious").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": ("nobody",)}, "no agent 'nobody'"),
        ({"tasks": ("norm/rmsnrm",)}, "did you mean 'norm/rmsnorm'"),
        ({"llms": ("nothing:at-all",)}, "names no provider"),
        ({"agents": ("stark", "stark")}, "two runs of the sweep would have the folder"),
        ({"llms": ("mailbox:a/b", "mailbox:a-b")}, "two runs of the sweep would have the folder"),
        ({"tasks": ("matmul/linear",)}, "has no start in the package"),
        ({"starts": "/no/such/folder"}, "no such file or directory"),
    ],
    ids=["agent", "task", "model", "twice", "one folder", "start", "starts"],
)
def test_a_mistake_is_told_before_anything_has_begun(
    changes: dict[str, Any], message: str, world: World, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        sweep.carry_out(asked(**changes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folders_have_plain_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    (run,) = sweep.runs(asked(agents=("stark",), tasks=("norm/rmsnorm",), llms=("mailbox:../a b",), seeds=(3,)))
    assert run.name == "norm-rmsnorm__stark__mailbox-..-a-b__3"


def test_runs_from_the_reference_need_no_kernel(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(starts="reference"), tmp_path)
    assert set(world.starts.values()) == {None}
    assert {(file.from_reference, file.language) for file in world.files.values()} == {(True, "cpp")}


def test_starts_may_be_a_folder_of_submissions(world: World, tmp_path: Path) -> None:
    for name in ("rmsnorm", "other"):
        folder = tmp_path / "mine" / name
        folder.mkdir(parents=True)
        task = "norm/rmsnorm" if name == "rmsnorm" else "activation/softmax"
        (folder / "submission.yaml").write_text(f"task: {task}\nlanguage: python\nentry_point: kernel.py::f\n")
        (folder / "kernel.py").write_text("def f(): ...\n")
    sweep.carry_out(asked(starts=str(tmp_path / "mine")), tmp_path / "out")
    assert {(file.task, file.language) for file in world.files.values()} == {
        ("norm/rmsnorm", "python"), ("activation/softmax", "python"),
    }  # fmt: skip
    with pytest.raises(UsageError, match="has 0 submissions to matmul/matmul; one is needed"):
        sweep.carry_out(asked(tasks=("matmul/matmul",), starts=str(tmp_path / "mine")), tmp_path / "out2")


def test_a_part_of_a_sweep_can_be_named() -> None:
    part = sweep.narrowed(asked(), agents=["stark"], tasks=["norm/rmsnorm"], seeds=[2], evaluations=9)
    assert part == asked(agents=("stark",), tasks=("norm/rmsnorm",), seeds=(2,), evaluations=9)
    assert sweep.narrowed(asked()) == asked()
    with pytest.raises(UsageError, match="--agents: refine is not in the sweep; it has best-of-n, stark"):
        sweep.narrowed(asked(), agents=["refine"])
    with pytest.raises(UsageError, match="--seeds: 3 is not in the sweep"):
        sweep.narrowed(asked(), seeds=[3])


def test_the_demonstration_is_every_agent_on_every_start_without_a_model() -> None:
    file = sweep.read("demonstration")
    assert list(file.agents) == presets.names()
    assert sorted(file.tasks) == starts.demonstrations()
    assert (file.llms, file.seeds, file.evaluations, file.device) == (("improver",), (1, 2, 3), 45, "cpu")
    assert len(sweep.runs(file)) == 12 * 5 * 3


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        "agents: [stark, mine.yaml]\ntasks: [norm/rmsnorm]\nllms: [improver]\nseeds: [1]\n"
        "evaluations: 2\nstarts: kernels\n"
    )
    file = sweep.read(str(tmp_path / "sweep.yaml"))
    assert file.agents == ("stark", str(tmp_path / "mine.yaml"))
    assert file.starts == str(tmp_path / "kernels")


def test_a_file_that_is_wrong_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("agents: [stark]\ntask: [norm/rmsnorm]\n")
    with pytest.raises(SpecError, match=r"sweep.yaml: task: unknown key; did you mean 'tasks'"):
        sweep.read(str(tmp_path / "sweep.yaml"))
    with pytest.raises(UsageError, match="a sweep is a YAML file, or `demonstration`"):
        sweep.read(str(tmp_path / "nothing.yaml"))


def test_the_table_of_runs_has_a_row_for_each_with_intervals(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path)
    found = rows(tmp_path)
    assert tuple(found[0]) == COLUMNS
    assert [(row["task"], row["agent"], row["seed"]) for row in found] == sorted(
        (task, agent, seed) for task in SMALL["tasks"] for agent in SMALL["agents"] for seed in "12"
    )
    first = next(row for row in found if row["seed"] == "1")
    assert float(first["over_start"]) == pytest.approx(12.0, rel=1e-3)
    assert float(first["over_start_low"]) <= float(first["over_start"]) <= float(first["over_start_high"])
    assert (first["final_status"], first["hardware"], first["budget"]) == ("passed", "a processor", "evaluations 3")
    assert first["plan_rate"] == ""


@pytest.mark.rotating
def test_the_page_says_that_no_model_took_part_only_where_none_did(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path / "rules")
    assert "**No language model took part**" in (tmp_path / "rules" / "README.md").read_text()
    sweep.carry_out(asked(llms=("improver", "mailbox:box")), tmp_path / "models")
    assert "No language model took part" not in (tmp_path / "models" / "README.md").read_text()


def test_published_figures_stand_apart_from_ours(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path)
    ours, _, theirs = (tmp_path / "README.md").read_text().partition("## As published")
    assert "STARK (arXiv 2510.16996), main results" in theirs
    assert "| `stark` | `improver` |" in ours
    assert "| `stark` | `improver` |" not in theirs
    assert "A100" not in ours
    assert "funsearch" not in theirs


def test_the_best_of_a_task_is_the_one_whose_interval_begins_highest(world: World, tmp_path: Path) -> None:
    sweep.carry_out(asked(), tmp_path)
    section = (tmp_path / "README.md").read_text().partition("## The best of each task")[2].partition("##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    assert [line.split("|")[1].strip() for line in lines] == ["`activation/softmax`", "`norm/rmsnorm`"]
    assert all(line.split("|")[4].strip() == "2" for line in lines)


@pytest.mark.slow
@needs_compiler
def test_runs_side_by_side_share_their_verdicts_and_come_to_an_end(tmp_path: Path) -> None:
    file = asked(
        agents=("best-of-n", "evoengineer-free", "refine"), tasks=("index/transpose",), seeds=(1,), tier="quick"
    )
    swept = sweep.carry_out(file, tmp_path, jobs=2)
    assert swept.failures == ()
    assert [run.agent for run in swept.summaries] == ["best-of-n", "evoengineer-free", "refine"]
    assert all(run.is_over and run.evaluations == 3 for run in swept.summaries)
    archives = [evolution.replayed(tmp_path / run.name).outcome.archive for run in sweep.runs(file)]
    assert len({archive.root.judged for archive in archives}) == 1
    codes = {node.candidate.code for archive in archives for node in archive}
    best = [tmp_path / run.name / "best" / "kernel.cpp" for run in sweep.runs(file)]
    winners = {path.read_text() for path in best if path.exists()}  # in three steps one may find no faster kernel
    assert winners
    assert len(list((tmp_path / "shared").iterdir())) == len(codes) + len(winners) + 1
    again = sweep.carry_out(file, tmp_path, jobs=2)
    assert again == swept


@pytest.mark.slow
def test_a_process_that_is_killed_costs_its_run_and_the_next_command_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sweep, "_search", deadly)
    swept = sweep.carry_out(asked(tasks=("norm/rmsnorm",)), tmp_path, jobs=2)
    assert swept.summaries == ()
    assert len(swept.failures) == 4
    assert all(words.endswith("the same command goes on") for _, words in swept.failures)


def deadly(order: Any, observe: Observe) -> Summary:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_each_run_is_observed_by_its_own_observer(world: World, tmp_path: Path) -> None:
    seen: list[str] = []

    def begun(run: Run) -> Observe:
        seen.append(str(run))
        return lambda node, budget: None

    sweep.carry_out(asked(tasks=("norm/rmsnorm",), seeds=(1,)), tmp_path, begun=begun)
    expected: Sequence[str] = ("best-of-n", "stark")
    assert [text.split("  ")[1] for text in seen] == list(expected)
    assert all("no language model" in text for text in seen)
