"""Sweep of agents x tasks x models x seeds at equal budgets, from one file. A killed sweep goes on where it was.

First all agents search. Then their results are judged in the end, each kernel once. Runs share verdicts, see sharing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from robust_kbench import side_by_side
from robust_kbench.agents import evolution, page, starts, submissions, tables
from robust_kbench.agents import preset as presets
from robust_kbench.agents.evolution import FINAL, RUN, Observe, RunFile, unobserved
from robust_kbench.agents.preset import Preset
from robust_kbench.agents.providers import opening
from robust_kbench.agents.summary import Summary, agent_digest, summarise
from robust_kbench.devices import open_device
from robust_kbench.errors import UsageError
from robust_kbench.registry import find_submissions, load_task
from robust_kbench.schema.documents import Strict, parse, read_yaml, shown
from robust_kbench.schema.record import Tier
from robust_kbench.schema.submission import Language, Submission
from robust_kbench.schema.task import DeviceKind

DEMONSTRATION = "demonstration"
ASKED, SHARED = "sweep.yaml", "shared"
Item = TypeVar("Item")
Result = TypeVar("Result")
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


class SweepFile(Strict):
    """Request of a sweep: every agent, task, model and seed with every other, each with so many evaluations."""

    agents: tuple[str, ...] = Field(min_length=1, description="names of presets, or paths of YAML files")
    tasks: tuple[str, ...] = Field(min_length=1)
    llms: tuple[str, ...] = Field(min_length=1, description="as behind --llm; each run asks one of them")
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**53)], ...] = Field(min_length=1)
    evaluations: int = Field(ge=1)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    starts: str = Field(
        default=starts.REFERENCE, description="demo, reference, or a folder with a submission for each task"
    )
    language: Language | None = Field(default=None, description="from the reference: default cuda, or cpp on a cpu")
    public_seed: Annotated[int, Field(ge=0, lt=2**53)] = Field(
        default=0, description="of the cases on which all of them search"
    )
    tier: Tier = Field(default="full", description="of the final judging")


@dataclass(frozen=True)
class Run:
    """Run of a sweep, with its folder in that of the sweep."""

    task: str
    agent: Preset
    llm: str
    seed: int

    @property
    def name(self) -> str:
        """Name of the run's folder in the sweep's."""
        return "__".join(_PLAIN.sub("-", part) for part in (self.task, self.agent.name, self.llm, str(self.seed)))

    def __str__(self) -> str:
        return f"{self.task}  {self.agent.name}  {opening.described(self.llm)}  seed {self.seed}"


Told = Callable[[Run, Summary | str], None]
"""Listener that hears the summary of a run, or the words of its error."""
Counted = Callable[[Run, str, int, int], None]
"""Listener that hears that a submission of a run was judged in the end, for all runs that share it.

