"""From samples to speedups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from specimens import make_case, make_record

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples
from robust_kbench.scoring import score, score_case
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession


def session(load: float = 0.0, **medians: int) -> Session:
    """Twenty samples per contestant, spread by one per mille around its median."""
    samples = {name: [value + value * (i - 10) // 1000 for i in range(20)] for name, value in medians.items()}
    return Session(samples={name: encode_samples(values) for name, values in samples.items()}, foreign_load=load)


def timing(*sessions: Session, dtype: str = "float32") -> Timing:
    return Timing.model_validate({"axes": {"rows": 1}, "dtype": dtype, "sessions": sessions})


def record(*timings: Timing) -> RunRecord:
    return make_record(timings=timings)


def test_the_speedup_is_against_the_fastest_baseline() -> None:
    scored = score_case(timing(session(candidate=100_000, eager=300_000, compile=200_000)))
    assert scored.fastest == "compile"
    assert scored.speedup.value == pytest.approx(2.0, rel=1e-3)
    assert scored.speedups["eager"].value == pytest.approx(3.0, rel=1e-3)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_lucky_session_of_a_baseline_does_not_choose_it(position: int) -> None:
    lucky = session(candidate=100_000, eager=150_000, compile=160_000)
    sessions = [session(candidate=100_000, eager=300_000, compile=160_000)] * 3
    sessions[position] = lucky
    scored = score_case(timing(*sessions))
    assert scored.fastest == "compile"
    assert scored.speedup.value == pytest.approx(1.6, rel=1e-3)


def test_a_session_does_not_choose_the_baseline_that_it_is_scored_against() -> None:
    # Chosen on the very session, each would be the lucky one and the speedup 1.
    eager_lucky = session(candidate=100_000, eager=100_000, compile=200_000)
    compile_lucky = session(candidate=100_000, eager=200_000, compile=100_000)
    scored = score_case(timing(eager_lucky, compile_lucky))
    assert scored.fastest == "compile+eager"
    assert scored.speedup.value == pytest.approx(2.0, rel=1e-3)


def test_drift_that_all_contestants_share_cancels() -> None:
    slow = session(candidate=200_000, eager=400_000)
    fast = session(candidate=100_000, eager=200_000)
    scored = score_case(timing(fast, slow, fast))
    assert scored.speedup.value == pytest.approx(2.0, rel=1e-3)
    assert scored.speedup.high / scored.speedup.low < 1.01


def test_dtypes_are_scored_apart_and_cases_by_their_geometric_mean() -> None:
    scores = score(
        record(
            timing(session(candidate=100_000, eager=100_000)),
            timing(session(candidate=100_000, eager=400_000)),
            timing(session(candidate=100_000, eager=500_000), dtype="float16"),
        )
    )
    assert scores["float32"].speedup.value == pytest.approx(2.0, rel=1e-3)
    assert scores["float16"].speedup.value == pytest.approx(5.0, rel=1e-3)


def test_a_baseline_that_failed_in_one_session_is_not_scored() -> None:
    whole = session(candidate=100_000, eager=300_000, compile=50_000)
    without = session(candidate=100_000, eager=300_000)
    assert set(score_case(timing(whole, without, whole)).speedups) == {"eager"}


def test_a_record_without_samples_has_no_score() -> None:
    assert score(record()) == {}


def test_a_loaded_machine_costs_the_rank() -> None:
    quiet = timing(session(candidate=1000, eager=2000, load=0.01))
    loaded = timing(session(candidate=1000, eager=2000, load=0.2))
    ranked = {"tier": "full", "replay": False, "execution": "native", "handshake": "spin", "status": Status.PASSED}
    assert make_record(timings=(quiet,), **ranked).is_rankable
    assert not make_record(timings=(quiet, loaded), **ranked).is_rankable


def test_a_baseline_that_fails_while_it_is_timed_costs_the_rank_and_a_control_does_not() -> None:
    def found(name: str) -> list[Finding]:
        timed: Any = object.__new__(TimingSession)
        timed._workers, timed._case = {}, make_case()
        timed._contestants = [SimpleNamespace(name=each) for each in ("candidate", "eager", "compile", "control")]
        timed._result = SessionResult({})
        timed._give_up(name, "was killed by SIGKILL")
        findings: list[Finding] = timed._result.findings
        return findings

    assert make_record(findings=tuple(found("control"))).is_rankable
    assert not make_record(findings=tuple(found("compile"))).is_rankable


def test_the_control_is_no_baseline() -> None:
    scored = score_case(timing(session(candidate=100_000, eager=200_000, control=150_000)))
    assert scored.fastest == "eager"
    assert set(scored.speedups) == {"eager"}


@pytest.mark.parametrize("control", [190_000, 220_000])
def test_a_difference_that_equals_show_counts_as_none(control: int) -> None:
    noisy = timing(*[session(candidate=200_000, eager=208_000, control=control)] * 3)
    calm = timing(*[session(candidate=200_000, eager=208_000, control=208_000)] * 3)
    assert score(record(noisy))["float32"].verdict == "same"
    assert score(record(noisy))["float32"].margin == pytest.approx(max(208_000 / control, control / 208_000) - 1, 1e-3)
    assert score(record(calm))["float32"].verdict == "faster"
    assert score(record(calm))["float32"].margin == 0.005


def test_the_noise_of_one_case_is_the_margin_of_all() -> None:
    calm = timing(session(candidate=100_000, eager=200_000, control=200_000))
    noisy = timing(session(candidate=100_000, eager=200_000, control=206_000))
    assert [case.margin for case in score(record(calm, noisy))["float32"].cases] == pytest.approx([0.03, 0.03], 1e-2)


def test_without_a_control_two_percent_count_as_none() -> None:
    assert score_case(timing(session(candidate=100_000, eager=101_500))).verdict == "same"


def test_the_margin_is_never_below_the_handshake() -> None:
    tiny = timing(session(candidate=10_000, eager=10_000, control=10_000))
    assert score(record(tiny))["float32"].margin == pytest.approx(0.02, rel=1e-3)


def test_the_worst_case_stands_beside_the_mean() -> None:
    scores = score(
        record(timing(session(candidate=100_000, eager=400_000)), timing(session(candidate=100_000, eager=50_000)))
    )
    assert scores["float32"].worst.speedup.value == pytest.approx(0.5, rel=1e-3)


def test_calls_on_a_warm_cache_are_told_beside_the_score() -> None:
    hot = [session(candidate=100_000, eager=400_000).model_copy(update={"hot_us": {"candidate": f}}) for f in (80, 20)]
    cases = [timing(each, session(candidate=100_000, eager=400_000)) for each in hot]
    scored = score(record(*cases))["float32"]
    assert scored.hot_us == pytest.approx(40.0)
    assert scored.speedup.value == pytest.approx(4.0, rel=1e-3)
    assert score(record(cases[0], timing(session(candidate=1, eager=1))))["float32"].hot_us is None


def test_the_share_of_the_floor_is_a_mean_over_cases() -> None:
    cases = [timing(session(candidate=100_000, eager=400_000)).model_copy(update={"floor_us": f}) for f in (80, 20)]
    assert score(record(*cases))["float32"].floor_share == pytest.approx(0.4, rel=1e-3)
    assert score(record(timing(session(candidate=100_000, eager=400_000))))["float32"].floor_share is None
