"""Run of an agent in a folder: begin it, carry it out or resume it, judge it in the end, and look at it again.

    run.yaml       the request of the run       journal.jsonl  calls, silences and verdicts, see journal
    start/         the starting kernel          best/          the best kernel, if it is not the start
    brief.json     the start of all prompts     lineage.json   every candidate with its origin
    prices.json    the prices of tokens         final.jsonl    the records of the final judging

The final judging is on cases that were unknown during the search. All facts about a run are made from these files
again, see `replayed`. So a run that was killed at any moment and resumed is the run that it would have been.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, cast

from pydantic import Field

from robust_kbench import store
from robust_kbench.agents import brief, finals, lineage, loop, prices, run, starts, submissions
from robust_kbench.agents.archive import ROOT, Archive, Judged, Node
from robust_kbench.agents.budget import Budget, Spent
from robust_kbench.agents.context import Brief
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.judging import Form, Judges, PublicJudge, check_that_it_is_timed
from robust_kbench.agents.preset import Preset
from robust_kbench.agents.providers.opening import open_all
from robust_kbench.agents.providers.protocol import Provider, Reply, Request
from robust_kbench.agents.sharing import Shared
from robust_kbench.devices import machine, open_device
from robust_kbench.errors import HarnessError, SpecError, UsageError
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.documents import Strict, parse, read_yaml, shown
from robust_kbench.schema.record import RunRecord, Tier
from robust_kbench.schema.submission import Language, Submission
from robust_kbench.schema.task import DeviceKind
from robust_kbench.version import __version__

RUN, START, BEST, FINAL = "run.yaml", "start", "best", "final.jsonl"
"""Names in the folder. START and BEST also name the submissions in the records of the final judging."""
_BRIEF, _PRICES, _LINEAGE = "brief.json", "prices.json", "lineage.json"
_BEFORE_A_RUN = {START, f".{START}.new", _BRIEF, _PRICES, f".{RUN}"}
_REFERENCE = Judged("time", True, 1.0, 1.0, 1.0)
_NOT_JUDGED = Judged("harness", log="not judged yet", is_ours=True)
_MAX_AUTHOR = 100
Observe = Callable[[Node, Budget], None]


def unobserved(node: Node, budget: Budget) -> None:
    """Ignore the progress of a search: the observer of a caller that wants to see nothing."""


class RunFile(Strict):
    """Request of a run, complete enough to resume the run without any option."""

    schema_version: Literal[1] = 1
    task: str
    agent: Preset
    llm: tuple[str, ...] = Field(min_length=1)
    seed: int
    device: str
    public_seed: int = Field(ge=0, lt=2**53)
    language: Language
    from_reference: bool
    jobs: int = Field(default=1, ge=1)
    tier: Tier = Field(default="full", description="of the final judging")
    kbench: str
    harness: str
    made_at: str


@dataclass(frozen=True)
class Evolved:
    """State of a run, as its files tell it.

    `spent` holds the amounts that were spent when each candidate came into the archive, in its order. `final` has
    records of the submissions `best` and, unless the run started from the reference, `start`. It is empty while the run
    is not over, or when nothing is better than the start. `hardware` is the description of the hardware that the models
    got.
    """

    file: RunFile
    outcome: loop.Outcome
    budget: Budget
    final: tuple[RunRecord, ...] = ()
    spent: tuple[Spent, ...] = ()
    hardware: str = ""

    @property
    def is_judged_elsewhere(self) -> bool:
        """True if the final judging was on another machine than the search, or beside another PyTorch."""
        told = dict(line.removeprefix("- ").split(": ", 1) for line in self.hardware.splitlines() if ": " in line)
        return any(each.environment.get(name, fact) != fact for each in self.final for name, fact in told.items())

    @property
    def winner(self) -> Node | None:
        """Best kernel of the run; None where nothing right is faster than the start."""
        return _winner(self.outcome.archive)


def asked_for(
    task: str,
    agent: Preset,
    llm: Sequence[str],
    seed: int,
    *,
    device: DeviceKind,
    start: Submission | None,
    language: Language | None = None,
    public_seed: int | None = None,
    tier: Tier = "full",
    jobs: int = 1,
) -> RunFile:
    """Return the request of a new run by this kbench; nothing is written yet.

    `start` is None for a run from the reference. `language` is that of kernels made from the reference; default: the
    usual one of the device. `public_seed` is that of the cases of the search; default: `seed`.
    """
    return RunFile(
        task=task,
        agent=agent,
        llm=tuple(llm),
        seed=seed,
        device=device,
        public_seed=seed if public_seed is None else public_seed,
        language=start.file.language if start else language or starts.usual_language(device),
        from_reference=start is None,
        jobs=jobs,
        tier=tier,
        kbench=__version__,
        harness=machine.harness_digest(),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def clear(folder: Path) -> None:
    """Remove the files of a `begin` that was killed before there was a run. A folder with other files stays."""
    there = {place.name for place in folder.iterdir()} if folder.is_dir() else set()
    if there and there <= _BEFORE_A_RUN:
        shutil.rmtree(folder)


def begin(folder: Path, file: RunFile, start: Submission | None, *, price_file: Path | None = None) -> None:
    """Write the files of a new run. `start` is None for a run from the reference. Raises UsageError and SpecError.

    The device is resolved: `auto` is `cuda` or `cpu` from now on.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder}: already exists and is not empty; choose another directory, or resume the run in it"
        )
    if file.from_reference != (start is None):
        raise UsageError("a run starts either from the reference or from a kernel")
    if start is not None and (start.file.task, start.file.language) != (file.task, file.language):
        found = f"{start.file.language} kernel of {start.file.task}"
        raise UsageError(f"{shown(start.name)} is a {found}, and the run is about {file.language} and {file.task}")
    task, device, known = load_task(file.task), open_device(file.device), prices.load(price_file)
    check_that_it_is_timed(file.language, device.kind)
    folder.mkdir(parents=True, exist_ok=True)
    if start is not None:
        submissions.write(start, folder / START)
    brief.write(brief.brief_for(task, _form(folder, file), device), folder / _BRIEF)
    listed = [each.model_dump(mode="json") for each in known.files]
    (folder / _PRICES).write_text(json.dumps({"files": listed}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = submissions.to_yaml(file.model_copy(update={"device": device.kind}).model_dump(mode="json"))
    fresh = folder / f".{RUN}"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(folder / RUN)


def read(folder: Path) -> RunFile:
    """Read the request of a run. Raises UsageError where there is no run, and SpecError for a broken file."""
    where = folder / RUN
    try:
        text = where.read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise UsageError(f"{folder}: holds no run; `kbench evolve TASK --out DIR` begins one") from None
    return parse(RunFile, read_yaml(text, str(where)), str(where))


def carry_out(
    folder: Path,
    *,
    observe: Observe = unobserved,
    tier: Tier | None = None,
    providers: Mapping[str, Provider] | None = None,
) -> Evolved:
    """Carry out the run, or go on with it: `search`, then `conclude`, with their errors."""
    search(folder, observe=observe, providers=providers)
    return conclude(folder, tier=tier)


def search(
    folder: Path,
    *,
    observe: Observe = unobserved,
    providers: Mapping[str, Provider] | None = None,
    shared: Path | None = None,
) -> Evolved:
    """Let the agent search until its budget is spent, or resume the search. Finished steps are not done again.

    `providers` answer instead of the ones that the run names, by the model's name in requests. `shared` is a folder
    where other runs keep verdicts. Raises UsageError, SpecError, and HarnessError when the start could not be judged.
    """
    file = read(folder)
    with Journal(folder / JOURNAL) as journal:
        if not (folder / FINAL).exists():
            if journal.stop != "budget":
                _search(folder, file, journal, providers, observe, shared)
            _keep(folder, replayed(folder))
    return replayed(folder)


def conclude(folder: Path, *, tier: Tier | None = None, shared: Path | None = None) -> Evolved:
    """Judge the best kernel, and the start beside it, in new processes on cases of seeds that are drawn only now.

    The judging is on this machine, which may be another one than that of the search. Its figures are compared with no
    figures of the search. `tier` replaces the run's own. `shared` is a folder where other runs keep records. A run that
    ended because no model answered is not judged in the end: it can be resumed. Raises HarnessError when the final
    judging failed.
    """
    with Journal(folder / JOURNAL):  # nobody else may go on with it meanwhile
        evolved = replayed(folder)
        if not (folder / FINAL).exists() and evolved.outcome.stop == "budget":
            among = None if shared is None else _among(shared, folder, evolved.file)
            finals.judge(folder, _names(evolved), evolved.file.device, tier or evolved.file.tier, among)
            finals.keep(folder, folder / FINAL)
    return replayed(folder)


def finalists(folder: Path) -> dict[str, Submission]:
    """Return the submissions that the final judging has no record of yet; empty while the run is not over."""
    evolved = replayed(folder)
    if evolved.outcome.stop != "budget" or (folder / FINAL).exists():
        return {}
    return finals.due(folder, _names(evolved))


def judge_finalist(folder: Path, name: str, *, shared: Path) -> None:
    """Judge one of the `finalists` now, for all runs that read `shared`; `conclude` finds the record there."""
    file = read(folder)
    finals.judge_for_all(read_submission(folder / name), file.device, file.tier, _among(shared, folder, file))


def replayed(folder: Path) -> Evolved:
    """Return the run as far as its files tell. Nothing is asked, judged or written, also while the run goes on.

    Raises UsageError for a run of a release whose loop went another way, and SpecError.
    """
    file, journal = read(folder), Journal.reading(folder / JOURNAL)
    root, budget, spent = _known_root(folder, file, journal), Budget(file.agent.limits, Spent()), list[Spent]()
    outcome = loop.Outcome(Archive(root, population=file.agent.population))
    hardware = ""
    if journal.run is not None:
        models, told = tuple(journal.run["models"]), brief.read(folder / _BRIEF)
        hardware = told.hardware
        setting = loop.Setting(file.agent, told, root, file.language, models, file.seed)
        search = loop.Loop(
            setting,
            ask=run.Asking(journal, dict.fromkeys(models, _Nobody()), budget, _prices(folder)),
            judge=run.Judging(journal, _no_verdicts),
            budget=budget,
            observe=lambda node: spent.append(replace(budget.spent)),
        )
        outcome = search.outcome
        try:
            search.run()
        except _Gap:
            if journal.stop == "budget":
                remedy = f"look at it with kbench {shown(file.kbench)}, which made it"
                raise UsageError(f"{folder}: this kbench would have gone another way; {remedy}") from None
    outcome.stop = cast(loop.Stop, journal.stop) if journal.stop in ("budget", "provider_error") else "unfinished"
    final = tuple(store.read(folder / FINAL)) if (folder / FINAL).exists() else ()
    return Evolved(file, outcome, budget, final, tuple(spent), hardware)


class _Gap(Exception):
    """Error raised when the journal does not go any further."""


class _Nobody:
    """Provider for a journal that is only read: it raises _Gap instead of asking a model."""

    def complete(self, request: Request) -> Reply:
        raise _Gap


def _no_verdicts(named: Sequence[tuple[str, str]]) -> list[tuple[str, Judged]]:
    if named:
        raise _Gap
    return []


def _form(folder: Path, file: RunFile) -> Form:
    """Return the form of all candidates of the run."""
    if file.from_reference:
        return Form(starts.form_of(load_task(file.task), file.language))
    return Form(read_submission(folder / START))


def _prices(folder: Path) -> prices.PriceList:
    """Read the prices of the time when the run was begun. Raises SpecError.

    With them, a run has spent the same when it is looked at later.
    """
    where = folder / _PRICES
    try:
        files = json.loads(where.read_text(encoding="utf-8"))["files"]
        return prices.PriceList(tuple(parse(prices.PriceFile, each, str(where)) for each in files))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise SpecError(f"{where}: does not hold the prices of a run") from None


def _search(
    folder: Path,
    file: RunFile,
    journal: Journal,
    providers: Mapping[str, Provider] | None,
    observe: Observe,
    shared: Path | None,
) -> None:
    form, told, here = _form(folder, file), brief.read(folder / _BRIEF), _brief_here(folder, file)
    if (machine.harness_digest(), here) != (file.harness, told):
        raise UsageError(f"{folder}: was begun on another machine, or by another kbench: begin it anew")
    known = open_all(file.llm) if providers is None else providers
    with Judges(file.device, jobs=file.jobs) as judges:
        public = PublicJudge(judges, form, file.public_seed)
        judge = public if shared is None else partial(_shared(shared, file, told).verdicts, public)
        root = _judged_root(folder, file, journal, judge)
        setting = loop.Setting(file.agent, told, root, file.language, tuple(known), file.seed)
        run.search(setting, journal, known, judge, price=_prices(folder), observe=observe)


def _brief_here(folder: Path, file: RunFile) -> Brief:
    """Return the brief that a run would give its models if it began now and here."""
    return brief.brief_for(load_task(file.task), _form(folder, file), open_device(file.device))


def _known_root(folder: Path, file: RunFile, journal: Journal) -> Node:
    """Return the root of the run, with its verdict if it has one already."""
    if file.from_reference:
        return loop.started(load_task(file.task).reference, _REFERENCE, is_reference=True)
    code = _form(folder, file).code
    return loop.started(code, journal.judged(ROOT, run.digest(code)) or _NOT_JUDGED, is_reference=False)


def _judged_root(folder: Path, file: RunFile, journal: Journal, judge: run.Verdicts) -> Node:
    root = _known_root(folder, file, journal)
    if root.judged is not _NOT_JUDGED:
        return root
    ((_, judged),) = judge([(ROOT, root.candidate.code)])
    if judged.is_ours:
        raise HarnessError(f"{folder / START}: could not be judged: {shown(judged.log)[:500]}")
    if not judged.is_right:
        said = shown(judged.log)[:500]
        raise UsageError(f"{folder / START}: a run needs a kernel that is right; this failed at {judged.stage}: {said}")
    journal.note_judged(ROOT, run.digest(root.candidate.code), judged)
    return replace(root, judged=judged)


def _winner(archive: Archive) -> Node | None:
    best = archive.best
    return best if best.is_kernel and best.id != ROOT else None


def _keep(folder: Path, evolved: Evolved) -> None:
    """Write the best kernel as a submission, and all candidates with their origins."""
    winner = evolved.winner
    if winner is not None:
        found = _form(folder, evolved.file).submission(BEST, winner.candidate.code)
        author = _author(evolved.file, found.file.author)
        submissions.write(found.model_copy(update={"file": found.file.model_copy(update=author)}), folder / BEST)
    entries = lineage.as_json(evolved.outcome.archive)
    (folder / _LINEAGE).write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _author(file: RunFile, author: str) -> dict[str, str]:
    """Name the agent that made the kernel, and the author of the start, for the submission's author field."""
    made = f"{file.agent.name} with {', '.join(file.llm)}, kbench evolve"
    return {"author": shown(f"{made}; from a kernel of {author}" if author else made)[:_MAX_AUTHOR]}


def _names(evolved: Evolved) -> list[str]:
    """Return the names of the submissions that are judged in the end."""
    return [] if evolved.winner is None else [BEST] if evolved.file.from_reference else [BEST, START]


def _among(shared: Path, folder: Path, file: RunFile) -> Shared:
    """Return the records shared with the runs that are judged here, wherever they have searched."""
    return _shared(shared, file, _brief_here(folder, file))


def _shared(folder: Path, file: RunFile, told: Brief) -> Shared:
    """Return the store of runs by this harness, on the machine in `told`, of this version of the task."""
    return Shared(folder, (machine.harness_digest(), file.device, told.hardware, load_task(file.task).digest))
