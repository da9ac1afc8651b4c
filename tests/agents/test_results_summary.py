"""The summary of a run: each figure computed by hand on a small archive."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from made_runs import NASTY, evolved, node, record, root

from robust_kbench.agents import preset as presets
from robust_kbench.agents.archive import ROOT, Judged
from robust_kbench.agents.budget import Limits, Spent
from robust_kbench.agents.loop import Opinion
from robust_kbench.agents.summary import Confusion, Interval, Summary, quotient, summarise
from robust_kbench.schema.record import Status

STAGES = ("parse", "compile", "run", "correct", "guard")


def test_rates_are_shares_of_all_candidates_by_where_they_ended() -> None:
    failures = [node(stage, speedup=0, stage=stage) for stage in STAGES]
    found = summarise(evolved([*failures, node("a", speedup=2.0), node("b", speedup=3.0), node("c", speedup=1.0)]))
    assert found.stages == {"parse": 1, "compile": 1, "run": 1, "correct": 1, "guard": 1, "time": 3}
    assert found.candidates == 8
    assert found.parse_rate == 7 / 8
    assert found.compile_rate == 6 / 8
    assert found.validity == 3 / 8


def test_an_error_of_ours_is_counted_for_nothing_but_told() -> None:
    found = summarise(evolved([node("a", speedup=0, stage="harness"), node("b", speedup=2.0)]))
    assert (found.candidates, found.validity, found.compile_rate) == (1, 1.0, 1.0)
    assert found.stages == {"harness": 1, "time": 1}


def test_without_a_candidate_there_are_no_rates() -> None:
    found = summarise(evolved([], stop="unfinished"))
    assert (found.candidates, found.validity, found.compile_rate, found.distinct_rate) == (0, None, None, None)
    assert found.best == ROOT
    assert not found.is_over


def test_operators_are_told_apart_and_win_by_a_new_best() -> None:
    made = [
        node("a", speedup=2.0, operator="mutation"),
        node("b", speedup=1.5, operator="mutation"),
        node("c", speedup=3.0, operator="crossover"),
        node("d", speedup=0, operator="crossover", stage="compile"),
    ]
    found = summarise(evolved(made)).operators
    assert list(found) == ["crossover", "mutation"]
    assert (found["mutation"].validity, found["mutation"].win_rate) == (1.0, 0.5)
    crossover = found["crossover"]
    assert (crossover.candidates, crossover.compile_rate, crossover.validity, crossover.win_rate) == (2, 0.5, 0.5, 0.5)


def test_nothing_slower_than_the_start_is_a_win() -> None:
    found = summarise(evolved([node("a", speedup=2.0)], start=root(5.0)))
    assert found.operators["init"].win_rate == 0.0
    assert (found.best, found.final_status) == (ROOT, "none")


def test_repeated_code_is_told() -> None:
    made = [node("a", code="same"), node("b", code="same"), node("c", code="other"), node("d", speedup=0, code="")]
    assert summarise(evolved(made)).distinct_rate == 2 / 3


def test_repairs_are_candidates_of_a_failure() -> None:
    made = [
        node("a", speedup=0),
        node("b", ("a",), speedup=0),
        node("c", ("a",), speedup=2.0),
        node("d", ("c",), speedup=0),
        node("e", ("c", "a"), speedup=3.0),
    ]
    found = summarise(evolved(made))
    assert (found.repairs, found.repair_rate) == (2, 0.5)
    assert summarise(evolved([node("a")])).repair_rate is None


def test_plans_that_keep_to_their_form_are_counted_where_there_are_plans() -> None:
    made = [
        node("a", operator="improve"),
        node("b", operator="improve", plan_problem="no anchors"),
        node("c", operator="improve", speedup=0),
        node("d", operator="debug", plan_problem="is of no plan"),
    ]
    found = summarise(evolved(made, agent="stark"))
    assert (found.plans, found.plan_rate) == (3, 2 / 3)
    assert summarise(evolved([node("a")])).plan_rate is None


def test_verifiers_are_held_against_what_they_were_asked() -> None:
    made = [node("right"), node("wrong", speedup=0, stage="correct"), node("broken", speedup=0, stage="compile")]
    unseen = node("unseen").candidate
    says = {"right": True, "wrong": True, "broken": False, "unseen": True}
    opinions = [
        (Opinion(candidate, {"compile": says[candidate.id], "memory": says[candidate.id], "numerical": None}), True)
        for candidate in [*(each.candidate for each in made), unseen]
    ]
    found = summarise(evolved(made, agent="robust-kbench", opinions=opinions)).verifiers
    assert found["compile"] == Confusion(tp=2, tn=1, unjudged=1)  # what is built is built, even if it is wrong
    assert found["memory"] == Confusion(tp=1, fp=1, tn=1, unjudged=1)
    assert found["numerical"] == Confusion(silent=3, unjudged=1)
    assert found["memory"].accuracy == pytest.approx(2 / 3)
    assert found["numerical"].accuracy is None


def test_a_verifier_that_dislikes_a_right_kernel_is_wrong() -> None:
    right = node("a")
    opinions = [(Opinion(right.candidate, {"memory": False}), True)]
    assert summarise(evolved([right], opinions=opinions)).verifiers == {"memory": Confusion(fn=1)}


def test_an_error_of_ours_says_nothing_about_a_verifier() -> None:
    ours = node("a", speedup=0, stage="harness")
    opinions = [(Opinion(ours.candidate, {"memory": False}), True)]
    assert summarise(evolved([ours], opinions=opinions)).verifiers == {"memory": Confusion(unjudged=1)}


def test_the_curve_begins_with_the_start_and_never_falls() -> None:
    made = [node("a", speedup=0), node("b", speedup=2.0), node("c", speedup=1.5), node("d", speedup=4.0)]
    curve = summarise(evolved(made)).curve
    assert [point.best for point in curve] == [1.0, 1.0, 2.0, 2.0, 4.0]
    assert [point.evaluations for point in curve] == [0, 1, 2, 3, 4]
    assert [point.tokens for point in curve] == [0, 100, 200, 300, 400]
    assert [point.usd for point in curve] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_from_the_reference_there_is_no_kernel_at_first() -> None:
    found = summarise(evolved([node("a", speedup=0), node("b", speedup=0.5)], start=root(is_reference=True)))
    assert [point.best for point in found.curve] == [None, None, 0.5]
    assert found.start == "reference"
    assert found.area["evaluations"] == 1.0  # nothing is known to be gained or lost before the first kernel


def test_the_area_is_what_a_run_had_on_the_way_in_logarithms() -> None:
    found = summarise(evolved([node("a", speedup=4.0), node("b", speedup=2.0), node("c", speedup=16.0)]))
    assert found.area["evaluations"] == pytest.approx((1 * 4 * 4) ** (1 / 3))
    assert found.area["tokens"] == pytest.approx(found.area["evaluations"])


def test_early_success_has_the_larger_area() -> None:
    early = [node("a", speedup=4.0), node("b", speedup=0), node("c", speedup=0)]
    late = [node("a", speedup=0), node("b", speedup=0), node("c", speedup=4.0)]
    first, second = (summarise(evolved(made)).area["evaluations"] for made in (early, late))
    assert first is not None
    assert second is not None
    assert first > second


def test_an_unknown_price_makes_no_curve_over_cost() -> None:
    spent = [Spent(1, 1, 10, 10, 0.1), Spent(2, 2, 20, 20, None)]
    found = summarise(evolved([node("a"), node("b")], spent=spent))
    assert found.usd is None
    assert found.area["usd"] is None
    assert found.area["tokens"] is not None


def test_the_final_judging_decides_and_the_gap_is_told() -> None:
    made = [node("a", speedup=5.0), node("b", speedup=2.0)]
    found = summarise(evolved(made, final=[record("best", 25.0), record("start", 200.0)]))
    assert found.passed
    assert found.is_over
    assert found.final_speedup is not None
    assert found.final_speedup.value == pytest.approx(4.0, rel=1e-3)
    assert found.over_all is not None
    assert found.over_all.value == pytest.approx(2.0, rel=1e-3)
    assert found.over_start is not None
    assert found.over_start.value == pytest.approx(8.0, rel=1e-3)
    assert found.gap == pytest.approx(5.0 / 4.0, rel=1e-3)
    assert (found.hardware, found.tier) == ("a processor", "full")


def test_the_gap_is_about_the_cases_that_the_search_has_timed() -> None:
    (small,) = record("best", 25.0).timings
    (large,) = record("best", 100.0).timings
    both = record("best", 25.0, timings=(small, large.model_copy(update={"axes": {"rows": 640}})))
    searched = Judged("time", True, 5.0, 4.5, 5.5, 20.0, timed=("float32, rows 64",))
    found = summarise(evolved([node("a", judged=searched)], final=[both, record("start", 200.0)]))
    assert found.final_speedup is not None
    assert found.final_speedup.value == pytest.approx(2.0, rel=1e-3)
    assert found.gap == pytest.approx(5.0 / 4.0, rel=1e-3)


def test_the_gap_is_told_in_whatever_order_a_record_has_its_axes() -> None:
    (timing,) = record("best", 25.0).timings
    final = record("best", 25.0, timings=(timing.model_copy(update={"axes": {"cols": 8, "rows": 64}}),))
    searched = Judged("time", True, 5.0, 4.5, 5.5, 20.0, timed=("float32, rows 64, cols 8",))
    found = summarise(evolved([node("a", judged=searched)], final=[final, record("start", 200.0)]))
    assert found.gap == pytest.approx(5.0 / 4.0, rel=1e-3)


@pytest.mark.parametrize(
    ("hardware", "elsewhere"),
    [
        ("- device: a processor\n- compiler: g++ -O3: all of it", False),
        ("- device: another processor", True),
        ("- device: a processor\n- torch: 0.1", True),
        ("", False),
    ],
)
def test_what_two_machines_say_is_no_gap(hardware: str, elsewhere: bool) -> None:
    final = [record("best", 25.0), record("start", 200.0)]
    final = [each.model_copy(update={"environment": {**each.environment, "torch": "2.0"}}) for each in final]
    found = summarise(replace(evolved([node("a", speedup=5.0)], final=final), hardware=hardware))
    assert (found.gap is None) == elsewhere
    assert any("another machine" in told for told in found.deviations) == elsewhere
    assert found.over_start is not None


@pytest.mark.parametrize("status", [Status.INCORRECT, Status.REJECTED, Status.CRASHED, Status.TIMED_OUT])
def test_a_kernel_that_fails_in_the_end_has_no_speedup_however_fast_it_was(status: Status) -> None:
    final = [record("best", 25.0, status=status), record("start", 200.0)]
    found = summarise(evolved([node("a", speedup=50.0)], final=final))
    assert (found.final_status, found.passed, found.is_over) == (status.value, False, True)
    assert (found.final_speedup, found.over_all, found.over_start, found.gap) == (None, None, None, None)
    assert found.best_speedup is not None


def test_a_baseline_that_was_lost_leaves_no_speedup_over_it() -> None:
    final = record("best", 25.0)
    timing = final.timings[0]
    sessions = tuple(
        each.model_copy(update={"samples": {name: text for name, text in each.samples.items() if name != "eager"}})
        for each in timing.sessions
    )
    lost = final.model_copy(update={"timings": (timing.model_copy(update={"sessions": sessions}),)})
    found = summarise(evolved([node("a")], final=[lost]))
    assert found.passed
    assert found.final_speedup is None
    assert found.over_all is not None


def test_what_is_not_judged_yet_is_pending_and_what_found_nothing_is_over() -> None:
    assert summarise(evolved([node("a")])).final_status == "pending"
    assert not summarise(evolved([node("a")])).is_over
    nothing = summarise(evolved([node("a", speedup=0)]))
    assert (nothing.final_status, nothing.is_over, nothing.passed) == ("none", True, False)


@pytest.mark.parametrize("stop", ["provider_error", "unfinished"])
def test_a_run_that_did_not_end_by_its_budget_is_not_over(stop: str) -> None:
    made = evolved([node("a", speedup=0)])
    made.outcome.stop = stop  # type: ignore[assignment]
    assert not summarise(made).is_over


def test_a_quotient_reaches_as_far_as_its_parts_allow() -> None:
    found = quotient(Interval(value=6.0, low=5.0, high=7.0), Interval(value=2.0, low=1.0, high=2.5))
    assert found == Interval(value=3.0, low=2.0, high=7.0)
    assert quotient(found, None) is quotient(None, found) is None


def test_deviations_say_what_was_asked_differently() -> None:
    usual = presets.load("robust-kbench")
    shorter = evolved([node("a")], agent="robust-kbench", limits=Limits(evaluations=9), stop="provider_error")
    told = summarise(shorter).deviations
    assert told[: len(usual.differs)] == usual.differs
    text = " | ".join(told)
    assert "no language model" in text
    assert "its budget is evaluations 9, where the agent's own is evaluations 50" in text
    assert "began with a kernel, so that nothing was translated" in text
    assert "nobody answered" in text


def test_a_changed_agent_of_a_known_name_is_told_and_an_unchanged_one_is_not() -> None:
    made = evolved([node("a")], agent="evoengineer-free", llm=("openai:some-model",))
    assert summarise(made).deviations == presets.load("evoengineer-free").differs
    changed = made.file.agent.model_copy(update={"population": 3})
    told = summarise(replace(made, file=made.file.model_copy(update={"agent": changed}))).deviations
    assert "it is another agent than the package's evoengineer-free" in told
    assert (
        summarise(made).agent_digest
        != summarise(replace(made, file=made.file.model_copy(update={"agent": changed}))).agent_digest
    )


def test_an_agents_digest_does_not_depend_on_its_limits_or_on_what_is_said_about_it() -> None:
    first = summarise(evolved([node("a")], limits=Limits(evaluations=3)))
    second = summarise(evolved([node("a")], limits=Limits(evaluations=4)))
    assert first.agent_digest == second.agent_digest


def test_a_summary_is_json_that_reads_back_as_it_was() -> None:
    made = [node("a", name=NASTY, thought=NASTY), node("b", speedup=0, stage="run")]
    found = summarise(evolved(made, final=[record("best", 25.0), record("start", 200.0)]))
    text = found.model_dump_json()
    assert math.isfinite(json.loads(text)["gap"])
    assert Summary.model_validate_json(text) == found
