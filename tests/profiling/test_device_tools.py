"""Launchers of ncu and compute-sanitizer, tried without a device: programs of these names print a sample."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from samples import CLEAN, LAUNCH, MEMCHECK, page

from robust_kbench.languages.built import Built
from robust_kbench.own_modules import confined_python
from robust_kbench.profiling import device_tools, nsight, sanitizer
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.worker import landlock

TASK = load_task("norm/rmsnorm").spec
CASE = Case(axes={"rows": 4, "cols": 8}, dtype="float16", seed=1)
BUILT = Built(Path("/nowhere/kernel.py"), "rmsnorm", "value")


def has_namespaces() -> bool:
    command = ["unshare", "--user", "--pid", "--net", "--mount", "--fork", "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


def run(folder: Path, program: str, timeout_s: float = 60) -> device_tools.Outcome:
    return device_tools.run([sys.executable, "-I", "-c", program], folder, "written", timeout_s=timeout_s)


def install(folder: Path, name: str, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = folder / name
    tool.write_text(f"#!{sys.executable}\nimport sys\n{program}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_plan_of_launches_goes_along(tmp_path: Path) -> None:
    plan = {"launches": [], "axes": {"rows": 2, "cols": 3}, "scratch": []}
    *_, request = device_tools.prepare(TASK, replace(BUILT, abi="launch", plan=plan), CASE, tmp_path)
    assert json.loads(Path(request).read_text())["plan"] == plan


def test_code_output_and_file_of_a_tool_come_back(tmp_path: Path) -> None:
    found = run(tmp_path, "import sys; print('said'); open('written', 'w').write('kept'); sys.exit(3)")
    assert found == device_tools.Outcome(3, "said\n", "kept")


@pytest.mark.rotating
def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    program = "import os, time\nos.fork()\nopen('written', 'a').write(f'{os.getpid()} ')\ntime.sleep(600)"
    found = run(tmp_path, program, timeout_s=3)
    assert found.code == 124
    deadline = time.monotonic() + 10  # what was killed takes a moment to be gone
    while any(str(tmp_path).encode() in command for command in commands()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def commands() -> Iterator[bytes]:
    """Yield the command lines of all processes that there are."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


@pytest.mark.skipif(not landlock.is_available(), reason="this machine has no landlock")
def test_a_tool_can_write_nowhere_but_to_its_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    found = run(home, f"open({str(tmp_path / 'outside')!r}, 'w')")
    assert not (tmp_path / "outside").exists()
    assert "PermissionError" in found.printed
    assert found.code == 1


@pytest.mark.skipif(not has_namespaces(), reason="this machine allows no namespaces")
def test_a_tool_sees_no_processes_but_its_own(tmp_path: Path) -> None:
    program = "import os; print(os.getpid(), sum(name.isdigit() for name in os.listdir('/proc')))"
    assert run(tmp_path, program).printed == "2 2\n"  # itself, and the first process of the namespace


def test_a_tool_reaches_no_network(tmp_path: Path) -> None:
    assert "PermissionError" in run(tmp_path, "import socket; socket.socket()").printed


def test_a_file_that_is_none_reads_as_empty(tmp_path: Path) -> None:
    assert run(tmp_path, "import os; os.symlink('/etc/passwd', 'written')").written == ""
    assert device_tools.read_regular(tmp_path / "absent") == ""


def test_the_submission_is_called_on_shapes_and_not_on_values(tmp_path: Path) -> None:
    command = device_tools.prepare(TASK, BUILT, CASE, tmp_path)
    assert command[:-1] == confined_python("robust_kbench.worker.stand_in")
    assert json.loads(Path(command[-1]).read_text()) == {
        "abi": "value", "path": "/nowhere/kernel.py", "symbol": "rmsnorm", "plan": {},
        "inputs": [{"shape": [4, 8], "dtype": "float16"}, {"shape": [8], "dtype": "float16"}],
        "outputs": [{"shape": [4, 8], "dtype": "float16"}],
        "axes": [4, 8],
    }  # fmt: skip


def test_counters_are_read_from_the_file_that_ncu_was_told_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write({page(LAUNCH)!r})"
    install(tmp_path, "ncu", program, monkeypatch)
    (kernel,) = nsight.counters(TASK, BUILT, CASE, tmp_path).kernels
    assert kernel.memory_percent == 81.25


def test_every_tool_of_the_sanitizer_runs_and_those_that_fail_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = {"memcheck": MEMCHECK, "racecheck": CLEAN, "initcheck": CLEAN, "synccheck": ""}
    program = f"open(sys.argv[4], 'w').write({reports!r}[sys.argv[2]])"
    install(tmp_path, "compute-sanitizer", program, monkeypatch)
    folder = tmp_path / "reports"
    folder.mkdir()
    report = sanitizer.check(TASK, BUILT, CASE, folder)
    assert report.checked == ("memcheck", "racecheck", "initcheck")
    assert [finding.tool for finding in report.findings] == ["memcheck"]
    assert report.notes == ("synccheck: ended with code 0 and no summary: it said nothing",)


def test_missing_tools_cost_a_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_kbench.profiling.tools.find", lambda name: None)
    (counters,) = nsight.counters(TASK, BUILT, CASE, tmp_path).notes
    (checks,) = sanitizer.check(TASK, BUILT, CASE, tmp_path).notes
    assert counters == "no ncu on the PATH; install Nsight Compute (part of the CUDA toolkit)"
    assert checks == "no compute-sanitizer on the PATH; install the CUDA toolkit"
