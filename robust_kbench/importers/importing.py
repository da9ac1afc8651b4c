"""Import of one problem after the other: survey, task, audit. An error is told, and costs no other problem."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.importers import admission, sandbox
from robust_kbench.importers.description import Found, Request, Surveyed
from robust_kbench.importers.writing import imported_at, write_task
from robust_kbench.progress import Progress, silent
from robust_kbench.registry import read_task
from robust_kbench.schema.admission import Admission


class _StoppedError(Exception):
    """Error that ends an import for which no caller waits any longer."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one import. `admission` is there if the problem was imported, else `error` says why not."""

    place: str
    name: str
    folder: Path | None = None
    admission: Admission | None = None
    error: str = ""

    @property
    def is_admitted(self) -> bool:
        """True if the import was admitted as a task."""
        return self.admission is not None and self.admission.status == "admitted"


def import_all(
    problems: Sequence[Found],
    into: Path,
    *,
    seconds: int,
    with_audit: bool,
    jobs: int,
    progress: Progress = silent,
) -> Iterator[Outcome]:
    """Import the problems in order, `jobs` at once. `seconds`: for each survey, and as many for each audit.

    A caller that ends the iteration early ends the surveys and audits that are going on.
    """
    stop = Event()
    one = partial(import_one, into=into, seconds=seconds, with_audit=with_audit, stop=stop)
    with ThreadPoolExecutor(jobs) as threads:
        try:
            progress("problems", 0, len(problems))
            for done, outcomes in enumerate(threads.map(one, problems), 1):
                yield from outcomes
                progress("problems", done, len(problems))
        finally:
            stop.set()


def import_one(found: Found, into: Path, *, seconds: int, with_audit: bool, stop: Event) -> list[Outcome]:
    """Import one problem, which may become several tasks. Tasks that an earlier import has made of it stay."""
    if kept := list(_kept(found, into)):
        return kept
    request = found.request.model_copy(update={"seconds": float(seconds)})
    told = sandbox.ask(request, seconds=seconds, stop=stop)
    if told.error or not told.surveyed:
        return [Outcome(found.place, request.name, error=told.error or "the sandbox reports no survey")]
    count = len(told.surveyed)
    return [
        _import(found, name, surveyed, into, seconds=seconds, with_audit=with_audit, stop=stop, count=count)
        for name, surveyed in zip(_names(request.name, count), told.surveyed, strict=True)
    ]


def _names(name: str, count: int) -> list[str]:
    return [name + (f"_{number}" if number > 1 else "") for number in range(1, count + 1)]


def _kept(found: Found, into: Path) -> Iterator[Outcome]:
    """Yield the outcomes of an earlier import; nothing if some are missing, or were not audited to the end."""
    first = imported_at(into / found.request.name)
    names = _names(found.request.name, first.count) if first else []
    outcomes = []
    for name in names:
        folder = into / name
        known = read_task(folder).admission if _is_of(found, folder) else None
        if known is None or not admission.is_final(known):
            return
        outcomes.append(Outcome(found.place, name, folder, known))
    yield from outcomes


def _is_of(found: Found, folder: Path) -> bool:
    imported = imported_at(folder)
    return imported is not None and imported.digest == found.request.digest


def _import(
    found: Found, name: str, surveyed: Surveyed, into: Path, *, seconds: int, with_audit: bool, stop: Event, count: int
) -> Outcome:
    try:
        if _is_of(found, into / name):
            shutil.rmtree(into / name)  # an import that did not come to its end
        folder = write_task(into, name, surveyed, found, count)
    except (SpecError, UsageError) as error:
        return Outcome(found.place, name, error=str(error))
    try:
        report = None
        if with_audit and not surveyed.faults:
            asked = Request(what="audit", name=name, seconds=float(seconds))
            report = sandbox.ask(asked, seconds=seconds, stop=stop, files={f"{sandbox.TASK}/{name}": folder})
        if stop.is_set():
            raise _StoppedError
        return Outcome(found.place, name, folder, admission.record(folder, surveyed, report))
    except SpecError as error:  # such as a number that no file may have
        shutil.rmtree(folder, ignore_errors=True)
        return Outcome(found.place, name, error=str(error))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def report(outcome: Outcome) -> Iterator[str]:
    """Yield lines that tell the outcome of one problem in words."""
    if outcome.admission is None:
        yield f"not imported  {outcome.place}: {outcome.error}"
        return
    found = outcome.admission
    yield f"{found.status:13} {outcome.name}  {found.audit}".rstrip()
    yield from (f"  reason   {reason}" for reason in found.reasons)
    yield from (f"  accepts  {name}" for name in found.non_answers)
    yield from (f"  note     {note}" for note in found.notes)


def summary(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield a summary: the numbers of imports and of admitted tasks, tasks that accept a non-answer, failed imports."""
    found = list(outcomes)
    imported = [each for each in found if each.admission is not None]
    admitted = [each for each in imported if each.is_admitted]
    yield f"{len(imported)}/{len(found)} imported, {len(admitted)} of them admitted"
    accepting = [each for each in imported if each.admission and each.admission.non_answers]
    yield f"{len(accepting)} accept a non-answer"
    for each in accepting:
        names = ", ".join(name.partition(" ")[2] for name in each.admission.non_answers) if each.admission else ""
        yield f"  {each.name}: {names}"
    missing = [each for each in found if each.admission is None]
    if missing:
        yield f"{len(missing)} not imported"
        yield from (f"  {each.place}: {each.error}" for each in missing)
