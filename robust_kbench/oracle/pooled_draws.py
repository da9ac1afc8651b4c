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
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import torch

from robust_kbench.oracle.bets import Bet, Shifted, Uneven, average
from robust_kbench.schema.case import Case

IMPROBABLE = 1e-9
"""Of honest samplers, fewer than this share are refused in an evaluation."""
_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_REMNANT = 0.02  # of a share that is never drawn: its border is within a class
_FACTORS = (0.8, 0.95, 1.05, 1.25)
_FAVOURS = (0.02, 0.1, 0.5)
_BINS = (8, 64)
_MOST_ELEMENTS = 1 << 19  # of a call that are looked at, in its first rows: it takes 10 ms
_LARGEST_LOGIT = 2048.0  # among larger ones, sums in float32 are too coarse for the law of many rows


class PooledDraws:
    """All draws of one sampler in calls with different seeds; `problem` is the first that was found."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}
        self._calls = 0
        self.problem: str | None = None

    def add(self, case: Case, seed: int, logits: torch.Tensor, drawn: torch.Tensor) -> str | None:
        """Tell what is wrong with all draws so far, or None. `logits`: [..., classes], `drawn`: [...]."""
        rows = _MOST_ELEMENTS // max(1, logits.shape[-1])
        logits, drawn = logits.reshape(-1, logits.shape[-1])[:rows].double(), drawn.reshape(-1)[:rows].long()
        is_fit = (logits.abs().amax(-1) <= _LARGEST_LOGIT) & (drawn >= 0) & (drawn < logits.shape[-1])
        logits, drawn = logits[is_fit], drawn[is_fit]
        if self.problem is None and len(drawn):
            draws = _compared(logits, drawn, self._shares_of_ties(seed, drawn))
            for key in _groups_of(case, *logits.shape):
                self._groups.setdefault(key, _Group()).add(draws)
            self._calls += 1
            self.problem = self._found()
        return self.problem

    def _found(self) -> str | None:
        """Weigh the groups by 1/2, 1/6, 1/12 and so on in the order of their first calls: these add up to one."""
        gains = [
            group.gain - math.log(number * (number + 1)) for number, group in enumerate(self._groups.values(), start=1)
        ]
        gain = float(torch.tensor(gains, dtype=torch.float64).logsumexp(0))
        if gain <= -math.log(IMPROBABLE):
            return None
        group = list(self._groups.values())[gains.index(max(gains))]
        return (
            f"{group.words}; draws as far from their law have a probability of at most {math.exp(-min(690, gain)):.1g}"
        )

    def _shares_of_ties(self, seed: int, drawn: torch.Tensor) -> torch.Tensor:
        """Draw uniform numbers that neither depend on the draws nor are those of any other call."""
        told = f"{seed} {self._calls} ".encode() + drawn.numpy().tobytes()
        generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(told).digest()[:7], "little"))
        return torch.rand(len(drawn), generator=generator, dtype=torch.float64)


@dataclass(frozen=True)
class _Draws:
    """What bets are settled by, for each row. `factors`: how probable the draw is with other logits, in logarithms."""

    ranks: torch.Tensor
    places: torch.Tensor
    is_top: torch.Tensor
    top: torch.Tensor
    factors: Mapping[float, torch.Tensor]


class _Group:
    """Bets on calls that a kernel may treat alike."""

    def __init__(self) -> None:
        self._calls = self._rows = 0
        self._tails = {share: Shifted(_least_likely(share)) for share in _SHARES}
        self._heads = {share: Shifted(_likeliest(share)) for share in _SHARES}
        self._factors = {factor: Shifted(_as_if_multiplied(factor)) for factor in _FACTORS}
        self._favours = {favour: Shifted("the likeliest class of their row") for favour in _FAVOURS}
        self._ranks = [
            Uneven(bins, "a class between {low} and {high} of the mass, the likeliest first") for bins in _BINS
        ]
        self._places = [Uneven(bins, "a class between {low} and {high} of the mass, by index") for bins in _BINS]

    def add(self, draws: _Draws) -> None:
        """Settle all bets on one call."""
        self._calls += 1
        self._rows += len(draws.ranks)
        for uneven in self._ranks:
            uneven.add(draws.ranks)
        for uneven in self._places:
            uneven.add(draws.places)
        for parts, places in ((self._tails, 1 - draws.ranks), (self._heads, draws.ranks)):
            for share, bet in parts.items():
                bet.add(_missing(share, places < share), places < share, share)
        for factor, bet in self._factors.items():
            bet.add(draws.factors[factor], draws.ranks < 0.5, 0.5)
        for favour, bet in self._favours.items():
            bet.add((1 - favour + favour * draws.is_top / draws.top).log(), draws.is_top, draws.top)

    @property
    def _bets(self) -> Iterator[Bet]:
        for bets in (self._tails, self._heads, self._factors, self._favours):
            yield from bets.values()
        yield from self._ranks
        yield from self._places

    @property
    def gain(self) -> float:
        """The logarithm of the average of all bets."""
        return average(list(self._bets))

    @property
    def words(self) -> str:
        """What the best bet was on: the measured share, and the one that is due."""
        event, seen, due = max(self._bets, key=lambda bet: bet.gain).share
        return (
            f"{_percent(seen / self._rows)} of {self._rows:,} rows in {self._calls:,} calls with different seeds drew "
            f"{event}, and {_percent(due / self._rows)} are due"
        )


def _groups_of(case: Case, rows: int, classes: int) -> Iterator[Hashable]:
    """Name the groups that a call belongs to. They depend on its inputs alone."""
    yield "all"
    yield case.role
    yield case.dtype
    yield "rows", rows.bit_length() // 2
    yield "classes", classes.bit_length() // 2
    yield "size", rows.bit_length() // 2, classes.bit_length() // 2
    if case.role == "timed":
        yield "shape", case.dtype, *case.axes.values()


def _compared(logits: torch.Tensor, drawn: torch.Tensor, share: torch.Tensor) -> _Draws:
    """Hold each row's draw to its law. `share`: of the drawn class's own mass that is added to that before it."""
    logits = logits - logits.amax(-1, keepdim=True)
    masses = logits.exp()
    total = masses.sum(-1)
    chosen, own = logits.gather(1, drawn[:, None]), masses.gather(1, drawn[:, None])[:, 0]
    # Classes as likely as the drawn one share their mass: any of them may stand first.
    above, level = ((masses * is_in).sum(-1) for is_in in (logits > chosen, logits == chosen))
    before = (masses * (torch.arange(logits.shape[1]) < drawn[:, None])).sum(-1)
    return _Draws(
        (above + share * level) / total,
        (before + share * own) / total,
        chosen[:, 0] == 0,
        (logits == 0).sum(-1) / total,
        {
            factor: (factor - 1) * chosen[:, 0] - (logits * factor).logsumexp(-1) + total.log()
            for factor in _FACTORS
        },
    )  # fmt: skip


def _missing(share: float, is_in_it: torch.Tensor) -> torch.Tensor:
    """Give the quotients' logarithms if hardly any draw falls into a share of the mass."""
    return torch.where(is_in_it, math.log(_REMNANT), math.log((1 - _REMNANT * share) / (1 - share)))


def _least_likely(share: float) -> str:
    return f"one of the least likely classes, which hold {_percent(share)} of the mass"


def _likeliest(share: float) -> str:
    return f"one of the likeliest classes, which hold {_percent(share)} of the mass"


def _as_if_multiplied(factor: float) -> str:
    return f"a class of the likelier half of the mass, as if logits had been multiplied by {factor:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
