"""Summary of a record for a leaderboard: everything but its samples and cases, which stay in their store.

Stores hold gigabytes, so lines are read, parsed and scored in several processes, and the results that come back are
small. A line that cannot be read, or that causes an unexpected error, is reported as a problem. It never stops the
others.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from robust_kbench import freed_memory
from robust_kbench.errors import HarnessError, KBenchError
from robust_kbench.leaderboard.reading import Place, Problem, places, read_line
from robust_kbench.leaderboard.speeds import Binding, DtypeLine, speeds
from robust_kbench.schema.record import RunRecord
from robust_kbench.signing import digest_of, standing, whole
from robust_kbench.store import view_line
from robust_kbench.timing.rounds import Measured, measured_together

__all__ = ["Binding", "DtypeLine", "Loaded", "Summary", "distinct", "summaries", "summarise"]

_REASON = 200
_FEW = 200  # lines that are read sooner than a process is started
_CHUNK = 32
_TOGETHER = 4  # records that are scored at once: calls of numpy are shared, and all of it stays in the cache
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of one record. Its texts are the record's own, and so hostile. Its numbers are finite or None.

    `device` is the device's name, where the record tells one. `intact` and `signer`: see signing. `digest` is of the
    content, also where the record is not sealed. `scores` has an entry for every declared dtype.
    """

    task: str
    task_version: int
    task_digest: str
    submission: str
    submission_digest: str
    author: str
    language: str
    abi: str
    track: str
    precision: str
    dtypes: tuple[str, ...]
    device: str
    device_kind: str
    execution: str
    tier: str
    handshake: str
    clock: str
    rule: str
    isolation: tuple[str, ...]
    seed: int
    replay: bool
    status: str
    reason: str
    disturbance: str
    findings: tuple[tuple[str, str, str], ...]
    labels: tuple[str, ...]
    kbench: str
    torch: str
    driver: str
    harness: str
    started_at: str
    is_rankable: bool
    is_contender: bool
    is_discarded: bool
    place: Place
    digest: str
    signer: str | None
    intact: bool | None
    scores: dict[str, DtypeLine]
    bindings: tuple[Binding, ...]

    @property
    def source_digest(self) -> str:
        """Digest of the submission's files: equal for equal sources, whatever they are called."""
        return self.submission_digest


@dataclass(frozen=True)
class Loaded:
    """Contents of stores: a summary for each run in order of time, problems of reading, and a count of repeated lines.

    A run has several summaries if its lines tell different things: see `distinct`.
    """

    summaries: list[Summary]
    problems: list[Problem]
    duplicates: int


def summarise(
    record: RunRecord,
    place: Place,
    line: bytes | None = None,
    found: Sequence[Measured] | None = None,
    *,
    with_bindings: bool = True,
) -> Summary:
    """Summarise a record, whose line stands at `place`.

    `line` is that line. It saves time, and is needed where `record` is only a view of it. `found`: see `scoring.score`.
    """
    speed, stands, facts = speeds(record, found), standing(record, line), record.environment
    is_rankable = record.is_rankable  # and then nothing disturbed it, and nobody discards it
    disturbance = "" if is_rankable else record.disturbance
    return Summary(
        task=record.task,
        task_version=record.task_version,
        task_digest=record.task_digest,
        submission=record.submission,
        submission_digest=record.submission_digest,
        author=record.author,
        language=record.language,
        abi=record.abi,
        track=record.track,
        precision=record.precision,
        dtypes=record.dtypes,
        device=facts.get("device", record.device),
        device_kind=record.device,
        execution=record.execution,
        tier=record.tier,
        handshake=record.handshake,
        clock=record.clock,
        rule=record.rule,
        isolation=record.isolation,
        seed=record.seed,
        replay=record.replay,
        status=record.status.value,
        reason=(record.reason or disturbance or speed.damage).split("\n")[0][:_REASON],
        disturbance=disturbance,
        findings=tuple((each.guard, each.severity, each.message) for each in record.findings),
        labels=record.labels,
        kbench=facts.get("kbench", ""),
        torch=facts.get("torch", ""),
        driver=facts.get("driver", ""),
        harness=facts.get("harness", ""),
        started_at=record.started_at,
        is_rankable=is_rankable and not speed.damage,
        is_contender=record.is_contender,
        is_discarded=not is_rankable and record.is_discarded,
        place=place,
        digest=record.digest or digest_of(whole(record, line)),
        signer=stands.signer,
        intact=stands.intact,
        scores=speed.lines,
        bindings=speed.bindings if with_bindings else (),
    )


class _Read(NamedTuple):
    """Line of a store with the record that it holds."""

    place: Place
    line: bytes
    record: RunRecord


def distinct(found: Iterable[Summary], trusted: frozenset[str] = frozenset()) -> list[Summary]:
    """Return each run once, wherever it stands, in order of time.

    If lines tell different things of a run, the one counts that a trusted key has signed, else one that any key has
    signed, else the first. So no added line replaces a run. The contents of the lines do not influence the choice.
    """
    runs: dict[tuple[Any, ...], Summary] = {}
    for each in sorted(found, key=lambda each: _order(each, trusted)):
        runs.setdefault(_run(each), each)
    return list(runs.values())


