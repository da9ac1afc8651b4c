"""A run that is replayed from its journal is the same run, and asks nobody; another run is told so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_journals import Numbered
from test_sequences import BRIEF, ROOT_CODE, Improver, judge

from robust_kbench.agents import preset as presets
from robust_kbench.agents import run
from robust_kbench.agents.budget import Budget, Limits
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Outcome, Setting, started
from robust_kbench.agents.providers.protocol import Message, Provider, ProviderError, Reply, Request
from robust_kbench.agents.providers.replay import Replay
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.errors import SpecError, UsageError


def search(
    name: str, folder: Path, providers: Mapping[str, Provider], *, limits: Limits | None = None
) -> tuple[Outcome, Budget]:
    preset = presets.load(name)
    if limits is not None:
        preset = preset.model_copy(update={"limits": limits})
    root = started(ROOT_CODE, judge([("root", ROOT_CODE)])[0][1], is_reference=False)
    folder.mkdir(exist_ok=True)
    with Journal(folder / JOURNAL) as journal:
        setting = Setting(preset, BRIEF, root, "cpp", tuple(providers), 1)
        return run.search(setting, journal, providers, judge)


@pytest.mark.parametrize("name", presets.names())
def test_a_replayed_run_is_the_same_run_and_costs_the_same(name: str, tmp_path: Path) -> None:
    first, spent = search(name, tmp_path / "first", {"model": Scripted(Numbered())})
    again, spent_again = search(name, tmp_path / "again", {"model": Replay(tmp_path / "first")})
    assert list(again.archive) == list(first.archive)
    assert spent_again == spent
    assert again.stop == "budget"


def test_an_ensemble_is_replayed_by_its_members(tmp_path: Path) -> None:
    models = {name: Scripted(Improver(), name) for name in ("small", "large")}
    first, _ = search("evoengineer-free", tmp_path / "first", models)
    replay = Replay(tmp_path / "first" / JOURNAL)
    assert sorted(replay.models) == ["large", "small"]
    again, _ = search("evoengineer-free", tmp_path / "again", {"small": replay, "large": replay})
    assert list(again.archive) == list(first.archive)


@pytest.mark.parametrize("name", ["refine", "stark"])
def test_another_run_ends_at_the_first_question_that_was_not_asked(name: str, tmp_path: Path) -> None:
    search("best-of-n", tmp_path / "first", {"model": Scripted(Improver())}, limits=Limits(evaluations=3))
    replay = Replay(tmp_path / "first")
    outcome, budget = search(name, tmp_path / "again", {"model": replay})
    assert outcome.stop == "provider_error"
    assert budget.spent.evaluations == 0
    with pytest.raises(ProviderError, match="does not hold what the role code is asked now") as caught:
        replay.complete(Request("code", "model", (Message("user", "?"),), 1.0, 1, 1))
    assert caught.value.is_final


def test_a_longer_run_is_replayed_as_far_as_the_journal_goes(tmp_path: Path) -> None:
    search("best-of-n", tmp_path / "first", {"model": Scripted(Improver())}, limits=Limits(evaluations=3))
    outcome, budget = search("best-of-n", tmp_path / "again", {"model": Replay(tmp_path / "first")})
    assert (outcome.stop, budget.spent.evaluations) == ("provider_error", 3)


def event(number: int, **changes: Any) -> dict[str, Any]:
    asked = request(number)
    reply = {
        "text": f"answer {number}",
        "model": "m",
        "input_tokens": 1,
        "output_tokens": 2,
        "usd": 0.5,
        "seconds": 1.5,
    }
    facts = {"event": "call", "id": f"g{number}", "digest": asked.digest, "request": {"model": "model"}}
    return {**facts, "reply": {**reply, "attempts": 2, **changes}}


def request(number: int) -> Request:
    return Request("code", "model", (Message("user", f"{number}"),), 1.0, 100, number)


def journal(folder: Path, *lines: object) -> Path:
    file = folder / "made.jsonl"
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return file


def test_an_answer_is_what_it_was(tmp_path: Path) -> None:
    replay = Replay(journal(tmp_path, {"event": "start", "run": {}}, event(1), event(2), {"event": "stop"}))
    assert replay.complete(request(2)) == Reply("answer 2", "m", 1, 2, 0.5, 1.5, 2)
    assert replay.models == ("model",)


def test_nobody_answered_then_and_nobody_answers_now(tmp_path: Path) -> None:
    silent = {"event": "silence", "id": "g2", "digest": request(2).digest, "message": "\x1b[31mtimed out"}
    replay = Replay(journal(tmp_path, event(1), silent, {"event": "silence", "id": "g3", "message": "older"}))
    with pytest.raises(ProviderError, match="timed out") as caught:
        replay.complete(request(2))
    assert not caught.value.is_final
    assert str(caught.value).isprintable()


def test_an_answer_that_came_after_a_silence_counts(tmp_path: Path) -> None:
    silent = {"event": "silence", "id": "g1", "digest": request(1).digest, "message": "no"}
    assert Replay(journal(tmp_path, silent, event(1))).complete(request(1)).text == "answer 1"


def test_a_journal_that_is_being_written_can_be_replayed(tmp_path: Path) -> None:
    file = journal(tmp_path, event(1))
    with Journal(file) as opened:
        opened.write("judged", id="g1")
        with file.open("a") as torn:
            torn.write('{"event":"ca')
        assert Replay(file).complete(request(1)).text == "answer 1"
        assert file.read_text().endswith('{"event":"ca')  # and is left as it is


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[1]",
        "5",
        "[" * 50_000,
        "{}",
        '{"event": "call"}',
        '{"event": "call", "digest": [], "request": {"model": "m"}, "reply": {"text": "a", "model": "m"}}',
        '{"event": "call", "digest": "1", "request": {"model": "m"}, "reply": {"text": 5, "model": "m"}}',
        '{"event": "call", "digest": "1", "request": {"model": "m"}, "reply": {"text": "a"}}',
        '{"event": "call", "digest": "1", "request": {"model": "m"}, "reply": ["a", "m"]}',
        '{"event": "call", "digest": "1", "request": "m", "reply": {"text": "a", "model": "m"}}',
        r'{"event": "call", "digest": "1", "request": {"model": "m"}, "reply": {"text": "\ud800", "model": "m"}}',
    ],
)
def test_a_broken_line_is_not_passed_over(line: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"made\.jsonl:2: not an event of a journal"):
        Replay(journal(tmp_path, event(1), line, event(2)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"input_tokens": -5}, Reply("answer 1", "m", None, 2, 0.5, 1.5, 2)),
        ({"usd": -1.0}, Reply("answer 1", "m", 1, 2, None, 1.5, 2)),
        ({"usd": None, "output_tokens": None}, Reply("answer 1", "m", 1, None, None, 1.5, 2)),
        ({"model": "\x1b[31mred"}, Reply("answer 1", "\ufffd[31mred", 1, 2, 0.5, 1.5, 2)),
    ],
)
def test_what_somebody_has_written_into_a_journal_does_no_harm(
    changes: dict[str, Any], expected: Reply, tmp_path: Path
) -> None:
    assert Replay(journal(tmp_path, event(1, **changes))).complete(request(1)) == expected


def test_a_journal_without_answers_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no answers"):
        Replay(journal(tmp_path, {"event": "start", "run": {}}))


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_a_journal_that_is_not_there_is_a_wrong_request(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        Replay(tmp_path / place)
