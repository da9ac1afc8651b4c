"""Examinations as text: a table of every variant, a line for each task and dtype, a summary of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robust_kbench.audit.detection import mean_chance
from robust_kbench.audit.examine import Examination, figures
from robust_kbench.audit.tally import Tally, Trial
from robust_kbench.cases.suite import BUDGETS


def table(examination: Examination) -> Iterator[str]:
    """List every variant of one task and dtype with its result. Mark near ones, and the task's own with an asterisk."""
    trial = examination.trial
    yield f"{'':46}{'refused':>9} {'error/limit':>12}"
    for tally in trial.tallies:
        if tally.outcomes:
            yield _row(trial, tally)


def line(examination: Examination) -> Iterator[str]:
    """Report on one task and dtype: the verdict with its figures, then the faults and the exemptions."""
    trial = examination.trial
    verdict = "admitted" if examination.is_admitted else "REFUSED"
    honest, mutants = trial.of("honest"), trial.of("mutant")
    near = f", near ones {_killed([tally for tally in mutants if trial.is_near(tally)])}" if examination.in_full else ""
    yield (
        f"{verdict}  {trial.task} {trial.dtype}: {len(trial.cases)} cases; "
        f"honest {_alive(honest)}/{len(honest)} pass, largest error {max(t.largest for t in honest):.2f} of its limit; "
        f"killed: non-answers {_killed(trial.of('non-answer'))}, mutants {_killed(mutants)}{near}"
    )
    yield from (f"  fault    {fault}" for fault in examination.faults)
    for tally in trial.tallies:
        if tally.name in examination.exempt:
            yield f"  exempt   {tally.name}: {figures(trial, tally)}; {examination.exempt[tally.name]}"


def summary(examinations: Sequence[Examination]) -> Iterator[str]:
    """Summarise the registry in two lines, or in four if it was examined in full.

    A variant counts once in every dtype, but in the third line once in all.
    """
    trials = [examination.trial for examination in examinations]
    admitted = sum(examination.is_admitted for examination in examinations)
    tasks = {trial.task for trial in trials}
    refused = {e.trial.task for e in examinations if not e.is_admitted}
    honest = [tally for trial in trials for tally in trial.of("honest")]
    mutants = [(trial, tally) for trial in trials for tally in trial.of("mutant")]
    in_full = bool(examinations) and all(examination.in_full for examination in examinations)
    near = [tally for trial, tally in mutants if trial.is_near(tally)] if in_full else []
    yield f"{len(tasks) - len(refused)}/{len(tasks)} tasks admitted ({admitted}/{len(examinations)} in their dtypes)"
    yield (
        f"honest variants {_alive(honest)}/{len(honest)} pass; killed: "
        f"non-answers {_killed([t for trial in trials for t in trial.of('non-answer')])}, "
        f"mutants {_killed([tally for _, tally in mutants])}" + (f", near ones {_killed(near)}" if in_full else "")
    )
    if in_full:
        yield from _in_full(trials)


def _in_full(trials: Sequence[Trial]) -> Iterator[str]:
    yield (
        f"in the bank: {_distinct(trials, 'honest')} honest variants, {_distinct(trials, 'mutant')} mutants, "
        f"{_distinct(trials, 'near')} of them near in some dtype"
    )
    yield "of the mutants, one evaluation kills about " + ", ".join(
        f"{mean_chance(trials, tier):.1%} at tier {tier}" for tier in BUDGETS
    )


def _distinct(trials: Sequence[Trial], what: str) -> str:
    """Count the variants over all dtypes, and the ones among them from the tasks' own banks."""
    found = {
        (trial.task, tally.name, tally.is_generic)
        for trial in trials
        for tally in (trial.of("honest") if what == "honest" else trial.of("mutant"))
        if what != "near" or trial.is_near(tally)
    }
    return f"{len(found)} ({sum(not is_generic for _, _, is_generic in found)} of the tasks' own)"


def _alive(tallies: Sequence[Tally]) -> int:
    return sum(not tally.refused for tally in tallies)


def _killed(tallies: Sequence[Tally]) -> str:
    return f"{sum(bool(tally.refused) for tally in tallies)}/{len(tallies)}"


def _row(trial: Trial, tally: Tally) -> str:
    mark = " " if tally.is_generic else "*"
    shown = tally.largest if tally.kind == "honest" else trial.distance(tally)
    near = "near" if tally.kind != "honest" and trial.is_near(tally) else ""
    note = near if tally.is_different else "equal to PyTorch"
    killed = f"{len(tally.refused)}/{len(tally.outcomes)}"
    return f"{mark}{tally.kind:10} {tally.name:34} {killed:>9} {shown:12.3g} {note:17}{tally.description}".rstrip()
