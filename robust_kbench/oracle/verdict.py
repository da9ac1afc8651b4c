"""Judge the observation of a case. The references run here, after the submission's outputs were taken."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle import mismatch
from robust_kbench.oracle.cancelled_sums import CancelledSums
from robust_kbench.oracle.categorical import Categorical
from robust_kbench.oracle.containment import Contained, reached, spared
from robust_kbench.oracle.dropout import Dropout
from robust_kbench.oracle.judgement import Judgement, Standard, refusal
from robust_kbench.oracle.pool import Pool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.repeats import Tally
from robust_kbench.oracle.sampled import is_costly, sample
from robust_kbench.oracle.second_look import SecondLook
from robust_kbench.oracle.seeds import IMPROBABLE, Run, coincidence
from robust_kbench.oracle.standards import rule, standard_for
from robust_kbench.oracle.surroundings import Surroundings, are_dear, slopes, surround
from robust_kbench.oracle.three_metrics import Triple, is_plainly_near
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult, CaseStatus, Metrics
from robust_kbench.schema.task import Task, shape_of

Limits = Mapping[str, tuple[float, ...]]
Tensors = Mapping[str, torch.Tensor]
Excuses = Literal["none", "errors", "all"]
"""Excuses that widen the limits of the dtype: none; PyTorch's errors; also changes of the result by rounded inputs."""
_FEWER: tuple[Excuses, ...] = ("none", "errors")
_SHORT_CUT_FACTOR = 2.0  # float64 skipped: PyTorch's own error and the candidate's may add up
_NUMBER, _LONGEST_KIND = re.compile(r"-?\d[\d.,]*(e[-+]?\d+)?"), 120
_LARGE, _TOO_LARGE = 1 << 20, 1 << 28
"""Elements of all tensors of a call. From the first number on it is faster looked at on a device, although its tensors
have to get there. Up to the second the device has room for float64."""


@dataclass(frozen=True)
class Verdict:
    """Judged case, and the limits by which later outputs of the same shape can be held without float64."""

    result: CaseResult
    limits: Limits


@dataclass(frozen=True)
class Expected:
    """Right answer to one case: in float64, by PyTorch, and the standard that each output is held to."""

    exact: Mapping[str, torch.Tensor]
    native: Mapping[str, torch.Tensor]
    standards: Mapping[str, Standard]

    def judge(self, outputs: Mapping[str, torch.Tensor]) -> dict[str, Judgement]:
        """Hold every output to its standard. An output that is missing, or of another shape or dtype, is refused."""
        return {name: self._judge(name, outputs.get(name)) for name in self.standards}

    def explain(self, name: str, outputs: Mapping[str, torch.Tensor], judgement: Judgement) -> str:
        """Explain in words why output `name` was refused."""
        answer = outputs.get(name)
        if answer is None or self._misfit(name, answer):
            return f"{name}: {judgement.demand}"
        standard = self.standards[name]
        exact = None if isinstance(standard, Dropout | Categorical) else self.exact[name]
        return mismatch.explain(name, answer, exact, standard.is_wrong(answer), judgement)

    def _judge(self, name: str, answer: torch.Tensor | None) -> Judgement:
        if answer is None:
            return refusal("missing")
        misfit = self._misfit(name, answer)
        return refusal(misfit) if misfit else self.standards[name].judge(answer)

    def _misfit(self, name: str, answer: torch.Tensor) -> str | None:
        due = self.native[name]
        is_fit = (answer.shape, answer.dtype) == (due.shape, due.dtype)
        return None if is_fit else f"returned {_kind(answer)}; expected {_kind(due)}"


@dataclass
class _Asked:
    """Case that was asked for, and the standards that answers to it are held to, with more or fewer excuses."""

    case: Case
    inputs: Inputs
    expected: dict[Excuses, Expected] = field(default_factory=dict)
    around: Surroundings | None = None
    _exact: Tensors | None = None
    _native: Tensors | None = None

    def exact(self, reference: Reference) -> Tensors:
        """Return the exact answer; compute it if it is not known yet."""
        if self._exact is None:
            self._exact = reference.exact(self.inputs)
        return self._exact

    def native(self, reference: Reference) -> Tensors:
        """Return PyTorch's answer; compute it if it is not known yet."""
        if self._native is None:
            self._native = reference.native(self.inputs)
        return self._native