It gets the run, the submission's name, its number among the judged ones, and the number of all.
"""


@dataclass(frozen=True)
class Swept:
    """Summaries of the runs in their order, and the words of the error for each that failed."""

    summaries: tuple[Summary, ...]
    failures: tuple[tuple[Run, str], ...]


def read(file: str) -> SweepFile:
    """Read a sweep of the user's, or `demonstration`. Raises UsageError and SpecError.

    Paths of agents and starts are relative to the file.
    """
    if file == DEMONSTRATION:
        with resources.as_file(resources.files("robust_kbench.agents") / f"{DEMONSTRATION}.yaml") as own:
            return _parsed(own)
    found = _parsed(Path(file))
    folder = Path(file).parent
    agents = tuple(str(folder / agent) if agent.endswith((".yaml", ".yml")) else agent for agent in found.agents)
    is_folder = found.starts not in (starts.DEMO, starts.REFERENCE)
    return found.model_copy(
        update={"agents": agents, "starts": str(folder / found.starts) if is_folder else found.starts}
    )


def _parsed(file: Path) -> SweepFile:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; a sweep is a YAML file, or `{DEMONSTRATION}`") from None
    return parse(SweepFile, read_yaml(text, str(file)), str(file))


def narrowed(
    file: SweepFile,
    *,
    agents: Sequence[str] = (),
    tasks: Sequence[str] = (),
    seeds: Sequence[int] = (),
    evaluations: int | None = None,
) -> SweepFile:
    """Return a part of a sweep, or a shorter one. Raises UsageError for a name or seed that is not in it."""
    changes: dict[str, Any] = {}
    for name, wanted in (("agents", agents), ("tasks", tasks), ("seeds", seeds)):
        known = getattr(file, name)
        for each in wanted:
            if each not in known:
                raise UsageError(
                    f"--{name}: {shown(str(each))} is not in the sweep; it has {', '.join(map(str, known))}"
                )
        if wanted:
            changes[name] = tuple(each for each in known if each in wanted)
    if evaluations is not None:
        changes["evaluations"] = evaluations
    return file.model_copy(update=changes)


def runs(file: SweepFile) -> list[Run]:
    """List all runs of a sweep, seed after seed, so that an unfinished sweep is about all agents and tasks.

    Raises UsageError and SpecError for an agent, a task or a model that does not exist, before anything has begun.
    """
    agents = [_limited(presets.load(agent), file.evaluations) for agent in file.agents]
    tasks = [load_task(task).spec.name for task in file.tasks]
    for llm in file.llms:
        opening.open_provider(llm)
    found = [Run(task, agent, llm, seed) for seed, task, agent, llm in product(file.seeds, tasks, agents, file.llms)]
    names = [run.name for run in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(
            f"two runs of the sweep would have the folder {twice}; name every agent, task, model and seed once"
        )
    return found


def _limited(agent: Preset, evaluations: int) -> Preset:
    return agent.model_copy(update={"limits": agent.limits.model_copy(update={"evaluations": evaluations})})


def carry_out(
    file: SweepFile,
    folder: Path,
    *,
    jobs: int = 1,
    begun: Callable[[Run], Observe] = lambda run: unobserved,
    searched: Told = lambda run, what: None,
    judged: Counted = lambda run, name, number, count: None,
    ended: Told = lambda run, what: None,
) -> Swept:
    """Let all agents search, and judge their results in the end, or go on with that.

    `jobs` is the number of runs side by side; `begun` observes a search only if it is 1. A run that fails is reported,
    and ends nothing. The tables of all results so far are written after every run. Raises UsageError and SpecError
    before anything has begun.
    """
    orders = _orders(file, folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ASKED).write_text(submissions.to_yaml(file.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
    found: dict[Run, Summary | str] = {}

    def note(order: _Order, what: Summary | str, tell: Told) -> None:
        found[order.run] = what
        write(_swept(orders, found), file, folder)
        tell(order.run, what)

    searching = partial(_search, observe=unobserved) if jobs > 1 else lambda order: _search(order, begun(order.run))
    for order, what in _each(searching, orders, jobs, file.device):
        note(order, what, searched)
    # Only now is the first hidden seed drawn: nobody searches any more.
    over = [each for each in orders if isinstance(found[each.run], Summary)]
    finalists = _finalists(over)
    for number, (finalist, _) in enumerate(_each(_judge, finalists, jobs, file.device), 1):
        judged(finalist.order.run, finalist.name, number, len(finalists))
    for order, what in _each(_conclude, over, jobs, file.device):
        note(order, what, ended)
    return _swept(orders, found)


@dataclass(frozen=True)
class _Order:
    """Order of one run, with all that is needed for it."""

    run: Run
    file: RunFile
    start: Submission | None
    folder: Path
    shared: Path


def _orders(file: SweepFile, folder: Path) -> list[_Order]:
    due, device = runs(file), open_device(file.device).kind
    begins = {run: _start(file, run) for run in due}
    return [
        _Order(run, _run_file(file, run, begins[run], device), begins[run], folder / run.name, folder / SHARED)
        for run in due
    ]


def _swept(orders: Sequence[_Order], found: Mapping[Run, Summary | str]) -> Swept:
    there = [(order.run, found[order.run]) for order in orders if order.run in found]
    return Swept(
        tuple(what for _, what in there if isinstance(what, Summary)),
        tuple((run, what) for run, what in there if isinstance(what, str)),
    )


def _each(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int, device: str
) -> Iterator[tuple[Item, Result | str]]:
    """Yield the result for each item, or the words of its error, as they are ready."""
    if jobs == 1:
        for item in items:
            yield item, _outcome(work, item)
    elif items:
        beside = partial(_outcome, work)
        shares = side_by_side.shares_of(open_device(device), jobs)
        for item, what in side_by_side.each(beside, items, jobs=jobs, shares=shares):
            yield item, what or "the process that carried it out was killed; the same command goes on"


def _search(order: _Order, observe: Observe) -> Summary:
    if (order.folder / RUN).exists():
        _check_that_it_is_the_same(order.folder, order.file)
    else:
        evolution.clear(order.folder)
        evolution.begin(order.folder, order.file, order.start)
    if (order.folder / FINAL).exists():
        return summarise(evolution.replayed(order.folder))
    return summarise(evolution.search(order.folder, observe=observe, shared=order.shared))


@dataclass(frozen=True)
class _Finalist:
    """Submission in the folder of a run. The same one in folders of other runs is judged with it."""

    order: _Order
    name: str


def _finalists(orders: Sequence[_Order]) -> list[_Finalist]:
    """List each kernel that has to be judged in the end, once. Starts are slow, and so they come first."""
    found: dict[tuple[str, str, str], _Finalist] = {}
    for order in orders:
        due = _outcome(evolution.finalists, order.folder)
        for name, submission in due.items() if not isinstance(due, str) else ():  # what is wrong, _conclude tells
            found.setdefault((order.run.task, name, submission.digest), _Finalist(order, name))
    return sorted(found.values(), key=lambda finalist: finalist.name != evolution.START)


def _judge(finalist: _Finalist) -> bool:
    evolution.judge_finalist(finalist.order.folder, finalist.name, shared=finalist.order.shared)
    return True


def _conclude(order: _Order) -> Summary:
    return page.write(order.folder, evolution.conclude(order.folder, shared=order.shared))


def _outcome(work: Callable[[Item], Result], item: Item) -> Result | str:
    try:
        return work(item)
    except Exception as error:  # a sweep takes a night: whatever one run runs into, the others go on
        return f"{type(error).__name__}: {error}"


def _start(file: SweepFile, run: Run) -> Submission | None:
    """Return the start of a run; None for the reference. Raises UsageError."""
    if file.starts == starts.REFERENCE:
        return None
    if file.starts == starts.DEMO:
        return starts.demonstration(run.task)
    fitting = [found for found in find_submissions(Path(file.starts)) if found.file.task == run.task]
    if len(fitting) != 1:
        raise UsageError(f"starts: {file.starts} has {len(fitting)} submissions to {run.task}; one is needed")
    return fitting[0]


def _run_file(file: SweepFile, run: Run, start: Submission | None, device: DeviceKind) -> RunFile:
    return evolution.asked_for(
        run.task, run.agent, (run.llm,), run.seed,
        device=device, start=start, language=file.language, public_seed=file.public_seed, tier=file.tier,
    )  # fmt: skip


def _check_that_it_is_the_same(folder: Path, file: RunFile) -> None:
    """Check that the run in `folder` has the same request. Raises UsageError otherwise.

    A run of an earlier sweep may have had another budget. The release that made it may differ, and the results show it.
    """
    there, wanted = (_what_counts(each) for each in (evolution.read(folder), file))
    if changed := sorted(name for name in wanted if there[name] != wanted[name]):
        raise UsageError(f"{folder}: was begun with another {', '.join(changed)}; choose another --out")


def _what_counts(file: RunFile) -> dict[str, Any]:
    facts = file.model_dump(exclude={"made_at", "kbench", "harness", "jobs", "agent"})
    return {**facts, "agent": agent_digest(file.agent), "budget": file.agent.limits}


def write(swept: Swept, file: SweepFile, folder: Path) -> list[Path]:
    """Write the tables of all results so far, and return their paths."""
    count = len(file.agents) * len(file.tasks) * len(file.llms) * len(file.seeds)
    about = (
        f"{len(swept.summaries)} of {count} runs: agents {', '.join(file.agents)}; tasks {', '.join(file.tasks)}; "
        f"seeds {', '.join(map(str, file.seeds))}; {file.evaluations} evaluations each, starts: {file.starts}."
    )
    failures = [(str(run), words) for run, words in swept.failures]
    rules_only = all(llm == "improver" for llm in file.llms)
    return tables.write(folder, swept.summaries, failures, about=shown(about), rules_only=rules_only)
