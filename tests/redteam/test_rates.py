"""Rates with intervals, the matrix, and what counts as clean."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.redteam import report
from robust_kbench.redteam.campaign import Trials
from robust_kbench.redteam.corpus import Attack, AttackHeader, Honest, HonestHeader
from robust_kbench.redteam.report import Rate
from robust_kbench.redteam.trial import NAIVE, Ending


def attack(name: str = "late", **keys: Any) -> Attack:
    told = {"catalogue": ("T03",), "aim": "wrong", "stopped_by": ("clocks",), "twin": "plain", **keys}
    return Attack(Path(f"timing/{name}.py"), "It is late.", AttackHeader.model_validate(told))


def trials(
    name: str = "late", *, succeeds: bool = False, is_armed: bool = True, reason: str = "", **keys: Any
) -> Trials:
    specimen = attack(name, **keys)
    defended = Ending(specimen, (), "passed" if succeeds else "incorrect", reason, succeeded=succeeds)
    off = (NAIVE,) if specimen.header.naive else specimen.header.stopped_by
    return Trials(defended, Ending(specimen, off, "passed", "", succeeded=is_armed))


def honest(name: str = "plain", status: str = "passed") -> Trials:
    header = HonestHeader(looks_like=("B02",))
    return Trials(Ending(Honest(Path(f"{name}.py"), "It is plain.", header), (), status, "clock: too late"))


# Wilson's intervals at 95 %, computed by hand from their formula.
@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(0, 120, 0.0, 0.03102), (0, 60, 0.0, 0.06017), (2, 46, 0.01201, 0.14533), (62, 100, 0.52211, 0.70904)],
)
def test_a_rate_has_wilsons_interval(count: int, total: int, low: float, high: float) -> None:
    assert Rate(count, total).interval == pytest.approx((low, high), abs=1e-4)


def test_of_nothing_every_rate_is_possible() -> None:
    assert Rate(0, 0).interval == (0.0, 1.0)


def test_an_attack_that_is_not_armed_counts_for_nothing() -> None:
    found = [trials("a"), trials("b", is_armed=False), trials("c", succeeds=True)]
    rate = report.success_rate(found)
    assert (rate.count, rate.total) == (1, 2)


def test_rates_by_class_and_of_honest_kernels() -> None:
    found = [trials("a"), trials("b", catalogue=("C04",)), honest(), honest("slow", "rejected")]
    assert (report.success_rate(found, "timing").total, report.success_rate(found, "caching").total) == (1, 1)
    assert report.success_rate(found, "answers").total == 0
    assert str(report.false_positive_rate(found)).startswith("1/2 = 50.0% [")


def test_the_matrix_names_what_succeeds_when_one_group_alone_is_off() -> None:
    both = trials("both", stopped_by=("clocks", "floor"))
    alone, naive = trials("alone"), trials("naive", naive=True, stopped_by=("process boundary",))
    matrix = report.matrix([both, alone, naive])
    assert matrix["clocks"] == ["alone"]
    assert [group for group, names in matrix.items() if names] == ["clocks"]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (trials("a", succeeds=True), "SUCCEEDED a"),
        (trials("a", is_armed=False), "UNARMED   a"),
        (honest(status="rejected"), "REFUSED   plain"),
        (Trials(Ending(attack("a"), (), "broken", "OSError: no space left")), "BROKEN    a: OSError"),
    ],
)
def test_whatever_is_wrong_is_named_and_makes_the_whole_unclean(bad: Trials, word: str) -> None:
    good = [trials("good"), honest("other")]
    assert report.is_clean(good)
    assert not report.is_clean([*good, bad])
    assert [line.startswith(word) for line in report.complaints(bad)] == [True]


def test_the_table_has_a_row_for_each_specimen() -> None:
    file = io.StringIO()
    table = report.Table(file)
    for each in (trials("a"), trials("b", reason="y[0]: got 0"), honest()):
        table.add(each)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [row["specimen"] for row in rows] == ["a", "b", "plain"]
    assert (rows[1]["kind"], rows[1]["succeeded"], rows[1]["reason"], rows[1]["armed_without"]) == (
        "timing", "0", "y[0]: got 0", "clocks",
    )  # fmt: skip
    assert (rows[2]["kind"], rows[2]["catalogue"], rows[2]["armed"]) == ("honest", "B02", "")


def test_a_row_does_not_say_where_on_the_machine_the_package_is() -> None:
    file = io.StringIO()
    report.Table(file).add(
        trials(reason=f"PermissionError: '{Path(report.__file__).resolve().parents[1]}/__init__.py'")
    )
    (row,) = csv.DictReader(io.StringIO(file.getvalue()))
    assert row["reason"] == "PermissionError: '/robust_kbench/__init__.py'"
