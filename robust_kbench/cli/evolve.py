"""`kbench evolve`: let an agent make kernels, go on with a run, or look at one."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from robust_kbench.cli.evaluate import DeviceChoice, TierChoice
from robust_kbench.cli.groups import WithUsual
from robust_kbench.cli.places import check_folder

if TYPE_CHECKING:
    from robust_kbench.agents.archive import Node
    from robust_kbench.agents.budget import Budget, Limits
    from robust_kbench.agents.preset import Preset
    from robust_kbench.agents.summary import Summary
    from robust_kbench.registry import LoadedTask
    from robust_kbench.schema.submission import Language, Submission

    Observe = Callable[[Node, Budget], None]

# One call for each evaluation, the shortest prompts, a temperature that every provider has, and the largest speedup of
# its paper: what a first run should cost and need.
USUAL_AGENT = "evoengineer-free"
_RUN = "run"
_MAX_SEED = 2**53 - 1


class _RunUnlessNamed(WithUsual):
    """Group in which `kbench evolve norm/rmsnorm` is `kbench evolve run norm/rmsnorm`.

    A word that names no command is a task, or an option.
    """

    usual = _RUN


app = typer.Typer(
    cls=_RunUnlessNamed,
    help="Let an agent make kernels with a language model, and judge them like anybody's.",
    subcommand_metavar="TASK | --resume DIR | show DIR | list",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class _Asked:
    """Options of a command line for a new run; None for each that is not given."""

    task: str | None
    agent: str | None
    llm: list[str] | None
    budget: str | None
    start: str | None
    language: str | None
    seed: int | None
    device: DeviceChoice | None
    jobs: int | None
    out: Path | None
    prices: Path | None


@app.command(_RUN)
def run(
    task: Annotated[str | None, typer.Argument(help="Name of the task, such as norm/rmsnorm.")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help=f"See `kbench evolve list`. Default: {USUAL_AGENT}.")
    ] = None,
    llm: Annotated[
        list[str] | None, typer.Option(metavar="PROVIDER:MODEL", help="Who answers; of several, one by chance.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="LIMITS", help="Such as evals=45,usd=3. Default: the agent's.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|demo|reference",
            help="What to begin with. Default: the reference if the agent translates it, or what `kbench new` writes",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Of the kernels. Default: the start's; cuda, or cpp on a cpu."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=_MAX_SEED, help="Of all choices, and of public cases. Default: drawn.")
    ] = None,
    device: Annotated[
        DeviceChoice | None, typer.Option(help="Default: auto, which is cuda where there is one.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Evaluations at once; measurements take turns. Default: 1.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run. Default: runs/TASK/AGENT-TIME-SEED.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What tokens cost; comes before our own list.")
    ] = None,
    tier: Annotated[TierChoice | None, typer.Option(help="Of the final judging. Default: full.")] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with this run, which knows all the rest.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the run's figures as JSON and nothing else.")] = False,
) -> None:
    """Let an agent make kernels for a task, or go on with that.

    Exit code: 0 a kernel passed the final judging, 1 none did, 2 a wrong request or file, 3 our own failure.
    """
    asked = _Asked(task, agent, llm, budget, start, language, seed, device, jobs, out, prices)
    chosen = None if tier is None else tier.value
    folder = _begin(asked, chosen or "full") if resume is None else _resumed(resume, asked)
    summary = _carry_out(folder, chosen)
    _print(folder, summary, as_json=as_json)
    sys.exit(int(not summary.passed))


def _resumed(folder: Path, asked: _Asked) -> Path:
    from robust_kbench.errors import UsageError

    told = [name for name, value in vars(asked).items() if value not in (None, [])]
    given = ["TASK" if name == "task" else f"--{name}" for name in told]
    if given:
        raise UsageError(f"--resume goes on with what {folder}/run.yaml says; leave out {', '.join(given)}")
    return folder


def _begin(asked: _Asked, tier: Any) -> Path:
    """Write a new run down, and return its folder. Raises UsageError and SpecError before anything is written."""
    import secrets
    from datetime import UTC, datetime

    from robust_kbench.agents import evolution, preset
    from robust_kbench.agents.budget import parse_limits
    from robust_kbench.agents.providers import improver, opening
    from robust_kbench.devices import open_device
    from robust_kbench.errors import UsageError
    from robust_kbench.registry import load_task

    if asked.task is None:
        raise UsageError("which task? `kbench tasks` lists them; or go on with a run: --resume DIR")
    if not asked.llm:
        raise UsageError(f"--llm is missing: who answers? There are {opening.forms()}")
    task, agent = load_task(asked.task), preset.load(asked.agent or USUAL_AGENT)
    if asked.budget is not None:
        agent = agent.model_copy(update={"limits": parse_limits(asked.budget, agent.limits)})
    opening.open_all(asked.llm)  # a key, a program or a package that is missing is told now
    device = open_device("auto" if asked.device is None else asked.device.value).kind
    language = _language(asked.language, device)
    start = _start(task, agent, asked.start, language)
    if start is not None and asked.language is not None and start.file.language != language:
        raise UsageError(f"--language {language}: the start is a {start.file.language} kernel; leave out --language")
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    name = f"{agent.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{seed}"
    folder = asked.out or Path("runs", task.spec.name.replace("/", "__"), name)
    check_folder(folder, "--out")
    file = evolution.asked_for(
        task.spec.name, agent, asked.llm, seed,
        device=device, start=start, language=language, tier=tier, jobs=asked.jobs or 1,
    )  # fmt: skip
    evolution.begin(folder, file, start, price_file=asked.prices)
    typer.echo(f"{folder}: {agent.name} on {task.spec.name}, {device}, seed {seed}", err=True)
    if improver.FORM in asked.llm and not (start and improver.can_improve(start)):
        typer.echo(
            f"warning: {improver.FORM} changes constants that a kernel names in `// choices:` lines, and this start "
            "names none: every call will be in vain; use --start demo, or another --llm",
            err=True,
        )
    return folder


def _language(text: str | None, device: str) -> Language:
    """Return the language that was asked for, or the usual one of kernels for this device. Raises UsageError."""
    from robust_kbench.agents import starts
    from robust_kbench.errors import UsageError
    from robust_kbench.schema.submission import ABIS

    if text is None:
        return starts.usual_language(device)
    if text not in ABIS:
        raise UsageError(f"--language {text}: unknown; use {', '.join(ABIS)}")
    return cast("Language", text)


def _start(task: LoadedTask, agent: Preset, text: str | None, language: Language) -> Submission | None:
    """Return the kernel to begin with; None for the reference. Raises UsageError and SpecError."""
    import tempfile

    from robust_kbench.agents import starts
    from robust_kbench.errors import UsageError
    from robust_kbench.registry import find_submissions, read_submission
    from robust_kbench.scaffold import scaffold

    if text == starts.REFERENCE or (text is None and any(phase.name == "translate" for phase in agent.phases)):
        return None
    if text == starts.DEMO:
        return starts.demonstration(task.spec.name)
    if text is None:
        with tempfile.TemporaryDirectory(prefix="kbench-start-") as folder:
            scaffold(task, language, Path(folder, "start"))
            return read_submission(Path(folder, "start"))
    found = find_submissions(Path(text), task.spec.name)
    if len(found) > 1:
        raise UsageError(f"--start {text}: {len(found)} submissions; name the directory of one")
    return found[0]


def _carry_out(folder: Path, tier: Any) -> Summary:
    from robust_kbench.agents import evolution, page

    limits = evolution.read(folder).agent.limits
    try:
        with live(folder.name, limits) as observe:
            evolved = evolution.carry_out(folder, observe=observe, tier=tier)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; kbench evolve --resume {folder} goes on", err=True)
        raise
    return page.write(folder, evolved)


@contextmanager
def live(title: str, limits: Limits) -> Iterator[Observe]:
    """Show a line on stderr, if that is a terminal. It redraws only when told: a thread would disturb the clock."""
    from robust_kbench.schema.documents import shown

    if not sys.stderr.isatty():
        from robust_kbench.agents.evolution import unobserved

        yield unobserved
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False, overflow="fold"))
    columns = (MofNCompleteColumn(), BarColumn(bar_width=12), words)
    failures: Counter[str] = Counter()
    best = 0.0
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        line = progress.add_task(shown(title), total=limits.evaluations)

        def observe(node: Node, budget: Budget) -> None:
            nonlocal best
            best = max(best, node.speedup)
            failures.update([] if node.is_right else [node.judged.stage])
            text = shown(f"{title}  {progress_in_words(best, failures, budget)}")
            progress.update(line, description=text, completed=budget.spent.evaluations, refresh=True)

        yield observe


def progress_in_words(best: float, failures: Counter[str], budget: Budget) -> str:
    """Describe the best speedup over eager PyTorch so far, the amounts spent, and the stages of failures."""
    spent = budget.spent
    dollars = "" if spent.usd is None else f", ${spent.usd:.2f}"
    parts = [f"best {best:.2f}x" if best else "no kernel yet", f"{spent.calls} calls, {spent.tokens:,} tokens{dollars}"]
    if failures:
        parts.append("failed at " + ", ".join(f"{stage} {count}" for stage, count in sorted(failures.items())))
    if not budget.evaluations_left:
        parts.append("judging on hidden cases")
    return "  ".join(parts)


def _print(folder: Path, summary: Summary, *, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(json.loads(summary.model_dump_json())))  # in ASCII: names may steer a terminal
        return
    for line in lines(folder, summary):
        typer.echo(line)


_STOPS = {
    "budget": "the budget is spent",
    "provider_error": "nobody answered any more",
    "unfinished": "not yet, or it was interrupted",
}


def lines(folder: Path, summary: Summary) -> list[str]:
    """Describe the result of a run for a person; every line is inert on a terminal."""
    from robust_kbench.schema.documents import shown

    return [shown(line) for line in _lines(folder, summary)]


def _lines(folder: Path, run: Summary) -> Iterator[str]:
    from robust_kbench.agents.providers.opening import described

    models = ", ".join(map(described, run.llm))
    yield f"{run.task}  {run.agent}  {models}  seed {run.seed}  {run.hardware or run.device}"
    price = "price unknown" if run.usd is None else f"${run.usd:.2f}"
    tokens = run.input_tokens + run.output_tokens
    yield f"  spent     {run.evaluations} evaluations, {run.calls} calls, {tokens:,} tokens, {price}"
    yield f"  stopped   {_STOPS.get(run.stop, run.stop)}"
    stages = ", ".join(f"{stage} {count}" for stage, count in sorted(run.stages.items()) if stage != "time")
    yield f"  failed    {f'at {stages}' if stages else 'nothing'}"
    yield f"  search    {f'best {run.best}: {run.best_speedup} eager' if run.best_speedup else 'no kernel was right'}"
    yield f"  final     {_final(run)}"
    if run.gap is not None:
        yield f"  gap       {run.gap:.3f}: the search's speedup over the final one"
    for each in run.deviations:
        yield f"  differs   {each}"
    if run.passed:
        yield f"  kernel    {folder / 'best'}"
    if run.stop != "budget":
        yield f"  go on     kbench evolve --resume {folder}"
    if (folder / "index.html").exists():
        yield f"  page      {folder / 'index.html'}"


def _final(run: Summary) -> str:
    if run.final_status == "none":
        return "nothing was better than the start"
    if run.final_status == "pending":
        return "not judged yet"
    speedups = ((run.final_speedup, "eager"), (run.over_all, "the fastest baseline"), (run.over_start, "the start"))
    told = ", ".join(f"{speedup} {name}" for speedup, name in speedups if speedup is not None)
    return f"{run.final_status}: {told}" if told else run.final_status


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, also of one that is going on.")],
    html: Annotated[
        bool, typer.Option("--html", help="Write the page and the figures anew, and nothing else.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the run's figures as JSON and nothing else.")] = False,
) -> None:
    """Show what came of a run so far, and where each candidate comes from."""
    from robust_kbench.agents import evolution, lineage, page
    from robust_kbench.agents.summary import summarise

    evolved = evolution.replayed(folder)
    if html:
        page.write(folder, evolved)
        typer.echo(f"wrote {folder / page.PAGE}")
        return
    _print(folder, summarise(evolved), as_json=as_json)
    if not as_json:
        typer.echo()
        typer.echo(lineage.tree(evolved.outcome.archive))


@app.command("list")
def list_agents() -> None:
    """List agents, providers of language models, and tasks that have a demonstration start."""
    from robust_kbench.agents import preset, starts
    from robust_kbench.agents.providers import opening

    names = preset.names()
    width = max(map(len, names))
    for name in names:
        agent = preset.load(name)
        typer.echo(f"{name:{width}}  {agent.limits.evaluations:>3} evaluations  {agent.summary}")
    typer.echo(f"\n--llm         {opening.forms()}")
    typer.echo(f"--start demo  {', '.join(starts.demonstrations())}")
