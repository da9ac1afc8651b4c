"""Commands `kbench evolve` and `kbench sweep` as a user meets them: requests, printed text and exit codes."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from made_runs import NASTY, evolved, node, record, root
from typer.testing import CliRunner, Result

from robust_kbench.agents import evolution, starts
from robust_kbench.agents import preset as presets
from robust_kbench.agents.budget import Budget, Limits, Spent
from robust_kbench.agents.evolution import Evolved, RunFile
from robust_kbench.cli.evolve import USUAL_AGENT, app, live, progress_in_words
from robust_kbench.cli.sweep import sweep
from robust_kbench.errors import KBenchError, UsageError
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import Submission

STORABLE = NASTY.replace("\ud800", "")
GOOD = [record("best", 25.0), record("start", 200.0)]


@dataclass
class Asked:
    """Stand-in for evolution: it notes the requests of the command line, and returns `result`."""

    result: Evolved
    files: dict[Path, RunFile] = field(default_factory=dict)
    starts: list[Submission | None] = field(default_factory=list)
    prices: list[Path | None] = field(default_factory=list)
    tiers: list[str | None] = field(default_factory=list)
    carried_out: list[Path] = field(default_factory=list)

    def begin(self, folder: Path, file: RunFile, start: Submission | None, *, price_file: Path | None = None) -> None:
        folder.mkdir(parents=True)
        self.files[folder] = file
        self.starts.append(start)
        self.prices.append(price_file)

    def read(self, folder: Path) -> RunFile:
        if folder not in self.files:
            raise UsageError(f"{folder}: holds no run")
        return self.files[folder]

    def carry_out(self, folder: Path, *, observe: Any, tier: str | None) -> Evolved:
        self.carried_out.append(folder)
        self.tiers.append(tier)
        for each in self.result.outcome.archive:
            observe(each, self.result.budget)
        return replace(self.result, file=self.files[folder])

    def replayed(self, folder: Path) -> Evolved:
        return self.result

    @property
    def file(self) -> RunFile:
        (file,) = self.files.values()
        return file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    made = Asked(evolved([node("g1.p0", speedup=4.0), node("g1.p1", speedup=0, stage="compile")], final=GOOD))
    for name in ("begin", "read", "carry_out", "replayed"):
        monkeypatch.setattr(evolution, name, getattr(made, name))
    monkeypatch.chdir(tmp_path)
    return made


def evolve(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def begun(*arguments: str | Path) -> Result:
    """Call `kbench evolve` with every argument that a run needs."""
    return evolve("norm/rmsnorm", "--llm", "improver", "--device", "cpu", *arguments)


def error_of(result: Result) -> str:
    assert isinstance(result.exception, KBenchError), result.output
    return str(result.exception)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_shows_every_command_and_the_options_of_a_run(arguments: list[str]) -> None:
    names = {"help_option_names": ["-h", "--help"]}
    outer = typer.Typer(context_settings=names, rich_markup_mode=None)
    outer.add_typer(app, name="evolve")
    result = CliRunner().invoke(outer, ["evolve", *arguments])
    assert result.exit_code == 0, result.output
    for word in ("show", "list", "--resume", "--agent", "--llm", "--budget", "--start", "--seed", "TASK"):
        assert word in result.output


def test_a_word_that_is_no_command_is_a_task(asked: Asked) -> None:
    assert begun().exit_code == 0
    assert evolve("run", "norm/rmsnorm", "--llm", "improver", "--device", "cpu", "--out", "other").exit_code == 0
    assert [file.task for file in asked.files.values()] == ["norm/rmsnorm"] * 2


def test_rules_that_find_nothing_to_change_are_announced(asked: Asked) -> None:
    assert "warning: improver changes constants" in begun().stderr
    assert "warning: improver changes constants" in begun("--start", "reference", "--out", "other").stderr
    assert "warning" not in begun("--start", "demo", "--out", "third").stderr
    assert len(asked.files) == 3


def test_options_may_come_before_the_task(asked: Asked) -> None:
    assert evolve("--llm", "improver", "--device", "cpu", "norm/rmsnorm").exit_code == 0
    assert asked.file.task == "norm/rmsnorm"


def test_a_run_has_sensible_defaults(asked: Asked) -> None:
    result = begun()
    assert result.exit_code == 0, result.output
    file = asked.file
    assert file.agent == presets.load(USUAL_AGENT)
    assert (file.llm, file.device, file.language, file.tier, file.jobs) == (("improver",), "cpu", "cpp", "full", 1)
    assert not file.from_reference
    (folder,) = asked.files
    pattern = rf"runs/norm__rmsnorm/{USUAL_AGENT}-\d{{8}}T\d{{6}}Z-{file.seed}"
    assert re.fullmatch(pattern, str(folder))
    assert f"seed {file.seed}" in result.stderr
    (start,) = asked.starts
    assert start is not None
    assert start.file.language == "cpp"


def test_seeds_are_drawn_unless_they_are_given(asked: Asked) -> None:
    begun("--out", "first")
    begun("--out", "second")
    begun("--out", "third", "--seed", "7")
    seeds = [file.seed for file in asked.files.values()]
    assert seeds[0] != seeds[1]
    assert seeds[2] == 7


def test_every_option_reaches_the_run(asked: Asked, tmp_path: Path) -> None:
    result = begun(
        "--agent", "stark", "--llm", f"mailbox:{tmp_path}/box", "--budget", "evals=9,usd=2", "--jobs", "2", "--tier",
        "quick", "--out", tmp_path / "mine", "--prices", "prices.yaml", "--start", "demo",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    file = asked.file
    assert file.agent.name == "stark"
    assert file.agent.limits == Limits(evaluations=9, usd=2.0)
    assert file.llm == ("improver", f"mailbox:{tmp_path}/box")
    assert (file.jobs, file.tier) == (2, "quick")
    assert list(asked.files) == [tmp_path / "mine"]
    assert asked.prices == [Path("prices.yaml")]
    assert asked.starts == [starts.demonstration("norm/rmsnorm")]


@pytest.mark.parametrize("agent", ["robust-kbench", "ai-cuda-engineer"])
def test_agents_that_translate_begin_with_the_reference(agent: str, asked: Asked) -> None:
    begun("--agent", agent)
    assert asked.starts == [None]
    assert asked.file.from_reference
    begun("--agent", agent, "--start", "demo", "--out", "other")
    assert asked.starts[1] is not None


def test_any_agent_may_begin_with_the_reference(asked: Asked) -> None:
    begun("--start", "reference", "--language", "python")
    assert (asked.starts, asked.file.language, asked.file.from_reference) == ([None], "python", True)


def test_a_start_of_ones_own_says_which_language(asked: Asked) -> None:
    mine = Path("mine")
    mine.mkdir()
    (mine / "submission.yaml").write_text("task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::f\n")
    (mine / "kernel.py").write_text("def f(): ...\n")
    assert begun("--start", "mine").exit_code == 0
    assert asked.file.language == "python"
    assert "--language cpp: the start is a python kernel" in error_of(begun("--start", "mine", "-l", "cpp"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["norm/rmsnorm"], "--llm is missing: who answers? There are openai:MODEL"),
        (["--llm", "improver"], "which task? `kbench tasks` lists them"),
        (["norm/rmsnrm", "--llm", "improver"], "did you mean 'norm/rmsnorm'?"),
        (["norm/rmsnorm", "--llm", "nobody:x"], "names no provider; there are"),
        (["norm/rmsnorm", "--llm", "improver", "--agent", "starck"], "no agent 'starck'; there are"),
        (["norm/rmsnorm", "--llm", "improver", "--budget", "hours=3"], "--budget: 'hours' is no limit"),
        (["norm/rmsnorm", "--llm", "improver", "--budget", "evals=0"], "--budget: evaluations: "),
        (["norm/rmsnorm", "--llm", "improver", "-l", "rust"], "--language rust: unknown; use python, triton"),
        (["norm/rmsnorm", "--llm", "improver", "--start", "/no/such"], "/no/such: no such file or directory"),
        (["matmul/linear", "--llm", "improver", "--start", "demo"], "matmul/linear has no start in the package"),
        (["--resume", "run", "--seed", "3", "--agent", "stark"], "leave out --agent, --seed"),
        (["norm/rmsnorm", "--resume", "run"], "leave out TASK"),
        (["--resume", "nothing"], "nothing: holds no run"),
    ],
    ids=[
        "model", "no task", "task", "provider", "agent", "budget", "no evaluations", "language", "start", "demo",
        "resume with options", "resume with a task", "resume nothing",
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_before_anything_has_begun(arguments: list[str], message: str, asked: Asked) -> None:
    assert message in error_of(evolve(*arguments, *([] if "--resume" in arguments else ["--device", "cpu"])))
    assert not asked.files
    assert not asked.carried_out


def test_a_run_is_gone_on_with(asked: Asked) -> None:
    begun("--out", "mine")
    result = evolve("--resume", "mine", "--tier", "quick")
    assert result.exit_code == 0, result.output
    assert asked.carried_out == [Path("mine")] * 2
    assert asked.tiers == [None, "quick"]


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        (evolved([node("a", speedup=4.0)], final=GOOD), 0, "passed: 4.00x"),
        (evolved([node("a", speedup=4.0)], final=[record("best", 25.0, status=Status.INCORRECT)]), 1, "incorrect"),
        (evolved([node("a", speedup=0)]), 1, "nothing was better than the start"),
        (evolved([node("a", speedup=0)], stop="provider_error"), 1, "nobody answered any more"),
        (
            evolved([node("a", speedup=4.0)], final=[record("best", 25.0, status=Status.HARNESS_ERROR)]),
            1,
            "harness_error",
        ),
    ],
    ids=["passed", "incorrect", "nothing", "no answers", "our own error"],
)
def test_the_exit_code_is_that_of_the_final_judging(result: Evolved, code: int, words: str, asked: Asked) -> None:
    asked.result = result
    done = begun()
    assert done.exit_code == code, done.output
    assert words in done.stdout


def test_results_stand_on_stdout_with_figures_page_and_kernel(asked: Asked) -> None:
    result = begun("--out", "mine")
    for line in (
        "  final     passed: 4.00x",
        "  gap       1.000",
        "  kernel    mine/best",
        "  page      mine/index.html",
    ):
        assert line in result.stdout
    assert "improver (rules, no language model)" in result.stdout
    assert json.loads(Path("mine/summary.json").read_text())["final_status"] == "passed"
    assert "<!DOCTYPE html>" in Path("mine/index.html").read_text()


def test_json_is_one_line_and_nothing_else(asked: Asked) -> None:
    asked.result = evolved([node("a", speedup=4.0)], final=[record("best", 25.0, environment={"device": STORABLE})])
    result = begun("--json")
    (line,) = result.stdout.splitlines()
    assert line.isascii()
    assert json.loads(line)["hardware"] == STORABLE


def test_what_others_wrote_steers_no_terminal(asked: Asked) -> None:
    final = [record("best", 25.0, environment={"device": STORABLE})]
    made = [node("a", name=NASTY, speedup=4.0), node("b", speedup=0, stage=NASTY, name=NASTY)]
    asked.result = evolved(made, final=final, start=root(name=NASTY))
    for result in (begun("--out", "mine"), evolve("show", "mine")):
        assert result.exit_code == 0
        assert all(line.isprintable() for line in result.stdout.split("\n"))


def test_show_prints_figures_and_the_tree(asked: Asked) -> None:
    result = evolve("show", "mine")
    assert result.exit_code == 0
    assert "passed: 4.00x" in result.stdout
    assert "├─ g1.p0  init  4.00x [3.60, 4.40]  <- best" in result.stdout
    assert "└─ g1.p1  init  failed at compile" in result.stdout
    assert not Path("mine").exists()  # who only looks, writes nothing


def test_show_works_for_a_run_that_is_going_on(asked: Asked) -> None:
    asked.result = evolved([node("a", speedup=4.0)], stop="unfinished")
    result = evolve("show", "mine")
    assert result.exit_code == 0
    assert "final     not judged yet" in result.stdout
    assert "kbench evolve --resume mine" in result.stdout


def test_show_writes_the_page_when_it_is_told_to(asked: Asked) -> None:
    Path("mine").mkdir()
    assert evolve("show", "mine", "--html").stdout == "wrote mine/index.html\n"
    assert sorted(path.name for path in Path("mine").iterdir()) == ["index.html", "summary.json"]


def test_list_names_every_agent_provider_and_start() -> None:
    result = evolve("list")
    assert result.exit_code == 0, result.output
    for name in (*presets.names(), "openai:MODEL", "improver", *starts.demonstrations()):
        assert name in result.stdout


def test_progress_says_what_is_best_what_was_spent_and_where_candidates_failed() -> None:
    budget = Budget(Limits(evaluations=45), Spent(9, 12, 8000, 4345, 0.123))
    words = progress_in_words(2.346, Counter({"correct": 5, "compile": 3}), budget)
    assert words == "best 2.35x  12 calls, 12,345 tokens, $0.12  failed at compile 3, correct 5"
    unknown = Budget(Limits(evaluations=9), Spent(9, 12, 1, 1, None))
    assert progress_in_words(0.0, Counter(), unknown) == "no kernel yet  12 calls, 2 tokens  judging on hidden cases"


def test_no_progress_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with live("title", Limits(evaluations=3)) as observe:
        observe(node("a"), Budget(Limits(evaluations=3), Spent()))
    out, err = capsys.readouterr()
    assert out == err == ""


def test_progress_on_a_terminal_is_inert_and_draws_only_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with live("\x1b]0;mine\x07[bold]", Limits(evaluations=3)) as observe:
        before = terminal.tell()
        time.sleep(0.3)
        assert terminal.tell() == before
        observe(node("a", speedup=2.0), Budget(Limits(evaluations=3), Spent(1, 1, 5, 5, 0.0)))
        assert terminal.tell() > before
    text = terminal.getvalue()
    assert "]0;mine" in text
    assert "\x1b]0;" not in text
    assert "[bold]" in text
    assert "best 2.00x" in text


def swept(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> tuple[Result, list[Path]]:
    """Call `kbench sweep` with runs that take no time; the runs of stark come to nothing."""
    folders: list[Path] = []
    files: dict[Path, RunFile] = {}

    def begin(folder: Path, file: RunFile, start: Submission | None) -> None:
        folder.mkdir(parents=True)
        folders.append(folder)
        files[folder] = file

    def search(folder: Path, *, observe: Any, shared: Path) -> Evolved:
        if files[folder].agent.name == "stark":
            raise UsageError("\x1b[31mno key")
        return replace(conclude(folder, shared=shared), final=())

    def conclude(folder: Path, *, shared: Path) -> Evolved:
        made = evolved([node("g1.p0", speedup=4.0)], final=GOOD, limits=files[folder].agent.limits)
        return replace(made, file=files[folder])

    monkeypatch.setattr(evolution, "begin", begin)
    monkeypatch.setattr(evolution, "search", search)
    monkeypatch.setattr(evolution, "finalists", lambda folder: {"start": starts.demonstration("norm/rmsnorm")})
    monkeypatch.setattr(evolution, "judge_finalist", lambda folder, name, *, shared: None)
    monkeypatch.setattr(evolution, "conclude", conclude)
    outer = typer.Typer(rich_markup_mode=None)
    outer.command()(sweep)
    return CliRunner().invoke(outer, [str(argument) for argument in arguments]), folders


SMALL: Sequence[str] = ("--tasks", "norm/rmsnorm", "--seeds", "1,3", "--evaluations", "5")


def test_a_part_of_the_demonstration_is_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, folders = swept(
        monkeypatch, "demonstration", "--out", tmp_path, "--agents", "refine,best-of-n", *SMALL
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert sorted(folder.name for folder in folders) == [
        f"norm-rmsnorm__{agent}__improver__{seed}" for agent in ("best-of-n", "refine") for seed in (1, 3)
    ]
    assert result.stdout.count("| `improver` | 2 (1 tasks, 2 seeds) |") == 2
    assert f"wrote {tmp_path / 'runs.csv'}" in result.stdout
    told = [line.partition("  norm/rmsnorm")[0] for line in result.stderr.splitlines()]
    assert told == [
        *(f"searched {number}/4" for number in range(1, 5)),
        "judged 1/1",
        *(f"ended {number}/4" for number in range(1, 5)),
    ]


def test_a_sweep_with_a_failed_run_says_so_and_ends_with_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, _ = swept(monkeypatch, "demonstration", "-o", tmp_path, "--agents", "refine", "--agents", "stark", *SMALL)
    assert result.exit_code == 1
    assert result.stderr.count("failed: UsageError: \ufffd[31mno key") == 2
    assert "\x1b" not in result.output
    assert "refine" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.yaml"], "a sweep is a YAML file, or `demonstration`"),
        (["demonstration", "--agents", "mine"], "--agents: mine is not in the sweep; it has ai-cuda-engineer"),
        (["demonstration", "--seeds", "one"], "--seeds: 'one' is no number"),
        (["demonstration", "--seeds", "9"], "--seeds: 9 is not in the sweep; it has 1, 2, 3"),
    ],
    ids=["file", "agent", "no number", "seed"],
)
def test_a_wrong_sweep_is_refused(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, folders = swept(monkeypatch, *arguments, "--out", tmp_path / "out")
    assert message in error_of(result)
    assert not folders
    assert not (tmp_path / "out").exists()