class Judge:
    """Judge of the observations of one task. It remembers the last checked case, which may have several answers."""

    def __init__(self, task: Task, reference: Reference, place: str = "cpu") -> None:
        """Start with a kind of device, `place`, that looks first at answers of timed and other large calls.

        It may accept them: it holds them to the limits of the dtype alone, which PyTorch's own errors widen on the
        host. Answers that it does not accept are judged there.
        """
        self._place = place
        self._comparisons = set(map(task.comparison_of, task.outputs.values()))
        self.is_easily_moved = self._comparisons <= {"rule", "ulp", "exact"}
        """True if the standards of all outputs can be used on any device."""
        self._task = task
        self._reference = reference
        self._last: _Asked | None = None
        self._first_looks: dict[tuple[str, ...], bool] = {}
        self._alike: dict[tuple[str, ...], Surroundings] = {}
        self._before: dict[tuple[int, ...], tuple[Inputs, Tensors]] = {}
        self._repeats = Tally()
        self._pool = Pool(task)

    def expect(self, case: Case, inputs: Inputs, *, excuses: Excuses = "all") -> Expected:
        """Make the standards for the outputs of `case`; costs the references unless it was asked for just before.

        Where float64 takes too long or too much memory, PyTorch's answer stands for it and secret slices are exact. An
        answer that keeps the limits of fewer `excuses` keeps the wider ones, too. On a device there are no excuses.
        """
        excuses = excuses if inputs.place == "cpu" else "none"
        last = self._last
        if last is None or last.case != case or last.inputs is not inputs:
            self._last = None  # freed before the next one is made: they are large
            last = _Asked(case, inputs)
        if excuses not in last.expected:
            in_part = self._in_part(case, inputs) if excuses == "all" else None
            last.expected[excuses] = in_part or self._in_full(last, excuses)
        if case.role == "check":
            self._last = last
        return last.expected[excuses]

    def usual(self, case: Case, inputs: Inputs) -> Tensors:
        """Return PyTorch's answer to the inputs of a case."""
        return self.expect(case, inputs).native

    def _in_part(self, case: Case, inputs: Inputs) -> Expected | None:
        if not is_costly(self._task, case):
            return None
        sampled = sample(self._task, self._reference, case, inputs, Draw(case.seed, "sample"))
        return None if sampled is None else Expected(sampled.near, sampled.near, sampled.standards)

    def _in_full(self, asked: _Asked, excuses: Excuses) -> Expected:
        """Make standards with the limits of the dtype and the excuses that widen them.

        PyTorch's errors on a device would be no excuse here, but a device has the time to compute how rounded inputs
        change the result.
        """
        case, inputs = asked.case, asked.inputs
        exact = asked.exact(self._reference)
        is_form_enough = excuses == "none" and self._comparisons == {"rule"} and case.probe is None
        native = self._forms(case, exact) if is_form_enough else asked.native(self._reference)
        around: Surroundings | None = None
        if excuses != "none":
            around = self._surroundings(asked, exact, native, is_conditioned=excuses == "all")
        elif inputs.place != "cpu":
            around = slopes(self._task, self._reference, inputs, exact)
        standards: dict[str, Standard] = {
            name: standard_for(self._task, name, case, inputs, exact, native, around, excuses=excuses != "none")
            for name in self._task.outputs
        }
        if case.probe == "nonfinite" and self._task.nonfinite == "contain":
            spoilt = reached(self._reference, inputs, native, is_excused=inputs.place == "cpu")
            spare = spared(self._reference, inputs, exact) if inputs.place == "cpu" else {}
            standards = {
                name: Contained(own, exact[name], spoilt[name], spare.get(name)) for name, own in standards.items()
            }
        return Expected(exact, native, standards)

    def _forms(self, case: Case, exact: Tensors) -> Tensors:
        """Make tensors without values, of the shapes and dtypes of PyTorch's answer, where its errors do not count."""
        dtypes = {name: self._task.dtype_of(spec, case.dtype) for name, spec in self._task.outputs.items()}
        return {
            name: torch.empty_like(exact[name], dtype=getattr(torch, dtypes[name]), device="meta") for name in exact
        }

    def _surroundings(
        self, asked: _Asked, exact: Tensors, native: Tensors, *, is_conditioned: bool
    ) -> Surroundings | None:
        """Look around a case. Calls of a timed shape are alike: the results of one serve the later ones, too."""
        case = asked.case
        key = (str(case.axes), case.dtype, case.distribution, case.layout)
        known = self._alike.get(key) if case.role == "timed" else asked.around
        around = surround(
            self._task, case, self._reference, asked.inputs, exact, native, known, is_conditioned=is_conditioned
        )
        asked.around = around
        if case.role == "timed" and around is not None:
            self._alike[key] = replace(around, condition={}, allowed=(), operator=())
        return around

    def verdict(
        self, seen: Observation, inputs: Inputs, *, with_digest: bool = True, is_baseline: bool = False
    ) -> Verdict:
        """Hold one observation to the rule, against float64. The digest is for results that go into a record.

        `is_baseline`: on a device it may also be near PyTorch's answer there, whose errors excuse it on the host, too.
        """
        here = inputs.to("cpu") if with_digest or seen.ending != "returned" or seen.problems else inputs
        if seen.ending != "returned":
            return Verdict(_failed(seen, here), {})
        if seen.problems:
            return Verdict(_result(seen.case, here, "incorrect", reason="; ".join(seen.problems), kind="problem"), {})
        digested = here if with_digest else None
        if self._is_looked_at_elsewhere(seen.case):
            with suppress(RuntimeError):  # a submission may have left little memory, for PyTorch or for a library
                found = self.look(seen, inputs, self._place, digested)
                if found.result.status == "passed" or (is_baseline and self._is_like_pytorch(seen, inputs, found)):
                    return replace(found, result=found.result.model_copy(update={"status": "passed"}))
            return self.look(seen, inputs, "cpu", digested)
        for excuses in self._fewer_excuses(seen.case):
            found = self.look(seen, inputs, "cpu", digested, excuses=excuses)
            is_enough = found.result.status == "passed"
            self._first_looks.setdefault((excuses, *_values_of(seen.case)), is_enough)
            if is_enough:
                return found
        return self.look(seen, inputs, "cpu", digested)

    def _is_like_pytorch(self, seen: Observation, inputs: Inputs, found: Verdict) -> bool:
        """Tell if rounding explains how an answer that is judged by size differs from PyTorch's; no float64."""
        return self._comparisons == {"rule"} and self.short_cut(seen, inputs, found.limits) is None

    def _is_looked_at_elsewhere(self, case: Case) -> bool:
        is_large = case.role == "timed" or _LARGE <= self._elements(case) <= _TOO_LARGE
        return self._place != "cpu" and self.is_easily_moved and is_large

    def _elements(self, case: Case) -> int:
        return sum(math.prod(shape_of(spec, case.axes)) for spec in self._task.tensors.values())

    def _fewer_excuses(self, case: Case) -> Iterator[Excuses]:
        """Yield the fewer excuses with which an answer is tried first, where all of them are dear or the call is large.

        They take 0.5 s for 2 M elements, and PyTorch's errors alone half of a look at so many. Where the first answer
        to such values has not kept the limits of some, as 1 + erf does not keep those of none, the later ones are not
        held to these.
        """
        is_large = case.role == "timed" or self._elements(case) >= _LARGE
        if is_costly(self._task, case) or not (
            are_dear(self._task, case) or (is_large and "rule" in self._comparisons)
        ):
            return
        for excuses in _FEWER if "ulp" in self._comparisons else _FEWER[:1]:
            if self._first_looks.get((excuses, *_values_of(case)), True):
                yield excuses

    def look(
        self, seen: Observation, inputs: Inputs, place: str, digested: Inputs | None = None, *, excuses: Excuses = "all"
    ) -> Verdict:
        """Hold an observation without problems to the rule on one kind of device. Only the cpu gives reasons.

        `excuses`: see `expect`.
        """
        seen, inputs = _moved(seen, place), inputs.to(place)
        expected = self.expect(seen.case, inputs, excuses=excuses)
        judgements = expected.judge(seen.outputs)
        if place == "cpu" and excuses == "all":
            judgements |= self._seen_twice(seen, inputs, expected, judgements)
        limits = {name: judgement.limits for name, judgement in judgements.items()}
        name, worst = max(judgements.items(), key=lambda item: item[1].ratio)
        wrong = [key for key, judgement in judgements.items() if not judgement.is_accepted]
        explained = wrong if place == "cpu" and excuses == "all" else []  # otherwise nothing is refused for good
        reasons = [expected.explain(key, seen.outputs, judgements[key]) for key in explained]
        status: CaseStatus = "incorrect" if wrong else "passed"
        kind = self._kind(name, worst) if reasons else ""
        told = {"reason": "; ".join(reasons), "kind": kind, "output": name}
        result = _result(seen.case, digested, status, **told, judgement=worst)
        return Verdict(result, limits)

    def _seen_twice(
        self, seen: Observation, inputs: Inputs, expected: Expected, judgements: Mapping[str, Judgement]
    ) -> dict[str, Judgement]:
        """Judge refused outputs again; return the judgements that accept them after a second look at a few elements."""
        sums = CancelledSums(self._task, self._reference, seen.case, inputs)
        accepted = sums.accepted(seen.outputs, expected.exact, expected.standards, judgements)
        for name, judgement in judgements.items():
            in_ulps = self._task.comparison_of(self._task.outputs[name]) == "ulp"
            if judgement.is_accepted or judgement.nonfinite or judgement.is_refusal or not in_ulps:
                continue
            wrong = expected.standards[name].is_wrong(seen.outputs[name])
            again = SecondLook(self._task, self._reference).judge(name, inputs, seen.outputs[name], wrong)
            if again is not None and again.is_accepted:
                accepted[name] = again
        return accepted

    def _kind(self, name: str, judgement: Judgement) -> str:
        """Name the kind of error, apart from where and how large it is."""
        if judgement.nonfinite:
            return "nonfinite"
        return without_numbers(judgement.demand) if self._task.outputs[name].law else "values"

    def short_cut(self, seen: Observation, inputs: Inputs, limits: Limits) -> str | None:
        """Hold an output to PyTorch's at the same dtype, with twice the limits of a call that was judged in full.

        Returns which output is wrong, or None. Cheaper by the float64 reference; only for timed calls that are not
        drawn for the full rule.
        """
        if seen.ending != "returned" or seen.problems:
            return seen.message or "; ".join(seen.problems)
        if not self._is_looked_at_elsewhere(seen.case):
            return self._short_cut(_moved(seen, "cpu"), inputs.to("cpu"), limits)
        try:
            return self._short_cut(_moved(seen, self._place), inputs.to(self._place), limits)
        except RuntimeError as error:
            return str(error)

    def _short_cut(self, seen: Observation, inputs: Inputs, limits: Limits) -> str | None:
        native = self._reference.native(inputs)
        doubtful = [
            name for name, due in native.items() if not self._is_plain(name, seen.outputs.get(name), due, limits[name])
        ]
        standards = {name: self._wider(name, seen.case, inputs, native, limits[name]) for name in doubtful}
        expected = Expected(native, native, standards)
        for name, judgement in expected.judge(seen.outputs).items():
            if not judgement.is_accepted:
                # PyTorch itself may be beyond limits without an excuse: the next full look finds those with all.
                self._first_looks["none", *_values_of(seen.case)] = False
                return f"{name}: {judgement.demand}"
        return None

    def goes_along(self, seen: Observation, inputs: Inputs, *, thorough: bool = True) -> str | None:
        """Tell if a random op makes the choices of the call before, whose seed was another; in words, or None.

        A mask that is drawn once and kept obeys the law in every single call. A problem of all calls until now is told,
        too.
        """
        if all(output.law is None for output in self._task.outputs.values()):
            return None
        seen, inputs = _moved(seen, "cpu"), inputs.to("cpu")
        found = self._repeated(seen, inputs) or self.pool(seen.case, inputs, seen.outputs, thorough=thorough)
        if found:
            return found
        shape = tuple(seen.case.axes.values())
        before, self._before = self._before.get(shape), {shape: (inputs, seen.outputs)}
        if before is None or before[0].values["seed"] == inputs.values["seed"]:
            return None
        runs = ((name, Run(before[0], before[1][name]), Run(inputs, seen.outputs[name])) for name in self._task.outputs)
        alike = (coincidence(self._task, *run, thorough=thorough) for run in runs)
        return next((words for words in alike if words), None)

    def pool(self, case: Case, inputs: Inputs, outputs: Tensors, *, thorough: bool = True) -> str | None:
        """Add an answer that is right by itself to those of all calls; say what is wrong with them, or None."""
        return self._pool.add(case, inputs, outputs, thorough=thorough)

    @property
    def pooled_problem(self) -> str | None:
        """Problem of the answers of all calls together, or None."""
        return self._pool.problem

    def _repeated(self, seen: Observation, inputs: Inputs) -> str | None:
        """Tell if rows of all calls until now drew each other's classes too often; in words, or None."""
        for name, output in self._task.outputs.items():
            if output.law != "categorical":
                continue
            logits = inputs.tensors["logits"]
            probability = self._repeats.add(int(inputs.values["seed"]), logits, seen.outputs[name])
            if probability < IMPROBABLE:
                return (
                    f"{name}: rows draw the same classes too often, over all calls until now: of independent ones that "
                    f"has a probability of at most {probability:.1g}; are there classes that are never looked at?"
                )
        return None

    def _is_plain(self, name: str, answer: torch.Tensor | None, due: torch.Tensor, limits: tuple[float, ...]) -> bool:
        """Tell if a glance is enough to accept an answer. Limits of another way of comparing allow no difference."""
        by_size = self._task.comparison_of(self._task.outputs[name]) in ("rule", "ulp")
        if answer is None or not by_size or not due.dtype.is_floating_point:
            return False
        if (answer.shape, answer.dtype) != (due.shape, due.dtype):
            return False
        first, second, third = _of_rule(limits) or (0.0, 0.0, 0.0)
        return is_plainly_near(answer, due, (first, second, third))

    def _wider(
        self, name: str, case: Case, inputs: Inputs, native: Mapping[str, torch.Tensor], limits: tuple[float, ...]
    ) -> Standard:
        """Make the standard around PyTorch's answer. Outputs counted in ulps elsewhere are held to the rule here."""
        comparison = self._task.comparison_of(self._task.outputs[name])
        if comparison not in ("rule", "ulp") or not native[name].dtype.is_floating_point:
            return standard_for(self._task, name, case, inputs, native, native)
        known = None if comparison == "ulp" else _of_rule(limits)
        known = known or rule(self._task, name, case, inputs, native, native).limits
        first, second, third = (_SHORT_CUT_FACTOR * limit for limit in known)
        return rule(self._task, name, case, inputs, native, native, limits=(first, second, third))


