"""The agents' page: runs of equal terms beside each other, and results from papers marked as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_boards import Page
from made_runs import NASTY, evolved, node, record
from made_sites import BOARD, figures, headed, site

from robust_kbench.agents import comparison, preset
from robust_kbench.agents.budget import Spent
from robust_kbench.agents.summary import Summary, summarise
from robust_kbench.leaderboard.agents import Run
from robust_kbench.leaderboard.site import agent_pages


def ran(agent: str, seed: int, final_us: float = 40.0, **changes: Any) -> Summary:
    """Make a search of three candidates, whose best takes so long in the final judging; eager takes 100 us."""
    made = [node("a", speedup=1.5), node("b", speedup=0.0), node("c", speedup=2.5)]
    return summarise(
        evolved(made, agent=agent, seed=seed, final=[record("best", final_us), record("start", 90.0)], **changes)
    )


def of(*summaries: Summary) -> list[Run]:
    return [Run(Path(f"runs/{number}"), summary) for number, summary in enumerate(summaries)]


def lines(figure: dict[str, Any]) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if "fill" not in trace]


def band(figure: dict[str, Any], name: str, x: float) -> tuple[float, float]:
    """Return the lower and the upper end of the band of that name at `x`."""
    (trace,) = (each for each in figure["data"] if "fill" in each and each["name"] == name)
    at = [y for where, y in zip(trace["x"], trace["y"], strict=True) if where == x]
    return min(at), max(at)


RUNS = (ran("best-of-n", 1), ran("best-of-n", 2, 25.0), ran("refine", 1, 200.0), ran("refine", 2))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return site(tmp_path_factory.mktemp("board") / "site", list(BOARD)[:2], runs=of(*RUNS))["agents.html"]


def test_there_is_a_chart_of_shares_of_progress_and_of_costs(page: Page) -> None:
    names = [name.rpartition("-")[0] for name in page.values("data-figure")]
    assert names == [
        "figure-fast", "figure-curve-evaluations", "figure-curve-tokens", "figure-curve-usd", "figure-cost-tokens",
        "figure-cost-usd",
    ]  # fmt: skip


def test_fast_p_falls_from_the_share_that_is_right(page: Page) -> None:
    first = lines(figures(page)[0])
    shares = {trace["name"]: trace["y"] for trace in first}
    assert list(shares) == ["best-of-n with improver", "refine with improver"]
    assert all(values[0] == 100.0 and values == sorted(values, reverse=True) for values in shares.values())
    at_one = first[0]["x"].index(1.0)
    assert shares["refine with improver"][at_one] == 50.0


def test_a_curve_rises_to_what_the_search_has_found(page: Page) -> None:
    for trace in lines(figures(page)[1]):
        assert trace["y"] == sorted(trace["y"])
        assert (trace["y"][0], trace["y"][-1]) == (1.0, 2.5)


def test_bands_are_the_intervals_of_the_table(page: Page) -> None:
    shares, curve, *_ = figures(page)
    row = next(row for row in comparison.aggregate(RUNS).to_dict("records") if row["agent"] == "refine")
    low, high = band(shares, "refine with improver", 1.0)
    assert (low, high) == (100 * row["fast_1_low"], 100 * row["fast_1_high"]) == (0.0, 100.0)
    assert (band(curve, "refine with improver", 2.95), band(curve, "refine with improver", 3.0)[1]) == ((1.5, 1.5), 2.5)
    told = next(trace for trace in lines(shares) if trace["name"] == "refine with improver")
    assert told["customdata"][told["x"].index(1.0)] == [0.0, 100.0]
    assert told["legendgroup"] == "refine with improver"


def test_one_run_has_no_interval_and_many_agents_have_no_bands(tmp_path: Path) -> None:
    records = list(BOARD)[:2]
    one, many = (
        figures(site(tmp_path / name, records, runs=of(*runs))["agents.html"])[0]["data"]
        for name, runs in (
            ("one", RUNS[:1]), ("many", [ran(agent, seed) for agent in preset.names()[:5] for seed in (1, 2)]),
        )
    )  # fmt: skip
    assert [("fill" in trace, "customdata" in trace) for trace in one] == [(False, False)]
    assert [("fill" in trace, "customdata" in trace) for trace in many] == [(False, True)] * 5


def test_published_figures_are_marked_as_published_and_share_no_table_with_ours(page: Page) -> None:
    text = page.text
    assert text.index("None of this was measured here") > text.index("Equal terms")
    assert "EvoEngineer (arXiv 2510.03760): main results (as published" in text
    assert text.count("As published") >= 5


def test_that_no_model_took_part_is_told(page: Page) -> None:
    assert "No language model took part" in page.text


def test_runs_of_other_terms_share_no_table(tmp_path: Path) -> None:
    runs = of(*RUNS, ran("refine", 3, harness="fedcba9876543210"))
    page = site(tmp_path / "site", list(BOARD)[:2], runs=runs)["agents.html"]
    assert "Equal terms, 2 of 2" in page.text
    assert len(figures(page)) == 12


def test_a_run_that_is_not_over_is_listed_and_counts_nowhere(tmp_path: Path) -> None:
    page = site(tmp_path / "site", list(BOARD)[:2], runs=of(*RUNS, ran("refine", 3, stop="provider_error")))[
        "agents.html"
    ]
    assert "1 not counted" in page.text
    assert "\nprovider error\n" in headed(page)


def test_an_axis_that_nobody_knows_has_no_curve(tmp_path: Path) -> None:
    spent = [Spent(number, number, 80, 20, None) for number in range(1, 4)]
    page = site(tmp_path / "site", list(BOARD)[:2], runs=of(ran("refine", 1, spent=spent)))["agents.html"]
    assert not [name for name in page.values("data-figure") if "usd" in name]


def test_words_of_a_run_are_words_on_the_page(tmp_path: Path) -> None:
    text = NASTY.replace("\ud800", "")  # which no JSON holds
    told: dict[str, Any] = {"task": text, "agent": text, "llm": (text,), "hardware": text, "deviations": (text,)}
    page = site(tmp_path / "site", list(BOARD)[:2], runs=of(RUNS[0].model_copy(update=told)))["agents.html"]
    assert page.mistakes == []
    assert not [element for element in page.elements if element.tag == "img"]
    assert not set("\x1b\u202e") & set(page.source)
    assert "<img" not in str(figures(page))


def test_the_best_so_far_is_one_until_there_is_a_kernel() -> None:
    curve = RUNS[0].curve
    assert agent_pages._best(curve[:0], "evaluations", 5.0) == 1.0
    assert agent_pages._best(curve, "evaluations", 1e9) == 2.5


def test_a_run_leads_to_the_page_of_its_task_where_there_is_one(tmp_path: Path) -> None:
    records = list(BOARD)[:2]
    known, unknown = (RUNS[0].model_copy(update={"task": task}) for task in (records[0].task, "norm/elsewhere"))
    links = site(tmp_path / "site", records, runs=of(known, unknown))["agents.html"].values("href")
    assert f"tasks/{records[0].task.replace('/', '-')}.html" in links
    assert "tasks/norm-elsewhere.html" not in links