def _run(each: Summary) -> tuple[Any, ...]:
    """Return the key that all lines about one run share. Its seed was secret before the run began."""
    return each.started_at, each.seed, each.task, each.submission_digest, each.device


def _order(each: Summary, trusted: frozenset[str]) -> tuple[Any, ...]:
    doubt = (each.intact is False, each.signer not in trusted, each.signer is None)
    return (*_run(each), *doubt, str(each.place.path), each.place.number)


def _unrepeated(found: Iterable[Summary]) -> list[Summary]:
    """Return the summaries in the order of `distinct`, without repeated lines of the same signer."""
    once: dict[tuple[Any, ...], Summary] = {}
    for each in sorted(found, key=lambda each: _order(each, frozenset())):
        once.setdefault((_run(each), each.digest, each.intact is False, each.signer), each)
    return list(once.values())


def _contradictions(found: Iterable[Summary]) -> Iterator[Problem]:
    """Yield a problem for each line that tells something else of a run than an earlier one."""
    first: dict[tuple[Any, ...], Summary] = {}
    for each in found:
        if each.intact is not False and (other := first.setdefault(_run(each), each)).digest != each.digest:
            what = f"tells something else of the run that {other.place.where} tells of; one of them counts"
            yield Problem.at(each.place.where, what)


def summaries(paths: Sequence[Path], jobs: int | None = None, *, with_bindings: bool = True) -> Loaded:
    """Load all records of these stores. `jobs` processes read them, by default one for each core.

    Tables show no timed case: without `with_bindings` less has to be carried from process to process.
    """
    problems: list[Problem] = []
    found: list[Summary] = []
    with _no_collection():  # millions of objects stay, and nothing among them refers back
        for outcome in _outcomes(places(paths, problems), jobs or len(os.sched_getaffinity(0)), with_bindings):
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                found.append(outcome)
    runs = _unrepeated(found)
    problems += _contradictions(runs)
    return Loaded(runs, sorted(problems, key=_line), len(found) - len(runs))


def _line(problem: Problem) -> tuple[str, int, str]:
    """Return the sort key of a problem: by files and lines, whatever process has found it."""
    file, _, number = problem.where.rpartition(":")
    return (file, int(number), problem.what) if number.isdecimal() else (problem.where, 0, problem.what)


@contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _outcomes(stream: Iterator[Place], jobs: int, with_bindings: bool) -> Iterator[Summary | Problem]:
    first = list(islice(stream, _FEW))
    every = chain(first, stream)
    work = partial(_all_outcomes, with_bindings=with_bindings)
    if jobs > 1 and len(first) == _FEW:
        return _in_processes(work, every, jobs)
    return chain.from_iterable(map(work, _groups(every, _TOGETHER)))


def _in_processes(
    work: Callable[[Sequence[Place]], list[Summary | Problem]], places: Iterator[Place], jobs: int
) -> Iterator[Summary | Problem]:
    """Yield the outcomes of several processes in the order of the lines.

    Only places go to the processes, which read for themselves.
    """
    with ProcessPoolExecutor(jobs, mp_context=_context(), initializer=freed_memory.keep) as pool:
        try:
            for outcomes in pool.map(work, _groups(places, _CHUNK)):
                yield from outcomes
        except BrokenProcessPool:
            raise HarnessError(
                "a process that read records was killed, perhaps for want of memory; try fewer --jobs"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _context() -> BaseContext:
    """Return the context for new processes: fork, which is quick, if no thread of ours may hold a lock, else spawn."""
    return multiprocessing.get_context("fork" if threading.active_count() == 1 else "spawn")


def _groups(places: Iterator[Place], size: int) -> Iterator[list[Place]]:
    return iter(lambda: list(islice(places, size)), [])


def _all_outcomes(places: Sequence[Place], *, with_bindings: bool) -> list[Summary | Problem]:
    few = partial(_few_outcomes, with_bindings=with_bindings)
    return list(chain.from_iterable(map(few, _groups(iter(places), _TOGETHER))))


def _few_outcomes(places: Sequence[Place], *, with_bindings: bool) -> list[Summary | Problem]:
    read = [_or_problem(place, partial(_read, place)) for place in places]
    found = iter(measured_together([each.record.timings for each in read if isinstance(each, _Read)]))
    return [_summary(each, next(found), with_bindings) if isinstance(each, _Read) else each for each in read]


def _read(place: Place) -> _Read:
    line = read_line(place)
    return _Read(place, line, view_line(line, place.where))


def _summary(read: _Read, found: Sequence[Measured] | None, with_bindings: bool) -> Summary | Problem:
    work = partial(summarise, read.record, read.place, read.line, found, with_bindings=with_bindings)
    return _or_problem(read.place, work)


def _or_problem(place: Place, work: Callable[[], Result]) -> Result | Problem:
    try:
        return work()
    except KBenchError as error:
        return Problem.at(place.where, error)
    except Exception as error:  # whatever it is, a line that somebody sent must not cost the others
        return Problem.at(place.where, f"cannot be read: {type(error).__name__}")
