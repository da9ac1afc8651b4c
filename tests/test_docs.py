"""The documents are true: their commands run, their Python runs, and what they list is complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest
from conftest import needs_compiler
from rotation import due_among

from robust_kbench.agents import preset as presets
from robust_kbench.agents import run
from robust_kbench.agents.archive import Judged
from robust_kbench.agents.context import Brief
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Setting, started
from robust_kbench.agents.preset import Answer, SectionName
from robust_kbench.agents.providers.protocol import Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.agents.selectors import AnySelector
from robust_kbench.emulator.report import KINDS
from robust_kbench.leaderboard.rows import COLUMNS
from robust_kbench.pytest_plugin import changed_paths
from robust_kbench.schema.documents import parse, read_yaml
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import SubmissionFile
from robust_kbench.schema.task import Task

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


_SHORT = [page for page in PAGES if page.name not in {"agents.md", "guide.md", "profile.md"}]  # those take minutes
_DUE = due_among(map(str, _SHORT)) | set(map(str, changed_paths(ROOT).intersection(_SHORT)))
_COMMANDS = [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (str(page) not in _DUE)) for page in PAGES]


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize("page", _COMMANDS)
def test_every_command_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "console"):
        for command, shown in re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, re.MULTILINE):
            done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True)
            if shown.strip():
                assert _shape(done.stdout) == _shape(shown), done.stderr
            else:
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    for block in blocks(page, "python"):
        command = [sys.executable, "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def _shape(printed: str) -> list[str]:
    """The lines without what differs from run to run: numbers, processor, load, nearest case, the faster of two."""
    drawn = ("  warning   load", "  values ")  # a few of a task's distributions may be missing in a short suite
    lines = [line for line in printed.splitlines() if line.strip() and not line.startswith(drawn)]
    lines = [re.sub(r"( at ).*", r"\1", line) for line in lines]
    lines = [re.sub(r"\b(faster|same|slower|ambiguous)\b|   \d+% of the floor's speed", "", line) for line in lines]
    lines = [re.sub(r"   multiplied by [\d.]+, as a few calls take far longer", "", line) for line in lines]
    lines = [re.sub(r"(x(?: \[[^\]]*\])?) (eager|reference)\b", r"\1 plain PyTorch", line) for line in lines]
    lines = [re.sub(r"   \([\d.,]+x plain PyTorch\)", "", line) for line in lines]  # one of them may have been left out
    lines = [re.sub(r"(  on        ).*( \(cpu)", r"\1\2", line) for line in lines]
    return [re.sub(r"\s+", " ", re.sub(r"[\d.,]+", "#", line)) for line in lines]


def test_the_readmes_set_up_commands_are_targets_of_the_makefile() -> None:
    (block, *_) = blocks(ROOT / "README.md", "sh")
    makefile = (ROOT / "Makefile").read_text()
    for command in block.split("\n"):
        if command:
            assert f"\n{command.removeprefix('make ')}:" in makefile


def test_the_leaderboards_columns_are_documented_in_order() -> None:
    text = (ROOT / "docs/formats.md").read_text()
    section = text.partition("<!-- columns -->")[2].partition("<!-- end of columns -->")[0]
    assert tuple(re.findall(r"`(\w+)`", section)) == COLUMNS


@pytest.mark.parametrize("model", [Task, SubmissionFile], ids=["task", "submission"])
def test_every_key_is_documented(model: type[Task] | type[SubmissionFile]) -> None:
    text = (ROOT / "docs/formats.md").read_text()
    missing = [key for key in model.model_fields if f"`{key}`" not in text]
    assert missing == []


def test_every_status_is_documented() -> None:
    text = (ROOT / "docs/formats.md").read_text()
    assert [status.value for status in Status if f"`{status.value}`" not in text] == []


def test_links_between_the_documents_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_documents_speak_of_every_command() -> None:
    done = subprocess.run([sys.executable, "-m", "robust_kbench", "--help"], capture_output=True, text=True, check=True)
    verbs = re.findall(r"^  ([a-z]+)  ", done.stdout.partition("Commands")[2], re.MULTILINE)
    text = "".join(page.read_text() for page in PAGES)
    assert verbs
    assert [verb for verb in verbs if f"kbench {verb}" not in text] == []


def test_every_kind_of_defect_is_documented_with_its_meaning() -> None:
    text = (ROOT / "docs/emulator.md").read_text()
    section = text.partition("<!-- kinds -->")[2].partition("<!-- end of kinds -->")[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)) == KINDS


AGENTS = ROOT / "docs/agents.md"


def test_every_agent_is_documented_with_its_source_and_what_it_does_otherwise() -> None:
    section = AGENTS.read_text().partition("<!-- presets -->")[2].partition("<!-- end of presets -->")[0]
    agents = [presets.load(name) for name in presets.names()]
    assert re.findall(r"^\| `([\w-]+)` \| (.*) \| (.*) \| (\d+) \|$", section, re.MULTILINE) == [
        (each.name, each.summary, each.source, str(each.limits.evaluations)) for each in agents
    ]
    assert re.findall(r"^- `([\w-]+)`: (.*)$", section, re.MULTILINE) == [
        (each.name, "; ".join(each.differs) or "nothing noted") for each in agents
    ]


def _marked(mark: str) -> str:
    """The YAML below a mark of the agents' page."""
    (block,) = re.findall(rf"^<!-- {mark} -->\n\n```yaml\n(.*?)^```", AGENTS.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_agent_of_ones_own_is_one_and_spends_its_budget(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(_marked("example"))
    preset = presets.load(str(file))
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return f"name: {len(asked)}\n```cpp\nint answer = {len(asked)};\n```"

    def verdicts(named: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Judged]]:
        for name, code in named:
            is_right = code != "int answer = 2;"
            yield name, Judged("time", True, 2.0, 1.9, 2.1, 5.0) if is_right else Judged("correct", log="it is 2")

    root = started("int answer = 0;", Judged("time", True, 1.0, 0.9, 1.1, 10.0), is_reference=False)
    setting = Setting(preset, Brief("Answer.", "A machine.", "cpp"), root, "cpp", ("model",), 1)
    with Journal(tmp_path / JOURNAL) as journal:
        outcome, budget = run.search(setting, journal, {"model": Scripted(script)}, verdicts)
    assert (outcome.stop, budget.spent.evaluations) == ("budget", 12)
    assert {(each.role, each.temperature) for each in asked} >= {("think", 0.9), ("code", 0.4)}
    thinking = [each.messages[0].text for each in asked if each.role == "think"]
    titles = ["Task", "Hardware", "Selected kernel", "Among the fastest 1"]
    assert all(re.findall(r"^## (.+)$", text, re.MULTILINE)[:4] == titles for text in thinking)


def test_every_part_that_an_agent_is_made_of_is_documented() -> None:
    text = AGENTS.read_text()
    (selectors, *_) = get_args(AnySelector)
    kinds = [get_args(each.model_fields["kind"].annotation)[0] for each in get_args(selectors)]
    assert "tree" in kinds
    words = [*get_args(SectionName), *get_args(Answer), *kinds]
    assert [word for word in words if f"`{word}`" not in text] == []


def test_the_sweep_of_the_agents_page_is_one() -> None:
    from robust_kbench.agents.sweep import SweepFile

    parse(SweepFile, read_yaml(_marked("sweep"), "docs/agents.md"), "docs/agents.md")
