"""Draws of classes of all calls of an evaluation together: a single call of few rows shows little of their law.

In each row the mass of likelier classes before the drawn one (its rank) is uniform, and so is the mass of classes with
smaller indices (its place), see `categorical`. Ranks and places of many calls are one sample, and `bets` are taken that

    the least likely classes, or the likeliest, that hold some share of the mass, are never drawn;
    logits are multiplied by some factor, as by a temperature;
    the likeliest class of a row is drawn instead of another one now and then;
    ranks or places are uneven in any other way.

A kernel may be wrong in some calls alone, and the others would hide it. So the same is bet on calls of each dtype, of
each size and of each timed shape by themselves.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import torch

from robust_kbench.oracle.bets import Bet, Settled, Shifted, Uneven, average, counted
from robust_kbench.schema.case import Case

IMPROBABLE = 1e-9
"""Largest share of honest samplers that are refused in an evaluation."""
_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_REMNANTS = (0.02, 0.25)  # of a share that is never drawn: its border is within a class, which may be a likely one
_FACTORS = (0.8, 0.95, 1.05, 1.25)
_FAVOURS = (0.02, 0.1, 0.5)
_BINS = (8, 64)
_MOST_ELEMENTS = 1 << 19  # of a call that are looked at, in its first rows: it takes 10 ms
_LARGEST_LOGIT = 2048.0  # among larger ones, sums in float32 are too coarse for the law of many rows


class PooledDraws:
    """Draws of one sampler in all calls with different seeds; `problem` is the first that was found."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[Hashable, _Group]] = defaultdict(dict)
        self._calls = 0
        self.problem: str | None = None

    def add(self, case: Case, seed: int, logits: torch.Tensor, drawn: torch.Tensor) -> str | None:
        """Add a call. Tell what is wrong with all draws so far, or None. `logits`: [..., classes], `drawn`: [...]."""
        rows = _MOST_ELEMENTS // max(1, logits.shape[-1])
        logits, drawn = logits.reshape(-1, logits.shape[-1])[:rows].double(), drawn.reshape(-1)[:rows].long()
        is_fit = (logits.abs().amax(-1) <= _LARGEST_LOGIT) & (drawn >= 0) & (drawn < logits.shape[-1])
        logits, drawn = logits[is_fit], drawn[is_fit]
        if self.problem is None and len(drawn):
            draws = _compared(logits, drawn, self._shares_of_ties(seed, drawn))
            for kind, key in _groups_of(case, *logits.shape):
                known = self._groups[kind]
                if key not in known:
                    known[key] = _Group(_weight(len(known) + 1))
                known[key].add(draws)
            self._calls += 1
            self.problem = self._found()
        return self.problem

    def _found(self) -> str | None:
        groups = [group for known in self._groups.values() for group in known.values()]
        gain = float(torch.tensor([group.gain for group in groups], dtype=torch.float64).logsumexp(0))
        if gain <= -math.log(IMPROBABLE):
            return None
        words = max(groups, key=lambda group: group.gain).words
        return f"{words}; draws as far from their law have a probability of at most {math.exp(-min(690, gain)):.1g}"

    def _shares_of_ties(self, seed: int, drawn: torch.Tensor) -> torch.Tensor:
        """Draw uniform numbers that neither depend on the draws nor are those of any other call."""
        told = f"{seed} {self._calls} ".encode() + drawn.numpy().tobytes()
        generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(told).digest()[:7], "little"))
        return torch.rand(len(drawn), generator=generator, dtype=torch.float64)


@dataclass(frozen=True)
class _Draws:
    """Contribution of one call to all bets."""

    rows: int
    shifted: Sequence[Settled]
    ranks: Sequence[torch.Tensor]
    places: Sequence[torch.Tensor]


