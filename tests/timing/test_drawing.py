"""Values of timed calls are fresh, shared by baselines alone, and drawn ahead where there is a core for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import Inputs
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CANDIDATE, CONTROL
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.drawing import Drawing

TASK, CASE = make_task(), make_case(role="timed")
NAMES = (CANDIDATE, "eager", "compile", CONTROL)
CORE = max(os.sched_getaffinity(0))


class Noted(Bank):
    """Bank that notes the thread and the cores of each draw."""

    def __init__(self) -> None:
        super().__init__(TASK, CASE)
        self.draws: list[tuple[int, set[int]]] = []

    def draw(self, case: Case) -> Inputs:
        self.draws.append((threading.get_ident(), os.sched_getaffinity(0)))
        return super().draw(case)


@pytest.fixture
def bank() -> Noted:
    return Noted()


@pytest.fixture(params=[None, CORE], ids=["no core aside", "a core aside"])
def drawing(request: pytest.FixtureRequest, bank: Noted) -> Iterator[Drawing]:
    drawing = Drawing(TASK, CASE, bank, Stopwatch(), core=request.param)
    yield drawing
    drawing.close()


def _x(values: tuple[Case, Inputs]) -> torch.Tensor:
    return values[1].tensors["x"]


def test_baselines_share_the_values_of_a_round_and_the_candidate_and_the_control_have_their_own(
    drawing: Drawing,
) -> None:
    values = drawing.of_round(NAMES)
    assert values["eager"][1] is values["compile"][1]
    assert not torch.equal(_x(values[CANDIDATE]), _x(values["eager"]))
    assert not torch.equal(_x(values[CANDIDATE]), _x(values[CONTROL]))
    assert len({case.distribution for case, _ in values.values()}) == 1


def test_every_round_and_every_call_has_fresh_values(drawing: Drawing) -> None:
    rounds = []
    for _ in range(3):
        rounds.append(_x(drawing.of_round(NAMES)[CANDIDATE]))
        drawing.begin_next(NAMES)
        drawing.wait()
    rounds.append(_x(drawing.of_call()))
    assert all(not torch.equal(one, other) for number, one in enumerate(rounds) for other in rounds[:number])


def test_the_next_round_is_drawn_by_another_thread_on_the_core_aside(bank: Noted) -> None:
    drawing = Drawing(TASK, CASE, bank, Stopwatch(), core=CORE)
    drawing.begin_next(NAMES)
    drawing.wait()
    draws = list(bank.draws)
    values = drawing.of_round(NAMES)
    drawing.close()
    assert set(values) == set(NAMES)
    assert bank.draws == draws  # nothing was drawn again
    assert {cores == {CORE} and thread != threading.get_ident() for thread, cores in draws} == {True}


def test_without_a_core_aside_nothing_is_drawn_ahead(bank: Noted) -> None:
    drawing = Drawing(TASK, CASE, bank, Stopwatch(), core=None)
    drawing.begin_next(NAMES)
    drawing.wait()
    assert bank.draws == []
    assert set(drawing.of_round(NAMES)) == set(NAMES)


def test_an_error_of_a_draw_ahead_is_raised_where_the_values_are_waited_for(
    bank: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = Drawing(TASK, CASE, bank, Stopwatch(), core=CORE)
    monkeypatch.setattr(bank, "draw", lambda case: 1 / 0)
    drawing.begin_next(NAMES)
    with pytest.raises(ZeroDivisionError):
        drawing.wait()
    drawing.close()
