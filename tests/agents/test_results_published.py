"""Figures of papers stand apart from ours, and say where they come from."""

from __future__ import annotations

import pytest

from robust_kbench.agents import preset as presets
from robust_kbench.agents import published

FIGURES = published.load()


def test_every_paper_has_a_file() -> None:
    assert published.names() == ["equal_budget.csv", "evoengineer.csv", "geak.csv", "robust_kbench.csv", "stark.csv"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.paper[:12]}-{figure.method}-{figure.metric}")
def test_every_figure_says_where_it_comes_from(figure: published.Figure) -> None:
    assert figure.status == "as published"
    assert all((figure.paper, figure.table, figure.hardware, figure.tasks, figure.method, figure.metric))
    assert figure.evidence in ("third-party notes", "authors' data", "abstract and third-party notes")
    assert figure.agent == "" or figure.agent in presets.names()


def test_shares_are_shares() -> None:
    shares = [figure for figure in FIGURES if str(figure).partition(" (")[0].endswith("%")]
    assert len(shares) > 50
    assert all(0 < figure.value <= 1 for figure in shares)


def test_no_figure_is_given_twice() -> None:
    places = [(*figure.row, figure.metric) for figure in FIGURES]
    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    ("metric", "order"),
    [
        ("validity", ["evoengineer-full", "evoengineer-insight", "eoh", "funsearch"]),
        ("median_speedup", ["evoengineer-free", "evoengineer-insight", "evoengineer-full"]),
    ],
)
def test_the_figures_have_the_shape_that_their_paper_claims(metric: str, order: list[str]) -> None:
    value = {each.agent: each.value for each in FIGURES if each.metric == metric and "EvoEngineer" in each.paper}
    assert [value[agent] for agent in order] == sorted((value[agent] for agent in order), reverse=True)


def test_doubtful_figures_carry_their_doubt_into_the_table() -> None:
    table = published.to_markdown(["evoengineer-free"])
    (row,) = table.splitlines()[2:]
    assert "median speedup 2.72x" in row
    assert "validity 52.2% (probably the row of GPT-4.1 beside the speedup of another model)" in row
    assert "RTX 4090" in row
    assert "arXiv 2510.03760" in row


def test_a_table_holds_the_named_agents_alone_and_may_be_empty() -> None:
    table = published.to_markdown(["stark", "team-only"])
    assert {line.split("|")[1].strip() for line in table.splitlines()[2:]} == {"`stark`", "`team-only`"}
    assert published.to_markdown(["mine"]) == ""


def test_a_table_has_as_many_cells_in_every_row() -> None:
    table = published.to_markdown(presets.names())
    assert {line.count("|") for line in table.splitlines()} == {9}
