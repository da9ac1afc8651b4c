"""Repetitions of a record that confirm it, contradict it, or say nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from specimens import make_record

from robust_kbench.errors import HarnessError, UsageError
from robust_kbench.leaderboard import confirmation
from robust_kbench.leaderboard.confirmation import Confirmation, compare, verify
from robust_kbench.registry import load_task
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples
from robust_kbench.signing import PrivateKey, digest_of, seal

if TYPE_CHECKING:
    from conftest import Submit

    from robust_kbench.evaluate import Evaluator

KEY, OTHER = PrivateKey(bytes(32)), PrivateKey(bytes(range(32)))
TASK = "norm/rmsnorm"
SOURCE = "def rmsnorm(x, weight):\n    return x\n"


def timed(
    candidate_ns: int, *, dtype: str = "float32", spread: int = 0, load: float = 0.0, **changes: Any
) -> RunRecord:
    """Make a record whose candidate takes that long, with `spread` between two sessions, and eager PyTorch 100 us."""
    sessions = tuple(
        Session(
            samples={"candidate": encode_samples([candidate_ns + more] * 20), "eager": encode_samples([100_000] * 20)},
            foreign_load=load,
        )
        for more in (0, spread)
    )
    timings = (Timing.model_validate({"axes": {"rows": 1}, "dtype": dtype, "sessions": sessions}),)
    return make_record(**{"timings": timings, "dtypes": (dtype,), **changes})


def of(record: RunRecord, **changes: Any) -> RunRecord:
    """Return the repetition of a record."""
    return record.model_copy(update={"replay": True, "started_at": "2026-02-01T00:00:00Z", **changes})


def test_the_same_again_is_confirmed() -> None:
    record = timed(50_000)
    found = compare(record, of(record))
    assert (found.verdict_confirmed, found.speed_confirmed, found.reason) == (True, True, "")
    assert found.is_confirmed
    assert found.record == digest_of(record) == seal(record).digest
    assert str(found.original["float32"]) == str(found.again["float32"]) == "2.00x [2.00, 2.00]"


@pytest.mark.parametrize(
    ("then", "now", "is_confirmed"),
    [
        (timed(50_000, spread=500), timed(53_000, spread=500), True),
        (timed(50_000), timed(20_000), False),
        (timed(20_000), timed(50_000), False),
        (timed(20_000), timed(20_100), False),
        (timed(100_000), timed(100_500), True),
        (timed(100_000), timed(50_000), False),
    ],
    ids=["they overlap", "faster now", "slower now", "a little apart", "both are the baseline's", "no longer that"],
)
def test_a_speed_is_confirmed_within_the_intervals(then: RunRecord, now: RunRecord, is_confirmed: bool) -> None:
    found = compare(then, of(now))
    assert (found.verdict_confirmed, found.speed_confirmed, found.is_confirmed) == (True, is_confirmed, is_confirmed)
    assert found.reason == ("" if is_confirmed else "another speed in float32")


@pytest.mark.parametrize(
    ("record", "again", "reason"),
    [
        (make_record(timings=()), timed(50_000), "nothing was timed"),
        (timed(50_000), make_record(timings=()), "nothing was timed now"),
        (timed(50_000), timed(20_000, environment={"device": "B"}), "measured on cpu, and this is B"),
        (timed(50_000, load=0.2), timed(20_000), "the record's own times do not count: others were at work"),
        (timed(50_000), timed(20_000, load=0.2), "the times of now do not count: others were at work"),
        (timed(50_000), timed(20_000, dtype="float16"), "other dtypes were timed"),
    ],
    ids=["then", "now", "device", "load then", "load now", "dtypes"],
)
def test_a_speed_that_cannot_be_compared_is_neither(record: RunRecord, again: RunRecord, reason: str) -> None:
    found = compare(record, of(again))
    assert (found.verdict_confirmed, found.speed_confirmed, found.is_confirmed) == (True, None, True)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize("samples", ["", "AAA", "AAAA", "é"])
def test_damaged_samples_confirm_nothing_and_raise_nothing(samples: str) -> None:
    session = Session(samples={"candidate": samples, "eager": samples}, foreign_load=0)
    timing = Timing(axes={"rows": 1}, dtype="float32", sessions=(session,))
    found = compare(make_record(timings=(timing,)), of(timed(50_000)))
    assert (found.speed_confirmed, found.reason) == (None, "the samples of the record are damaged")


def test_another_verdict_contradicts_the_record_and_says_why() -> None:
    record = timed(50_000)
    again = of(record, status=Status.INCORRECT, reason="y[0]: got 0, expected 1\nmore", timings=())
    found = compare(record, again)
    assert (found.verdict_confirmed, found.speed_confirmed, found.is_confirmed) == (False, None, False)
    assert found.reason == "was passed, is incorrect: y[0]: got 0, expected 1"
    assert (found.original_status, found.again_status) == ("passed", "incorrect")


class Stage:
    """Stand-in for an evaluator: it gives a record, and remembers the requests."""

    def __init__(self, again: RunRecord, device: str = "cpu") -> None:
        self.again, self.device = again, SimpleNamespace(kind=device)
        self.asked: list[dict[str, Any]] = []

    def evaluate(self, submission: object, **asked: Any) -> RunRecord:
        """Return the record, as Evaluator does, and remember the request."""
        self.asked.append({"submission": submission, **asked})
        return self.again


def staged(stage: Stage) -> Evaluator:
    return cast("Evaluator", stage)


@pytest.fixture
def record(submit: Submit) -> RunRecord:
    """Make a record of a submission to a task of the registry."""
    digests: dict[str, Any] = {"task_digest": load_task(TASK).digest, "submission_digest": submit(SOURCE).digest}
    return timed(50_000, task=TASK, **digests)


def test_it_is_run_with_the_records_seed_and_tier(record: RunRecord, submit: Submit) -> None:
    stage = Stage(of(record))
    found = verify(record, submit(SOURCE), staged(stage))
    assert found.is_confirmed
    assert found.by == found.signature == ""
    (asked,) = stage.asked
    assert (asked["seed"], asked["tier"], asked["submission"]) == (7, "full", submit(SOURCE))


@pytest.mark.parametrize(
    ("changes", "device", "message"),
    [
        ({"submission_digest": "sha256:0"}, "cpu", "is not what was judged, which has the digest sha256:0"),
        ({"task": "norm/layernorm"}, "cpu", "is not what was judged"),
        ({"task_digest": "sha256:0"}, "cpu", "norm/rmsnorm was another when it was judged"),
        ({"status": Status.HARNESS_ERROR}, "cpu", "there is no verdict to confirm"),
        ({}, "cuda", "was judged on the cpu device, and this is the cuda device"),
    ],
    ids=["source", "task", "version", "harness error", "device"],
)
def test_what_cannot_be_verified_here_is_a_wrong_request_and_is_not_run(
    changes: dict[str, Any], device: str, message: str, record: RunRecord, submit: Submit
) -> None:
    stage = Stage(of(record), device)
    with pytest.raises(UsageError, match=message):
        verify(record.model_copy(update=changes), submit(SOURCE), staged(stage))
    assert stage.asked == []


def test_our_own_failure_says_nothing_about_the_record(record: RunRecord, submit: Submit) -> None:
    failed = of(record, status=Status.HARNESS_ERROR, reason="the disk is full")
    with pytest.raises(HarnessError, match="the disk is full"):
        verify(record, submit(SOURCE), staged(Stage(failed)))
    missing = of(record, status=Status.UNSUPPORTED, reason="no AVX-512")
    with pytest.raises(UsageError, match="this machine cannot run it: no AVX-512"):
        verify(record, submit(SOURCE), staged(Stage(missing)))


def loaded(folder: Path, *found: Confirmation) -> confirmation.Confirmations:
    for each in found:
        confirmation.append(folder / "confirmations.jsonl", each)
    return confirmation.load([folder / "store.jsonl", folder / "another.jsonl"])


def signed(record: RunRecord, submit: Submit, key: PrivateKey | None) -> Confirmation:
    return verify(record, submit(SOURCE), staged(Stage(of(record))), key)


def test_confirmations_are_kept_beside_the_store_each_once(record: RunRecord, submit: Submit, tmp_path: Path) -> None:
    plain, mine = signed(record, submit, None), signed(record, submit, KEY)
    found = loaded(tmp_path, mine, plain, mine)
    assert len(found.found) == 2
    assert mine in found.found
    assert plain in found.found
    assert found.problems == []
    assert mine.by == KEY.public


def test_a_store_without_confirmations_has_none(tmp_path: Path) -> None:
    assert confirmation.load([tmp_path / "store.jsonl"]) == confirmation.Confirmations([], [])


@pytest.mark.parametrize(
    "change",
    [
        {"verdict_confirmed": False},
        {"record": "sha256:0"},
        {"by": OTHER.public},
        {"by": ""},
        {"by": "<script>"},
        {"signature": ""},
        {"signature": "0" * 128},
    ],
    ids=str,
)
def test_a_confirmation_with_a_wrong_signature_is_told_and_left_out(
    change: dict[str, Any], record: RunRecord, submit: Submit, tmp_path: Path
) -> None:
    forged = signed(record, submit, KEY).model_copy(update=change)
    found = loaded(tmp_path, forged)
    assert found.found == []
    (problem,) = found.problems
    assert (problem.where, problem.what) == (f"{tmp_path / 'confirmations.jsonl'}:1", "the signature is wrong")


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[1]", b"\xff", b'{"record": 1}', b"[" * 10_000, b'{"record": "\x1b[2J"}']
)
def test_what_is_no_confirmation_is_told_and_costs_no_other(
    line: bytes, record: RunRecord, submit: Submit, tmp_path: Path
) -> None:
    (tmp_path / "confirmations.jsonl").write_bytes(line + b"\n")
    found = loaded(tmp_path, signed(record, submit, KEY))
    assert [each.by for each in found.found] == [KEY.public]
    (problem,) = found.problems
    assert problem.what.startswith("not a confirmation: ")
    assert problem.what.isprintable()


def test_where_some_are_trusted_the_others_are_not_believed(record: RunRecord, submit: Submit) -> None:
    every = [signed(record, submit, key) for key in (None, KEY, OTHER)]
    assert confirmation.believed(every, frozenset({KEY.public})) == [every[1]]
    assert confirmation.believed(every, frozenset()) == every
