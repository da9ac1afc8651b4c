"""The wheel alone, in an empty folder, is a working product."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import needs_compiler

from robust_kbench.folders import IN_CHECKOUT

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, through a path file, the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return folder


def test_the_wheel_carries_every_task_every_baseline_and_the_red_teams_corpus(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for kind, folder in IN_CHECKOUT.items():
        files = [p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        held = {f"robust_kbench/{kind}/{p.relative_to(ROOT / folder).as_posix()}" for p in files}
        assert len(held) > 20
        assert held - names == set()
    assert "robust_kbench/languages/include/kbench.h" in names


@pytest.mark.parametrize("package", ["emulator", "languages"])
def test_the_wheel_carries_all_headers_of_ours(wheel: Path, package: str) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [p for p in (ROOT / "robust_kbench" / package).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert [p for p in files if p.relative_to(ROOT).as_posix() not in names] == []


def test_the_wheel_carries_what_the_leaderboards_pages_are_made_of(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    site = ROOT / "robust_kbench/leaderboard/site"
    files = [path for kind in ("static", "templates") for path in (site / kind).iterdir()]
    assert len(files) > 5
    assert [path for path in files if path.relative_to(ROOT).as_posix() not in names] == []


@needs_compiler
def test_it_lists_scaffolds_and_judges_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    kbench = installed / "bin" / "kbench"
    commands = (
        ["tasks"],
        ["new", "norm/rmsnorm", "mine", "-l", "cpp"],
        ["new", "norm/rmsnorm", "emulated", "-l", "cuda"],
        ["evaluate", "mine", "emulated", "--device", "cpu", "--tier", "quick"],
    )
    for arguments in commands:
        done = subprocess.run([kbench, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2
