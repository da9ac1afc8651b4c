"""Panels of a picture of a record."""

from __future__ import annotations

from dataclasses import replace

import pytest
from timed import SPREAD, session, timed, timing

from robust_kbench.errors import SpecError
from robust_kbench.plots.panels import case_key, panels
from robust_kbench.schema.record import Session
from robust_kbench.scoring import score_case
from robust_kbench.timing.statistics import Ratio, Verdict


def test_a_panel_holds_every_sample_of_every_session_with_the_candidate_first() -> None:
    (panel,) = panels(timed(timing(session(eager=[20, 22], candidate=[10, 11]), session(eager=[21], candidate=[12]))))
    assert [row.name for row in panel.rows] == ["candidate", "eager"]
    assert panel.rows[0].sessions_us == ((10.0, 11.0), (12.0,))
    assert panel.rows[1].samples_us == [20.0, 22.0, 21.0]


def test_medians_and_speedups_are_those_of_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    fastest, eager = Ratio(3, 2, 4), Ratio(5, 4, 6)
    medians = {"candidate": 7.0, "eager": 8.0}
    scored = replace(score_case(SPREAD), speedup=fastest, speedups={"eager": eager}, medians_us=medians)
    monkeypatch.setattr("robust_kbench.plots.panels.score_case", lambda timing, noise: scored)
    (panel,) = panels(timed(SPREAD))
    assert [(row.median_us, row.speedup) for row in panel.rows] == [(7.0, fastest), (8.0, eager)]
    assert panel.summary == "faster; fastest: eager"


def test_the_control_is_shown_and_sets_the_margin_of_every_case_but_has_no_speedup() -> None:
    apart = timing(session(candidate=[50, 50], eager=[100, 100], control=[110, 110]))
    near = timing(session(candidate=[95, 95], eager=[100, 100], control=[100, 100]), dtype="float16")
    first, second = panels(timed(apart, near))
    assert [(row.name, row.verdict) for row in first.rows] == [
        ("candidate", Verdict.FASTER),
        ("eager", Verdict.FASTER),
        ("control", None),
    ]
    assert (first.margin, second.margin) == pytest.approx((0.1, 0.1))
    assert [row.verdict for row in second.rows] == [Verdict.SAME, Verdict.SAME, None]


def test_a_control_alone_is_no_baseline() -> None:
    (panel,) = panels(timed(timing(session(candidate=[10], control=[20]))))
    assert (panel.fastest, panel.summary) == ("", "")


def test_a_baseline_that_missed_a_session_is_shown_without_a_speedup() -> None:
    whole = session(candidate=[10, 11], eager=[20, 22], compile=[30, 31])
    (panel,) = panels(timed(timing(session(candidate=[10], eager=[21]), whole)))
    compiled = panel.rows[2]
    assert compiled.sessions_us == ((), (30.0, 31.0))
    assert (compiled.median_us, compiled.speedup) == (30.5, None)


def test_samples_without_any_baseline_are_shown_without_a_score() -> None:
    (panel,) = panels(timed(timing(session(candidate=[10, 12]))))
    (row,) = panel.rows
    assert (panel.fastest, row.median_us, row.speedup) == ("", 11.0, None)


def test_a_candidate_that_missed_a_session_is_shown_without_a_score() -> None:
    (panel,) = panels(timed(timing(session(candidate=[10], eager=[20]), session(eager=[20]))))
    assert [(row.name, row.median_us, row.speedup) for row in panel.rows] == [
        ("candidate", 10.0, None),
        ("eager", 20.0, None),
    ]


def test_a_floor_belongs_to_one_dtype_and_one_binding_in_any_order_of_its_axes() -> None:
    one = session(candidate=[10], eager=[20])
    record = timed(
        timing(one, axes={"rows": 2, "cols": 3}),
        timing(one, axes={"rows": 3, "cols": 2}),
        timing(one, dtype="float16", axes={"rows": 2, "cols": 3}),
    )
    floors = {case_key({"cols": 3, "rows": 2}, "float32"): 4.0}
    assert [panel.floor_us for panel in panels(record, floors)] == [4.0, None, None]


def test_a_floor_of_the_record_is_shown_unless_another_is_given() -> None:
    one = timing(session(candidate=[10], eager=[20])).model_copy(update={"floor_us": 5.0})
    assert panels(timed(one))[0].floor_us == 5.0
    assert panels(timed(one), {case_key(one.axes, one.dtype): 4.0})[0].floor_us == 4.0


@pytest.mark.parametrize("empty", [(), (Session(samples={}, foreign_load=0.0),), (session(candidate=[]),)])
def test_a_case_without_samples_has_no_panel(empty: tuple[Session, ...]) -> None:
    assert panels(timed(timing(*empty), SPREAD)) == panels(timed(SPREAD))


@pytest.mark.parametrize("damaged", ["AAA=", "no base64!"])
def test_samples_that_cannot_be_read_are_named(damaged: str) -> None:
    broken = Session(samples={"candidate": damaged, "eager": damaged}, foreign_load=0.0)
    with pytest.raises(SpecError, match=r"norm/scale 'mine': timings\[1\]: .*expected base64"):
        panels(timed(SPREAD, timing(broken)))


def test_rounds_that_a_contestant_lacks_are_an_error_that_names_the_case() -> None:
    with pytest.raises(SpecError, match=r"timings\[0\]: the contestants .* different numbers"):
        panels(timed(timing(session(candidate=[1, 2], eager=[1]))))


def test_a_sample_of_zero_is_shown_as_the_clocks_smallest_step() -> None:
    (panel,) = panels(timed(timing(session(candidate=[0, 1], eager=[1, 1]))))
    assert panel.rows[0].samples_us == [0.001, 1.0]
