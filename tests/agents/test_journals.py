"""A run that was ended at any moment goes on as if it had not been, and asks and judges nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_sequences import BRIEF, ROOT_CODE, Improver, carry_out, judge

from robust_kbench.agents import preset as presets
from robust_kbench.agents import run
from robust_kbench.agents.archive import Candidate, Judged
from robust_kbench.agents.budget import Limits, parse_limits
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Outcome, Setting, started
from robust_kbench.agents.providers.protocol import Message, ProviderError, Reply, Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.errors import SpecError, UsageError

PROGRAM = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from test_journals import Numbered
from test_sequences import carry_out

script, last = Numbered(), int(sys.argv[3])

def killed_after(request):
    if script.count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return script(request)

carry_out(sys.argv[1], Path(sys.argv[2]), killed_after)
"""


class Numbered:
    """Answers by what it is asked alone, as it must if one answer is not to depend on who was asked before."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, request: Request) -> str:
        self.count += 1
        improver = Improver()
        improver.asked = [request] * (int(request.digest, 16) % 97)
        return improver(request) if int(request.digest, 16) % 5 else "nothing to say"


def told(outcome: Outcome) -> list[object]:
    return list(outcome.archive)


@pytest.mark.slow
@pytest.mark.parametrize("name", presets.names())
def test_a_run_that_was_killed_after_any_call_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    script = Numbered()
    whole, budget = carry_out(name, tmp_path / "whole", script)
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        after = number * (script.count - 1) // 19
        here = str(Path(__file__).parent)
        ended = subprocess.run([sys.executable, "-c", PROGRAM, name, str(folder), str(after), here], check=False)
        assert ended.returncode == -signal.SIGKILL
        finished = len((folder / JOURNAL).read_bytes().split(b'"event":"call"')) - 1
        again = Numbered()
        resumed, spent = carry_out(name, folder, again)
        assert told(resumed) == told(whole)
        assert spent == budget
        assert again.count == script.count - finished


@pytest.mark.parametrize("name", ["evoengineer-full", "robust-kbench", "stark"])
def test_a_run_that_has_ended_asks_nothing_when_it_is_resumed(name: str, tmp_path: Path) -> None:
    whole, _ = carry_out(name, tmp_path, Numbered())
    resumed, _ = carry_out(name, tmp_path, _nobody)
    assert told(resumed) == told(whole)


def _nobody(request: Request) -> str:
    raise AssertionError(f"{request.role} was asked again")


@pytest.mark.parametrize("torn", [b'{"event":"ca', b"\xff", b"{}"])
def test_a_torn_last_line_is_cut_off(torn: bytes, tmp_path: Path) -> None:
    whole, _ = carry_out("refine", tmp_path, Numbered(), limits=Limits(evaluations=3))
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(torn)
    resumed, _ = carry_out("refine", tmp_path, _nobody, limits=Limits(evaluations=3))
    assert told(resumed) == told(whole)


def test_a_broken_line_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"event":"start","run":{}}\nnonsense\n')
    with pytest.raises(SpecError, match=r"journal\.jsonl:2: not an event"):
        Journal(tmp_path / JOURNAL)


def test_one_process_at_a_time_writes_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / JOURNAL), pytest.raises(UsageError, match="going on in another process"):
        Journal(tmp_path / JOURNAL)


@pytest.mark.parametrize(("changes", "words"), [({"seed": 2}, "another seed"), ({"name": "stark"}, "another preset")])
def test_a_run_is_not_resumed_as_another_one(changes: dict[str, object], words: str, tmp_path: Path) -> None:
    carry_out("refine", tmp_path, Numbered(), limits=Limits(evaluations=2))
    wanted = {"name": "refine", "seed": 1, **changes}
    with pytest.raises(UsageError, match=words):
        carry_out(
            str(wanted["name"]), tmp_path, Numbered(), seed=int(str(wanted["seed"])), limits=Limits(evaluations=2)
        )


def test_each_line_is_on_disk_before_the_next_call(tmp_path: Path) -> None:
    counts: list[int] = []

    def script(request: Request) -> str:
        counts.append((tmp_path / JOURNAL).read_text().count('"event":"call"'))
        return Numbered()(request)

    carry_out("stark", tmp_path, script)
    assert counts == list(range(len(counts)))


class Unreliable:
    """Fails at some calls."""

    def __init__(self, failing: Sequence[int]) -> None:
        self._failing, self.count = failing, 0
        self._answering = Scripted(Numbered())

    def complete(self, request: Request) -> Reply:
        self.count += 1
        if self.count in self._failing:
            raise ProviderError("no answer")
        return self._answering.complete(request)


def _with(provider: Unreliable, folder: Path, name: str = "refine") -> tuple[Outcome, int]:
    root = started(ROOT_CODE, judge([("root", ROOT_CODE)])[0][1], is_reference=False)
    setting = Setting(presets.load(name), BRIEF, root, "cpp", ("model",), 1)
    with Journal(folder / JOURNAL) as journal:
        outcome, budget = run.search(setting, journal, {"model": provider}, judge)
    return outcome, budget.spent.calls


def test_a_call_without_an_answer_costs_a_call_and_no_evaluation(tmp_path: Path) -> None:
    outcome, calls = _with(Unreliable([2, 7]), tmp_path)
    assert (outcome.stop, len(outcome.archive) - 1, calls) == ("budget", 45, 47)


def test_three_batches_without_an_answer_end_a_run_which_can_be_resumed(tmp_path: Path) -> None:
    outcome, _ = _with(Unreliable([2, 7, 8, 9]), tmp_path)
    assert (outcome.stop, len(outcome.archive) - 1) == ("provider_error", 5)
    again = Unreliable([])
    outcome, _ = _with(again, tmp_path)
    assert (outcome.stop, len(outcome.archive) - 1, again.count) == ("budget", 45, 40)


def test_an_error_of_the_evaluator_is_not_remembered_for_the_same_code(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def verdicts(named: Sequence[tuple[str, str]]) -> list[tuple[str, Judged]]:
        asked.extend(named)
        broken = Judged("harness", log="ours", is_ours=True)
        return [(name, broken if len(asked) == 1 else verdict) for name, verdict in judge(named)]

    root = started(ROOT_CODE, judge([("root", ROOT_CODE)])[0][1], is_reference=False)
    preset = presets.load("best-of-n").model_copy(update={"limits": Limits(evaluations=3)})
    setting = Setting(preset, BRIEF, root, "cpp", ("model",), 1)
    with Journal(tmp_path / JOURNAL) as journal:
        provider = Scripted(lambda request: "```cpp\nnumber 5\n```")
        outcome, budget = run.search(setting, journal, {"model": provider}, verdicts)
    stages = [node.judged.stage for node in list(outcome.archive)[1:]]
    assert stages == ["harness", "time", "time"]
    assert len(asked) == 2  # the third is the second one's code
    assert budget.spent.evaluations == 3


@pytest.mark.parametrize(
    ("first", "second"), [("if a:\n    b()\n    c()", "if a:\n    b()\nc()"), ("a(); // b\nc();", "a(); // b c();")]
)
def test_code_of_the_same_words_is_not_the_same_code(first: str, second: str) -> None:
    assert run.digest(first) != run.digest(second)


def test_nor_is_it_remembered_when_the_run_is_resumed(tmp_path: Path) -> None:
    broken, right = Judged("harness", log="ours", is_ours=True), Judged("time", True, 2.0, 1.9, 2.1, 50.0)
    first, second = (Candidate(name, "number 5", "op", ("root",)) for name in ("a", "b"))
    with Journal(tmp_path / JOURNAL) as journal:
        assert run.Judging(journal, lambda named: [(name, broken) for name, _ in named])([first]) == [broken]
    with Journal(tmp_path / JOURNAL) as journal:
        resumed = run.Judging(journal, lambda named: [(name, right) for name, _ in named])
        assert resumed([first]) == [broken]
        assert resumed([second]) == [right]


@pytest.mark.parametrize(("limit", "most"), [("calls=7", 7), ("tokens=2000", 2000)])
@pytest.mark.parametrize("name", presets.names())
def test_no_limit_is_exceeded(name: str, limit: str, most: int, tmp_path: Path) -> None:
    limits = parse_limits(limit, presets.load(name).limits)
    _, budget = carry_out(name, tmp_path, Numbered(), limits=limits)
    assert (budget.spent.calls if "calls" in limit else budget.spent.tokens) <= most


def test_a_limit_in_dollars_needs_a_price(tmp_path: Path) -> None:
    outcome, budget = carry_out("refine", tmp_path, Numbered(), limits=Limits(evaluations=5, usd=1.0))
    assert (budget.spent.calls, len(outcome.archive)) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("evals", "not of the form"),
        ("evals=x", "not of the form"),
        ("hours=3", "'hours' is no limit"),
        ("evals=0", "evaluations: .* greater than or equal to 1"),
    ],
)
def test_a_budget_that_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_limits(text, Limits(evaluations=1))


def test_a_journal_is_text_that_others_can_read(tmp_path: Path) -> None:
    carry_out("refine", tmp_path, Numbered(), limits=Limits(evaluations=2))
    events = [json.loads(line) for line in (tmp_path / JOURNAL).read_text().splitlines()]
    assert [event["event"] for event in events][:2] == ["start", "call"]
    assert events[-1] == {"event": "stop", "reason": "budget"}
    assert os.stat(tmp_path / JOURNAL).st_mode & 0o022 == 0


def test_who_only_looks_needs_no_lock_and_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / JOURNAL
    assert Journal.reading(file).events == []
    assert not file.exists()
    with Journal(file) as journal:
        journal.write("stop", reason="budget")
        with file.open("ab") as torn:
            torn.write(b'{"event":"ca')
        looking = Journal.reading(file)
        assert (looking.stop, looking.run) == ("budget", None)
        with pytest.raises(ValueError, match="was opened for reading"):
            looking.write("stop", reason="budget")
    assert file.read_bytes().endswith(b'{"event":"ca')


def test_who_only_looks_finds_answers_to_what_is_asked_in_other_words(tmp_path: Path) -> None:
    asked, other = (Request("code", "model", (Message("user", text),), 1.0, 9, 1) for text in ("so", "or so"))
    with Journal(tmp_path / JOURNAL) as journal:
        journal.note_reply("g1", asked, Reply("yes", "model"))
    with Journal(tmp_path / JOURNAL) as journal, pytest.raises(UsageError, match="asked something else then"):
        journal.reply("g1", other)
    assert Journal.reading(tmp_path / JOURNAL).reply("g1", other) == Reply("yes", "model")


def test_a_refusal_for_good_is_asked_again_even_if_others_were_answered_after_it(tmp_path: Path) -> None:
    request = Request("code", "model", (Message("user", "?"),), 1.0, 9, 1)
    with Journal(tmp_path / JOURNAL) as journal:
        journal.note_silence("g1.p0", request, "no such key", is_final=True)
        journal.note_silence("g1.p1", request, "timed out", is_final=False)
        journal.note_reply("g1.p2", request, Reply("yes", "model"))
        journal.write("stop", reason="provider_error")
    with Journal(tmp_path / JOURNAL) as journal:
        assert journal.reply("g1.p0", request) is None
        with pytest.raises(ProviderError, match="timed out") as caught:
            journal.reply("g1.p1", request)
        assert not caught.value.is_final
    with pytest.raises(ProviderError, match="no such key") as caught:
        Journal.reading(tmp_path / JOURNAL).reply("g1.p0", request)
    assert caught.value.is_final


def test_an_error_of_ours_is_noted_for_each_candidate_of_a_batch_that_has_the_code(tmp_path: Path) -> None:
    broken = Judged("harness", log="ours", is_ours=True)
    same = [Candidate(name, "number 5", "op", ("root",)) for name in ("a", "b")]
    with Journal(tmp_path / JOURNAL) as journal:
        judging = run.Judging(journal, lambda named: [(name, broken) for name, _ in named])
        assert judging(same) == [broken, broken]
    with Journal(tmp_path / JOURNAL) as journal:

        def nobody(named: Sequence[tuple[str, str]]) -> list[tuple[str, Judged]]:
            assert not named
            return []

        assert run.Judging(journal, nobody)(same) == [broken, broken]
