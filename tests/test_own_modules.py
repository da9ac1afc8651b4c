"""A module of the package runs in a sandbox that shows its files alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robust_kbench.languages import compiler
from robust_kbench.own_modules import confined_python
from robust_kbench.redteam import defences
from robust_kbench.redteam.corpus import Group
from robust_kbench.worker import landlock


@pytest.mark.parametrize("off", [[], ["sandbox"]], ids=["with a sandbox", "without"])
def test_the_package_is_found_by_its_file_where_the_folder_around_it_is_not_known(off: list[Group]) -> None:
    with defences.without(off):
        python, isolated, *how = compiler.BUILDER_COMMAND
    command = [python, isolated, "-S", *how]  # without the entries of site-packages, which name that folder
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    assert "ValueError" in done.stderr  # it was found, and has no arguments


def test_a_module_runs_with_its_arguments_as_the_main_one(tmp_path: Path) -> None:
    command = confined_python("robust_kbench.worker.stand_in", str(tmp_path / "nothing.json"))
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "nothing.json" in done.stderr
    assert done.returncode == 1


@pytest.mark.skipif(not landlock.is_available(), reason="this kernel has no landlock")
def test_landlock_may_hide_the_folder_around_the_package(tmp_path: Path) -> None:
    command = confined_python("robust_kbench.version")
    package = str(Path(command[4]).parent)
    readable = [package, sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/etc"]
    program = "import json, os, sys; from robust_kbench.worker import landlock; "
    program += "folder, readable, command = json.loads(sys.argv[1]); landlock.restrict(folder, readable=readable); "
    program += "os.execv(command[0], command)"
    request = json.dumps([str(tmp_path), readable, command])
    done = subprocess.run(
        [sys.executable, "-c", program, request], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(package).parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
