"""Sessions on a clock that changes while they last: none of their samples is believed, at any tier."""

from __future__ import annotations

import pytest
from made_sessions import measured_in

from robust_kbench.errors import HarnessError
from robust_kbench.schema.record import Tier, decode_samples
from robust_kbench.timing.clock_drift import UNSTEADY_CLOCK
from robust_kbench.timing.result import SessionResult

CHANGED = f"{UNSTEADY_CLOCK}: empty calls take 7.0 us longer"


def session(time_ns: int, disturbance: str = "") -> SessionResult:
    return SessionResult({"candidate": [time_ns] * 9, "eager": [200] * 9}, disturbance=disturbance)


@pytest.mark.parametrize("tier", ["quick", "full"])
def test_a_session_whose_clock_changed_is_replaced(monkeypatch: pytest.MonkeyPatch, tier: Tier) -> None:
    made = iter([session(1, CHANGED), session(2, CHANGED), *(session(100) for _ in range(9))])
    (timing,) = measured_in(monkeypatch, tier, lambda: next(made)).timings
    assert {decode_samples(each.samples["candidate"])[0] for each in timing.sessions} == {100}
    assert timing.sessions[0].repeated == 2


def test_three_sessions_in_a_row_whose_clock_changed_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter([session(1, CHANGED)] * 3)
    with pytest.raises(
        HarnessError, match="changed: empty calls take 7.0 us longer; use a device on which nobody else"
    ):
        measured_in(monkeypatch, "quick", lambda: next(made))


def test_a_session_that_others_disturbed_in_another_way_counts_at_tier_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = measured_in(monkeypatch, "quick", lambda: session(100, "others had the device"))
    assert len(measured.timings[0].sessions) == 1
