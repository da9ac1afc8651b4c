"""Verdicts that an agent receives on its candidates, and the handling of faults that are ours."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from specimens import make_record

from robust_kbench.agents import judging
from robust_kbench.agents.judging import (
    Form,
    Judges,
    PublicJudge,
    check_that_it_is_timed,
    judge_finally,
    judge_publicly,
)
from robust_kbench.errors import UsageError
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples
from robust_kbench.schema.submission import MAX_FILE_BYTES, Language, Submission, SubmissionFile

FILE = SubmissionFile(task="norm/rmsnorm", language="cpp", entry_point="kernel.cpp::rmsnorm")
KERNEL = Submission(name="mine", file=FILE, sources={"kernel.cpp": "// old\n", "more.h": "// more\n"})


def timing(candidate_ns: int, eager_ns: int, cols: int = 64) -> Timing:
    samples = {"candidate": encode_samples([candidate_ns] * 9), "eager": encode_samples([eager_ns] * 9)}
    session = Session(samples=samples, foreign_load=0)
    return Timing(axes={"rows": 8, "cols": cols}, dtype="float32", sessions=(session,), floor_us=0.5)


def without_eager() -> Timing:
    """Make a timing in one of whose sessions eager PyTorch was lost, and another baseline was not."""
    (session,) = timing(1000, 2000).sessions
    samples = {"candidate": session.samples["candidate"], "compile": session.samples["eager"]}
    lost = session.model_copy(update={"samples": samples})
    return timing(1000, 2000).model_copy(update={"sessions": (lost,)})


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        (Status.BUILD_FAILED, "compile"),
        (Status.UNSUPPORTED, "compile"),
        (Status.CRASHED, "run"),
        (Status.TIMED_OUT, "run"),
        (Status.INCORRECT, "correct"),
        (Status.REJECTED, "guard"),
    ],
)
def test_a_failure_is_told_with_the_stage_at_which_it_ended(status: Status, stage: str) -> None:
    finding = Finding(guard="bounds", severity="reject", message="wrote behind the end")
    record = make_record(status=status, reason="too bad", log="line 1\nline 2", findings=(finding,), timings=())
    judged = judging.verdict(record)
    assert (judged.stage, judged.is_right, judged.speedup, judged.is_ours) == (stage, False, 0.0, False)
    assert judged.log == "too bad\nline 1\nline 2"
    assert judged.findings == ("reject: bounds: wrote behind the end",)


def test_every_status_has_a_stage() -> None:
    assert set(judging._STAGES) == set(Status)


def test_a_failure_that_was_timed_before_it_was_found_is_no_kernel() -> None:
    judged = judging.verdict(make_record(status=Status.REJECTED, reason="guard"))
    assert (judged.stage, judged.is_right, judged.speedup) == ("guard", False, 0.0)


def test_speed_is_the_geometric_mean_over_timed_cases() -> None:
    judged = judging.verdict(make_record(timings=(timing(1000, 2000), timing(3000, 24000, cols=32))))
    assert (judged.stage, judged.is_right, judged.is_ours) == ("time", True, False)
    assert judged.speedup == pytest.approx(4.0)
    assert judged.low <= judged.speedup <= judged.high
    assert judged.median_us == pytest.approx(3**0.5)
    assert judged.timed == ("float32, rows 8, cols 64", "float32, rows 8, cols 32")
    assert judged.profile.splitlines() == [
        "float32, rows 8, cols 64: candidate 1.0 us, eager 2.0 us; the hardware allows 0.5 us",
        "float32, rows 8, cols 32: candidate 3.0 us, eager 24.0 us; the hardware allows 0.5 us",
    ]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(make_record(status=Status.HARNESS_ERROR, reason="ours", timings=()), id="a failure of ours"),
        pytest.param(make_record(timings=()), id="right, and not timed"),
        pytest.param(make_record(timings=(without_eager(),)), id="right, and nothing to compare with"),
    ],
)
def test_what_is_our_fault_is_told_as_such(record: RunRecord) -> None:
    judged = judging.verdict(record)
    assert (judged.stage, judged.is_right, judged.is_ours) == ("harness", False, True)


def test_a_candidate_replaces_one_file_of_the_start() -> None:
    form = Form(KERNEL)
    candidate = form.submission("g1.p0", "// new")
    assert candidate.sources == {"kernel.cpp": "// new", "more.h": "// more\n"}
    assert (candidate.name, candidate.file) == ("g1.p0", FILE)
    assert (form.language, form.code) == ("cpp", "// old\n")


@pytest.mark.parametrize(("language", "device"), [("cuda", "cpu"), ("triton", "cpu"), ("cpp", "cuda")])
def test_what_is_not_timed_natively_is_refused(language: Language, device: str) -> None:
    with pytest.raises(UsageError, match=f"{language} kernels are not timed on the {device} device"):
        check_that_it_is_timed(language, device)


class Failing:
    """An evaluator whose first records are errors of ours."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.asked: list[tuple[str, int | None]] = []

    def evaluate(self, submission: Submission, *, tier: str, seed: int | None) -> RunRecord:
        self.asked.append((tier, seed))
        self.left -= 1
        return make_record(**{"status": Status.HARNESS_ERROR, "timings": ()} if self.left >= 0 else {})


