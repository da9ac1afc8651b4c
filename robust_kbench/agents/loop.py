"""Loop behind all agents: select, show, ask, judge, keep. Agents differ only in their presets.

    preset -> phase -> batch of proposals -> candidates -> verdicts -> archive -> next batch

Random choices come from one generator and are made before any model is asked. Answers and verdicts come through the
journal. So a run that is repeated with the same journal is the same run.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from robust_kbench.agents import context, prompts, replies
from robust_kbench.agents.archive import ROOT, Archive, Candidate, Judged, Node
from robust_kbench.agents.budget import Budget, OutOfBudget
from robust_kbench.agents.context import Brief, View
from robust_kbench.agents.preset import Operator, Phase, Preset, Role, When
from robust_kbench.agents.providers.protocol import Message, ProviderError, Reply, Request
from robust_kbench.agents.selectors import Islands

MAX_TOKENS = 8192
_MAX_SILENCES = 3
Stop = Literal["budget", "provider_error", "unfinished"]
"""Reason why a run has ended. A run that was interrupted, or is going on, is unfinished."""
Item = TypeVar("Item")
Made = TypeVar("Made")


class Ask(Protocol):
    """Function that asks a language model, once for each identity; see journal."""

    def __call__(self, identity: str, request: Request) -> Reply:
        """Return the model's reply to the request. Raises ProviderError."""


class Judge(Protocol):
    """Function that judges candidates, each once; see journal."""

    def __call__(self, candidates: Sequence[Candidate]) -> Sequence[Judged]:
        """Return verdicts in the order of the candidates."""


@dataclass(frozen=True)
class Question:
    """Question to one role, as far as it does not depend on earlier answers of other roles."""

    role: Role
    model: str
    temperature: float
    blocks: tuple[context.Block, ...]


@dataclass(frozen=True)
class Proposal:
    """Plan of a new candidate: the nodes and the operator that make it."""

    identity: str
    operator: Operator
    focus: tuple[Node, ...]
    questions: tuple[Question, ...]
    island: int


@dataclass(frozen=True)
class Opinion:
    """Answers of the verifiers on a candidate, by role. They rank, and never decide."""

    candidate: Candidate
    answers: dict[str, bool | None]

    @property
    def mean(self) -> float:
        """Share of the verifiers that say yes; a verifier without an answer counts as no."""
        return sum(answer is True for answer in self.answers.values()) / len(self.answers)


@dataclass
class Outcome:
    """Result of a run: its archive, the reason of its end, and the opinions of verifiers."""

    archive: Archive
    stop: Stop = "budget"
    opinions: list[tuple[Opinion, bool]] = field(default_factory=list)
    """Pairs of an opinion and a bool: True if the candidate was judged after all."""


@dataclass(frozen=True)
class Setting:
    """Settings of a run. `models` is the ensemble of which each question draws one."""

    preset: Preset
    brief: Brief
    root: Node
    language: str
    models: tuple[str, ...]
    seed: int

    @property
    def facts(self) -> dict[str, object]:
        """Facts that decide a run. Two runs with equal facts are equal as far as answers and verdicts are."""
        text = "\n".join((self.brief.task, self.brief.hardware, *self.brief.hints, self.root.candidate.code))
        return {
            "preset": self.preset.model_dump(mode="json"),
            "brief": hashlib.sha256(text.encode()).hexdigest()[:16],
            "language": self.language,
            "models": list(self.models),
            "seed": self.seed,
        }


