"""Try every variant of a task on the cases of one dtype, and keep what the rule said."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

import torch

from robust_kbench.audit.kinship import Family, Kin
from robust_kbench.audit.peers import PEERS, Peer
from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.tally import Outcome, Tally, Trial, counts_for
from robust_kbench.audit.variants import Variant
from robust_kbench.cases.more_draws import cases_of_more_draws, inputs_of_more_draws
from robust_kbench.errors import SpecError
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.pool import Pool
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Layout

_PATIENCE = 5  # rounds in which something must refuse a variant: else it has passed, and is not pursued any longer
_Pair = tuple[Variant, Tally]


def try_variants(
    task: LoadedTask,
    dtype: str,
    rounds: Iterable[Sequence[Case]],
    variants: Sequence[Variant],
    *,
    exempt: Collection[str] = (),
    with_peers: bool = False,
    in_full: bool = True,
) -> Trial:
    """Judge every variant on every case of the first round; the rest is for wrong ones that a layout has not refused.

    `exempt` names variants that are not pursued further than that. Not `in_full`, wrong ones are judged in a layout
    until it has refused them, in the first round already, and later cases to which none of those left applies are
    left out: enough to admit a task, not to say how near they are.
    """
    tryout = _Tryout(task, variants, PEERS if with_peers else ())
    first_round = 0
    for number, suite in enumerate(rounds):
        if number == 0:
            first_round = len(suite)
            tryout.judge_all(suite, until_refused=set() if in_full else tryout.wrong - set(exempt))
        elif not tryout.pursue(suite, exempt, is_patient=number < _PATIENCE, in_full=in_full):
            break
    tallies = tuple(tally for _, tally in tryout.pairs)
    return Trial(task.spec.name, dtype, tuple(tryout.cases), first_round, tallies)


class _Tryout:
    """Variants with their tallies, and the cases so far."""

    def __init__(self, task: LoadedTask, variants: Sequence[Variant], peers: Sequence[Peer]) -> None:
        self._task, self._reference, self._peers = task, Reference(task), peers
        self.pairs = [(v, Tally(v.name, v.kind, v.description, v.is_generic)) for v in variants]
        self.cases: list[Case] = []
        self._pools = {variant.name: Pool(task.spec) for variant in variants}
        self._drawn_more: set[str] = set()
        self._family = Family(task.spec.properties)

    @property
    def wrong(self) -> set[str]:
        """Names of the variants that have to be refused."""
        return {tally.name for _, tally in self.pairs if tally.kind != "honest"}

    def judge_all(self, suite: Sequence[Case], until_refused: Collection[str]) -> None:
        """Every variant on every case; those in `until_refused` on none of a layout that has refused them.

        But in a drawn case each must have differed from PyTorch, too: else it would seem that it never does.
        """
        for case in suite:
            alive = {tally.name for _, tally in self._alive(self.pairs, case.layout)}
            needed = {tally.name for _, tally in self.pairs if tally.name in alive or not self._has_differed(tally)}
            self._judge(case, [p for p in self.pairs if p[1].name not in until_refused or p[1].name in needed])

    def _has_differed(self, tally: Tally) -> bool:
        return any(not each.is_equal for each in tally.sized if self.cases[each.case].probe is None)

    def pursue(self, suite: Sequence[Case], exempt: Collection[str], *, is_patient: bool, in_full: bool) -> bool:
        """Wrong variants, on cases of layouts that have not refused them, beside the honest ones.

        Not `in_full`, only on cases to which a wrong one applies: a transposed answer is one where it is a square.
        Returns whether there was any left.
        """
        wrong = [
            (variant, tally)
            for variant, tally in self.pairs
            if tally.kind != "honest" and tally.is_different and tally.name not in exempt
            if tally.refused or is_patient
        ]
        if not any(self._alive(wrong, layout) for layout in {case.layout for case in self.cases}):
            return False
        honest = [pair for pair in self.pairs if pair[1].kind == "honest"]
        for variant, tally in wrong:
            if not tally.refused and variant.name not in self._drawn_more:
                self._draw_more(variant)
        for case in suite:
            if alive := self._alive(wrong, case.layout):
                self._judge(case, alive, beside=honest, is_needed=in_full)
        return True

    def _draw_more(self, variant: Variant) -> None:
        """Add as many draws as an evaluation does, if the variant draws classes."""
        self._drawn_more.add(variant.name)
        spec, pool, known = self._task.spec, self._pools[variant.name], self.cases[0]
        for case in cases_of_more_draws(spec, [known.dtype], known.seed):
            for inputs in inputs_of_more_draws(spec, case, "quick"):
                answer = variant.answer(Setting(self._task, self._reference, case, inputs))
                if answer is not None:
                    pool.add(case, inputs, answer)

    def _alive(self, wrong: Sequence[_Pair], layout: Layout) -> list[_Pair]:
        return [
            (variant, tally)
            for variant, tally in wrong
            if not any(counts_for(outcome, self.cases[outcome.case], layout) for outcome in tally.refused)
        ]

    def _judge(
        self, case: Case, pairs: Sequence[_Pair], beside: Sequence[_Pair] = (), *, is_needed: bool = True
    ) -> None:
        """`pairs` on one case, and those `beside` them; unless it `is_needed`, only if one of `pairs` applies to it."""
        setting = Setting.of(self._task, self._reference, case)
        family = cache(lambda: tuple(self._family.of(setting)))
        applied = [self._extend(tally, variant, setting, family) for variant, tally in pairs]
        if is_needed or any(applied):
            for variant, tally in beside:
                self._extend(tally, variant, setting, family)
            self.cases.append(case)

    def _extend(self, tally: Tally, variant: Variant, setting: Setting, family: Callable[[], Sequence[Kin]]) -> bool:
        """Keep what is said about a variant on a case; whether it applies."""
        try:
            outcomes = tuple(self._outcomes(variant, setting, family))
        except Exception as error:  # of a variant: our own source, but the task has to be named
            raise SpecError(f"{self._task.spec.name}: {variant.name} raises {error!r} ({setting.case})") from error
        tally.outcomes.extend(outcomes)
        return bool(outcomes)

    def _outcomes(self, variant: Variant, setting: Setting, family: Callable[[], Sequence[Kin]]) -> Iterator[Outcome]:
        answer = variant.answer(setting)
        if answer is None:
            return
        judgements = setting.judge(answer)
        yield self._pooled(variant, setting, answer, self._outcome(variant, setting, answer, judgements))
        limits = {name: judgement.limits for name, judgement in judgements.items()}
        for kin in family():
            words = kin.violation(variant, setting, answer, limits)
            accepting = tuple(True for _ in self._peers)  # no peer tries properties
            yield Outcome(
                len(self.cases), 0.0, words is None, words is None, accepting, kin.relation.prop.kind, words or ""
            )

    def _pooled(self, variant: Variant, setting: Setting, answer: Tensors, outcome: Outcome) -> Outcome:
        """Refuse what is right by itself if all that the variant has drawn is not, as an evaluation does."""
        if not outcome.is_accepted:
            return outcome
        problem = self._pools[variant.name].add(setting.case, setting.inputs, answer)
        return outcome._replace(is_accepted=False, reason=problem) if problem else outcome

    def _outcome(
        self, variant: Variant, setting: Setting, answer: Tensors, judgements: Mapping[str, Judgement]
    ) -> Outcome:
        ratio = max(judgement.ratio for judgement in judgements.values())
        wrong = [name for name, judgement in judgements.items() if not judgement.is_accepted]
        reasons = [
            setting.expected.explain(name, answer, judgements[name]) for name in wrong if variant.kind == "honest"
        ]
        return Outcome(
            case=len(self.cases),
            ratio=math.inf if math.isnan(ratio) else ratio,
            is_accepted=not wrong,
            is_equal=all(_is_same(answer[name], tensor) for name, tensor in setting.native.items()),
            peers=tuple(
                all(peer.accepts(answer[name], setting.native[name]) for name in answer) for peer in self._peers
            ),
            reason="; ".join(reasons),
        )


def _is_same(answer: torch.Tensor, native: torch.Tensor) -> bool:
    return bool(((answer == native) | ((answer != answer) & (native != native))).all())
