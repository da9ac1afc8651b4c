"""The documents are true: their commands run, their Python runs, and what they list is complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needs_compiler

from robust_kbench.emulator.report import KINDS
from robust_kbench.leaderboard.rows import COLUMNS
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import SubmissionFile
from robust_kbench.schema.task import Task

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@needs_compiler
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
    """The lines without what differs from run to run: numbers, the case that came closest, processor, load, luck."""
    drawn = ("  warning   load", "  values ")  # a few of a task's distributions may be missing in a short suite
    lines = [line for line in printed.splitlines() if line.strip() and not line.startswith(drawn)]
    lines = [re.sub(r"( at ).*", r"\1", line) for line in lines]
    lines = [re.sub(r"\b(faster|same|slower|ambiguous)\b|   \d+% of the floor's speed", "", line) for line in lines]
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
