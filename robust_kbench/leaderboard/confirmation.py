"""Confirmation of a record by running it again: of its verdict and, within the intervals, of its speed.

Confirmations stand beside a store, one line of JSON each. They are as good as the word of their author, which a
signature tells. The board marks the records that have some.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field, ValidationError

from robust_kbench import scoring, store
from robust_kbench.errors import HarnessError, UsageError
from robust_kbench.leaderboard.reading import CONFIRMATIONS, Problem, lines
from robust_kbench.progress import Progress, silent
from robust_kbench.registry import task_names, task_of
from robust_kbench.schema.documents import Strict, canonical
from robust_kbench.schema.record import RunRecord, Status
from robust_kbench.schema.task import FloatDType
from robust_kbench.scoring import DtypeScore
from robust_kbench.signing import PrivateKey, digest_of, is_signed
from robust_kbench.timing.statistics import Verdict
from robust_kbench.version import __version__

if TYPE_CHECKING:  # imports torch, for which a leaderboard has no use
    from robust_kbench.evaluate import Evaluator
    from robust_kbench.schema.submission import Submission

_DOMAIN = b"robust-kbench confirmation v1\n"


class Interval(Strict):
    """Speedup over the fastest baseline with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"


class Confirmation(Strict):
    """Result of running a record again. Its texts are as hostile as a record's."""

    record: str = Field(description="digest of the record, computed anew")
    original_status: str
    again_status: str
    verdict_confirmed: bool
    speed_confirmed: bool | None = Field(description="None where it could not be compared: see reason")
    reason: str = Field(default="", max_length=1000, description="what differs, or why speed was not compared")
    original: dict[str, Interval] = Field(default_factory=dict, description="dtype -> what the record says")
    again: dict[str, Interval] = Field(default_factory=dict, description="dtype -> what was found now")
    kbench: str
    device: str
    at: str = Field(description="RFC 3339, UTC")
    by: str = Field(default="", description="public key of who ran it again, 64 hex digits; empty where none is told")
    signature: str = Field(default="", description="128 hex digits")

    @property
    def is_confirmed(self) -> bool:
        """True if nothing of the record was contradicted."""
        return self.verdict_confirmed and self.speed_confirmed is not False


@dataclass(frozen=True)
class Confirmations:
    """Confirmations of some stores in order of time, and the lines that could not be believed."""

    found: list[Confirmation]
    problems: list[Problem]


class Compared(NamedTuple):
    """Comparison of the speeds of two runs. If they cannot be compared, `is_confirmed` is None, with a `reason`."""

    is_confirmed: bool | None
    reason: str = ""
    original: Mapping[str, Interval] = {}
    again: Mapping[str, Interval] = {}


def beside(path: Path) -> Path:
    """Return the path of a store's confirmations."""
    return path.parent / CONFIRMATIONS


def verify(
    record: RunRecord,
    submission: Submission,
    evaluator: Evaluator,
    key: PrivateKey | None = None,
    progress: Progress = silent,
) -> Confirmation:
    """Run `record` again, with its seed and tier, and compare.

    Raises UsageError if the submission or its task is not the one that was judged, or if the machine does not fit.
    Raises HarnessError for our own failure. Neither speaks for or against the record.
    """
    _check(record, submission, evaluator.device.kind)
    again = evaluator.evaluate(submission, tier=record.tier, seed=record.seed, progress=progress)
    if again.status is Status.HARNESS_ERROR:
        raise HarnessError(f"{submission.name}: {again.reason}")
    if again.status is Status.UNSUPPORTED and record.status is not Status.UNSUPPORTED:
        raise UsageError(f"{submission.name}: this machine cannot run it: {again.reason}")
    return _signed(compare(record, again), key)


def _check(record: RunRecord, submission: Submission, device: str) -> None:
    name = submission.name
    if record.status is Status.HARNESS_ERROR:
        raise UsageError(f"{name}: ended as a harness_error, so there is no verdict to confirm")
    if submission.digest != record.submission_digest or submission.file.task != record.task:
        raise UsageError(f"{name}: is not what was judged, which has the digest {record.submission_digest}")
    if record.task not in task_names():
        raise UsageError(f"{name}: no task {record.task!r} here; `kbench tasks` lists all tasks")
    if task_of(record.task).digest != record.task_digest:
        raise UsageError(f"{name}: {record.task} was another when it was judged; check out that version of the tasks")
    if device != record.device:
        raise UsageError(f"{name}: was judged on the {record.device} device, and this is the {device} device")


