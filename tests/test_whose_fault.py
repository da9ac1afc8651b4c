"""Shortcomings of the machine are never blamed on the submission, and are reported with a remedy."""

from __future__ import annotations

import re
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.doctor import compilers
from robust_kbench.errors import BuildError, HarnessError
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import pool
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.pool import Allowance, WarmPool
from robust_kbench.languages import compiler
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Status

LACKING = (sys.executable, "-I", "-c", "import a_package_that_is_nowhere")
SOURCE = "def rmsnorm(x, weight):\n    return weight * x * (x.square().mean(1, keepdim=True) + 1e-6).rsqrt()\n"
WORDS = "No module named 'a_package_that_is_nowhere'; install that package: such processes look at no PYTHONPATH"
Usage = namedtuple("Usage", ["total", "used", "free"])


def test_a_builder_that_does_not_start_is_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "BUILDER_COMMAND", LACKING)
    with pytest.raises(HarnessError, match=f"the builder did not start; its last words: .*{re.escape(WORDS)}"):
        compiler.run(["true"], tmp_path, timeout_s=20)


def test_so_it_is_in_the_record(evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "BUILDER_COMMAND", LACKING)
    record = evaluator.evaluate(submit(SOURCE), tier="quick", seed=1)
    assert record.status is Status.HARNESS_ERROR
    assert WORDS in (record.reason or "")


def test_the_doctor_does_not_ask_for_a_compiler_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "BUILDER_COMMAND", LACKING)
    found = compilers.gxx()
    assert (found.status, found.remedy) == ("missing", "see the sandbox's worker, above")
    assert WORDS in found.found


def test_a_worker_that_does_not_start_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORKER_COMMAND", LACKING)
    arena = Arena(1 << 12)
    try:
        with WarmPool() as made, pytest.raises(HarnessError, match=re.escape(WORDS)):
            made.start("torch", arena, Allowance())
    finally:
        arena.close()


LOST = "the GPU does not answer any more (NVMLError: GPU is lost)"


@pytest.mark.parametrize(
    ("body", "status"),
    [("import os; os._exit(3)", Status.HARNESS_ERROR), ("return x", Status.INCORRECT), (None, Status.PASSED)],
    ids=["crashed", "incorrect", "right"],
)
def test_nobody_is_blamed_for_calls_on_a_device_that_is_gone(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, body: str | None, status: Status
) -> None:
    """Verdicts from before the loss stand."""
    monkeypatch.setattr(type(evaluator.device), "loss", lambda self: LOST)
    source = f"def rmsnorm(x, weight):\n    {body}\n" if body else SOURCE
    case = Case(axes={"rows": 64, "cols": 64}, dtype="float32", seed=5)
    record = evaluator.evaluate(submit(source), tier="quick", case=case)
    assert record.status is status
    assert (LOST in (record.reason or "")) is (status is Status.HARNESS_ERROR)


def test_a_device_that_does_not_answer_is_lost() -> None:
    class Source:
        is_lost = True

        def free_bytes(self) -> int:
            if self.is_lost:
                raise OSError("GPU is lost")
            return 1

    device = object.__new__(CudaDevice)
    device.__dict__["_source"] = source = Source()
    assert re.fullmatch(r"the GPU does not answer any more \(OSError: GPU is lost\); `nvidia-smi` .+", device.loss())
    source.is_lost = False
    assert device.loss() == ""


@pytest.mark.parametrize("program", ["exit 3", "echo 'No module named x' >&2; exit 1"])
def test_a_compiler_that_fails_is_not(tmp_path: Path, program: str) -> None:
    with pytest.raises(BuildError):
        compiler.run(["/bin/sh", "-c", program], tmp_path, timeout_s=20)


def test_a_compiler_cannot_say_in_our_place_that_it_has_started(tmp_path: Path) -> None:
    program = "for n in 3 4 5 6 7 8 9 10 11 12; do (eval ': >&'$n) 2>/dev/null && echo $n; done; exit 0"
    assert compiler.run_verbatim(["/bin/sh", "-c", program], tmp_path, timeout_s=20) == (0, "")


def test_no_compiler_is_started_where_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 5 << 20))
    with pytest.raises(HarnessError, match="5 MiB are free; make room there, or set TMPDIR to another folder"):
        compiler.run(["true"], tmp_path, timeout_s=20)


@pytest.mark.parametrize(("cache", "is_kept"), [("/proc/nowhere", False), ("", True)])
def test_a_home_that_nobody_may_write_to_costs_only_what_is_kept_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str, is_kept: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache or str(tmp_path / "cache"))
    found = pool._inductor_cache(tmp_path)
    assert (tmp_path / "cache" in found.parents) is is_kept
    assert tmp_path in found.parents
    assert found.is_dir()
