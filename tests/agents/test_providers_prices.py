"""A price is known, or it is not: it is never guessed, and never nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_sequences import BRIEF, ROOT_CODE, Improver, judge

from robust_kbench.agents import preset as presets
from robust_kbench.agents import prices, run
from robust_kbench.agents.budget import Budget, Limits
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Outcome, Setting, started
from robust_kbench.agents.prices import PriceFile, PriceList
from robust_kbench.agents.providers import improver
from robust_kbench.agents.providers.protocol import Reply, Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.errors import SpecError, UsageError

MILLION = 1_000_000


def listed(**models: tuple[float, float]) -> PriceList:
    entries = {name.replace("_", "-"): {"input": price[0], "output": price[1]} for name, price in models.items()}
    return PriceList((PriceFile.model_validate({"as_of": "2026-11-22", "models": entries}),))


def test_tokens_that_go_in_and_tokens_that_come_out_have_their_prices() -> None:
    price = listed(made_up=(2.0, 8.0))
    assert price("made-up", MILLION, 0) == pytest.approx(2.0)
    assert price("made-up", 0, MILLION) == pytest.approx(8.0)
    assert price("made-up", 500, 250) == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("made-up", 1.0),
        ("made-up-2026-01-31", 1.0),
        ("made-up-20260131", 1.0),
        ("made-up@20260131", 1.0),
        ("made-up-0613", 1.0),
        ("made-up-latest", 1.0),
        ("made-up-mini", 2.0),
        ("made-up-mini-2026-01-31", 2.0),
        ("made-up-pro", None),
        ("made-up-5", None),
        ("made-up-2", None),
        ("made-up2", None),
        ("made", None),
        ("vendor/made-up", None),
        ("MADE-UP", None),
        ("", None),
    ],
)
def test_a_name_is_for_its_model_and_its_releases_and_for_no_relative(model: str, expected: float | None) -> None:
    assert listed(made_up=(1.0, 1.0), made_up_mini=(2.0, 2.0))(model, MILLION, 0) == expected


def test_the_longest_name_counts() -> None:
    entries = {"a*": 1.0, "a-big*": 2.0, "a-big": 3.0, "a-big-2026-01-01": 4.0}
    models = {name: {"input": price, "output": 0.0} for name, price in entries.items()}
    price = PriceList((PriceFile.model_validate({"as_of": "2026-11-22", "models": models}),))
    found = [
        price(name, MILLION, 0) for name in ("a-small", "a-bigger", "a-big", "a-big-2026-01-02", "a-big-2026-01-01")
    ]
    assert found == [1.0, 2.0, 3.0, 3.0, 4.0]


def test_the_prices_of_the_package_are_dated_and_say_where_they_come_from() -> None:
    (file,) = prices.load().files
    assert "pricing" in file.source
    assert len(file.models) < 30
    for name, price in file.models.items():
        assert (price.input > 0 and price.output > price.input) or name == improver.NAME


def test_known_models_have_prices_and_unknown_ones_have_none() -> None:
    price = prices.load()
    assert price("gpt-4.1-2025-04-14", MILLION, MILLION) == pytest.approx(10.0)
    assert price("gpt-4.1-mini", MILLION, 0) == pytest.approx(0.4)
    for unknown in ("gpt-4.1-ultra", "o3-pro", "gpt-5-pro", "claude-opus-4", "mailbox", "made-up"):
        assert price(unknown, MILLION, MILLION) is None


def test_rules_cost_nothing() -> None:
    assert prices.load()(improver.NAME, MILLION, MILLION) == 0.0


def test_a_file_of_ones_own_comes_before_the_package(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        'as_of: "2026-11-22"\nmodels:\n  gpt-4.1: {input: 1, output: 1.5}\n  "mine-*": {input: 0, output: 0}\n'
    )
    price = prices.load(file)
    assert price("gpt-4.1-2025-04-14", MILLION, MILLION) == pytest.approx(2.5)
    assert price("mine-70b", MILLION, MILLION) == 0.0
    assert price("o3", MILLION, 0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: {}", "as_of: missing"),
        ('as_of: "22 November"\nmodels: {}', "as_of"),
        ('as_of: "2026-11-22"\nmodels: {a: {input: -1, output: 1}}', "models.a.input"),
        ('as_of: "2026-11-22"\nmodels: {a: {input: 1}}', "models.a.output: missing"),
        ('as_of: "2026-11-22"\nmodels: {a: {input: cheap, output: 1}}', "models.a.input"),
        ('as_of: "2026-11-22"\nmodels: {a: {input: 1, output: 1, cached: 0}}', "cached: unknown key"),
    ],
)
def test_a_file_that_is_wrong_says_where(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        prices.load(file)
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--prices .*No such file"):
        prices.load(tmp_path / "prices.yaml")


class Told(Scripted):
    """Tells no price of its own."""

    def complete(self, request: Request) -> Reply:
        reply = super().complete(request)
        return Reply(reply.text, reply.model, 1000, 100)


def searched(folder: Path, model: str, limits: Limits, price: run.Prices) -> tuple[Outcome, Budget, Improver]:
    script = Improver()
    preset = presets.load("refine").model_copy(update={"limits": limits})
    root = started(ROOT_CODE, judge([("root", ROOT_CODE)])[0][1], is_reference=False)
    with Journal(folder / JOURNAL) as journal:
        setting = Setting(preset, BRIEF, root, "cpp", (model,), 1)
        outcome, budget = run.search(setting, journal, {model: Told(script)}, judge, price=price)
    return outcome, budget, script


def test_a_limit_in_dollars_refuses_an_unknown_price_before_anything_is_asked(tmp_path: Path) -> None:
    limits = Limits(evaluations=5, usd=100.0)
    outcome, budget, script = searched(tmp_path, "made-up", limits, prices.load())
    assert script.asked == []
    assert (outcome.stop, budget.spent.calls, len(outcome.archive)) == ("budget", 0, 1)


def test_a_limit_in_dollars_is_not_exceeded(tmp_path: Path) -> None:
    limits = Limits(evaluations=45, usd=0.15)
    _, budget, script = searched(tmp_path, "gpt-4.1", limits, prices.load())
    assert 0 < len(script.asked) < 45
    assert budget.spent.usd == pytest.approx(len(script.asked) * (1000 * 2 + 100 * 8) / 1e6)
    assert budget.spent.usd is not None
    assert budget.spent.usd <= 0.15


def test_without_a_limit_an_unknown_price_is_told_as_unknown(tmp_path: Path) -> None:
    _, budget, _ = searched(tmp_path, "made-up", Limits(evaluations=3), prices.load())
    assert (budget.spent.calls, budget.spent.usd) == (3, None)
    events = [json.loads(line) for line in (tmp_path / JOURNAL).read_text().splitlines()]
    assert {event["reply"]["usd"] for event in events if event["event"] == "call"} == {None}