class _Group:
    """Bets on calls that a kernel may treat alike. `weight`: its part in the average of all groups, in logarithms."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self._calls = self._rows = 0
        self._shifted = [Shifted(words) for words in _EVENTS]
        self._ranks, self._places = ([Uneven(bins, words) for bins in _BINS] for words in _UNIFORM)

    def add(self, draws: _Draws) -> None:
        """Settle all bets on one call."""
        self._calls += 1
        self._rows += draws.rows
        for shifted, settled in zip(self._shifted, draws.shifted, strict=True):
            shifted.add(settled)
        for uneven, counts in zip((*self._ranks, *self._places), (*draws.ranks, *draws.places), strict=True):
            uneven.add(counts)

    @property
    def _bets(self) -> list[Bet]:
        return [*self._shifted, *self._ranks, *self._places]

    @property
    def gain(self) -> float:
        """Logarithm of the average of all bets, times the weight."""
        return average(self._bets) + self.weight

    @property
    def words(self) -> str:
        """Description of the best bet: the measured share, and the one that is due."""
        event, seen, due = max(self._bets, key=lambda bet: bet.gain).share
        return (
            f"{_percent(seen / self._rows)} of {self._rows:,} rows in {self._calls:,} calls with different seeds drew "
            f"{event}, and {_percent(due / self._rows)} are due"
        )


def _groups_of(case: Case, rows: int, classes: int) -> Iterator[tuple[str, Hashable]]:
    """Name the groups that a call belongs to, by their kind. They depend on its inputs alone."""
    yield "all", None
    yield "kind", case.role
    yield "kind", case.dtype
    yield "size", (rows.bit_length() // 2, None)
    yield "size", (None, classes.bit_length() // 2)
    yield "size", (rows.bit_length() // 2, classes.bit_length() // 2)
    if case.role == "timed":
        yield "shape", (case.dtype, *case.axes.values())


_KINDS = 4


def _weight(number: int) -> float:
    """Weigh groups of a kind by 1/2, 1/6, 1/12 and so on in the order of their first calls: these add up to one."""
    return -math.log(_KINDS * number * (number + 1))


def _compared(logits: torch.Tensor, drawn: torch.Tensor, share: torch.Tensor) -> _Draws:
    """Hold each row's draw to its law. `share`: of the drawn class's own mass that is added to that before it."""
    logits = logits - logits.amax(-1, keepdim=True)
    masses = logits.exp()
    total = masses.sum(-1)
    chosen, own = logits.gather(1, drawn[:, None]), masses.gather(1, drawn[:, None])[:, 0]
    # Classes as likely as the drawn one share their mass: any of them may stand first.
    above, level = ((masses * is_in).sum(-1) for is_in in (logits > chosen, logits == chosen))
    before = (masses * (torch.arange(logits.shape[1]) < drawn[:, None])).sum(-1)
    ranks, places = (above + share * level) / total, (before + share * own) / total
    shifted = [*_on_tails(1 - ranks), *_on_tails(ranks)]
    for factor in _FACTORS:
        quotients = (factor - 1) * chosen[:, 0] - (logits * factor).logsumexp(-1) + total.log()
        shifted.append(Settled.of(quotients, ranks < 0.5, torch.tensor(0.5)))
    is_top, top = chosen[:, 0] == 0, (logits == 0).sum(-1) / total
    for favour in _FAVOURS:
        shifted.append(Settled.of((1 - favour + favour * is_top / top).log(), is_top, top))
    counts = ([counted(uniform, bins) for bins in _BINS] for uniform in (ranks, places))
    return _Draws(len(drawn), shifted, *counts)


def _on_tails(places: torch.Tensor) -> Iterator[Settled]:
    """Settle bets that hardly any draw is among the first places."""
    for share in _SHARES:
        is_in_it = places < share
        for remnant in _REMNANTS:
            quotients = torch.where(is_in_it, math.log(remnant), math.log((1 - remnant * share) / (1 - share)))
            yield Settled.of(quotients, is_in_it, torch.tensor(share))


def _least_likely(share: float) -> str:
    return f"one of the least likely classes, which hold {_percent(share)} of the mass"


def _likeliest(share: float) -> str:
    return f"one of the likeliest classes, which hold {_percent(share)} of the mass"


def _as_if_multiplied(factor: float) -> str:
    return f"a class of the likelier half of the mass, as if logits had been multiplied by {factor:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


_EVENTS = (
    *(_least_likely(share) for share in _SHARES for _ in _REMNANTS),
    *(_likeliest(share) for share in _SHARES for _ in _REMNANTS),
    *(_as_if_multiplied(factor) for factor in _FACTORS),
    *("the likeliest class of their row" for _ in _FAVOURS),
)
"""Events that bets are on, in the order in which a call settles them."""
_UNIFORM = (
    "a class between {low} and {high} of the mass, the likeliest first",
    "a class between {low} and {high} of the mass, by index",
)
