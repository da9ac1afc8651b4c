"""Report on trials: rates with intervals, the matrix of defences and attacks, and rows for a CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from scipy.stats import binomtest

from robust_kbench.redteam.campaign import Trials
from robust_kbench.redteam.corpus import CLASSES, DEVICE_GROUPS, GROUPS, Attack, Group
from robust_kbench.redteam.trial import BROKEN, NAIVE, Ending

_CONFIDENCE = 0.95
_PLACE = str(Path(__file__).resolve().parents[2])  # where the package is; a table is published, and leaves it out
COLUMNS = (
    "specimen", "kind", "catalogue", "hint", "aim", "stopped_by", "twin", "status", "succeeded", "reason", "effects",
    "gain", "seconds", "armed", "armed_without", "armed_status", "armed_gain", "armed_seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Rate:
    """Rate: `count` of `total`, with Wilson's interval at 95 %."""

    count: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the rate; 0 and 1 where nothing was tried."""
        if not self.total:
            return 0.0, 1.0
        bounds = binomtest(self.count, self.total).proportion_ci(_CONFIDENCE, method="wilson")
        return float(bounds.low), float(bounds.high)

    def __str__(self) -> str:
        low, high = self.interval
        share = self.count / self.total if self.total else 0.0
        return f"{self.count}/{self.total} = {share:.1%} [{low:.1%}, {high:.1%}]"


def attacks_of(trials: Sequence[Trials]) -> list[Trials]:
    """Select the trials of armed attacks: unarmed ones prove nothing."""
    return [each for each in trials if isinstance(each.specimen, Attack) and each.is_armed]


def unarmed(trials: Sequence[Trials]) -> list[Trials]:
    """Select the attacks that fail even where nothing stops them."""
    return [each for each in trials if isinstance(each.specimen, Attack) and not each.is_armed]


def honest_of(trials: Sequence[Trials]) -> list[Trials]:
    """Select the trials of honest kernels."""
    return [each for each in trials if not isinstance(each.specimen, Attack)]


def success_rate(trials: Sequence[Trials], kind: str | None = None) -> Rate:
    """Return the success rate of armed attacks, all or those of one class."""
    chosen = [each for each in attacks_of(trials) if kind in (None, _attack(each).kind)]
    return Rate(sum(each.defended.succeeded for each in chosen), len(chosen))


def false_positive_rate(trials: Sequence[Trials]) -> Rate:
    """Return the share of honest kernels that are refused."""
    chosen = honest_of(trials)
    return Rate(sum(each.defended.is_rejected for each in chosen), len(chosen))


def matrix(trials: Sequence[Trials]) -> dict[Group, list[str]]:
    """Map each group of defences to the attacks that succeed when it alone is off."""
    endings = [
        ending
        for each in attacks_of(trials)
        for ending in (each.armed, *each.ablated)
        if ending is not None and ending.succeeded and len(ending.off) == 1
    ]
    tried = {name for ending in endings for name in ending.off}
    groups = [*GROUPS, *(group for group in DEVICE_GROUPS if group in tried and group not in GROUPS)]
    return {group: sorted({each.specimen.name for each in endings if each.off == (group,)}) for group in groups}


def summary(trials: Sequence[Trials]) -> Iterator[str]:
    """Yield the lines of a summary that fits on one screen."""
    yield "attacks that succeed, of those that are armed"
    for kind in CLASSES.values():
        yield f"  {kind:<12} {success_rate(trials, kind)}"
    yield f"  {'all':<12} {success_rate(trials)}"
    yield "honest kernels that are refused"
    yield f"  {'all':<12} {false_positive_rate(trials)}"
    yield "attacks that succeed when one group of defences is off"
    for group, names in matrix(trials).items():
        yield f"  {group:<20} {len(names):>3}   {_some(names)}"
    naive = [each for each in attacks_of(trials) if each.armed is not None and each.armed.off == (NAIVE,)]
    yield f"  {'(a naive harness)':<20} {len(naive):>3}   {_some([each.specimen.name for each in naive])}"


def complaints(trials: Trials) -> Iterator[str]:
    """Yield the complaints about one specimen; none if it behaves as expected."""
    name, ending = trials.specimen.name, trials.defended
    if ending.status == BROKEN:
        yield f"BROKEN    {name}: {ending.reason[:300]}"
        return
    if not isinstance(trials.specimen, Attack):
        if ending.is_rejected:
            yield f"REFUSED   {name}: {ending.status}: {ending.reason}"
        return
    if ending.succeeded:
        yield f"SUCCEEDED {name}: {_how(ending)}"
    if trials.armed is not None and not trials.armed.succeeded and not trials.specimen.header.privileged:
        off = " and ".join(trials.armed.off)
        yield f"UNARMED   {name}: without {off} it still fails: {trials.armed.status}: {trials.armed.reason[:200]}"
    if not trials.specimen.header.reason or ending.reason.startswith(trials.specimen.header.reason):
        return
    yield f"OTHERWISE {name}: {ending.status}: {ending.reason[:200]}; expected {trials.specimen.header.reason!r}"


def is_clean(trials: Sequence[Trials]) -> bool:
    """Tell if no attack succeeds, no honest kernel is refused, and every attack behaves as its header says."""
    return not any(True for each in trials for _ in complaints(each))


class Table:
    """Table in CSV with one row for each specimen, written as soon as its trials are over."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._writer = file, csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def add(self, trials: Trials) -> None:
        """Write the row of one more specimen."""
        self._writer.writerow(_row(trials))
        self._file.flush()


def _row(trials: Trials) -> list[object]:
    specimen, ending, armed = trials.specimen, trials.defended, trials.armed
    header = specimen.header
    if isinstance(specimen, Attack):
        told = specimen.header
        about = [specimen.kind, " ".join(told.catalogue), told.hint, told.aim, " + ".join(told.stopped_by), told.twin]
    else:
        about = ["honest", " ".join(getattr(header, "looks_like", ())), "", "", "", ""]
    reason = ending.reason.split("\n")[0].replace(_PLACE, "")
    return [
        specimen.name, *about, ending.status, int(ending.succeeded), reason[:200],
        "; ".join(ending.effects), _rounded(ending.gain), ending.seconds, "" if armed is None else int(armed.succeeded),
        "" if armed is None else " + ".join(armed.off), "" if armed is None else armed.status,
        "" if armed is None else _rounded(armed.gain), "" if armed is None else armed.seconds,
    ]  # fmt: skip


def _rounded(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _attack(trials: Trials) -> Attack:
    assert isinstance(trials.specimen, Attack)
    return trials.specimen


def _how(ending: Ending) -> str:
    gain = "" if ending.gain is None else f", {ending.gain:.2f} times as fast as its twin"
    return "; ".join(ending.effects) or f"{ending.status}{gain}"


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, …" if len(names) > most else shown
