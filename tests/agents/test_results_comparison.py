"""Many runs beside each other: what is averaged, what is not, and what may not stand in one row."""

from __future__ import annotations

import random
from typing import Any

import pytest

from robust_kbench.agents.budget import Limits
from robust_kbench.agents.comparison import aggregate, to_markdown, verifiers_to_markdown
from robust_kbench.agents.summary import Confusion, Interval, Summary

NASTY = "<script>alert(1)</script>`|\x1b[2J\nrow"


def ratio(value: float) -> Interval:
    return Interval(value=value, low=0.9 * value, high=1.1 * value)


def ran(task: str = "norm/scale", seed: int = 1, final: float | None = 2.0, **changes: Any) -> Summary:
    """A run whose best kernel passed with this speedup, or found nothing."""
    facts: dict[str, Any] = {
        "task": task,
        "agent": "stark",
        "agent_digest": "01234567",
        "llm": ("improver",),
        "seed": seed,
        "device": "cpu",
        "hardware": "a processor",
        "tier": "full",
        "kbench": "0.1.0",
        "harness": "0123456789abcdef",
        "start": "kernel",
        "limits": Limits(evaluations=45),
        "stop": "budget",
        "evaluations": 45,
        "calls": 90,
        "input_tokens": 1000,
        "output_tokens": 500,
        "usd": 0.5,
        "stages": {"time": 30, "correct": 15},
        "candidates": 45,
        "parse_rate": 1.0,
        "compile_rate": 0.9,
        "validity": 0.6,
        "distinct_rate": 1.0,
        "operators": {},
        "plans": 0,
        "plan_rate": None,
        "repairs": 0,
        "repair_rate": None,
        "best": "g1.p0" if final else "root",
        "best_speedup": ratio(final * 1.1) if final else ratio(0.5),
        "final_status": "passed" if final else "none",
        "final_speedup": ratio(final) if final else None,
        "over_all": ratio(final / 2) if final else None,
        "over_start": ratio(final * 4) if final else None,
        "gap": 1.1 if final else None,
        "verifiers": {},
        "curve": (),
        "area": {"evaluations": 1.5, "tokens": 1.5, "usd": 1.5},
        "deviations": (),
    }
    return Summary.model_validate({**facts, **changes})


def row_of(*runs: Summary) -> dict[str, Any]:
    (row,) = aggregate(runs).to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_failures_are_left_out_of_one_mean_and_count_as_one_in_the_other() -> None:
    row = row_of(ran(seed=1, final=4.0), ran(seed=2, final=1.0), ran(seed=3, final=None), ran(seed=4, final=None))
    assert row["runs"] == 4
    assert row["success"] == 0.5
    assert row["geomean"] == pytest.approx(2.0)
    assert row["geomean_as_one"] == pytest.approx(4.0**0.25)
    assert row["median"] == pytest.approx(2.5)
    assert row["median_as_one"] == pytest.approx(1.0)
    assert row["over_start"] == pytest.approx(8.0)
    assert row["over_start_as_one"] == pytest.approx((16.0 * 4.0) ** 0.25)


def test_fast_p_is_a_share_of_all_runs_and_at_least_as_fast_is_fast() -> None:
    row = row_of(*(ran(seed=number, final=final) for number, final in enumerate((1.0, 1.5, 2.0, 0.8, None))))
    assert (row["fast_1"], row["fast_1.5"], row["fast_2"]) == (0.6, 0.4, 0.2)
    assert row["fast_1_of_all"] == 0.2  # half of eager's figure is that of the fastest baseline


def test_a_kernel_that_failed_the_final_judging_is_no_success() -> None:
    failed = ran(final=None, final_status="incorrect", best="g1.p0", best_speedup=ratio(9.0))
    row = row_of(failed, ran(seed=2))
    assert row["success"] == row["fast_1"] == 0.5
    assert row["geomean_as_one"] == pytest.approx(2.0**0.5)


@pytest.mark.parametrize(
    "broken",
    [
        {"stop": "provider_error"},
        {"final_status": "harness_error", "final_speedup": None},
        {"final_status": "pending", "final_speedup": None, "hardware": "", "tier": ""},
    ],
    ids=["nobody answered", "our own error", "not judged yet"],
)
def test_a_run_that_says_nothing_about_its_agent_is_counted_apart(broken: dict[str, Any]) -> None:
    row = row_of(ran(), ran(seed=2), ran(seed=3, final=None, **broken))
    assert (row["runs"], row["not_counted"], row["success"]) == (2, 1, 1.0)


def test_an_agent_of_which_no_run_counts_has_a_row_without_figures() -> None:
    frame = aggregate([ran(final=None, stop="provider_error", hardware="", tier="")])
    assert list(frame["runs"]) == [0]
    assert frame["success"].isna().all()
    assert "| 0 (0 tasks, 0 seeds); 1 not counted |" in to_markdown(frame)


