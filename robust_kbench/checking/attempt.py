"""Attempt at one case: every call that is made for it, and the judgements of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import torch

from robust_kbench import emulation
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.checking import repetition, undefined
from robust_kbench.contestant import Contestant
from robust_kbench.emulation import Mode
from robust_kbench.errors import BuildError, Unsupported
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.languages.built import Built
from robust_kbench.oracle.properties import Relation
from robust_kbench.oracle.verdict import Judge, Limits, without_numbers
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation, Repetition
from robust_kbench.schema.record import CaseResult
from robust_kbench.schema.task import Task
from robust_kbench.stopwatch import Stopwatch

_REPEATS = 3  # of a kernel that breaks a property bit for bit: does it repeat itself?
_SEVERITY = ("crashed", "timed_out", "incorrect", "not_checked", "passed")


class Calls(Protocol):
    """Caller that has workers of the contestant, and counts the time that they spend in kernels."""

    def call(self, case: Case, inputs: Inputs, built: Built, mode: Mode | None) -> Observation:
        """Make one call of `built`. Raises Unsupported."""


class Attempt:
    """Attempt at one case. `run` comes first; the other methods say more about a case that is right so far.

    All of them raise Unsupported.
    """

    def __init__(
        self,
        task: Task,
        contestant: Contestant,
        calls: Calls,
        judge: Judge,
        watch: Stopwatch,
        case: Case,
        inputs: Inputs | None = None,
    ) -> None:
        """Make the inputs, or take `inputs`, the values of `case`, if they have been drawn already."""
        self._task, self._contestant, self._calls = task, contestant, calls
        self._judge, self._watch, self._case = judge, watch, case
        with watch.measure("inputs"):
            self.inputs = make_inputs(task, case) if inputs is None else inputs
        self._results: list[CaseResult] = []
        self._limits: Limits = {}
        self.seen: list[Observation] = []

    @property
    def is_right(self) -> bool:
        """Tell if every answer so far was right."""
        return all(result.status == "passed" for result in self._results)

    @property
    def result(self) -> CaseResult:
        """Worst result of all calls, with its undefined behaviour as an explanation, if there is any."""
        worst = min(self._results, key=lambda result: _SEVERITY.index(result.status))
        return undefined.explained(worst, self.seen)

    def run(self, *, searches_defects: bool) -> None:
        """Call the kernel and judge the answer."""
        for built, mode in self._runs(searches_defects):
            self._run(built, mode)

    def repeat(self) -> None:
        """Call again on equal inputs at other addresses; an emulated kernel has already run in two orders."""
        if self._contestant.execution != "emulated":
            self._run(*self._plain)
        if self.is_right:
            first, second = self.seen[:2]
            with self._watch.measure("judging"):
                compared = self._compared(first, second, self._limits)
                if compared.ratio:
                    compared = self._compared(first, second, self._wide_limits())
            self.seen[1] = replace(second, repetition=compared)

    def _compared(self, first: Observation, second: Observation, limits: Limits) -> Repetition:
        """Compare two answers where they are, or on the host if a device has too little memory for that."""
        with suppress(RuntimeError):
            return repetition.compare(self._task, first.outputs, second.outputs, limits)
        return repetition.compare(self._task, _on_the_host(first.outputs), _on_the_host(second.outputs), limits)

    def relate(self, relation: Relation) -> None:
        """Call on related inputs and hold the answers to each other. If they do not fit, the case is incorrect."""
        answers = []
        for inputs in relation.calls:
            observation = self.seen[0] if inputs is self.inputs else self._call(inputs, *self._plain)
            if self._is_lost(observation, inputs):
                return
            answers.append(_on_the_host(observation.outputs))
            self._judge.pool(self._case, inputs, answers[-1])
        with self._watch.measure("judging"):
            problem = relation.violation(answers, self._limits)
            if problem:
                self._limits = self._wide_limits()
                problem = relation.violation(answers, self._limits)
        if problem and self._vary(relation, answers):
            # Sums in another order each time, as atomics make them, are not the same bits for related inputs either.
            with self._watch.measure("judging"):
                problem = relation.violation(answers, self._limits, is_deterministic=False)
        if problem:
            told = {"reason": problem[:1000], "kind": without_numbers(problem.partition(":")[0])}
            self._results.append(self._results[0].model_copy(update={"status": "incorrect", **told}))

    def _wide_limits(self) -> Limits:
        """Compute the case's limits with PyTorch's errors, which the verdict on a passing answer may lack."""
        return self._judge.look(self.seen[0], self.inputs, "cpu").limits

    def _vary(self, relation: Relation, answers: Sequence[Mapping[str, torch.Tensor]]) -> bool:
        """Tell if further calls on equal inputs give other bits than before. A call without an answer is a failure.

        Each call of the relation is repeated: of a kernel that hardly ever adds in another order, one of them did so.
        """
        for _ in range(_REPEATS):
            for inputs, answer in zip(relation.calls, answers, strict=True):
                observation = self._call(inputs, *self._plain)
                if self._is_lost(observation, inputs):
                    return False
                if any(not _is_same(observation.outputs[name], tensor) for name, tensor in answer.items()):
                    return True
        return False

    def _is_lost(self, observation: Observation, inputs: Inputs) -> bool:
        """Tell if a call has no answer to hold others to. That is a result of its own."""
        if observation.ending == "returned" and not observation.problems:
            return False
        self._results.append(self._judge.verdict(observation, inputs).result)
        return True

    @property
    def _plain(self) -> tuple[Built, Mode | None]:
        """Artefact without a checker, and the mode in which it runs first."""
        is_emulated = self._contestant.instrument is not None
        return self._contestant.built[self._case.dtype], emulation.modes(self._case)[0] if is_emulated else None

    def _runs(self, searches_defects: bool) -> Iterator[tuple[Built, Mode | None]]:
        """List the runs: one of a native kernel; of an emulated one several orders, until one of them goes wrong.

        An emulated kernel runs under the checker too if that was asked for, and wherever a bad result needs explaining.
        """
        built = self._contestant.built[self._case.dtype]
        if (instrument := self._contestant.instrument) is None:
            yield built, None
            return
        for mode in emulation.modes(self._case):
            yield built, mode
            if not self.is_right:
                break
        is_explained = any(observation.defects for observation in self.seen)
        is_small = emulation.is_small(case_footprint(self._task, self._case))
        if (not self.is_right and not is_explained) or (searches_defects and is_small):
            try:
                checked = instrument(self._case.dtype)
            except (BuildError, Unsupported):
                if self.is_right:
                    raise
                return  # what is wrong stays wrong without an explanation: a source can tell the checker's build
            yield checked, emulation.under_checker(self._case)

    def _run(self, built: Built, mode: Mode | None) -> None:
        observation = self._call(self.inputs, built, mode)
        with self._watch.measure("judging"):
            verdict = self._judge.verdict(observation, self.inputs)
            if verdict.result.status == "passed":
                self._judge.pool(self._case, self.inputs, observation.outputs)
        self._results.append(verdict.result)
        self._limits = self._limits or verdict.limits

    def _call(self, inputs: Inputs, built: Built, mode: Mode | None) -> Observation:
        observation = self._calls.call(self._case, inputs, built, mode)
        self.seen.append(observation)
        return observation


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.to(other.device), other)


def _on_the_host(outputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.to("cpu") for name, tensor in outputs.items()}
