"""Scoring of kernels, from samples to speedups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from specimens import make_case, make_observation, make_record

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, decode_samples, encode_samples
from robust_kbench.scoring import CaseScore, noise_floor, score, score_case
from robust_kbench.timing import statistics
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession


def session(load: float = 0.0, **medians: int) -> Session:
    """Make twenty samples per contestant, spread by one per mille around its median."""
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
        timed._workers, timed._case, timed._device = {}, make_case(), SimpleNamespace(kind="cpu")
        timed._contestants = [SimpleNamespace(name=each) for each in ("candidate", "eager", "compile", "control")]
        timed._result = SessionResult({})
        timed._give_up(name, "was killed by SIGKILL")
        findings: list[Finding] = timed._result.findings
        return findings

    assert make_record(findings=tuple(found("control"))).is_rankable
    assert not make_record(findings=tuple(found("compile"))).is_rankable


@pytest.mark.parametrize("name", ["candidate", "eager", "compile", "control"])
def test_who_is_compared_with_goes_on_though_it_errs(name: str) -> None:
    timed: Any = object.__new__(TimingSession)
    timed._case, timed._erring, timed._result = make_case(), set(), SessionResult({})
    timed._contestants = [SimpleNamespace(name=each) for each in ("candidate", "eager", "compile", "control")]
    assert timed._goes_on(name, make_observation(), "off by 9 ulps") == (name != "candidate")
    assert not timed._goes_on(name, make_observation(ending="raised"), "ValueError")
    told = [(finding.guard, finding.severity) for finding in timed._result.findings]
    assert told == [("accuracy", "warn")] * (name in ("eager", "compile"))


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


def test_in_records_of_before_the_decomposition_was_called_eager_and_the_operator_functional() -> None:
    before = timing(
        *[session(candidate=100_000, eager=400_000, compile=300_000, functional=200_000, control=404_000)] * 3
    )
    now = timing(*[session(candidate=100_000, eager=200_000, reference=400_000, compile=300_000, control=202_000)] * 3)
    of_before, of_now = (score(record(each))["float32"] for each in (before, now))
    assert {name: round(each.value) for name, each in of_before.cases[0].speedups.items()} == {
        "eager": 2, "reference": 4, "compile": 3,
    }  # fmt: skip
    assert of_before.cases[0].speedups == of_now.cases[0].speedups
    assert [each.cases[0].over_plain for each in (of_before, of_now)] == [of_now.cases[0].speedups["eager"]] * 2
    assert of_before.margin == of_now.margin == pytest.approx(0.01)  # each control beside its equal
    assert (of_before.fastest, round(of_before.cases[0].medians_us["eager"])) == ("eager", 200)


def test_an_operator_that_is_slower_than_what_it_stands_for_flatters_nobody() -> None:
    slow = score_case(timing(session(candidate=100_000, eager=700_000, reference=100_000, control=700_000)))
    assert (slow.fastest, slow.over_plain) == ("reference", slow.speedups["reference"])
    assert slow.verdict != "faster"


def test_names_of_now_and_of_before_are_not_mixed() -> None:
    mixed = timing(session(candidate=100_000, eager=400_000, functional=200_000, reference=50_000))
    with pytest.raises(ValueError, match="beside those of 'functional'"):
        score_case(mixed)
    lost = timing(
        session(candidate=100_000, eager=400_000, functional=200_000), session(candidate=100_000, eager=400_000)
    )
    assert set(score_case(lost).speedups) == {"reference"}  # what is eager in both is the decomposition


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


Samples = dict[str, list[int]]


def decoded(timing: Timing) -> list[Samples]:
    return [{name: decode_samples(text) for name, text in each.samples.items()} for each in timing.sessions]


def one_by_one(timing: Timing, noise: float | None) -> dict[str, Any]:
    """Score a case list by list, as `score_case` describes it: the yardstick."""
    samples = decoded(timing)
    baselines = [
        name for name in samples[0] if name not in ("candidate", "control") and all(name in each for each in samples)
    ]
    chosen = [fastest(samples[:i] + samples[i + 1 :] or samples, baselines) for i in range(len(samples))]
    sessions = [ratios(each, name) for each, name in zip(samples, chosen, strict=True)]
    medians_us = {
        name: statistics.median([t for each in samples for t in each[name]]) / 1e3 for name in ("candidate", *baselines)
    }
    least = max(0.005, 0.2 / medians_us["candidate"])
    return {
        "fastest": "+".join(sorted(set(chosen))),
        "speedup": statistics.ratio(sessions),
        "speedups": {name: statistics.ratio([ratios(each, name) for each in samples]) for name in baselines},
        "medians_us": medians_us,
        "sessions": sessions,
        "margin": max(least, 0.02 if noise is None else noise),
        "against": {name: [ratios(each, name) for each in samples] for name in baselines},
    }


def fastest(sessions: Sequence[Samples], baselines: Sequence[str]) -> str:
    def typical(name: str) -> float:
        return statistics.median([statistics.median(session[name]) for session in sessions])

    return min(baselines, key=typical)


def ratios(samples: Samples, baseline: str) -> list[float]:
    return statistics.log_ratios(samples[baseline], samples["candidate"])


def noise_one_by_one(timings: Sequence[Timing]) -> float | None:
    found = []
    for samples in map(decoded, timings):
        if all("control" in each and "eager" in each for each in samples):
            logs = [statistics.median(statistics.log_ratios(each["eager"], each["control"])) for each in samples]
            found.append(math.expm1(abs(statistics.median(logs))))
    return max(found, default=None)


def assert_close(found: statistics.Ratio | None, expected: statistics.Ratio) -> None:
    assert found is not None
    ours, theirs = ((each.value, each.low, each.high) for each in (found, expected))
    assert ours == pytest.approx(theirs, rel=1e-12)


def assert_same(found: CaseScore, expected: dict[str, Any]) -> None:
    assert found.fastest == expected["fastest"]
    assert_close(found.speedup, expected["speedup"])
    assert list(found.speedups) == list(expected["speedups"])
    for name, ratio in expected["speedups"].items():
        assert_close(found.speedups[name], ratio)
    assert found.medians_us == expected["medians_us"]
    assert found.margin == pytest.approx(expected["margin"], rel=1e-12)
    for ours, theirs in zip(found.sessions, expected["sessions"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


def drawn(seed: int) -> RunRecord:
    """Draw timings as of a real machine: uneven sessions, close baselines, some lost, some without control."""
    random = np.random.default_rng(seed)
    contestants = ["candidate", "eager", "compile", "library"][: int(random.integers(2, 5))]
    contestants += ["control"] * int(random.integers(0, 2))
    timings = []
    for dtype in ("float32", "float16"):
        for _ in range(int(random.integers(1, 4))):
            typical = {name: 10 ** random.uniform(3, 6) * (name == "candidate") or 2e5 for name in contestants}
            sessions = []
            for number in range(int(random.integers(1, 8))):
                rounds = int(random.choice([1, 2, 5, 8, 31, 80]))
                shift = {name: random.normal(0, 0.02) for name in contestants}
                lost = {"compile"} if number == 1 and seed % 5 == 0 and "library" in contestants else set()
                samples = {
                    name: encode_samples(
                        (typical[name] * np.exp(shift[name] + random.normal(0, 0.03, rounds))).astype(int).tolist()
                    )
                    for name in random.permutation(contestants).tolist()
                    if name not in lost
                }
                sessions.append(Session(samples=samples, foreign_load=0.0))
            timings.append(timing(*sessions, dtype=dtype))
    return record(*timings)


@pytest.mark.parametrize("seed", range(40))
def test_scores_of_all_cases_at_once_are_those_of_one_list_after_the_other(seed: int) -> None:
    made = drawn(seed)
    noise = noise_one_by_one(made.timings)
    assert noise_floor(made.timings) == (None if noise is None else pytest.approx(noise, rel=1e-12))
    expected = [one_by_one(each, noise) for each in made.timings]
    scores = score(made)
    cases = [case for scored in scores.values() for case in scored.cases]
    for found, case in zip(cases, expected, strict=True):
        assert_same(found, case)
    for dtype, scored in scores.items():
        mine = [case for timed, case in zip(made.timings, expected, strict=True) if timed.dtype == dtype]
        assert_close(scored.speedup, statistics.geometric_mean([case["sessions"] for case in mine]))
        if all("compile" in case["against"] for case in mine):
            compiled = statistics.geometric_mean([case["against"]["compile"] for case in mine])
            assert_close(scored.ratio_against("compile"), compiled)
            assert scored.against("compile") == pytest.approx(compiled.value, rel=1e-12)


def test_the_drawn_records_have_sessions_that_are_scored_against_different_baselines() -> None:
    fastest = {case.fastest for seed in range(40) for each in score(drawn(seed)).values() for case in each.cases}
    assert any("+" in each for each in fastest)
    assert "eager" in fastest


def test_an_interval_against_a_named_baseline_holds_its_value() -> None:
    cases = [timing(*[session(candidate=100_000, eager=e, compile=150_000)] * 3) for e in (200_000, 800_000)]
    scored = score(record(*cases))["float32"]
    found = scored.ratio_against("eager")
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.value == scored.against("eager") == pytest.approx(4.0, rel=1e-3)
    assert scored.ratio_against("library") is None


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [{"candidate": "AAAAAA==", "eager": "x"}],
        [{"candidate": "AAAAAA==", "eager": "AAAA"}],
        [{"candidate": "AAAAAA==", "eager": "\u00e9AAA"}],
        [{"candidate": "", "eager": ""}],
        [{"candidate": "AAAAAA==", "eager": "AAAAAAAAAAA="}],
        [{"candidate": "AAAAAA=="}],
        [{"eager": "AAAAAA=="}],
        [{"candidate": "AAAAAA==", "control": "AAAAAA=="}],
        [{"candidate": "AAAAAA==", "eager": "AAAAAA=="}, {"candidate": "AAAAAA==", "compile": "AAAAAA=="}],
    ],
    ids=["none", "no base64", "half a sample", "not ascii", "empty", "uneven", "alone", "without", "control", "lost"],
)
def test_samples_that_cannot_be_scored_are_refused_in_words(samples: list[dict[str, str]]) -> None:
    damaged = timing(*(Session(samples=each, foreign_load=0.0) for each in samples))
    whole = timing(session(candidate=100_000, eager=200_000))
    with pytest.raises(ValueError, match=r"\w"):
        score(record(whole, damaged))


def test_a_time_of_zero_counts_as_the_clocks_step() -> None:
    zero = timing(
        Session(samples={"candidate": encode_samples([0] * 9), "eager": encode_samples([8] * 9)}, foreign_load=0)
    )
    scored = score_case(zero)
    assert scored.speedup.value == pytest.approx(8.0)
    assert scored.medians_us["candidate"] == 0.001


@pytest.mark.parametrize("floor_us", [0.0, -1.0])
def test_a_floor_that_says_nothing_is_none(floor_us: float) -> None:
    case = timing(session(candidate=100_000, eager=400_000)).model_copy(update={"floor_us": floor_us})
    assert score(record(case))["float32"].floor_share is None


def on_a_device(count: int, **medians: int) -> Timing:
    """Make so many sessions whose clock was calibrated."""
    return timing(*[session(**medians).model_copy(update={"clock_spread_ns": 600})] * count)


@pytest.mark.parametrize(
    ("count", "candidate_ns", "is_resolved"),
    [(1, 9_900, False), (1, 10_100, True), (4, 4_900, False), (4, 5_100, True)],
)
def test_a_device_resolves_what_takes_ten_times_as_long_as_its_workers_differ_by(
    count: int, candidate_ns: int, is_resolved: bool
) -> None:
    scored = score_case(on_a_device(count, candidate=candidate_ns, eager=2 * candidate_ns))
    assert scored.is_resolved is is_resolved
    assert scored.margin >= scored.resolution_us / (candidate_ns / 1e3) * 0.99


@pytest.mark.parametrize(("candidate_ns", "is_resolved"), [(140_000, False), (160_000, True)])
def test_on_the_wall_clock_sessions_say_what_they_tell_apart(candidate_ns: int, is_resolved: bool) -> None:
    sessions = [
        session(candidate=candidate_ns, eager=1_400_000).model_copy(update={"clock_resolution_ns": us * 1_000})
        for us in (20, 30, 30, 180)
    ]
    scored = score_case(timing(*sessions))
    assert scored.resolution_us == pytest.approx(15.0)
    assert scored.is_resolved is is_resolved


def test_a_processor_resolves_whatever_it_times() -> None:
    assert score_case(timing(session(candidate=300, eager=600))).is_resolved


def test_cases_that_the_clock_does_not_resolve_count_only_where_there_are_no_others() -> None:
    short, long = on_a_device(1, candidate=2_000, eager=20_000), on_a_device(1, candidate=50_000, eager=100_000)
    both, alone = (score(record(*timings))["float32"] for timings in ([short, long], [short]))
    assert (both.is_resolved, alone.is_resolved) == (True, False)
    assert both.speedup.value == pytest.approx(2, rel=0.01)
    assert alone.speedup.value == pytest.approx(10, rel=0.01)


def _uneven(name: str, *slow: int) -> Session:
    """Make twelve calls by each contestant; those of `name` with a number in `slow` take five times as long."""
    usual = {"candidate": [100_000] * 12, "eager": [300_000] * 12, "compile": [200_000] * 12}
    usual[name] = [(5 if number in slow else 1) * each for number, each in enumerate(usual[name])]
    return Session(samples={each: encode_samples(times) for each, times in usual.items()}, foreign_load=0.0)


@pytest.mark.parametrize("sessions", [1, 2, 5])
def test_work_that_is_moved_to_a_few_calls_is_charged_to_all(sessions: int) -> None:
    """One call in four took five times as long as the others, and the median hid it."""
    scored = score_case(timing(*[_uneven("candidate", 0, 4, 8)] * sessions))
    assert scored.charge == pytest.approx(2.0)
    assert scored.medians_us["candidate"] == pytest.approx(200.0)
    assert scored.fastest == "compile"
    assert scored.speedup.value == pytest.approx(1.0)
    assert scored.speedups["eager"].value == pytest.approx(1.5)
    assert [statistics.median(logs) for logs in scored.sessions] == pytest.approx([0.0] * sessions, abs=1e-9)


@pytest.mark.parametrize(
    "timed",
    [
        timing(*[session(candidate=100_000, eager=200_000, compile=300_000)] * 3),
        timing(*[_uneven("candidate", 3)] * 2, *[_uneven("candidate")] * 3),
        timing(_uneven("compile", 0, 4, 8)),
    ],
    ids=["even", "disturbed in less than half of the sessions", "the baseline's work"],
)
def test_even_calls_are_not_charged(timed: Timing) -> None:
    scored = score_case(timed)
    assert scored.charge == 1.0
    assert scored.speedup.value == pytest.approx(2.0)


def _uneven_both(*slow: int) -> Session:
    ours, theirs = (decoded(timing(_uneven(name, *slow)))[0] for name in ("candidate", "compile"))
    both = {"candidate": ours["candidate"], "eager": ours["eager"], "compile": theirs["compile"]}
    return Session(samples={name: encode_samples(times) for name, times in both.items()}, foreign_load=0.0)


def test_as_uneven_as_the_fastest_baseline_is_not_charged() -> None:
    assert score_case(timing(_uneven_both(5))).charge == 1.0


@pytest.mark.parametrize(("sessions", "excused"), [(1, 1.25), (5, 1.1)])
def test_an_uneven_baseline_does_not_excuse_a_candidate_whose_mean_is_twice_its_median(
    sessions: int, excused: float
) -> None:
    assert score_case(timing(*[_uneven_both(0, 4, 8)] * sessions)).charge == pytest.approx(2 / excused)