@pytest.mark.parametrize(
    "other",
    [
        {"harness": "fedcba9876543210"},
        {"hardware": "another processor"},
        {"tier": "quick"},
        {"limits": Limits(evaluations=30)},
        {"limits": Limits(evaluations=45, usd=1.0)},
        {"start": "reference"},
    ],
    ids=["harness", "hardware", "tier", "evaluations", "dollars", "start"],
)
def test_runs_under_other_terms_share_neither_a_row_nor_a_table(other: dict[str, Any]) -> None:
    frame = aggregate([ran(), ran(seed=2, **other)])
    assert list(frame["runs"]) == [1, 1]
    assert to_markdown(frame).count("| agent | model |") == 2


def test_two_agents_of_one_name_are_two() -> None:
    assert list(aggregate([ran(), ran(agent_digest="76543210")])["runs"]) == [1, 1]


def test_a_run_that_found_nothing_belongs_to_the_others_of_its_machine() -> None:
    nothing = ran(seed=2, final=None, hardware="", tier="")
    assert row_of(ran(), nothing)["success"] == 0.5
    elsewhere = ran(seed=3, hardware="another processor")
    assert sorted(aggregate([ran(), nothing, elsewhere])["runs"]) == [1, 1, 1]  # nobody knows which of the two


def test_the_order_of_runs_means_nothing() -> None:
    agents = ("stark", "refine", "best-of-n")
    runs = [
        ran(task, seed, 1.0 + seed * len(task) / 10, agent=agent)
        for agent in agents
        for task in ("norm/scale", "index/sort")
        for seed in range(3)
    ]
    expected = to_markdown(aggregate(runs))
    for seed in range(3):
        random.Random(seed).shuffle(runs)
        assert to_markdown(aggregate(runs)) == expected
    assert [line.split("`")[1] for line in expected.splitlines() if line.startswith("| `")] == sorted(agents)


def test_intervals_hold_the_figure_and_are_wider_where_runs_differ_more() -> None:
    alike = row_of(*(ran(seed=seed, final=2.0 + seed / 100) for seed in range(15)))
    differing = row_of(*(ran(seed=seed, final=1.0 + seed) for seed in range(15)))
    for row in (alike, differing):
        assert row["geomean_low"] < row["geomean"] < row["geomean_high"]
    assert alike["geomean_high"] / alike["geomean_low"] < 1.1 < differing["geomean_high"] / differing["geomean_low"]


def test_the_interval_of_a_mean_is_about_that_of_its_standard_error() -> None:
    rng = random.Random(1)
    runs = [ran(seed=seed, validity=rng.random()) for seed in range(200)]
    row = row_of(*runs)
    half = 1.96 * (1 / 12) ** 0.5 / 200**0.5
    assert row["validity_high"] - row["validity_low"] == pytest.approx(2 * half, rel=0.2)


def test_a_single_run_has_no_interval() -> None:
    frame = aggregate([ran()])
    assert frame["geomean_low"].isna().all()
    (line,) = (line for line in to_markdown(frame).splitlines() if line.startswith("| `stark`"))
    assert "| 2.00x |" in line


def test_a_cost_that_one_run_does_not_know_is_not_known() -> None:
    assert row_of(ran(usd=1.0), ran(seed=2, usd=2.0))["usd"] == pytest.approx(1.5)
    assert aggregate([ran(usd=1.0), ran(seed=2, usd=None)])["usd"].isna().all()


def test_what_others_worded_is_inert_in_the_tables() -> None:
    # The name of a model comes from a command line, that of the hardware from a record.
    nasty = ran(llm=(NASTY,), hardware=NASTY, verifiers={"compile": Confusion(tp=1)})
    for text in (to_markdown(aggregate([nasty])), verifiers_to_markdown([nasty])):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "row`" in text  # its line went on
        assert {line.count("|") for line in text.splitlines() if line.startswith("|")} <= {18, 11}


def test_verifiers_are_added_up_over_runs() -> None:
    first, second = Confusion(tp=3, fp=1, tn=1, fn=0, silent=1), Confusion(tp=1, fp=1, tn=1, fn=2, unjudged=4)
    text = verifiers_to_markdown(
        [ran(verifiers={"compile": first}), ran(seed=2, verifiers={"compile": second, "memory": Confusion()})]
    )
    assert "| `stark` | `improver` | `compile` | 4 | 2 | 2 | 2 | 1 | 4 | 60% |" in text
    assert "| `stark` | `improver` | `memory` | 0 | 0 | 0 | 0 | 0 | 0 |  |" in text
    assert verifiers_to_markdown([ran()]) == ""


def test_no_runs_make_an_empty_table() -> None:
    assert aggregate([]).empty
    assert to_markdown(aggregate([])) == ""
