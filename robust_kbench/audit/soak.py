"""Judge honest variants on fresh seeds, very often. A false rejection would refuse the kernel of an honest author."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from robust_kbench.audit.bank import load_bank
from robust_kbench.audit.generic import generic_variants
from robust_kbench.audit.session import Unit, in_processes
from robust_kbench.audit.setting import Setting
from robust_kbench.audit.variants import Variant, own_variants
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.task import FloatDType

CLOSE = 0.9
"""Largest error of an honest variant that does not count as close, in units of its limit."""
_TOLD = 20


@dataclass(frozen=True)
class Judged:
    """Judgement of one honest variant. The fields are raw facts, in words where they are only printed."""

    task: str
    variant: str
    case: str
    ratio: float
    is_accepted: bool


@dataclass(frozen=True)
class Soaked:
    """Judgements of honest variants, with the seed that repeats them."""

    seed: int
    judged: tuple[Judged, ...]

    @property
    def is_clean(self) -> bool:
        """True if there is no false rejection; close ones are only told."""
        return all(one.is_accepted for one in self.judged)


def soak(
    units: Sequence[Unit], count: int, jobs: int, seed: int | None, step: Callable[[int], None] = lambda _: None
) -> Soaked:
    """Make at least `count` judgements on suites of tier quick.

    Each task and dtype gets equally many suites, each from a fresh seed.
    """
    chosen = secrets.randbits(40) if seed is None else seed
    judged: list[Judged] = []
    rounds = 0
    while len(judged) < count:
        calls = [(task, dtype, Draw(chosen, f"soak {rounds} {task.spec.name} {dtype}").bits()) for task, dtype in units]
        for found in in_processes(_one_suite, calls, jobs):
            judged += found
            step(len(found))
        rounds += 1
    return Soaked(chosen, tuple(judged))


def report(soaked: Soaked) -> Iterator[str]:
    """List the false rejections, the errors close to their limit, and the largest error."""
    rejected = [one for one in soaked.judged if not one.is_accepted]
    yield (
        f"{len(soaked.judged):,} judgements of honest variants of {len({one.task for one in soaked.judged})} tasks "
        f"(seed {soaked.seed}): {len(rejected)} rejected"
    )
    yield from (f"  rejected {_line(one)}" for one in rejected[:_TOLD])
    close = [one for one in soaked.judged if one.is_accepted and one.ratio > CLOSE]
    yield from (f"  close {_line(one)}" for one in close[:_TOLD])
    yield f"largest error {_line(max(soaked.judged, key=lambda one: one.ratio))}; close from {CLOSE} on"


def _line(one: Judged) -> str:
    return f"{one.ratio:.3f} of its limit: {one.variant} of {one.task} at {one.case}"


def _one_suite(task: LoadedTask, dtype: FloatDType, seed: int) -> list[Judged]:
    reference = Reference(task)
    suite = draw_suite(task.spec, seed, budget=BUDGETS["quick"], dtypes=[dtype], device="cpu", dense=False)
    variants = [*own_variants(load_bank(task), dtype), *generic_variants(task.spec)]
    honest = [variant for variant in variants if variant.kind == "honest"]
    judged: list[Judged] = []
    for case in suite.checked:
        setting = Setting.of(task, reference, case)
        where = f"{case} seed {case.seed}"
        judged += [one for variant in honest if (one := _judge(setting, variant, where)) is not None]
    return judged


def _judge(setting: Setting, variant: Variant, where: str) -> Judged | None:
    answer = variant.answer(setting)
    if answer is None:
        return None
    judgements = setting.judge(answer).values()
    ratio = max(judgement.ratio for judgement in judgements)
    accepted = all(judgement.is_accepted for judgement in judgements)
    if not accepted and (result := setting.verdict(answer)).status == "passed":  # by a second look
        ratio, accepted = result.error_ratio or 0.0, True
    return Judged(setting.task.spec.name, variant.name, where, ratio, accepted)