@pytest.mark.parametrize(("failures", "tries", "is_ours"), [(0, 1, False), (1, 2, False), (2, 3, False), (9, 3, True)])
def test_an_error_of_ours_is_tried_three_times_and_then_charged(
    failures: int, tries: int, is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = Failing(failures)
    monkeypatch.setattr(judging, "_EVALUATORS", [evaluator])
    judged = judge_publicly(KERNEL, seed=5)
    assert evaluator.asked == [("quick", 5)] * tries
    assert judged.is_ours == is_ours


def test_in_the_end_the_seed_is_left_to_the_evaluator_who_draws_a_secret_one(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = Failing(1)
    monkeypatch.setattr(judging, "_EVALUATORS", [evaluator])
    assert judge_finally(KERNEL, tier="full").status is Status.PASSED
    assert evaluator.asked == [("full", None)] * 2


class Untouched:
    """Stand-in for judges: it starts no process and gives no verdict."""

    def each(self, work: Any, submissions: Mapping[str, Submission]) -> Sequence[tuple[str, None]]:
        return [(name, None) for name in submissions]


def test_what_is_too_large_for_a_source_file_is_not_judged() -> None:
    judge = PublicJudge(cast(Judges, Untouched()), Form(KERNEL), 1)
    ((name, judged),) = judge([("large", "x" * (MAX_FILE_BYTES + 1))])
    assert (name, judged.stage, judged.is_ours) == ("large", "parse", False)


def test_a_candidate_at_which_judges_end_is_charged_as_our_error() -> None:
    judge = PublicJudge(cast(Judges, Untouched()), Form(KERNEL), 1)
    ((name, judged),) = judge([("deadly", "x")])
    assert (name, judged.stage, judged.is_right, judged.is_ours) == ("deadly", "harness", False, True)


class Light(Judges):
    """Judging processes that need not import torch."""

    def _opened(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._jobs, mp_context=multiprocessing.get_context("spawn"))


def named_unless_deadly(submission: Submission) -> str:
    if submission.name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return submission.name.upper()


@pytest.mark.rotating
@pytest.mark.parametrize("jobs", [1, 2])
def test_who_kills_a_judge_costs_the_others_nothing(jobs: int) -> None:
    submissions = {name: KERNEL.model_copy(update={"name": name}) for name in ("a", "deadly", "b", "c")}
    with Light("cpu", jobs=jobs) as judges:
        assert dict(judges.each(named_unless_deadly, submissions)) == {"a": "A", "deadly": None, "b": "B", "c": "C"}
        assert dict(judges.each(named_unless_deadly, {"a": submissions["a"]})) == {"a": "A"}


PROGRAM = """
import sys, time
sys.path[:0] = sys.argv[1:]
from test_verdicts import KERNEL, pid_of
from robust_kbench.agents.judging import Judges

judges = Judges("cpu")
print(*dict(judges.each(pid_of, {"a": KERNEL})).values(), flush=True)
time.sleep(600)
"""


def pid_of(submission: Submission) -> int:
    return os.getpid()


@pytest.mark.slow
def test_judges_end_with_whoever_started_them_even_by_kill_9() -> None:
    here = Path(__file__).parent
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(here), str(here.parent)], stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        judge = int(started.stdout.readline())
        assert is_running(judge)
        started.kill()
    deadline = time.monotonic() + 10
    while is_running(judge) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(judge)


def is_running(pid: int) -> bool:
    """Tell if the process still runs. A process that has ended may remain a zombie for ever."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