def compare(record: RunRecord, again: RunRecord) -> Confirmation:
    """Compare a record with its repetition. The result is not signed."""
    is_same = record.status is again.status
    speed = _speed(record, again) if is_same else Compared(None, _in_words(record, again))
    return Confirmation(
        record=record.digest or digest_of(record),
        original_status=record.status.value,
        again_status=again.status.value,
        verdict_confirmed=is_same,
        speed_confirmed=speed.is_confirmed,
        reason=speed.reason[:1000],
        original=dict(speed.original),
        again=dict(speed.again),
        kbench=__version__,
        device=_device(again),
        at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    )


def _in_words(record: RunRecord, again: RunRecord) -> str:
    told = again.reason or record.reason
    detail = f": {told.splitlines()[0]}" if told else ""
    return f"was {record.status.value}, is {again.status.value}{detail}"


def _speed(record: RunRecord, again: RunRecord) -> Compared:
    """Compare speeds: in every dtype the intervals must overlap, or both speeds count as equal to the baseline."""
    if obstacle := _obstacle(record, again):
        return Compared(None, obstacle)
    try:
        then, now = scoring.score(record), scoring.score(again)
        intervals = _intervals(then), _intervals(now)
    except (ValueError, ArithmeticError):
        return Compared(None, "the samples of the record are damaged")
    if then.keys() != now.keys():
        return Compared(None, "other dtypes were timed", *intervals)
    differing = [dtype for dtype in then if not _agree(then[dtype], now[dtype])]
    reason = f"another speed in {', '.join(differing)}" if differing else ""
    return Compared(not differing, reason, *intervals)


def _obstacle(record: RunRecord, again: RunRecord) -> str:
    """Return the reason why speeds cannot be compared; empty if they can."""
    if not record.timings or not again.timings:
        return "nothing was timed" if not record.timings else "nothing was timed now"
    if _device(record) != _device(again):
        return f"measured on {_device(record)}, and this is {_device(again)}"
    if record.disturbance:
        return f"the record's own times do not count: {record.disturbance}"
    return f"the times of now do not count: {again.disturbance}" if again.disturbance else ""


def _device(record: RunRecord) -> str:
    return record.environment.get("device", record.device)


def _intervals(scores: Mapping[FloatDType, DtypeScore]) -> dict[str, Interval]:
    """Return the speedup of each dtype with its interval. Raises ValueError for values that are not finite."""
    speedups = {dtype: scored.speedup for dtype, scored in scores.items()}
    return {dtype: Interval(value=each.value, low=each.low, high=each.high) for dtype, each in speedups.items()}


def _agree(then: DtypeScore, now: DtypeScore) -> bool:
    are_equal_to_the_baseline = then.verdict is Verdict.SAME and now.verdict is Verdict.SAME
    return are_equal_to_the_baseline or (then.speedup.low <= now.speedup.high and now.speedup.low <= then.speedup.high)


def _signed(confirmation: Confirmation, key: PrivateKey | None) -> Confirmation:
    if key is None:
        return confirmation
    mine = confirmation.model_copy(update={"by": key.public})
    return mine.model_copy(update={"signature": key.sign(_message(mine))})


def _message(confirmation: Confirmation) -> bytes:
    return _DOMAIN + canonical(confirmation, without={"signature"})


def append(path: Path, confirmation: Confirmation) -> None:
    """Add a confirmation as one line, and return when it is on disk."""
    store.append_line(path, to_line(confirmation))


def to_line(confirmation: Confirmation) -> bytes:
    """Return a confirmation as one line of JSON, with a newline."""
    return canonical(confirmation, without=set()) + b"\n"


def load(paths: Sequence[Path]) -> Confirmations:
    """Load the confirmations beside these stores, each once. One with a wrong signature is a problem, and left out."""
    files = dict.fromkeys(beside(path) for path in paths)
    return read([path for path in files if path.exists()])


def read(files: Sequence[Path]) -> Confirmations:
    """Read files of confirmations, with the same checks as `load`."""
    problems: list[Problem] = []
    found: list[Confirmation] = []
    for place, line in lines(files, problems):
        try:
            found.append(_parsed(line))
        except ValueError as error:
            problems.append(Problem.at(place.where, error))
    return Confirmations(united(found), problems)


def united(*found: Iterable[Confirmation]) -> list[Confirmation]:
    """Return each confirmation once, in order of time."""
    every = {to_line(each): each for some in found for each in some}
    return [every[line] for line in sorted(every, key=lambda line: (every[line].at, line))]


def _parsed(line: bytes) -> Confirmation:
    """Parse one line. Raises ValueError if it is no confirmation, or if its signature is wrong."""
    try:
        found = Confirmation.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"not a confirmation: {place}: {first['msg']}") from None
    if (found.by or found.signature) and not is_signed(_message(found), found.by, found.signature):
        raise ValueError("the signature is wrong")
    return found


def believed(found: Iterable[Confirmation], trusted: frozenset[str]) -> list[Confirmation]:
    """Select the confirmations by trusted keys; all of them if no key is given."""
    return [each for each in found if not trusted or each.by in trusted]
