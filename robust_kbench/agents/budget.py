"""Budget of a run: its limits, and the amounts spent of them. No step begins that might exceed a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field, ValidationError

from robust_kbench.errors import UsageError
from robust_kbench.schema.documents import Strict


class Limits(Strict):
    """Limits of one run. Every preset sets `evaluations`; the others are unlimited unless they are given."""

    evaluations: int = Field(ge=1, description="candidates that are judged, failures and repetitions included")
    calls: int | None = Field(default=None, ge=1, description="requests to language models")
    tokens: int | None = Field(default=None, ge=1, description="of prompts and answers together")
    usd: float | None = Field(default=None, gt=0, description="by the provider's word, or by the price file")

    @property
    def bound_calls(self) -> bool:
        """True if some call might exceed a limit, so that calls have to wait for each other."""
        return (self.calls, self.tokens, self.usd) != (None, None, None)


def parse_limits(text: str, usual: Limits) -> Limits:
    """Return a preset's limits with the changes in `text`, such as `evals=45,usd=3`. Raises UsageError."""
    names = {"evals": "evaluations", "evaluations": "evaluations", "calls": "calls", "tokens": "tokens", "usd": "usd"}
    changed: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name.strip() not in names:
            raise UsageError(f"--budget: {name.strip()!r:.40} is no limit; there are evals, calls, tokens and usd")
        try:
            changed[names[name.strip()]] = float(value) if name.strip() == "usd" else int(value)
        except ValueError:
            raise UsageError(f"--budget: {part.strip()!r:.60} is not of the form evals=45") from None
    try:
        return Limits.model_validate({**usual.model_dump(), **changed})
    except ValidationError as error:
        problem = error.errors()[0]
        raise UsageError(f"--budget: {problem['loc'][0]}: {problem['msg']}") from None


class OutOfBudget(Exception):
    """Error raised when the next step might cost more than is left."""


@dataclass
class Spent:
    """Amounts that a run has spent so far."""

    evaluations: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    """Cost in US dollars; None as soon as one call has no known price."""
    untold_tokens: int = 0
    """Upper bound on tokens without a count, which count for the limits.

    They belong to answers whose provider told no counts, and to questions without an answer.
    """

    @property
    def tokens(self) -> int:
        """Number of tokens of prompts and answers together."""
        return self.input_tokens + self.output_tokens

    def add_call(self, input_tokens: int, output_tokens: int, usd: float | None, *, untold_tokens: int = 0) -> None:
        """Add one more call, with or without an answer, to the amounts spent."""
        self.calls += 1
        self.untold_tokens += untold_tokens
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        self.usd = None if usd is None or self.usd is None else self.usd + usd


@dataclass
class Budget:
    """Limits of a run, and the amounts spent of them."""

    limits: Limits
    spent: Spent

    @property
    def evaluations_left(self) -> int:
        """Number of candidates that may still be judged."""
        return self.limits.evaluations - self.spent.evaluations

    @property
    def calls_left(self) -> float:
        """Number of requests that may still be made; infinite without a limit."""
        return math.inf if self.limits.calls is None else self.limits.calls - self.spent.calls

    def reserve(self, most_tokens: int, most_usd: float | None) -> None:
        """Check that a call with these costs stays within the limits. Raises OutOfBudget otherwise.

        An unknown price, of this call or an earlier one, fits no limit in dollars.
        """
        if self.calls_left < 1:
            raise OutOfBudget("calls")
        so_far = self.spent.tokens + self.spent.untold_tokens
        if self.limits.tokens is not None and so_far + most_tokens > self.limits.tokens:
            raise OutOfBudget("tokens")
        if self.limits.usd is not None and (
            most_usd is None or self.spent.usd is None or self.spent.usd + most_usd > self.limits.usd
        ):
            raise OutOfBudget("usd")