def _of_rule(limits: tuple[float, ...]) -> Triple | None:
    """Return the rule's three limits, which come first where there are more; None for another way of comparing."""
    if len(limits) < 3:
        return None
    first, second, third, *_ = limits
    return first, second, third


def without_numbers(words: str) -> str:
    """Replace the numbers in `words`, so that these are the same for all cases in which the same is wrong."""
    return _NUMBER.sub("#", words)[:_LONGEST_KIND]


def not_checked(case: Case, reason: str) -> CaseResult:
    """Make the result of a case that was drawn but not run."""
    return _result(case, None, "not_checked", reason=reason)


def _moved(seen: Observation, place: str) -> Observation:
    """Move the outputs of an observation to another kind of device."""
    return replace(seen, outputs={name: tensor.to(place) for name, tensor in seen.outputs.items()})


def _values_of(case: Case) -> tuple[str, ...]:
    return case.dtype, case.distribution, case.probe or ""


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _failed(seen: Observation, inputs: Inputs) -> CaseResult:
    status: CaseStatus = "timed_out" if seen.ending == "timed_out" else "crashed"
    return _result(seen.case, inputs, status, reason=seen.message)


def _result(
    case: Case,
    inputs: Inputs | None,
    status: CaseStatus,
    *,
    reason: str = "",
    kind: str = "",
    output: str = "",
    judgement: Judgement | None = None,
) -> CaseResult:
    comparable = judgement is not None and judgement.nonfinite == 0 and all(map(math.isfinite, judgement.errors))
    return CaseResult(
        **case.model_dump(),
        status=status,
        reason=reason[:1000],
        kind=kind,
        output=output,
        errors=_rounded(judgement.errors) if judgement and comparable else None,
        limits=_rounded(judgement.limits) if judgement and comparable else None,
        inputs_digest=inputs.digest if inputs else "",
    )


def _rounded(values: tuple[float, ...]) -> Metrics:
    return tuple(float(f"{value:.4g}") for value in values)
