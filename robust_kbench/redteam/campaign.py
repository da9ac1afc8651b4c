"""Campaign: all trials of the corpus in a few processes. Each attack runs armed and defended, each honest kernel once.

Processes have cores of their own. Where that leaves less than two for each, attacks that gain little time wait until
the others are done. Then they have the machine for themselves: a judge that shares its core with a worker measures no
reliable times.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory

from robust_kbench import machine_shares
from robust_kbench.devices import nvml
from robust_kbench.machine_shares import Share
from robust_kbench.redteam.corpus import DEVICE_GROUPS, GROUPS, Attack, Group, Honest, Specimen
from robust_kbench.redteam.trial import BROKEN, Ending, Proving
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import DeviceKind
from robust_kbench.side_by_side import end_with_parent

_DELICATE: frozenset[Group] = frozenset({"clocks", "floor", "baseline protection", "sandbox"})
"""Groups of defences without which a kernel seems a little faster than it is, and not many times."""


@dataclass(frozen=True)
class Trials:
    """Trials of one specimen. `armed` is None for an honest one; `ablated` has each group alone switched off."""

    defended: Ending
    armed: Ending | None = None
    ablated: tuple[Ending, ...] = ()

    @property
    def specimen(self) -> Specimen:
        """Specimen that all of these trials are of."""
        return self.defended.specimen

    @property
    def is_armed(self) -> bool:
        """True if the attack was seen to succeed where nothing stops it."""
        return self.armed is not None and self.armed.succeeded


@dataclass(frozen=True)
class _Order:
    """Order of trials that one process carries out."""

    specimen: Attack | Honest
    twin: Honest | None
    is_armed: bool
    is_ablated: bool

    @property
    def needs_a_quiet_machine(self) -> bool:
        """True if the attack gains little time, or races with the judge.

        A naive harness, or old values, give away much more.
        """
        attack = self.specimen
        if not isinstance(attack, Attack) or attack.header.naive:
            return False
        is_about_time = attack.header.aim == "time" or attack.kind in ("timing", "hardware")
        return is_about_time and not _DELICATE.isdisjoint(attack.header.stopped_by)


def run(
    attacks: Sequence[Attack],
    honest: Sequence[Honest],
    *,
    jobs: int = 1,
    arm: bool = True,
    ablate: bool = False,
    device: DeviceKind = "cpu",
    tries: int = 1,
    tier: Tier = "quick",
) -> Iterator[Trials]:
    """Yield trials as they finish. `arm` shows that each attack works; `ablate` also switches off each group alone.

    Every defended trial is repeated `tries` times; `tier` is that of its evaluations.

    An attack that could not be armed in company is tried once more alone: noise hides a small gain. On CUDA devices
    every process has one device of its own, with cores of its own.
    """
    twins = {specimen.name: specimen for specimen in honest}
    orders = [
        _Order(attack, twins[attack.header.twin], arm and number == 0, ablate and number == 0)
        for number in range(tries)
        for attack in attacks
    ]
    orders += [_Order(specimen, None, False, False) for specimen in honest for _ in range(tries)]
    cores = sorted(os.sched_getaffinity(0))
    if device == "cuda":
        shares = machine_shares.of_gpus(nvml.visible(), cores, jobs)
        if len(shares) > 1:
            yield from (trials for _, trials in _beside_each_other(orders, shares, device, tier))
            return
        with Proving(device, tier) as proving:
            for order in orders:
                yield _carry_out(order, proving)
        return
    shares = machine_shares.of_cores(cores, jobs)
    is_crowded = not all(share.is_enough_for_timing for share in shares)
    alone = [order for order in orders if is_crowded and order.needs_a_quiet_machine]
    for order, trials in _beside_each_other([order for order in orders if order not in alone], shares, device, tier):
        if trials.armed is not None and not trials.is_armed and not trials.defended.succeeded:
            alone.append(order)
        else:
            yield trials
    if alone:
        with Proving(device, tier) as proving:
            for order in alone:
                yield _carry_out(order, proving)


def _beside_each_other(
    orders: Sequence[_Order], shares: Sequence[Share], device: DeviceKind, tier: Tier
) -> Iterator[tuple[_Order, Trials]]:
    context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
    free: SimpleQueue[Share] = context.SimpleQueue()
    for share in shares:
        free.put(share)
    with (
        TemporaryDirectory(prefix="redteam-") as folder,
        # Unlike those of multiprocessing.Pool, these processes may have children.
        ProcessPoolExecutor(
            len(shares), context, initializer=_prepare, initargs=(free, folder, device, tier)
        ) as processes,
    ):
        futures = {processes.submit(_carry_out_here, order): order for order in orders}
        for done in as_completed(futures):
            yield futures[done], done.result()


_here: Proving | None = None


def _prepare(free: SimpleQueue[Share], folder: str, device: DeviceKind, tier: Tier) -> None:
    global _here
    end_with_parent()
    machine_shares.settle(free.get(), folder)
    _here = Proving(device, tier).__enter__()


def _carry_out_here(order: _Order) -> Trials:
    assert _here is not None
    return _carry_out(order, _here)


def _carry_out(order: _Order, proving: Proving) -> Trials:
    try:
        return _try(order, proving)
    except Exception as error:  # one trial that goes wrong must not cost the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Trials(Ending(order.specimen, (), BROKEN, reason))


def _try(order: _Order, proving: Proving) -> Trials:
    specimen, twin = order.specimen, order.twin
    if isinstance(specimen, Honest) or twin is None:
        assert isinstance(specimen, Honest)
        return Trials(proving.honest(specimen))
    defended = proving.attack(specimen, twin)
    armed = proving.arm(specimen, twin) if order.is_armed and not specimen.header.outdated else None
    groups = GROUPS if proving.device == "cpu" else DEVICE_GROUPS
    alone = [(group,) for group in groups] if order.is_ablated else []
    ablated = tuple(proving.attack(specimen, twin, off) for off in alone if armed is None or armed.off != off)
    return Trials(defended, armed, ablated)
