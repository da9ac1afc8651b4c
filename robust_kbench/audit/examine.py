"""Audit of one task in one dtype: its cases, its variants, and the conditions of admission."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from robust_kbench.audit.bank import BANK_FILE, Bank, load_bank
from robust_kbench.audit.generic import generic_variants
from robust_kbench.audit.gradients import wrong_gradients
from robust_kbench.audit.soundness import ailments
from robust_kbench.audit.tally import Tally, Trial
from robust_kbench.audit.trial import try_variants
from robust_kbench.audit.variants import own_variants
from robust_kbench.cases import layouts
from robust_kbench.cases.suite import Budget, draw_suite
from robust_kbench.errors import SpecError
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType

SEED = 20260101
LEAST_HONEST, LEAST_MUTANTS = 2, 6
"""Least numbers of honest variants and of mutants that a task's own bank must hold."""
_ALIKE = 2.0  # an exempt variant's median error, in units of the honest ones'
_SELDOM = 0.1  # of the cases may refuse it, those where its error happens to add up


@dataclass(frozen=True)
class Plan:
    """Extent of an audit: the number and size of its cases, and the variants."""

    per_layout: int = 10
    """Number of cases for each layout. Distributions take turns, so that each layout meets most of them."""
    rounds: int = 25
    """Number of rounds. Later rounds only pursue wrong variants in layouts that have not refused them yet."""
    elements: int = 1 << 16
    flops: float = 3e7
    needs_bank: bool = True
    """True if a task must come with variants of its own."""
    most_inputs: int | None = None
    """Largest number of inputs that are held constant or rounded, each by itself; None means all."""


@dataclass(frozen=True)
class Examination:
    """Results of an audit. `faults` refuse the task; `exempt` holds variants that may pass, with the reasons.

    `in_full`: True if wrong variants were tried on every case. Only then do figures about them mean something.
    """

    trial: Trial
    faults: tuple[str, ...]
    exempt: Mapping[str, str]
    in_full: bool = True

    @property
    def is_admitted(self) -> bool:
        """True if the task is admitted in this dtype."""
        return not self.faults


def examine(
    task: LoadedTask,
    dtype: FloatDType,
    *,
    seed: int = SEED,
    with_peers: bool = False,
    in_full: bool = True,
    plan: Plan | None = None,
) -> Examination:
    """Check the reference and try all variants; `in_full`, on every case. Raises SpecError if the bank is malformed."""
    plan = plan or Plan(needs_bank=task.admission is None)  # what was imported comes without variants of its own
    bank = load_bank(task)
    variants = [*own_variants(bank, dtype), *generic_variants(task.spec, plan.most_inputs)]
    reasons = {name: by_dtype[dtype] for name, by_dtype in bank.exempt.items() if dtype in by_dtype}
    if unknown := sorted(set(reasons) - {variant.name for variant in variants}):
        raise SpecError(f"{task.folder / BANK_FILE}: EXEMPT: no variant {unknown[0]!r} in {dtype}")
    rounds = (audit_cases(task, dtype, seed + number, plan) for number in range(plan.rounds))
    trial = try_variants(task, dtype, rounds, variants, exempt=reasons, with_peers=with_peers, in_full=in_full)
    drawn = [case for case in trial.cases if case.probe is None]
    thin = _thin(bank) if plan.needs_bank else ()
    faults = [*thin, *ailments(task, drawn), *wrong_gradients(task, drawn), *_faults(trial, reasons, bank.exempt)]
    return Examination(trial, tuple(faults), reasons, in_full)


def audit_cases(task: LoadedTask, dtype: FloatDType, seed: int, plan: Plan | None = None) -> tuple[Case, ...]:
    """Draw small cases of one dtype: every layout with most distributions, every probe at several sizes."""
    plan = plan or Plan()
    known = layouts.applicable(task.spec, dense=False)
    budget = Budget(
        cases=plan.per_layout * len(known), elements=plan.elements, flops=plan.flops,
        timed_bindings=0, probes=3, nonfinite=4,
    )  # fmt: skip
    suite = draw_suite(task.spec, seed, budget=budget, dtypes=[dtype], device="cpu", dense=False, pinned=task.pinned)
    return suite.checked


def _thin(bank: Bank) -> Iterator[str]:
    honest = sum(member.is_honest for member in bank.members)
    wrong = len(bank.members) - honest
    if honest < LEAST_HONEST or wrong < LEAST_MUTANTS:
        yield (
            f"{BANK_FILE} holds {honest} honest variants and {wrong} mutants; "
            f"it needs at least {LEAST_HONEST} and {LEAST_MUTANTS}"
        )


def _faults(trial: Trial, reasons: Mapping[str, str], exempt: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for tally in trial.of("honest"):
        for outcome in tally.refused[:1]:
            case = trial.cases[outcome.case]
            yield f"honest {tally.name} is refused at {case}, seed {case.seed}: {outcome.reason}"
    for tally in trial.of("non-answer", "mutant"):
        if tally.name not in reasons:
            yield from _survival(trial, tally, exempt.get(tally.name, {}))
    for tally in trial.tallies:
        if trial.is_idle(tally) and tally.kind == "non-answer":
            yield f"{tally.name} is always the right answer, so the task measures nothing; {tally.description}"
        elif tally.kind == "mutant" and not tally.is_generic and not tally.is_different:
            yield f"{tally.name} never differs from PyTorch's answer"
    for tally in trial.tallies:
        if tally.name in reasons and len(tally.refused) > _SELDOM * len(tally.outcomes):
            yield f"EXEMPT names {tally.name}, but {len(tally.refused)} of {len(tally.outcomes)} cases refuse it"
        elif tally.name in reasons and trial.median_ratio(tally) > _ALIKE * trial.median_honest(tally):
            yield f"EXEMPT names {tally.name}, but it can be told apart: {figures(trial, tally)}"


def _survival(trial: Trial, tally: Tally, excused: Collection[str]) -> Iterator[str]:
    """Report a wrong variant that passes everywhere, or in some layouts.

    `excused`: "dtype in layout", where PyTorch itself errs by as much. Like any exemption, it counts only if the
    figures of the variant agree with it.
    """
    is_alike = trial.median_ratio(tally) <= _ALIKE * trial.median_honest(tally)
    if not tally.refused:
        yield f"{tally.kind} {tally.name} passes: {figures(trial, tally)}; {tally.description}"
    elif passed := [
        layout for layout in trial.layouts_passed(tally) if not (is_alike and f"{trial.dtype} in {layout}" in excused)
    ]:
        yield f"{tally.kind} {tally.name} passes in layout {', '.join(passed)}: {figures(trial, tally)}"


def figures(trial: Trial, tally: Tally) -> str:
    """Describe the errors of a variant beside those of honest ones on the same cases, in units of the limit."""
    return (
        f"errors {trial.median_ratio(tally):.2g} (at most {tally.largest:.2g}) of the limit, "
        f"honest ones' {trial.median_honest(tally):.2g} (at most {trial.largest_honest(tally):.2g}), "
        f"refused in {len(tally.refused)} of {len(tally.outcomes)} cases"
    )
