"""`kbench redteam`: how well this installation withstands attacks on this machine, measured."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from robust_kbench.cli.bars import counting
from robust_kbench.cli.places import file_to_write

if TYPE_CHECKING:
    from robust_kbench.redteam.corpus import Attack, Honest
    from robust_kbench.schema.record import Tier
    from robust_kbench.schema.task import DeviceKind


def redteam(
    names: Annotated[list[str] | None, typer.Argument(help="Names or classes of specimens; default: all.")] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Switch off each group of defences alone, for every attack; an hour.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(callback=file_to_write, help="Write a row for each specimen to this file.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; on CUDA devices as many as there are.")] = min(
        2, os.cpu_count() or 1
    ),
    soak: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Evaluate N specimens in random order, disturbances too; nothing else."),
    ] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="The same order as before, with --soak.")] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda: the specimens of which kind of device.")] = "cpu",
    tries: Annotated[int, typer.Option(min=1, help="How often all defences are tried by each specimen.")] = 1,
    tier: Annotated[str, typer.Option(metavar="quick|full", help="Of the evaluations.")] = "quick",
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and try nothing.")] = False,
) -> None:
    """Try every attack, with and without what stops it, and every honest look-alike.

    Exit code: 0 if no attack succeeds and no honest kernel is refused, 1 otherwise, 2 for a wrong request or file.
    """
    from robust_kbench.errors import UsageError
    from robust_kbench.redteam import corpus

    if device not in ("cpu", "cuda"):
        raise UsageError(f"--device {device}: unknown device; use cpu or cuda")
    if tier not in ("quick", "full"):
        raise UsageError(f"--tier {tier}: unknown tier; use quick or full")
    if soak:
        sys.exit(_soak(soak, seed))
    attacks, honest = _chosen(corpus.attacks(), corpus.honest(), names, device)
    if listed:
        for specimen in (*attacks, *honest):
            kind = specimen.kind if isinstance(specimen, corpus.Attack) else "honest"
            typer.echo(f"{kind:<10} {specimen.name:<34} {specimen.summary}")
        return
    from robust_kbench.redteam import campaign, report

    trials = []
    with ExitStack() as stack:
        step = stack.enter_context(counting("red team", tries * (len(attacks) + len(honest))))
        rows = report.Table(stack.enter_context(csv.open("w", encoding="utf-8"))) if csv else None
        for each in campaign.run(
            attacks,
            honest,
            jobs=jobs,
            ablate=ablate,
            device=cast("DeviceKind", device),
            tries=tries,
            tier=cast("Tier", tier),
        ):
            trials.append(each)
            for line in report.complaints(each):
                typer.echo(line)
            if rows:
                rows.add(each)
            step(1)
    for line in report.summary(trials):
        typer.echo(line)
    sys.exit(int(not report.is_clean(trials)))


def _soak(count: int, seed: int | None) -> int:
    import secrets

    from robust_kbench.redteam.soak import soak

    with counting("soak", count) as step:
        soaked = soak(count, secrets.randbits(40) if seed is None else seed, step=step)
    ended = ", ".join(f"{status} {number}" for status, number in sorted(soaked.ended.items()))
    typer.echo(f"{count} submissions in random order (seed {soaked.seed}): {ended}")
    typer.echo(f"verdicts that are not those of alone: {len(soaked.wrong)}")
    for line in soaked.wrong:
        typer.echo(f"  {line}")
    left = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in soaked.left.items())
    typer.echo(f"left behind: {left or 'nothing'}")
    return int(not soaked.is_clean)


def _chosen(
    attacks: list[Attack], honest: list[Honest], names: list[str] | None, device: str
) -> tuple[list[Attack], list[Honest]]:
    """Choose specimens of this kind of device that are named, and the twins of attacks. Raises UsageError."""
    from difflib import get_close_matches

    from robust_kbench.errors import UsageError

    known = {specimen.name for specimen in (*attacks, *honest)} | {attack.kind for attack in attacks} | {"honest"}
    for name in names or []:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise UsageError(f"no specimen {name!r}; " + (f"did you mean {near[0]!r}?" if near else "see --list"))
    attacks = [a for a in attacks if a.header.device == device and (not names or {a.name, a.kind} & set(names))]
    twins = {attack.header.twin for attack in attacks}
    wanted = [h for h in honest if h.header.device == device and (not names or {h.name, "honest"} & set(names))]
    missing = [specimen for specimen in honest if specimen.name in twins and specimen not in wanted]
    return attacks, [*wanted, *missing]
