"""`kbench evaluate`: judge submissions."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.places import file_to_write, folder_to_write

if TYPE_CHECKING:
    from robust_kbench.cli.collect import Job
    from robust_kbench.schema.case import Case
    from robust_kbench.schema.record import RunRecord
    from robust_kbench.signing import PrivateKey

_GPU_NODE = "/dev/nvidiactl"
TASKS = typer.Option(
    "--tasks", metavar="DIR", help="Use tasks of this folder, too, as an import makes it; their code is executed."
)


class DeviceChoice(StrEnum):
    """Values of --device."""

    AUTO = "auto"
    CUDA = "cuda"
    CPU = "cpu"


class TierChoice(StrEnum):
    """Values of --tier."""

    QUICK = "quick"
    FULL = "full"
    FINAL = "final"


def evaluate(
    paths: Annotated[list[Path], typer.Argument(help="Submissions: directories, trees of them, or files.")],
    task: Annotated[str | None, typer.Option(help="Task of a submission that is a single file.")] = None,
    tasks: Annotated[list[Path] | None, TASKS] = None,
    device: Annotated[DeviceChoice, typer.Option(help="auto: cuda where there is one.")] = DeviceChoice.AUTO,
    tier: Annotated[TierChoice, typer.Option(help="quick: seconds, never ranked.")] = TierChoice.FULL,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Replay the cases of an earlier record; never ranked.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(help="Only this case: a number, with --seed, or the line of a report.")
    ] = None,
    store: Annotated[Path | None, typer.Option(callback=file_to_write, help="Append the records to this file.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", callback=folder_to_write, help="Draw the times of each timed record into this folder."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one record per line and nothing else.")] = False,
    profile_harness: Annotated[bool, typer.Option("--profile-harness", help="Print how long each stage took.")] = False,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Evaluations at once, each on a GPU of its own where there are several; else measurements take turns.",
        ),
    ] = 1,
) -> None:
    """Judge submissions. Exit code: 0 all passed, 1 some not, 2 a wrong request or file, 3 our own failure."""
    from robust_kbench.cli.case_text import parse_case
    from robust_kbench.cli.collect import collect, trust_tasks_in
    from robust_kbench.errors import UsageError
    from robust_kbench.isolation.pool import WarmPool, flavour_of

    trust_tasks_in(tasks or [])
    only = None if case is None else parse_case(case)
    if isinstance(only, int) and seed is None:
        raise UsageError("--case needs --seed: the case numbers belong to a seed")
    found, code = collect(paths, task)
    if not found:
        sys.exit(code)
    is_kept = store is not None or as_json
    key = _key() if is_kept else None
    pool = WarmPool()
    # Before torch can tell whether there is a device: a wrong guess costs a process.
    gpu = device is DeviceChoice.CUDA or (device is DeviceChoice.AUTO and Path(_GPU_NODE).exists())
    is_alone = jobs == 1 or len(found) == 1
    if is_alone:
        pool.warm_up(flavour_of(found[0].submission.file.language, device.value), gpu=gpu)
    with ExitStack() as stack:  # closed by whatever ends it, lest its threads keep the process waiting
        building = None
        if gpu and is_alone:
            from robust_kbench.building import Building  # so does its compiler
            from robust_kbench.devices import open_device

            building = Building(open_device(device.value), pool)
            stack.callback(building.close)
            building.begin(found[0].submission)
        from robust_kbench.cli.jobs import run
        from robust_kbench.schema.documents import shown

        ended = stack.enter_context(closing(run(found, device.value, tier.value, seed, only, jobs, pool, building)))
        for job, record in ended:
            if isinstance(record, str):
                typer.echo(shown(f"error: {record}"), err=True)
                code = max(code, 2)
                continue
            if is_kept:
                record = _sealed(record, key)
            _tell(record, job, store, plot, as_json=as_json, only=only, profiles=profile_harness)
            code = max(code, _exit_code(record))
    sys.exit(code)


def _key() -> PrivateKey | None:
    """Read the key of this user, if there is one: a wrong file is told before anything takes minutes."""
    from robust_kbench.signing import host_key

    return host_key()


def _sealed(record: RunRecord, key: PrivateKey | None) -> RunRecord:
    from robust_kbench.signing import seal

    return seal(record, key)


def _tell(
    record: RunRecord,
    job: Job,
    store: Path | None,
    plot: Path | None,
    *,
    as_json: bool,
    only: int | Case | None,
    profiles: bool,
) -> None:
    if store is not None:
        _append(store, record)
    if plot is not None:
        _plot(plot, record)
    _print(record, job, as_json, only)
    if profiles:
        from robust_kbench.cli.seconds import table

        typer.echo("\n".join(table(record.seconds)), err=as_json)


def _append(path: Path, record: RunRecord) -> None:
    from robust_kbench import store

    store.append(path, record)


def _plot(folder: Path, record: RunRecord) -> None:
    from robust_kbench.plots.files import write

    for path in write(record, folder):
        typer.echo(f"wrote {path}", err=True)


def _print(record: RunRecord, job: Job, as_json: bool, only: int | Case | None = None) -> None:
    if as_json:
        import json

        from robust_kbench.store import as_json as all_of

        typer.echo(json.dumps(all_of(record)))  # in ASCII: a line of a store may steer a terminal
        return
    from robust_kbench.cli.report import report

    *lines, verdict = report(record, job.path, only).splitlines()
    for line in lines:
        typer.echo(line)
    typer.secho(verdict, fg="green" if record.status == "passed" else "red", bold=True)
    typer.echo()


def _exit_code(record: RunRecord) -> int:
    return {"passed": 0, "harness_error": 3}.get(record.status, 1)
