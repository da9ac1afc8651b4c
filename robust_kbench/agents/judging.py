"""Judging of candidates like any submission: by evaluate(), in processes of their own, on cases of a public seed."""

from __future__ import annotations

import atexit
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from robust_kbench.agents.archive import Judged
from robust_kbench.errors import UsageError
from robust_kbench.schema.record import CANDIDATE, RunRecord, Status, Tier
from robust_kbench.schema.submission import MAX_FILE_BYTES, Language, Submission
from robust_kbench.side_by_side import end_with_parent

if TYPE_CHECKING:  # imports torch, for which only the processes that judge have a use
    from robust_kbench.evaluate import Evaluator
    from robust_kbench.scoring import CaseScore

_STAGES: Mapping[Status, str] = {
    Status.BUILD_FAILED: "compile",
    Status.UNSUPPORTED: "compile",
    Status.CRASHED: "run",
    Status.TIMED_OUT: "run",
    Status.INCORRECT: "correct",
    Status.REJECTED: "guard",
    Status.PASSED: "time",
    Status.HARNESS_ERROR: "harness",
}
_TIMED: Mapping[str, tuple[Language, ...]] = {"cpu": ("python", "cpp"), "cuda": ("python", "triton", "cuda")}
"""Languages that run natively on a device. The others are interpreted or emulated, so that their times mean nothing."""
_TRIES = 3
Result = TypeVar("Result")


def check_that_it_is_timed(language: Language, device: str) -> None:
    """Check that kernels of this language can be compared on this kind of device. Raises UsageError otherwise."""
    if language not in _TIMED[device]:
        there = ", ".join(_TIMED[device])
        raise UsageError(f"{language} kernels are not timed on the {device} device; languages that are: {there}")


@dataclass(frozen=True)
class Form:
    """Form that all candidates of a run share: the start's submission, of which a candidate replaces one file."""

    start: Submission

    def submission(self, name: str, code: str) -> Submission:
        """Return a candidate's code as a submission of this name."""
        sources = {**self.start.sources, self.start.entry_file: code}
        return self.start.model_copy(update={"name": name, "sources": sources})

    @property
    def language(self) -> Language:
        """Language that the kernels of the run are written in."""
        return self.start.file.language

    @property
    def code(self) -> str:
        """Source code of the start's own kernel."""
        return self.start.sources[self.start.entry_file]


class Judges:
    """Processes that judge, each with an evaluator that stays warm; use it as a context manager.

    They end with the context, and with the process that has started them, however that one ends.
    """

    def __init__(self, device: str, *, jobs: int = 1) -> None:
        self._device, self._jobs = device, jobs
        self._pool = self._opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _opened(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
        return ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_open, initargs=(self._device,))

    def each(
        self, work: Callable[[Submission], Result], submissions: Mapping[str, Submission]
    ) -> Iterator[tuple[str, Result | None]]:
        """Yield the result of each submission as soon as it is ready.

        The submissions are judged side by side, but measurements take turns on a machine. The result is None for a
        submission at which the process that judged it has ended three times.
        """
        left = dict(submissions)
        begun = self._begun(work, submissions)
        for future in as_completed(begun):
            try:
                result = future.result()
            except BrokenProcessPool:
                continue
            del left[begun[future]]
            yield begun[future], result
        if left:  # all that were under way have failed; whose fault it was shows when each is alone
            self._reopen()
        for name, submission in left.items():
            yield name, self._alone(work, submission)

    def _begun(
        self, work: Callable[[Submission], Result], submissions: Mapping[str, Submission]
    ) -> dict[Future[Result], str]:
        begun: dict[Future[Result], str] = {}
        for name, submission in submissions.items():
            try:
                begun[self._pool.submit(work, submission)] = name
            except BrokenProcessPool:
                break
        return begun

    def _alone(self, work: Callable[[Submission], Result], submission: Submission) -> Result | None:
        for _ in range(_TRIES - 1):
            try:
                return self._pool.submit(work, submission).result()
            except BrokenProcessPool:
                self._reopen()
        return None

    def _reopen(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._opened()


@dataclass(frozen=True)
class PublicJudge:
    """Judge that a search asks: tier quick, on the cases of a public seed."""

    judges: Judges
    form: Form
    seed: int

    def __call__(self, named: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Judged]]:
        """Yield a verdict for each name and code, as soon as it is ready."""
        fitting: dict[str, Submission] = {}
        for name, code in named:
            size = len(code.encode(errors="replace"))
            if size > MAX_FILE_BYTES:
                said = f"{size:,} bytes; a source file may have at most {MAX_FILE_BYTES:,}"
                yield name, Judged("parse", log=said)
            else:
                fitting[name] = self.form.submission(name, code)
        for name, judged in self.judges.each(partial(judge_publicly, seed=self.seed), fitting):
            yield name, judged or Judged("harness", log="the process that judged it has ended, each time", is_ours=True)


