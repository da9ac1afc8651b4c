"""Search of a run, begun or resumed: it asks and judges through the journal, and counts the costs."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from robust_kbench.agents import loop
from robust_kbench.agents.archive import Candidate, Judged, Node
from robust_kbench.agents.budget import Budget, Spent
from robust_kbench.agents.journal import Journal
from robust_kbench.agents.providers.protocol import Provider, ProviderError, Reply, Request
from robust_kbench.schema.documents import printable


class Verdicts(Protocol):
    """Function that judges kernels by name and code."""

    def __call__(self, named: Sequence[tuple[str, str]]) -> Iterable[tuple[str, Judged]]:
        """Return the names with their verdicts, as they are ready."""


class Prices(Protocol):
    """Function that tells the cost of a call in dollars, where it is known."""

    def __call__(self, model: str, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost in dollars; None for a model without a price."""


def no_price(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Return None, for no price is known."""
    return None


@dataclass
class Asking:
    """Function that asks models through the journal, and charges the budget for each call.

    A question that was answered before is not asked again.
    """

    journal: Journal
    providers: Mapping[str, Provider]
    """Providers by the model's name in requests."""
    budget: Budget
    price: Prices = no_price
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, identity: str, request: Request) -> Reply:
        """Return the reply to a request. Raises ProviderError, and OutOfBudget before anything is asked."""
        with self._lock:
            self.budget.reserve(request.most_tokens, self.price(request.model, request.most_tokens, request.max_tokens))
        try:
            reply = self.journal.reply(identity, request) or self._live(identity, request)
        except ProviderError:
            with self._lock:
                self.budget.spent.add_call(0, 0, 0.0, untold_tokens=request.most_tokens)
            raise
        asked, answered = reply.input_tokens, reply.output_tokens
        untold = request.most_prompt_tokens if asked is None else 0
        untold += len(reply.text.encode()) if answered is None else 0
        with self._lock:
            self.budget.spent.add_call(asked or 0, answered or 0, self._cost(request, reply), untold_tokens=untold)
        return reply

    def _live(self, identity: str, request: Request) -> Reply:
        try:
            reply = _storable(self.providers[request.model].complete(request))
        except ProviderError as error:
            self.journal.note_silence(identity, request, str(error), is_final=error.is_final)
            raise
        self.journal.note_reply(identity, request, reply)
        return reply

    def _cost(self, request: Request, reply: Reply) -> float | None:
        if reply.usd is not None or reply.input_tokens is None or reply.output_tokens is None:
            return reply.usd
        return self.price(request.model, reply.input_tokens, reply.output_tokens)


def _storable(reply: Reply) -> Reply:
    """Return the reply as it comes back from the journal.

    Half of a character, which JSON can carry and UTF-8 cannot, would not come back.
    """
    return replace(reply, text=printable(reply.text), model=printable(reply.model))


@dataclass
class Judging:
    """Function that judges candidates through the journal.

    A candidate that was judged before is not judged again, nor is code that was judged already.
    """

    journal: Journal
    verdicts: Verdicts
    _known: dict[str, Judged] = field(default_factory=dict)

    def __call__(self, candidates: Sequence[Candidate]) -> list[Judged]:
        """Return verdicts in the order of the candidates. A candidate without a kernel needs no judge."""
        found: dict[str, Judged] = {}
        waiting: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            judged = loop.unparsed(candidate) or self._before(candidate)
            if judged is None:
                waiting.setdefault(digest(candidate.code), []).append(candidate)
            else:
                found[candidate.id] = judged
        firsts = {same[0].id: same for same in waiting.values()}
        for identity, judged in self.verdicts([(identity, same[0].code) for identity, same in firsts.items()]):
            for candidate in firsts[identity]:
                self._note(candidate, judged)
            found |= {candidate.id: judged for candidate in firsts[identity]}
        return [found[candidate.id] for candidate in candidates]

    def _before(self, candidate: Candidate) -> Judged | None:
        code = digest(candidate.code)
        judged = self.journal.judged(candidate.id, code)
        if judged is not None:
            self._remember(code, judged)
            return judged
        return self._known.get(code)

    def _note(self, candidate: Candidate, judged: Judged) -> None:
        self.journal.note_judged(candidate.id, digest(candidate.code), judged)
        self._remember(digest(candidate.code), judged)

    def _remember(self, code: str, judged: Judged) -> None:
        """Keep a verdict for the same code again. An error of ours says nothing about the code, and is not kept."""
        if not judged.is_ours:
            self._known[code] = judged


def digest(code: str) -> str:
    """Return the first 16 hex digits of the sha256 of a kernel's bytes.

    White space counts, too: it means nothing in one language, and ends a comment or a block in another.
    """
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def search(
    setting: loop.Setting,
    journal: Journal,
    providers: Mapping[str, Provider],
    verdicts: Verdicts,
    *,
    price: Prices = no_price,
    observe: Callable[[Node, Budget], None] = lambda node, budget: None,
) -> tuple[loop.Outcome, Budget]:
    """Carry out, or go on with, the run that `journal` holds. Raises UsageError when it holds another one."""
    journal.begin(setting.facts)
    budget = Budget(setting.preset.limits, Spent())
    ask = Asking(journal, providers, budget, price)
    outcome = loop.Loop(
        setting, ask=ask, judge=Judging(journal, verdicts), budget=budget, observe=lambda node: observe(node, budget)
    ).run()
    journal.write("stop", reason=outcome.stop)
    return outcome, budget
