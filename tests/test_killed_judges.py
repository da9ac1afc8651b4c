"""A judge can be killed at any moment: no process outlives it, and its store stays whole."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernels import RIGHT, arguments_of, processes_of, python
from specimens import make_record

from robust_kbench import store
from robust_kbench.isolation import processes
from robust_kbench.schema.submission import Submission

if TYPE_CHECKING:
    from conftest import Submit

JUDGE = """
import sys
from pathlib import Path
from robust_kbench import store
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission

submission = Submission.model_validate_json(Path(sys.argv[1]).read_text())
with Evaluator("cpu") as evaluator:
    while True:
        store.append(Path(sys.argv[2]), evaluator.evaluate(submission, tier="quick", case=0))
"""


@contextlib.contextmanager
def judge_of(submission: Submission, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a judge in a process of its own that evaluates `submission` again and again into folder/store.jsonl."""
    (folder / "submission.json").write_text(submission.model_dump_json())
    command = [sys.executable, "-c", JUDGE, str(folder / "submission.json"), str(folder / "store.jsonl")]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}) as judge:
        try:
            yield judge
        finally:
            judge.kill()


def wait_for(condition: Callable[[], object], timeout_s: float) -> bool:
    """Tell if `condition` becomes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(pids: list[int]) -> list[int]:
    """List the processes that are neither gone nor zombies."""
    return [pid for pid in pids if processes.state(pid) not in "XZ"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["while it starts", "in its first evaluation", "later"])
def test_nothing_survives_a_judge_that_is_killed(moment: str, submit: Submit, tmp_path: Path) -> None:
    submission = submit(python(f"if os.fork() == 0:\n    time.sleep(60)\ntime.sleep(0.01)\n{RIGHT}"))
    path = tmp_path / "store.jsonl"
    with judge_of(submission, tmp_path) as judge:
        if moment == "in its first evaluation":
            assert wait_for(lambda: len(processes_of(judge.pid)) > 1, 60)
        elif moment != "while it starts":
            assert wait_for(path.exists, 60)
        time.sleep(random.uniform(0, 0.4))
        family = processes.tree(judge.pid)
        judge.kill()
    assert wait_for(lambda: not alive(family) and not processes_of(judge.pid), 2.0)
    statuses = {record.status for record in store.read(path)} if path.exists() else set()
    assert statuses <= {"passed"}


@pytest.mark.slow
def test_no_compiler_survives_a_judge_that_is_killed(submit: Submit, tmp_path: Path) -> None:
    bomb = "template <int N, int M> struct A { static const int v = A<N - 1, 2 * M>::v + A<N - 1, 2 * M + 1>::v; };"
    end = "template <int M> struct A<0, M> { static const int v = 1; }; static_assert(A<40, 0>::v);"
    with judge_of(submit(f"{bomb}{end}", language="cpp", abi="c"), tmp_path) as judge:
        assert wait_for(lambda: "cc1plus" in _programs(processes.tree(judge.pid)), 60)
        family = processes.tree(judge.pid)
        judge.kill()
    assert_gone(family, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("redteam", "plain", "slow"), ("audit", "norm/rmsnorm", "norm/layernorm")])
def test_no_process_of_a_command_survives_it(words: tuple[str, ...], tmp_path: Path) -> None:
    """A survivor would go on to judge all that is left, beside whatever is started next."""
    command = [sys.executable, "-m", "robust_kbench", words[0], "--jobs", "2", *words[1:]]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL) as judge:
        try:
            assert wait_for(lambda: len(_spawned(judge.pid)) == 2, 60)
            time.sleep(1.0)  # for their beginning
            family = processes.tree(judge.pid)
        finally:
            judge.kill()
    assert_gone(family, 10.0)


def assert_gone(family: list[int], within_s: float) -> None:
    """Check that processes of `family` end in time. The test leaves none behind."""
    try:
        assert wait_for(lambda: not alive(family), within_s)
    finally:
        for pid in alive(family):
            os.kill(pid, 9)


def _spawned(judge: int) -> list[int]:
    return [pid for pid in processes.tree(judge) if any("spawn_main" in word for word in arguments_of(pid))]


def _programs(pids: list[int]) -> set[str]:
    return {os.path.basename(words[0]) for pid in pids if (words := arguments_of(pid))}


APPEND = """
import sys, time
from pathlib import Path
from robust_kbench import store
from robust_kbench.schema.record import RunRecord

path, record = Path(sys.argv[1]), RunRecord.model_validate_json(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(50):
    store.append(path, record.model_copy(update={"submission": f"{sys.argv[3]} {number}"}))
"""


def test_processes_that_append_to_one_store_at_once_lose_nothing(tmp_path: Path) -> None:
    path, record = tmp_path / "store.jsonl", make_record(log="x" * 4000).model_dump_json()
    command = [sys.executable, "-c", APPEND, str(path), record]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abcd"
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=60)
    written = [stored.submission.split() for stored in store.read(path)]
    for name in "abcd":
        assert [number for writer, number in written if writer == name] == [str(number) for number in range(50)]
    assert len(written) == 200


@pytest.mark.parametrize("kept", [1, 100, -1], ids=["one byte", "a part", "all but the end of the line"])
def test_a_line_that_a_killed_writer_has_torn_costs_no_other_record(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    store.append(path, make_record(submission="first"))
    with path.open("ab") as file:
        file.write(store.to_line(make_record(submission="torn"))[:kept])
    assert [record.submission for record in store.read(path)] == ["first"]
    store.append(path, make_record(submission="next"))
    assert [record.submission for record in store.read(path)] == ["first", "next"]
