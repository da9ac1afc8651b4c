"""Ctrl-C while compilers are at work: they are ended with it, and what would have come after them does not begin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Submit
from kernels import RIGHT, arguments_of, python

from robust_kbench import languages
from robust_kbench.building import Building
from robust_kbench.devices import open_device
from robust_kbench.errors import BuildError
from robust_kbench.isolation import processes
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages import compiler
from robust_kbench.languages.built import Built

SLEEP = ["sleep", "599"]

PROGRAM = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace

from robust_kbench import devices, languages, side_by_side
from robust_kbench.cli import jobs
from robust_kbench.cli.evaluate import DeviceChoice, TierChoice, evaluate
from robust_kbench.devices import nvml
from robust_kbench.errors import BuildError
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages import compiler
from robust_kbench.machine_shares import Share

how = sys.argv[1]


def build(submission, task, dtype, device, folder):
    for _ in range(2):  # as an extension is compiled with all headers where the few do not do
        try:
            compiler.run(["sleep", "599"], folder, timeout_s=600)
        except BuildError:
            pass


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
    languages.BUILDERS.update(dict.fromkeys(languages.BUILDERS, build))
    WarmPool.warm_up = lambda *_, **__: None
    if how != "alone":
        cores = tuple(os.sched_getaffinity(0))
        os.cpu_count = lambda: 16
        device = SimpleNamespace(kind="cuda", judging_threads=1, judging_place="cpu")
        jobs.open_device = devices.open_device = lambda _: device
        nvml.architecture_of = lambda _: "sm_90"
        side_by_side.shares_of = lambda *_: [Share(cores, "GPU-a"), Share(cores, "GPU-b")]
    choice = DeviceChoice.CPU if how == "alone" else DeviceChoice.CUDA
    evaluate([Path(sys.argv[2])], device=choice, tier=TierChoice.QUICK, jobs=2 if how == "several" else 1)
"""


def sleeping_below(pid: int) -> list[int]:
    """Compilers that a process has started."""
    return [each for each in processes.tree(pid) if arguments_of(each) == SLEEP]


def wait_until(holds: Callable[[], object], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.rotating
@pytest.mark.parametrize(("how", "compilers"), [("alone", 2), ("ahead", 2), ("several", 4)])
@pytest.mark.parametrize("wait_s", [0, 4], ids=["at once", "later"])
def test_an_interrupt_ends_compilers_and_waits_for_no_build(
    how: str, compilers: int, wait_s: float, tmp_path: Path
) -> None:
    """While torch is imported, and when it has been. Each submission is built for two dtypes at once."""
    for name in "abcdef":
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "kernel.cpp").write_text("")
        header = "task: norm/rmsnorm\nlanguage: cpp\nentry_point: kernel.cpp::rmsnorm\ndtypes: [float32, bfloat16]\n"
        (tmp_path / "all" / name / "submission.yaml").write_text(header)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [sys.executable, program, how, tmp_path / "all"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    try:
        assert wait_until(lambda: len(sleeping_below(running.pid)) >= compilers, 60)
        time.sleep(wait_s)
        pids = sleeping_below(running.pid)
        running.send_signal(signal.SIGINT)
        interrupted = time.monotonic()
        _, words = running.communicate(timeout=20)
        assert time.monotonic() - interrupted < 5
        assert "KeyboardInterrupt" in words.splitlines()[-1]
        assert wait_until(lambda: not any(processes.state(pid) not in "XZ" for pid in pids), 2)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)


def test_a_compiler_ends_when_nobody_waits_for_it_and_others_go_on(tmp_path: Path) -> None:
    stop, other = compiler.Stop(), compiler.Stop()
    ended: list[type[BaseException] | int] = []

    def compile_under(under: compiler.Stop, command: list[str]) -> None:
        with under.over_this_thread():
            try:
                ended.append(compiler.run_verbatim(command, tmp_path, timeout_s=60)[0])
            except BaseException as error:
                ended.append(type(error))

    going_on = threading.Thread(target=compile_under, args=(other, ["sleep", "2"]))
    stopped = threading.Thread(target=compile_under, args=(stop, SLEEP))
    for thread in (going_on, stopped):
        thread.start()
    assert wait_until(lambda: sleeping_below(os.getpid()), 20)
    stop.set()
    stopped.join(5)
    assert ended == [KeyboardInterrupt]
    compile_under(stop, SLEEP)  # what begins later ends at once
    going_on.join(20)
    assert ended == [KeyboardInterrupt, KeyboardInterrupt, 0]
    assert compiler.run_verbatim(["true"], tmp_path, timeout_s=20)[0] == 0


def test_nobody_waits_for_builds_of_an_evaluator_that_is_closed(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = threading.Event()

    def build(*_: object) -> Built:
        begun.set()
        compiler.run(SLEEP, tmp_path, timeout_s=600)
        raise BuildError("it has ended")

    monkeypatch.setitem(languages.BUILDERS, "python", build)
    monkeypatch.setattr(Building, "disturbs_nothing", True)
    with WarmPool() as pool:
        building = Building(open_device("cpu"), pool)
        submission = submit(python(RIGHT))
        building.begin(submission)
        assert begun.wait(10)
        started = time.monotonic()
        building.close()
        building.close()  # as whoever began it does, and whoever took it over
        assert time.monotonic() - started < 5
        taken = building.take(submission)
        assert taken is not None
        assert isinstance(taken.exception(), KeyboardInterrupt)
