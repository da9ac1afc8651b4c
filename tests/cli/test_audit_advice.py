"""`kbench audit --llm`: what a model says stands beside the verdicts, and changes none of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest
import typer
from typer.testing import CliRunner, Result

from robust_kbench.agents.providers.protocol import ProviderError, Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.agents.reviewing import subjects
from robust_kbench.audit.examine import Examination
from robust_kbench.audit.peers import PEERS
from robust_kbench.audit.session import Unit
from robust_kbench.audit.tally import Outcome, Tally, Trial
from robust_kbench.audit.variants import Kind
from robust_kbench.cli.audit import audit
from robust_kbench.errors import UsageError
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

COUNT = len(subjects(load_task("norm/rmsnorm")))


def tally(kind: Kind, ratio: float) -> Tally:
    return Tally(f"some {kind}", kind, "Made up.", True, [Outcome(0, ratio, ratio <= 1.0, False, (True,) * len(PEERS))])


def examined(units: Sequence[Unit], *arguments: object, **options: object) -> Iterator[Examination]:
    """Everything is admitted but float16."""
    for task, dtype in units:
        case = Case(axes={"rows": 1, "cols": 1}, dtype=dtype, seed=1)
        tallies = (tally("honest", 0.5), tally("non-answer", 50.0), tally("mutant", 5.0))
        trial = Trial(task.spec.name, dtype, (case,), 1, tallies)
        yield Examination(trial, ("it is made up",) if dtype == "float16" else (), {})


def answers(text: str) -> Callable[[Request], str]:
    return lambda request: text


def fails(request: Request) -> str:
    raise ProviderError("\x1b[31mnobody is there")


def fails_for_good(request: Request) -> str:
    raise ProviderError("401", is_final=True)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`kbench audit ARGUMENTS`, with this script behind --llm."""

    def invoke(*arguments: str, script: Callable[[Request], str] = fails) -> Result:
        monkeypatch.setattr("robust_kbench.audit.session.examine_all", examined)
        opening = "robust_kbench.agents.providers.opening.open_provider"
        monkeypatch.setattr(opening, lambda text: ("model", Scripted(script)))
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(audit)
        return CliRunner().invoke(app, list(arguments))

    return invoke


@pytest.mark.parametrize(("dtype", "code"), [("float32", 0), ("float16", 1)], ids=["admitted", "refused"])
@pytest.mark.parametrize(
    ("script", "opinion"),
    [
        (answers("All of it is needed.\nFINAL REVIEW: efficient"), "efficient"),
        (answers("The mean is taken twice.\nFINAL REVIEW: inefficient"), "inefficient"),
        (answers("REFUSED\nexit code 1"), "unsure"),
        (fails, "no answer"),
        (fails_for_good, "no answer"),
    ],
    ids=["efficient", "inefficient", "garbage", "fails", "fails for good"],
)
def test_advice_comes_after_the_verdicts_and_changes_nothing(
    run: Callable[..., Result], script: Callable[[Request], str], opinion: str, dtype: str, code: int
) -> None:
    without = run("norm/rmsnorm", "--dtype", dtype)
    advised = run("norm/rmsnorm", "--dtype", dtype, "--llm", "scripted:model", script=script)
    assert (without.exit_code, advised.exit_code) == (code, code)
    assert advised.stdout.startswith(without.stdout)
    *lines, last = advised.stdout.removeprefix(without.stdout).splitlines()
    assert len(lines) == COUNT
    assert all(line.startswith("advice    norm/rmsnorm ") and f": {opinion}" in line for line in lines)
    assert last.startswith("advice of ")
    assert f"{COUNT} {opinion}" in last
    assert "\x1b" not in advised.stdout


def test_a_task_is_reviewed_once_however_many_dtypes_it_has(run: Callable[..., Result]) -> None:
    done = run("norm/rmsnorm", "--llm", "scripted:model", script=answers("FINAL REVIEW: efficient"))
    assert sum(line.startswith("advice    ") for line in done.stdout.splitlines()) == COUNT


def test_the_rules_stay_one_document_which_the_advice_ends(run: Callable[..., Result]) -> None:
    script = answers("<script>alert(1)</script>\nFINAL REVIEW: inefficient")
    without = run("norm/rmsnorm", "--dtype", "float32", "--rules")
    done = run("norm/rmsnorm", "--dtype", "float32", "--rules", "--llm", "scripted:model", script=script)
    assert (without.exit_code, done.exit_code) == (0, 0), done.exception
    added = done.stdout.removeprefix(without.stdout)
    assert added.startswith("\n## What a language model says\n")
    assert added.count("| `norm/rmsnorm` | ") == COUNT
    assert "| inefficient | `<script>alert(1)</script>` |" in added


def test_a_soak_has_nothing_to_ask(run: Callable[..., Result]) -> None:
    done = run("norm/rmsnorm", "--soak", "1", "--llm", "scripted:model")
    assert isinstance(done.exception, UsageError)
    assert "leave out --llm, or --soak" in str(done.exception)


def audited(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robust_kbench", "audit", "norm/rmsnorm", "--dtype", "float32", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_a_provider_that_does_not_exist_is_told_before_anything_is_audited() -> None:
    done = audited("--llm", "nobody:nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


@pytest.mark.slow
def test_the_whole_way_with_a_real_audit_and_a_provider_of_the_package() -> None:
    without, advised = audited(), audited("--llm", "improver")
    assert (without.returncode, advised.returncode) == (0, 0), advised.stderr
    assert advised.stdout.startswith(without.stdout)
    *lines, last = advised.stdout.removeprefix(without.stdout).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"advice    norm/rmsnorm {subject.name}" for subject in subjects(load_task("norm/rmsnorm"))
    ]
    assert last.startswith("advice of ")
    assert ": 0 efficient, 0 inefficient, " in last  # rules that change choices have no opinion
