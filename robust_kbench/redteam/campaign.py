"""All trials of the corpus, in a few processes: each attack armed and defended, each honest kernel once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robust_kbench.redteam.corpus import GROUPS, Attack, Honest, Specimen
from robust_kbench.redteam.trial import Ending, Proving


@dataclass(frozen=True)
class Trials:
    """All trials of one specimen. `armed` is None for an honest one; `ablated` has each group alone switched off."""

    defended: Ending
    armed: Ending | None = None
    ablated: tuple[Ending, ...] = ()

    @property
    def specimen(self) -> Specimen:
        """Whose trials these are."""
        return self.defended.specimen

    @property
    def is_armed(self) -> bool:
        """Whether the attack was seen to succeed where nothing stops it."""
        return self.armed is not None and self.armed.succeeded


@dataclass(frozen=True)
class _Order:
    """What one process is asked to do."""

    specimen: Attack | Honest
    twin: Honest | None
    is_armed: bool
    is_ablated: bool


def run(
    attacks: Sequence[Attack], honest: Sequence[Honest], *, jobs: int = 1, arm: bool = True, ablate: bool = False
) -> Iterator[Trials]:
    """Trials as they finish. `arm` shows for each attack that it works; `ablate` switches off each group alone, too."""
    twins = {specimen.name: specimen for specimen in honest}
    orders = [_Order(attack, twins[attack.header.twin], arm, ablate) for attack in attacks]
    orders += [_Order(specimen, None, False, False) for specimen in honest]
    if jobs == 1:
        with Proving() as proving:
            for order in orders:
                yield _carry_out(order, proving)
        return
    context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
    with context.Pool(jobs, initializer=_prepare) as processes:
        yield from processes.imap_unordered(_carry_out_here, orders)


_here: Proving | None = None


def _prepare() -> None:
    global _here
    _here = Proving().__enter__()


def _carry_out_here(order: _Order) -> Trials:
    assert _here is not None
    return _carry_out(order, _here)


def _carry_out(order: _Order, proving: Proving) -> Trials:
    specimen, twin = order.specimen, order.twin
    if isinstance(specimen, Honest) or twin is None:
        assert isinstance(specimen, Honest)
        return Trials(proving.honest(specimen))
    defended = proving.attack(specimen, twin)
    armed = proving.arm(specimen, twin) if order.is_armed else None
    alone = [(group,) for group in GROUPS] if order.is_ablated else []
    ablated = tuple(proving.attack(specimen, twin, off) for off in alone if armed is None or armed.off != off)
    return Trials(defended, armed, ablated)