_EVALUATORS: list[Evaluator] = []
"""Evaluator of a process that judges, one at most."""


def _open(device: str) -> None:
    end_with_parent()
    from robust_kbench.evaluate import Evaluator

    _EVALUATORS.append(Evaluator(device))
    atexit.register(_EVALUATORS[0].close)


def judge_publicly(submission: Submission, *, seed: int) -> Judged:
    """Judge on cases of a public seed, in a process that judges. Return the verdict that an agent may know."""
    return verdict(_record(submission, "quick", seed))


def judge_finally(submission: Submission, *, tier: Tier) -> RunRecord:
    """Judge on cases of a seed that evaluate() draws now, when the submission cannot change; in a judging process."""
    return _record(submission, tier, None)


def _record(submission: Submission, tier: Tier, seed: int | None) -> RunRecord:
    """Evaluate the submission. An error of the harness is tried again, and is then reported as such an error."""
    for _ in range(_TRIES):
        record = _EVALUATORS[0].evaluate(submission, tier=tier, seed=seed)
        if record.status is not Status.HARNESS_ERROR:
            break
    return record


def verdict(record: RunRecord) -> Judged:
    """Return the part of a record that an agent may know."""
    findings = tuple(f"{each.severity}: {each.guard}: {each.message}" for each in record.findings)
    if record.status is Status.PASSED and record.timings:
        return _timed(record, findings)
    log = "\n".join(part for part in (record.reason, record.log) if part)
    if record.status is Status.PASSED:
        return Judged("harness", log="right, but not timed on this machine", findings=findings, is_ours=True)
    is_ours = record.status is Status.HARNESS_ERROR
    return Judged(_STAGES[record.status], log=log, findings=findings, is_ours=is_ours)


def _timed(record: RunRecord, findings: tuple[str, ...]) -> Judged:
    """Return the verdict on a right kernel, with its speed against plain PyTorch.

    The speed and the bounds of its interval are geometric means over all timed cases and dtypes.
    """
    from robust_kbench.scoring import geometric_mean, score

    cases = [case for each in score(record).values() for case in each.cases]
    ratios = [each for case in cases if (each := case.over_plain) is not None]
    if len(ratios) < len(cases):
        return Judged("harness", log="right, but eager PyTorch was lost beside it", findings=findings, is_ours=True)
    value, low, high = (
        geometric_mean([getattr(ratio, bound) for ratio in ratios]) for bound in ("value", "low", "high")
    )
    median_us = geometric_mean([case.medians_us[CANDIDATE] for case in cases])
    return Judged(
        "time", True, value, low, high, median_us,
        profile=_profile(record), findings=findings, timed=tuple(map(named, cases)),
    )  # fmt: skip


def named(case: CaseScore) -> str:
    """Name a timed case in words that are the same in every record that has it."""
    return ", ".join([case.dtype, *(f"{name} {size}" for name, size in case.axes.items())])


def _profile(record: RunRecord) -> str:
    """Describe where the time goes, as far as the record tells: each timed case beside its baselines and the floor."""
    from robust_kbench.scoring import score

    lines = []
    for each in score(record).values():
        for case in each.cases:
            times = ", ".join(f"{name} {us:.1f} us" for name, us in case.medians_us.items())
            floor = "" if case.floor_us is None else f"; the hardware allows {case.floor_us:.1f} us"
            lines.append(f"{named(case)}: {times}{floor}")
    return "\n".join(lines)
