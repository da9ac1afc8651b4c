"""The provider that `--llm` selects, and the statement that results must make about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from robust_kbench.agents import preset as presets
from robust_kbench.agents.journal import Journal
from robust_kbench.agents.providers import improver, opening
from robust_kbench.agents.providers.command import CommandLine, shipped
from robust_kbench.agents.providers.improver import Improver
from robust_kbench.agents.providers.mailbox import Mailbox
from robust_kbench.agents.providers.openai import OpenAI
from robust_kbench.agents.providers.opening import deviations, open_all, open_provider
from robust_kbench.agents.providers.protocol import Message, Reply, Request
from robust_kbench.agents.providers.replay import Replay
from robust_kbench.errors import SpecError, UsageError

COMMANDS = """
mine: {argv: [my-program, "{model}"]}
fixed: {argv: [my-program]}
"""


def journal(folder: Path, *models: str) -> Path:
    folder.mkdir(exist_ok=True)
    with Journal(folder / "journal.jsonl") as opened:
        for number, model in enumerate(models):
            request = Request("code", model, (Message("user", "?"),), 1.0, 100, number)
            opened.note_reply(f"g{number}", request, Reply("answer", "who", 1, 1, 0.0))
    return folder


def commands(folder: Path) -> Path:
    file = folder / "mine#1.yaml"
    file.write_text(COMMANDS)
    return file


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_a_coding_assistant_is_opened_by_its_name(name: str) -> None:
    model, provider = open_provider(f"{name}:a-model:latest")
    assert model == "a-model:latest"
    assert provider == CommandLine(name, shipped()[name])


def test_a_command_of_ones_own_is_opened_by_its_file(tmp_path: Path) -> None:
    model, provider = open_provider(f"command:{commands(tmp_path)}#mine:big:1")
    assert model == "big:1"
    assert isinstance(provider, CommandLine)
    assert (provider.name, provider.command.argv) == ("mine", ("my-program", "{model}"))


def test_a_command_without_a_model_is_its_own_model(tmp_path: Path) -> None:
    assert open_provider(f"command:{commands(tmp_path)}#fixed")[0] == "fixed"
    assert open_provider(f"command:{commands(tmp_path)}#fixed:called-so")[0] == "called-so"
    with pytest.raises(UsageError, match="no model's name"):
        open_provider(f"command:{commands(tmp_path)}#mine")


def test_others_are_opened_by_their_place(tmp_path: Path) -> None:
    model, provider = open_provider(f"mailbox:{tmp_path / 'box'}")
    assert (model, isinstance(provider, Mailbox)) == ("mailbox", True)
    assert (tmp_path / "box" / "inbox").is_dir()
    model, provider = open_provider(f"replay:{journal(tmp_path / 'run', 'then')}")
    assert (model, isinstance(provider, Replay)) == ("then", True)
    model, provider = open_provider("improver")
    assert (model, isinstance(provider, Improver)) == (improver.NAME, True)


def test_of_an_ensemble_one_model_is_replayed_for_each_mention(tmp_path: Path) -> None:
    run = journal(tmp_path / "run", "small", "large", "small")
    with pytest.raises(UsageError, match=r"replay:.*#small, --llm replay:.*#large"):
        open_provider(f"replay:{run}")
    with pytest.raises(UsageError, match="no answers of 'huge'"):
        open_provider(f"replay:{run}#huge")
    assert list(open_all([f"replay:{run}#small", f"replay:{run}#large"])) == ["small", "large"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpt-4.1",
        "openai",
        "openai:",
        "openai-plain:",
        "claude:",
        "claude: ",
        "claude:a\nb",
        "claude:--dangerously-skip-permissions",
        "codex:" + "x" * 300,
        "command:",
        "command:file",
        "command:#name:model",
        "mailbox:",
        "mailbox",
        "replay:",
        "replay",
        "improver:model",
        "scripted",
        "\x1b[31mred:model",
    ],
)
def test_words_that_name_nobody_are_a_wrong_request(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(UsageError, match="--llm") as caught:
        open_provider(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_who_names_nobody_is_told_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        open_provider("gpt-4.1")
    for form in ("openai:MODEL", "openai-plain:MODEL", "claude:MODEL", "mailbox:DIR", "replay:RUN", "improver"):
        assert form in str(caught.value)


def test_a_command_that_a_file_does_not_have_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are fixed, mine"):
        open_provider(f"command:{commands(tmp_path)}#other:model")
    with pytest.raises(UsageError, match="No such file"):
        open_provider(f"command:{tmp_path / 'none.yaml'}#mine:model")
    (tmp_path / "bad.yaml").write_text("mine: {argv: [], x: 1}")
    with pytest.raises(SpecError, match="bad.yaml"):
        open_provider(f"command:{tmp_path / 'bad.yaml'}#mine:model")


def test_without_its_package_openai_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(UsageError, match=r"pip install 'robust-kbench\[agent\]'"):
        open_provider("openai:a-model")


def test_without_a_key_openai_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the openai package is not installed; pip install 'robust-kbench[agent]'")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        open_provider("openai:a-model")


def test_openai_is_opened_with_and_without_temperatures(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the openai package is not installed; pip install 'robust-kbench[agent]'")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for text, is_tuned in (("openai:a-model", True), ("openai-plain:a-model", False)):
        model, provider = open_provider(text)
        assert model == "a-model"
        assert isinstance(provider, OpenAI)
        assert provider.is_tuned is is_tuned


def test_two_of_the_same_name_cannot_be_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mailbox is asked already"):
        open_all([f"mailbox:{tmp_path}", f"mailbox:{tmp_path / 'other'}"])


@pytest.mark.parametrize(
    ("agent", "text", "expected"),
    [
        ("stark", "openai:a-model", ()),
        ("stark", "claude:a-model", ("claude:a-model: its temperature is its own, where the agent asks for 0.1, 0.8",)),
        ("stark", "openai-plain:o", ("openai-plain:o: its temperature is its own, where the agent asks for 0.1, 0.8",)),
        ("search-only", "mailbox:box", ("mailbox:box: its temperature is its own, where the agent asks for 0.8",)),
        (
            "robust-kbench",
            "command:f#n:m",
            ("command:f#n:m: its temperature is its own, where the agent asks for 0, 0.5, 0.75, 1",),
        ),
        ("evoengineer-free", "claude:a-model", ()),
        ("evoengineer-free", "improver", ("improver: rules answer, and no language model",)),
        ("stark", "replay:run", ("replay:run: answers come from the journal of another run",)),
    ],
)
def test_a_run_says_where_it_is_not_what_its_agent_asks_for(agent: str, text: str, expected: tuple[str, ...]) -> None:
    assert deviations(presets.load(agent), [text, text]) == expected


def test_an_ensemble_says_it_for_each_of_its_members() -> None:
    found = deviations(presets.load("stark"), ["openai:a", "claude:b", "improver"])
    assert [line.partition(":")[0] for line in found] == ["claude", "improver"]


def test_what_is_no_language_model_is_called_so() -> None:
    assert opening.described("improver") == "improver (rules, no language model)"
    assert opening.described("openai:\x1b[31m") == "openai:\ufffd[31m"


def test_a_journal_names_who_answered(tmp_path: Path) -> None:
    journal(tmp_path / "run", improver.NAME)
    line = json.loads((tmp_path / "run" / "journal.jsonl").read_text().splitlines()[0])
    assert line["request"]["model"] == improver.NAME