class Loop:
    """Search loop of one run by one agent."""

    def __init__(
        self,
        setting: Setting,
        *,
        ask: Ask,
        judge: Judge,
        budget: Budget,
        observe: Callable[[Node], None] = lambda node: None,
    ) -> None:
        self._preset, self._brief, self._language = setting.preset, setting.brief, setting.language
        self._models = setting.models
        self._ask_model, self._judge, self._budget, self._observe = ask, judge, budget, observe
        self._rng = random.Random(setting.seed)
        self._archive = Archive(setting.root, population=setting.preset.population)
        self._outcome = Outcome(self._archive)
        self._generation = 0
        self._silences = 0
        self._notes_on: dict[tuple[str, str], str] = {}

    @property
    def outcome(self) -> Outcome:
        """Outcome that the run has reached so far."""
        return self._outcome

    def run(self) -> Outcome:
        """Carry out all phases, until the budget is spent or no model answers any more."""
        try:
            for phase in self._preset.phases:
                self._carry_out(phase)
        except OutOfBudget:
            pass
        except ProviderError:
            self._outcome.stop = "provider_error"
        return self._outcome

    def _carry_out(self, phase: Phase) -> None:
        judged_before = len(self._archive)
        while not self._is_over(phase, len(self._archive) - judged_before):
            left = self._budget.evaluations_left
            if phase.at_most is not None:
                left = min(left, phase.at_most - (len(self._archive) - judged_before))
            if left <= 0:
                raise OutOfBudget("evaluations")
            self._generation += 1
            self._one_batch(phase, left)

    def _is_over(self, phase: Phase, done: int) -> bool:
        has_enough = (
            phase.until_kernels is not None and len(self._archive.top(phase.until_kernels)) == phase.until_kernels
        )
        return has_enough or (phase.at_most is not None and done >= phase.at_most)

    def _one_batch(self, phase: Phase, left: int) -> None:
        count = phase.batch if phase.keep is not None else min(phase.batch, left)
        proposals = [self._plan(phase, position) for position in range(count)]
        self._consult(proposals)
        made, is_spent = self._each(self._make, proposals)
        candidates = [candidate for candidate in made if candidate is not None]
        self._count_silences(candidates)
        if phase.keep is not None and candidates:
            candidates, is_spent = self._preferred(phase, candidates, min(phase.keep, left), is_spent=is_spent)
        self._judge_all(candidates[:left])
        if is_spent:
            raise OutOfBudget("calls, tokens or usd")

    def _judge_all(self, candidates: Sequence[Candidate]) -> None:
        for candidate, judged in zip(candidates, self._judge(candidates), strict=True):
            self._budget.spent.evaluations += 1
            node = Node(candidate, judged)
            self._archive.add(node)
            self._observe(node)

    def _count_silences(self, candidates: Sequence[Candidate]) -> None:
        self._silences = 0 if candidates else self._silences + 1
        if self._silences >= _MAX_SILENCES:
            raise ProviderError(f"no answer in {_MAX_SILENCES} batches in a row")

    def _each(self, work: Callable[[Item], Made], items: Sequence[Item]) -> tuple[list[Made], bool]:
        """Return the result of `work` on each item, and True if the budget ended before the last item.

        Items run side by side where no limit depends on calls.
        """
        if not self._budget.limits.bound_calls:
            with ThreadPoolExecutor(max(1, len(items))) as threads:
                begun = [threads.submit(work, item) for item in items]
            return [each.result() for each in begun], False  # where one fails, the others were asked all the same
        made: list[Made] = []
        for item in items:
            try:
                made.append(work(item))
            except OutOfBudget:
                return made, True
        return made, False

    def _plan(self, phase: Phase, position: int) -> Proposal:
        """Draw all that is random about a proposal, before any model is asked."""
        operator, focus = self._choice(phase, position)
        natives = [node.candidate.island for node in focus if node.candidate.parents]
        island = natives[0] if natives else 0
        if isinstance(phase.select, Islands) and not natives:  # the root lives on all of them
            island = self._rng.randrange(phase.select.islands)
        questions = tuple(self._question(role, focus) for role in operator.roles)
        return Proposal(f"g{self._generation}.p{position}", operator, tuple(focus), questions, island)

    def _choice(self, phase: Phase, position: int) -> tuple[Operator, list[Node]]:
        if phase.choose == "share":
            operator = phase.operators[position * len(phase.operators) // phase.batch]
            return operator, phase.select.select(self._archive, self._rng, operator.parents)
        most = max(operator.parents for operator in phase.operators)
        focus = phase.select.select(self._archive, self._rng, most)
        operator = next(each for each in phase.operators if _holds(each.when, focus[0]))
        return operator, focus[: operator.parents]

    def _question(self, role: Role, focus: Sequence[Node]) -> Question:
        view = View(self._brief, self._archive, focus, self._rng, {})
        temperature = role.temperature if isinstance(role.temperature, float) else self._rng.choice(role.temperature)
        return Question(role, self._rng.choice(self._models), temperature, tuple(context.blocks(role.sections, view)))

    def _make(self, proposal: Proposal) -> Candidate | None:
        """Ask one role after the other, and return the candidate. None where a role gets no answer."""
        notes: dict[str, str] = {}
        calls: list[str] = []
        text = plan_problem = ""
        for question in proposal.questions:
            role = question.role
            if role.of_best:
                notes |= self._advice(role)
                continue
            identity = f"{proposal.identity}.{role.name}"
            try:
                text = self._ask(identity, question, notes)
            except ProviderError as error:
                if error.is_final:
                    raise
                return None
            calls.append(identity)
            if role.answer in ("plan", "note"):
                notes[role.name] = text
            if role.answer == "plan":
                plan_problem = self._plan_problem(text, proposal.focus[0])
        found = replies.written(text, self._language)
        shown = [identity for question in proposal.questions for block in question.blocks for identity in block.shown]
        return Candidate(
            proposal.identity,
            found.code,
            proposal.operator.name,
            parents=tuple(dict.fromkeys(node.id for node in proposal.focus)),
            context=tuple(dict.fromkeys(shown)),
            generation=self._generation,
            island=proposal.island,
            name=found.name,
            thought=found.thought,
            notes=notes,
            calls=tuple(calls),
            plan_problem=plan_problem,
        )

    def _plan_problem(self, text: str, planned: Node) -> str:
        """Tell where a plan leaves its form, for the metrics alone: a coder may make a good kernel of a bad plan."""
        plan = replies.written(text, self._language).code or text
        return replies.plan_problem(plan, planned.candidate.code)

    def _consult(self, proposals: Sequence[Proposal]) -> None:
        """Ask the roles about the best kernel, once for all proposals, if they were not asked about it before.

        A role without an answer counts as asked, with an empty text.
        """
        for question in (question for proposal in proposals for question in proposal.questions):
            role = question.role
            if role.of_best and (role.name, self._archive.best.id) not in self._notes_on:
                try:
                    text = self._ask(f"g{self._generation}.{role.name}", question, {})
                except ProviderError as error:
                    if error.is_final:
                        raise
                    text = ""
                self._notes_on[role.name, self._archive.best.id] = text

    def _advice(self, role: Role) -> dict[str, str]:
        text = self._notes_on[role.name, self._archive.best.id]
        return {role.name: text} if text else {}

    def _ask(self, identity: str, question: Question, notes: dict[str, str]) -> str:
        written = [context.note(role, text) for role, text in notes.items()]
        blocks = [*question.blocks, *(block for block in written if block.text)]
        asked = Message("user", prompts.render(question.role, blocks, self._brief.fence))
        return self._answer(identity, question, (asked,)).text

    def _answer(self, identity: str, question: Question, messages: tuple[Message, ...]) -> Reply:
        seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4], "big")
        role = question.role
        request = Request(role.name, question.model, messages, question.temperature, MAX_TOKENS, seed)
        return self._ask_model(identity, request)

    def _preferred(
        self, phase: Phase, made: Sequence[Candidate], keep: int, *, is_spent: bool
    ) -> tuple[list[Candidate], bool]:
        """Return the candidates to judge, and True if the budget is spent.

        These are the candidates that the verifiers like best. Of two that they like alike, the earlier one comes first.
        If the budget ends before the verifiers have answered, the first candidates are returned.
        """
        if is_spent:
            return list(made[:keep]), True
        questions = [[self._doubt(role, candidate) for role in phase.verifiers] for candidate in made]
        opinions, is_spent = self._each(self._opinion, list(zip(made, questions, strict=True)))
        if is_spent:
            return list(made[:keep]), True
        ranked = sorted(opinions, key=lambda opinion: -opinion.mean)
        self._outcome.opinions += [(opinion, number < keep) for number, opinion in enumerate(ranked)]
        return [opinion.candidate for opinion in ranked[:keep]], False

    def _doubt(self, role: Role, candidate: Candidate) -> Question:
        question = self._question(role, [self._archive.best])
        own = context.Block("Kernel to verify", context.fenced(candidate.code, self._brief.fence))
        return Question(role, question.model, question.temperature, (*question.blocks, own))

    def _opinion(self, asked: tuple[Candidate, Sequence[Question]]) -> Opinion:
        candidate, questions = asked
        return Opinion(candidate, {each.role.name: self._verdict(candidate, each) for each in questions})

    def _verdict(self, candidate: Candidate, question: Question) -> bool | None:
        """Return the last answer of a verifier, which may be asked to look again. None is no vote."""
        identity = f"{candidate.id}.{question.role.name}"
        messages = (Message("user", prompts.render(question.role, question.blocks, self._brief.fence)),)
        try:
            first = self._answer(identity, question, messages)
            if not question.role.reflect:
                return replies.verdict(first.text)
            again = (*messages, Message("assistant", first.text), Message("user", prompts.look_again()))
            second = self._answer(f"{identity}.again", question, again)
        except ProviderError as error:
            if error.is_final:
                raise
            return None
        answer = replies.verdict(second.text)
        return replies.verdict(first.text) if answer is None else answer


def unparsed(candidate: Candidate) -> Judged | None:
    """Return the verdict on a reply that holds no kernel; None where it may hold one."""
    if not candidate.code:
        return Judged("parse", log="the reply holds no block of code")
    if replies.anchors_left(candidate.code):
        return Judged("parse", log="the kernel still has anchors of the plan in it; resolve each and remove its lines")
    return None


def started(code: str, judged: Judged, *, is_reference: bool) -> Node:
    """Return the root of a run, which costs no evaluation."""
    operator = "reference" if is_reference else "given"
    return Node(Candidate(ROOT, code, operator, name=operator, is_reference=is_reference), judged)


def _holds(when: When, node: Node) -> bool:
    return when == "always" or (when == "right") == node.is_right
