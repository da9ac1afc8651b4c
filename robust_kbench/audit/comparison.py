"""Our rule beside other benchmarks', on the same variants and the same cases, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from robust_kbench.audit.examine import Examination
from robust_kbench.audit.halves import FITTED, half_of
from robust_kbench.audit.peers import PEERS
from robust_kbench.audit.tally import NEAR_LIMIT, Outcome, Tally, Trial
from robust_kbench.oracle.judgement import RULE

Accepts = Callable[[Outcome], bool]
Counts = Callable[[Trial, Tally, Outcome], bool]
_OURS = f"**robust-kbench, {RULE}**"


@dataclass(frozen=True)
class Score:
    """Accepted honest variants, killed mutants and killed near ones, each with how many there are."""

    honest: tuple[int, int]
    killed: tuple[int, int]
    near: tuple[int, int]


def comparison_table(examinations: Sequence[Examination]) -> Iterator[str]:
    """The whole of docs/rules.md."""
    trials = [examination.trial for examination in examinations]
    yield from _introduction(trials)
    yield "## On every case\n"
    yield "Without NaN and infinities among the inputs, which some rules never accept.\n"
    yield from _table(trials, _is_finite)
    yield "\n## The tasks' own variants alone\n"
    yield "Without those made for every task, some of which are placed at six of our limits.\n"
    yield from _table(trials, lambda trial, tally, outcome: not tally.is_generic and _is_finite(trial, tally, outcome))
    yield "\n## On standard normal inputs alone\n"
    yield "What most of these benchmarks feed to a kernel: a handful of shapes, values drawn from N(0, 1), no probes.\n"
    yield from _table(trials, _is_plain)
    yield from _survivors(examinations)


def _introduction(trials: Sequence[Trial]) -> Iterator[str]:
    names = sorted({trial.task for trial in trials})
    yield "# Acceptance rules compared\n"
    yield "Written by `kbench audit --rules`; do not edit.\n"
    yield (
        "Every rule judges the same answers to the same cases: the honest variants and the mutants of every task's\n"
        "bank, those of its `mutants.py` and those made for every task, in every dtype. An honest variant is accepted\n"
        "when all cases accept it, a mutant is killed when one case refuses it. A variant counts once in each dtype\n"
        "in which it differs from PyTorch at all. A mutant is near when its error, the median over the cases in which\n"
        f"it shows, is at most {NEAR_LIMIT:g} of our limits. The constants of our rule were chosen on half A and then\n"
        "frozen; half B is what they had not seen.\n"
    )
    yield f"- A: {', '.join(name for name in names if name in FITTED) or 'none'}"
    yield f"- B: {', '.join(name for name in names if name not in FITTED) or 'none'}\n"
    yield "| rule | what it asks |\n|---|---|"
    yield f"| {_OURS} | three errors against float64; ulps, equality or a law where these apply; probes, properties |"
    yield from (f"| {peer.name} | {peer.rule} |" for peer in PEERS)
    yield ""


def _table(trials: Sequence[Trial], counts: Counts) -> Iterator[str]:
    halves = [[trial for trial in trials if half_of(trial.task) == half] for half in "AB"]
    yield "| rule | A: honest accepted | mutants killed | near ones | B: honest accepted | mutants killed | near ones |"
    yield "|---|---|---|---|---|---|---|"
    rules: list[tuple[str, Accepts]] = [(_OURS, lambda outcome: outcome.is_accepted)]
    rules += [(peer.name, _by_peer(number)) for number, peer in enumerate(PEERS)]
    for name, accepts in rules:
        scores = [_score(half, accepts, counts) for half in halves]
        cells = [_share(part) for score in scores for part in (score.honest, score.killed, score.near)]
        yield f"| {name} | {' | '.join(cells)} |"


def _by_peer(number: int) -> Accepts:
    return lambda outcome: outcome.peers[number]


def _score(trials: Sequence[Trial], accepts: Accepts, counts: Counts) -> Score:
    honest, killed, near = [], [], []
    for trial in trials:
        for tally in trial.of("honest", "mutant"):
            outcomes = [outcome for outcome in tally.outcomes if counts(trial, tally, outcome)]
            if outcomes and tally.kind == "honest":
                honest.append(all(map(accepts, outcomes)))
            elif not all(outcome.is_equal for outcome in outcomes):
                killed.append(not all(map(accepts, outcomes)))
                near += killed[-1:] if trial.is_near(tally) else []
    return Score((sum(honest), len(honest)), (sum(killed), len(killed)), (sum(near), len(near)))


def _is_finite(trial: Trial, tally: Tally, outcome: Outcome) -> bool:
    return trial.cases[outcome.case].probe not in ("nonfinite", "empty")


def _is_plain(trial: Trial, tally: Tally, outcome: Outcome) -> bool:
    case = trial.cases[outcome.case]
    return case.probe is None and case.distribution == "normal" and not outcome.prop


def _share(part: tuple[int, int]) -> str:
    count, total = part
    return f"{count}/{total} ({100 * count / total:.1f} %)" if total else "none"


def _survivors(examinations: Sequence[Examination]) -> Iterator[str]:
    yield "\n## Mutants that our rule lets live\n"
    rows = [(e, tally) for e in examinations for tally in e.trial.of("mutant") if not tally.refused]
    if not rows:
        yield "None."
        return
    yield "Errors over all cases in units of the limit, median and largest, beside those of the honest variants.\n"
    yield "| task | dtype | mutant | its errors | honest ones' | why |\n|---|---|---|---|---|---|"
    for examination, tally in rows:
        yield _survivor(examination, tally)


def _survivor(examination: Examination, tally: Tally) -> str:
    trial = examination.trial
    own = f"{trial.median_ratio(tally):.2f}, {tally.largest:.2f}"
    honest = f"{trial.median_honest(tally):.2f}, {trial.largest_honest(tally):.2f}"
    reason = examination.exempt.get(tally.name, "not explained: a fault of the task or of the rule")
    return f"| {trial.task} | {trial.dtype} | {tally.name} | {own} | {honest} | {reason} |"
