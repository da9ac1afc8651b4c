"""Trials that run beside each other, and trials that have the machine for themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.devices import nvml
from robust_kbench.redteam import campaign, corpus
from robust_kbench.redteam.campaign import Trials
from robust_kbench.redteam.corpus import Attack, AttackHeader, Honest, HonestHeader
from robust_kbench.redteam.trial import Ending

PLAIN = Honest(Path("plain.py"), "It is plain.", HonestHeader(looks_like=("B02",)))


def attack(name: str) -> Attack:
    told = {"catalogue": ("W06",), "aim": "time", "stopped_by": ("process boundary",), "twin": "plain", "naive": True}
    return Attack(Path(f"hardware/{name}.py"), "It is late.", AttackHeader.model_validate(told))


@dataclass
class Told:
    """Outcome of a trial in company; alone every attack is armed."""

    defended: bool = False
    armed: bool = True


def run(monkeypatch: pytest.MonkeyPatch, told: dict[str, Told]) -> tuple[list[Trials], list[str]]:
    carried_out: list[str] = []

    def trials(specimen: Attack | Honest, known: Told) -> Trials:
        defended = Ending(specimen, (), "passed", "", succeeded=known.defended)
        if isinstance(specimen, Honest):
            return Trials(defended)
        return Trials(defended, Ending(specimen, ("naive harness",), "passed", "", succeeded=known.armed))

    def in_company(orders: Any, *_: Any) -> Iterator[tuple[Any, Trials]]:
        for order in orders:
            yield order, trials(order.specimen, told.get(order.specimen.name, Told()))

    def alone(order: Any, proving: Any) -> Trials:
        carried_out.append(order.specimen.name)
        return trials(order.specimen, Told())

    monkeypatch.setattr(campaign, "_beside_each_other", in_company)
    monkeypatch.setattr(campaign, "_carry_out", alone)
    return list(campaign.run([attack(name) for name in told], [PLAIN])), carried_out


def test_what_noise_may_have_disarmed_is_tried_again_alone_and_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, alone = run(monkeypatch, {"small_gain": Told(armed=False), "large_gain": Told()})
    assert alone == ["small_gain"]
    assert sorted(trials.specimen.name for trials in found) == ["large_gain", "plain", "small_gain"]
    assert all(trials.is_armed for trials in found if trials.armed is not None)


def test_an_attack_that_has_succeeded_is_never_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found, alone = run(monkeypatch, {"got_through": Told(defended=True, armed=False)})
    assert alone == []
    assert [trials.defended.succeeded for trials in found if trials.specimen.name == "got_through"] == [True]


def test_all_is_tried_as_often_as_is_asked_for_and_armed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, bool]] = []

    def in_company(orders: Any, *_: Any) -> Iterator[tuple[Any, Trials]]:
        made.extend((order.specimen.name, order.is_armed) for order in orders)
        return iter(())

    monkeypatch.setattr(campaign, "_beside_each_other", in_company)
    monkeypatch.setattr(campaign._Order, "needs_a_quiet_machine", False)
    assert list(campaign.run([attack("late")], [PLAIN], tries=3)) == []
    assert sorted(made) == [("late", False), ("late", False), ("late", True), *[("plain", False)] * 3]


@pytest.mark.parametrize(("gpus", "in_company"), [(("0",), False), (("0", "1", "2"), True)])
def test_on_devices_every_process_has_one_of_its_own(
    monkeypatch: pytest.MonkeyPatch, gpus: tuple[str, ...], in_company: bool
) -> None:
    asked: list[Any] = []

    def beside(orders: Any, shares: Any, device: str, tier: str) -> Iterator[tuple[Any, Trials]]:
        asked.append(([share.gpu for share in shares], device, tier))
        return iter(())

    monkeypatch.setattr(campaign, "_beside_each_other", beside)
    monkeypatch.setattr(campaign, "_carry_out", lambda order, proving: Trials(Ending(order.specimen, (), "passed", "")))
    monkeypatch.setattr(nvml, "visible", lambda: gpus)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(12)))
    found = list(campaign.run([], [PLAIN], jobs=8, device="cuda", tier="full"))
    assert asked == ([(list(gpus), "cuda", "full")] if in_company else [])
    assert len(found) == (not in_company)


@pytest.fixture
def two_cores() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("needs two cores")
    os.sched_setaffinity(0, sorted(cores)[:2])
    yield
    os.sched_setaffinity(0, cores)


@pytest.mark.rotating
@pytest.mark.usefixtures("two_cores")
def test_honest_kernels_pass_where_the_judge_shares_its_only_core_with_the_worker() -> None:
    specimens = [specimen for specimen in corpus.honest() if specimen.name in ("plain", "plain_cpp", "slow_first_call")]
    found = campaign.run([], specimens, jobs=2)
    assert {each.specimen.name: (each.defended.status, each.defended.reason) for each in found} == {
        specimen.name: ("passed", "") for specimen in specimens
    }
