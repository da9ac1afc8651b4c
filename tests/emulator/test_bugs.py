"""Every injected bug is found, with kind and line, in any order of the threads; its repaired twin raises no alarm."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import bug_process
import bugs
import numpy as np
import pytest
from bug_references import Array
from bugs import Bug
from conftest import needs_compiler

from robust_kbench.emulator import report, rewrite, toolchain
from robust_kbench.schema.defect import Defect

SOURCE = "kernel.cu"
TIME_LIMIT_S = 120  # what takes a second alone takes longer beside other tests


@dataclass(frozen=True)
class Outcome:
    """The output of one call, and the defects that the checker found."""

    y: Array
    defects: tuple[Defect, ...]


def printed_by(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S)
    assert done.returncode == 0, f"{command[0]} failed ({done.returncode}): {done.stderr[-2000:]}"
    return done.stdout


def build(bug: Bug, folder: Path, library: Path, *, broken: bool) -> Path:
    """Make a checked build of one form of the file."""
    source, target = folder / SOURCE, folder / "kernel.so"
    source.write_text(rewrite.rewrite(bug.path.read_text(), SOURCE).text)
    options = ("-DBUG",) if broken else ()
    for command in toolchain.commands(source, target, library, checked=True, options=options):
        printed_by(command)
    return target


def outcomes(bug: Bug, folder: Path, *, broken: bool) -> list[Outcome]:
    """Run the bug once for each schedule, and return one outcome for each."""
    library = toolchain.runtime_library()
    kernel = build(bug, folder, library, broken=broken)
    printed = printed_by([sys.executable, bug_process.__file__, str(library), str(kernel), bug.name])
    return [
        Outcome(np.array(call["y"], np.float32), report.resolve(call["findings"], kernel, {SOURCE}, printed_by))
        for call in json.loads(printed)
    ]


def lane(chosen: tuple[Bug, ...]) -> list[object]:
    """Return all bugs as parameters. The first bug of each class belongs to the fast lane."""
    seen: set[str] = set()
    parameters = []
    for bug in chosen:
        marks = [pytest.mark.slow] if bug.path.parent.name in seen else []
        seen.add(bug.path.parent.name)
        parameters.append(pytest.param(bug, id=bug.name, marks=marks))
    return list(parameters)


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize("bug", lane(bugs.ALL))
def test_the_checker_names_the_bug_and_its_line_at_every_schedule(bug: Bug, tmp_path: Path) -> None:
    kind, lines = bug.marks()

    found = [outcome.defects for outcome in outcomes(bug, tmp_path, broken=True)]

    for defects in found:
        assert any(defect.kind == kind and defect.line in lines for defect in defects), (kind, sorted(lines), defects)


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize("bug", lane(bugs.ALL))
def test_the_repaired_kernel_is_right_and_has_no_finding_at_any_schedule(bug: Bug, tmp_path: Path) -> None:
    expected = np.ravel(bug.expected(bug.input())).astype(np.float32)

    for outcome in outcomes(bug, tmp_path, broken=False):
        assert outcome.defects == ()
        np.testing.assert_allclose(outcome.y[: len(expected)], expected, rtol=1e-4, atol=1e-5)


def test_every_file_has_its_expectations_and_every_kind_of_bug_its_file() -> None:
    files = {str(path.relative_to(bugs.FOLDER).with_suffix("")) for path in bugs.FOLDER.glob("*/*.cu")}
    kinds = {bug.marks()[0] for bug in bugs.ALL}

    assert files == {bug.name for bug in bugs.ALL}
    assert kinds == set(report.KINDS) - {"trap", "unsupported"}


def test_a_pair_differs_in_what_the_macro_chooses_alone() -> None:
    for bug in bugs.ALL:
        text = bug.path.read_text()
        assert text.count("#ifdef BUG") + text.count("#ifndef BUG") == text.count("#endif") > 0, bug.name
