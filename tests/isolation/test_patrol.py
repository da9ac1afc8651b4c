"""Usage that the judge watches while it waits, as no limit of the kernel's covers it: threads, files, memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernels import RIGHT, python

from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import process, processes

if TYPE_CHECKING:
    from conftest import Submit

THREADS = 5
SLEEPING = f"""
import threading
for _ in range({THREADS - 1}): threading.Thread(target=threading.Event().wait).start()
print("ready", flush=True)
"""
SOME = """
some = [threading.Thread(target=time.sleep, args=({},)) for _ in range({})]
for each in some: each.start()
"""
JOINED = "for each in some: each.join()\n"
FILES = """
import os
if not os.path.exists("made"):
    os.mkdir("made")
    for number in range({}): os.mknod(f"made/{{number}}")
time.sleep(0.3)
"""
MIB = 1 << 20
counts_files = pytest.mark.skipif(os.statvfs(tempfile.gettempdir()).f_files == 0, reason="no limit on files here")


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        yield running.pid
        running.kill()


def test_the_threads_of_a_process_are_counted(sleeper: int) -> None:
    assert processes.threads(sleeper) == THREADS


def test_what_is_gone_has_no_threads() -> None:
    with subprocess.Popen(["/bin/true"]) as running:
        running.wait()
    assert processes.threads(running.pid) == 0


def test_the_memory_that_can_be_had_is_what_the_kernel_says() -> None:
    words = Path("/proc/meminfo").read_text().split()
    told = int(words[words.index("MemAvailable:") + 1]) << 10
    assert abs(processes.available_bytes() - told) < told / 4  # it moves while we look


def _end(evaluator: Evaluator, submit: Submit, before_answering: str = "time.sleep(0.2)") -> tuple[str, str]:
    record = evaluator.evaluate(submit(python(f"{before_answering}\n{RIGHT}")), tier="quick", seed=1, case=0)
    return record.status.value, record.reason


def test_threads_without_end_are_ended(evaluator: Evaluator, submit: Submit) -> None:
    status, reason = _end(evaluator, submit, f"threading.stack_size(32768)\n{SOME.format(60, 2000)}{JOINED}")
    assert status == "crashed"
    assert reason == "started more than 1024 threads" or "can't start new thread" in reason


@pytest.mark.rotating
def test_threads_are_counted_over_all_processes(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_MOST_THREADS", 6)
    some = SOME.format(0.2, 3) + JOINED
    assert _end(evaluator, submit, some) == ("passed", "")
    both = f"child = os.fork()\n{some}\nif child == 0: os._exit(0)\nos.waitpid(child, 0)"
    assert _end(evaluator, submit, both) == ("crashed", "started more than 6 threads")


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("at_birth", "later", "end"),
    [
        pytest.param(8192, 513, ("passed", ""), id="as much as may be used"),
        pytest.param(1025, 511, ("crashed", "left less than 512 MiB of the machine's memory free"), id="too much"),
        pytest.param(1024, 100, ("passed", ""), id="others had filled it before"),
    ],
)
def test_whoever_takes_the_machines_last_memory_has_crashed(
    at_birth: int,
    later: int,
    end: tuple[str, str],
    evaluator: Evaluator,
    submit: Submit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []

    def available_bytes() -> int:
        caller = sys._getframe(1).f_code.co_name
        looks.append(caller)
        return (at_birth if caller == "__init__" else later) * MIB

    monkeypatch.setattr(processes, "available_bytes", available_bytes)
    assert _end(evaluator, submit) == end
    assert "__init__" in looks


@counts_files
def test_empty_files_without_end_are_ended(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_MOST_FILES", 1000)  # some disks take seconds for more
    assert _end(evaluator, submit, FILES.format(10_000_000)) == ("crashed", "made more than 1,000 files")


@pytest.mark.rotating
def test_as_many_files_as_a_cache_has_are_no_reason(evaluator: Evaluator, submit: Submit) -> None:
    assert _end(evaluator, submit, FILES.format(500)) == ("passed", "")


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("own", "free", "end"),
    [
        pytest.param(500, 900, ("crashed", "made more than 450 files"), id="more than half of what there is room for"),
        pytest.param(400, 900, ("passed", ""), id="less than that"),
        pytest.param(500, 0, ("passed", ""), id="a file system that counts none"),
    ],
)
def test_a_file_system_keeps_half_of_its_room_for_files(
    own: int,
    free: int,
    end: tuple[str, str],
    evaluator: Evaluator,
    submit: Submit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_free_files", lambda folder: max(0, free - len([*folder.rglob("made/*")])))
    assert _end(evaluator, submit, FILES.format(own)) == end


@pytest.mark.rotating
def test_files_that_others_make_are_not_held_against_a_worker(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_free_files", lambda folder: 10**6 * (sys._getframe(1).f_code.co_name == "__init__"))
    assert _end(evaluator, submit, FILES.format(500)) == ("passed", "")
