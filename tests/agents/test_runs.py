"""The folder of a run says all about it: what it was, is, and will be when it is resumed. No evaluator takes part."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from specimens import make_record
from test_journals import Numbered, Unreliable
from test_sequences import ROOT_CODE, Improver, judge

from robust_kbench.agents import evolution, finals, judging
from robust_kbench.agents import preset as presets
from robust_kbench.agents.archive import Judged, Node
from robust_kbench.agents.budget import Budget, Limits, Spent
from robust_kbench.agents.evolution import Evolved, RunFile, begin, carry_out, conclude, read, replayed, search
from robust_kbench.agents.journal import JOURNAL
from robust_kbench.agents.loop import MAX_TOKENS
from robust_kbench.agents.preset import Preset
from robust_kbench.agents.providers.protocol import Provider, ProviderError, Reply, Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.devices import machine
from robust_kbench.errors import HarnessError, KBenchError, SpecError, UsageError
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.documents import parse
from robust_kbench.schema.record import RunRecord, Status
from robust_kbench.schema.submission import Submission, SubmissionFile

PUBLIC_SEED = 424242424242
FILE = SubmissionFile(
    task="norm/rmsnorm", language="cpp", entry_point="kernel.cpp::rmsnorm", dtypes=("float32",), author="me"
)
KERNEL = Submission(name="mine", file=FILE, sources={"kernel.cpp": ROOT_CODE, "more.h": "// more\n"})


class Judges:
    """Instead of processes: a kernel is a number, see test_sequences. What was judged in the end is in `finals`."""

    finals: list[str] = []
    fails_at: str = ""

    def __init__(self, device: str, *, jobs: int = 1) -> None:
        assert device == "cpu"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def each(self, work: Any, submissions: Mapping[str, Submission]) -> Iterator[tuple[str, Any]]:
        for name, submission in submissions.items():
            code = submission.sources["kernel.cpp"]
            if work.func is judging.judge_publicly:
                assert work.keywords == {"seed": PUBLIC_SEED}
                yield name, judge([(name, code)])[0][1]
            else:
                assert work.func is judging.judge_finally
                if name == self.fails_at:
                    raise KeyboardInterrupt
                self.finals.append(name)
                yield name, _final(submission, work.keywords["tier"])


def _final(submission: Submission, tier: str) -> RunRecord:
    right = float(submission.sources["kernel.cpp"].split()[1]) > 0
    status = Status.PASSED if right else Status.INCORRECT
    return make_record(submission=submission.name, tier=tier, status=status, submission_digest=submission.digest)


@pytest.fixture(autouse=True)
def judges(monkeypatch: pytest.MonkeyPatch) -> type[Judges]:
    monkeypatch.setattr(Judges, "finals", [])
    monkeypatch.setattr(Judges, "fails_at", "")
    for module in (evolution, finals):
        monkeypatch.setattr(module, "Judges", Judges)
    return Judges


def file_of(agent: str | Preset, **changes: Any) -> RunFile:
    fields: dict[str, Any] = {
        "task": "norm/rmsnorm",
        "agent": presets.load(agent) if isinstance(agent, str) else agent,
        "llm": ("improver",),
        "seed": 1,
        "device": "cpu",
        "public_seed": PUBLIC_SEED,
        "language": "cpp",
        "from_reference": False,
        "kbench": machine.facts()["kbench"],
        "harness": machine.harness_digest(),
        "made_at": "2026-01-01T00:00:00Z",
        **changes,
    }
    return RunFile(**fields)


def begun(folder: Path, agent: str | Preset, **changes: Any) -> Path:
    file = file_of(agent, **changes)
    begin(folder, file, None if file.from_reference else KERNEL)
    return folder


def answering(script: Callable[[Request], str]) -> dict[str, Provider]:
    return {"model": Scripted(script)}


def nobody(request: Request) -> str:
    raise AssertionError(f"{request.role} was asked")


def few(agent: str, evaluations: int) -> Preset:
    return presets.load(agent).model_copy(update={"limits": Limits(evaluations=evaluations)})


def told(evolved: Evolved) -> tuple[object, ...]:
    return (
        evolved.file, list(evolved.outcome.archive), evolved.outcome.stop, evolved.outcome.opinions, evolved.budget,
        evolved.final, evolved.spent,
    )  # fmt: skip


@pytest.mark.parametrize("name", presets.names())
def test_what_was_asked_for_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    file = file_of(name, llm=("openai:a model: 1e-6", "command:x#y:z"), jobs=2, tier="quick")
    begin(tmp_path / "run", file, KERNEL)
    assert read(tmp_path / "run") == file


def test_so_is_an_agent_of_ones_own_whatever_its_words(tmp_path: Path) -> None:
    plain = presets.load("best-of-n").model_dump(mode="json")
    plain["summary"] = "1e-6"
    plain["source"] = "yes: \t'no' # \"off\"\n\n  - 2026-01-01 \u2028\x85 é 漢"
    plain["phases"][0]["operators"][0]["roles"][0]["instruction"] = "Write $fence.\n\n  Nothing else: \\ {x}"
    file = file_of(parse(Preset, plain, "mine.yaml"))
    begin(tmp_path / "run", file, KERNEL)
    assert read(tmp_path / "run") == file


def test_the_device_is_the_one_that_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_kbench.devices.CudaDevice.is_present", lambda: False)
    begin(tmp_path, file_of("refine").model_copy(update={"device": "auto"}), KERNEL)
    assert read(tmp_path).device == "cpu"


def test_the_start_lies_in_the_folder_and_is_absent_where_there_is_none(tmp_path: Path) -> None:
    begun(tmp_path / "kernel", "refine")
    kept = read_submission(tmp_path / "kernel" / "start")
    assert (kept.file, kept.sources, kept.digest) == (KERNEL.file, KERNEL.sources, KERNEL.digest)
    begun(tmp_path / "reference", "robust-kbench", from_reference=True)
    assert not (tmp_path / "reference" / "start").exists()


@pytest.mark.parametrize(
    ("changes", "start", "words"),
    [
        ({}, None, "either from the reference or from a kernel"),
        ({"from_reference": True}, KERNEL, "either from the reference or from a kernel"),
        ({"language": "python"}, KERNEL, "is a cpp kernel of norm/rmsnorm"),
        ({"task": "norm/layernorm"}, KERNEL, "about cpp and norm/layernorm"),
        ({"language": "cuda", "from_reference": True}, None, "cuda kernels are not timed on the cpu device"),
        ({"language": "triton", "from_reference": True}, None, "languages that are: python, cpp"),
        ({"device": "abacus"}, KERNEL, "unknown device"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused_before_anything_is_written(
    changes: dict[str, Any], start: Submission | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        begin(tmp_path / "run", file_of("refine", **changes), start)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_in_use_is_left_as_it_is(tmp_path: Path) -> None:
    begun(tmp_path, "refine")
    before = (tmp_path / "run.yaml").read_bytes()
    with pytest.raises(UsageError, match="already exists and is not empty"):
        begun(tmp_path, "stark")
    assert (tmp_path / "run.yaml").read_bytes() == before


@pytest.mark.parametrize("look", [read, replayed, carry_out])
def test_where_there_is_no_run_there_is_nothing_to_look_at(look: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        look(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rotating
@pytest.mark.parametrize("is_reference", [False, True])
@pytest.mark.parametrize("name", presets.names())
def test_what_the_folder_tells_is_what_has_happened(name: str, is_reference: bool, tmp_path: Path) -> None:
    begun(tmp_path, few(name, 13), from_reference=is_reference)
    live: list[tuple[Node, Spent]] = []

    def observe(node: Node, budget: Budget) -> None:
        live.append((node, replace(budget.spent)))

    evolved = carry_out(tmp_path, observe=observe, providers=answering(Numbered()))
    assert list(evolved.outcome.archive)[1:] == [node for node, _ in live]
    assert evolved.spent == tuple(spent for _, spent in live)
    assert evolved.outcome.stop == "budget"
    assert evolved.budget.spent.evaluations == len(live) == 13
    assert evolved.outcome.archive.root.candidate.is_reference == is_reference
    assert told(replayed(tmp_path)) == told(evolved)


@pytest.mark.rotating
@pytest.mark.parametrize("name", presets.names())
def test_half_a_journal_tells_the_beginning_and_goes_on_to_the_same_end(name: str, tmp_path: Path) -> None:
    whole_folder = begun(tmp_path / "whole", few(name, 13))
    whole = carry_out(whole_folder, providers=answering(Numbered()))
    lines = (whole_folder / JOURNAL).read_bytes().splitlines(keepends=True)
    for number in range(5):
        half_folder = tmp_path / str(number)
        shutil.copytree(whole_folder, half_folder)
        (half_folder / "final.jsonl").unlink()
        kept = number * (len(lines) - 1) // 4
        (half_folder / JOURNAL).write_bytes(b"".join(lines[:kept]) + b'{"event":"ca')
        before = {file: file.read_bytes() for file in half_folder.rglob("*") if file.is_file()}
        half = replayed(half_folder)
        assert {file: file.read_bytes() for file in half_folder.rglob("*") if file.is_file()} == before
        archive = list(half.outcome.archive)
        if kept:  # the first line is the start's verdict
            assert archive == list(whole.outcome.archive)[: len(archive)]
        assert half.spent == whole.spent[: len(archive) - 1]
        assert (half.outcome.stop, half.final) == ("unfinished", ())
        resumed = carry_out(half_folder, providers=answering(Numbered()))
        assert told(resumed)[1:5] == told(whole)[1:5]


def test_a_run_can_be_looked_at_while_it_goes_on(tmp_path: Path) -> None:
    begun(tmp_path, few("stark", 6))
    seen: list[Evolved] = []
    carry_out(tmp_path, observe=lambda node, budget: seen.append(replayed(tmp_path)), providers=answering(Improver()))
    assert [len(each.outcome.archive) - 1 for each in seen] == [1, 2, 3, 4, 5, 6]
    assert {each.outcome.stop for each in seen} == {"unfinished"}
    assert [each.budget.spent.evaluations for each in seen] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_has_not_begun_to_search_has_a_start_without_a_verdict(tmp_path: Path) -> None:
    evolved = replayed(begun(tmp_path, "stark"))
    (root,) = evolved.outcome.archive
    assert (root.candidate.code, root.is_right, root.judged.is_ours) == (ROOT_CODE, False, True)
    assert (evolved.outcome.stop, evolved.spent, evolved.winner) == ("unfinished", (), None)


def test_a_finished_run_asks_nobody_and_judges_nothing_again(tmp_path: Path, judges: type[Judges]) -> None:
    begun(tmp_path, few("evoengineer-full", 9))
    first = carry_out(tmp_path, providers=answering(Improver()))
    assert judges.finals == ["best", "start"]
    before = (tmp_path / JOURNAL).read_bytes()
    again = carry_out(tmp_path, providers=answering(nobody))
    assert told(again) == told(first)
    assert judges.finals == ["best", "start"]
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_who_is_only_to_be_judged_in_the_end_needs_no_language_model(tmp_path: Path, judges: type[Judges]) -> None:
    begun(tmp_path, few("refine", 3), llm=("nobody-knows:this",))
    evolved = search(tmp_path, providers=answering(Improver()))
    assert (evolved.outcome.stop, evolved.final, judges.finals) == ("budget", (), [])
    evolved = conclude(tmp_path, tier="quick")
    assert [(record.submission, record.tier) for record in evolved.final] == [("best", "quick"), ("start", "quick")]


def test_the_tier_of_the_final_judging_is_the_runs_own(tmp_path: Path) -> None:
    begun(tmp_path, few("refine", 2), tier="final")
    evolved = carry_out(tmp_path, providers=answering(Improver()))
    assert {record.tier for record in evolved.final} == {"final"}


def test_a_final_judging_that_was_interrupted_keeps_the_record_that_it_had(
    tmp_path: Path, judges: type[Judges], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path, few("refine", 3))
    monkeypatch.setattr(judges, "fails_at", "start")
    with pytest.raises(KeyboardInterrupt):
        carry_out(tmp_path, providers=answering(Improver()))
    assert replayed(tmp_path).final == ()
    monkeypatch.setattr(judges, "fails_at", "")
    evolved = carry_out(tmp_path, providers=answering(nobody))
    assert judges.finals == ["best", "start"]
    assert [record.submission for record in evolved.final] == ["best", "start"]


def test_a_run_from_the_reference_has_no_start_to_judge(tmp_path: Path, judges: type[Judges]) -> None:
    begun(tmp_path, few("robust-kbench", 6), from_reference=True)
    evolved = carry_out(tmp_path, providers=answering(Improver()))
    assert evolved.winner is not None
    assert judges.finals == ["best"]
    assert evolved.outcome.archive.root.candidate.code == load_task("norm/rmsnorm").reference


def test_the_result_is_a_submission_with_its_lineage(tmp_path: Path) -> None:
    begun(tmp_path, few("stark", 5))
    evolved = carry_out(tmp_path, providers=answering(Improver()))
    assert evolved.winner is not None
    best = read_submission(tmp_path / "best")
    assert best.sources == {"kernel.cpp": evolved.winner.candidate.code, "more.h": "// more\n"}
    assert best.file.model_copy(update={"author": "me"}) == KERNEL.file
    assert best.file.author == "stark with improver, kbench evolve; from a kernel of me"
    assert evolved.final[0].submission_digest == best.digest
    entries = json.loads((tmp_path / "lineage.json").read_text())
    assert [entry["id"] for entry in entries] == [node.id for node in evolved.outcome.archive]


def test_where_nothing_is_right_nothing_is_delivered_and_nothing_judged_in_the_end(
    tmp_path: Path, judges: type[Judges]
) -> None:
    begun(tmp_path, few("refine", 4))
    evolved = carry_out(tmp_path, providers=answering(Improver(wrong=1)))
    assert (evolved.outcome.stop, evolved.winner, evolved.final) == ("budget", None, ())
    assert (tmp_path / "final.jsonl").read_bytes() == b""
    assert judges.finals == []
    assert not (tmp_path / "best").exists()


def test_nor_where_nothing_is_faster_than_the_start(tmp_path: Path, judges: type[Judges]) -> None:
    begun(tmp_path, few("best-of-n", 3))
    evolved = carry_out(tmp_path, providers=answering(lambda request: f"```cpp\n{ROOT_CODE}```"))
    assert [node.is_right for node in evolved.outcome.archive] == [True] * 4
    assert (evolved.winner, judges.finals) == (None, [])
    assert (tmp_path / "final.jsonl").exists()


def test_a_run_that_nobody_answers_is_judged_in_the_end_after_it_was_resumed(
    tmp_path: Path, judges: type[Judges]
) -> None:
    begun(tmp_path, few("refine", 6))
    evolved = carry_out(tmp_path, providers={"model": Unreliable([2, 3, 4])})
    assert (evolved.outcome.stop, len(evolved.outcome.archive), judges.finals) == ("provider_error", 2, [])
    assert evolved.budget.spent.calls == 4
    assert not (tmp_path / "final.jsonl").exists()
    evolved = carry_out(tmp_path, providers={"model": Unreliable([])})
    assert (evolved.outcome.stop, len(evolved.outcome.archive)) == ("budget", 7)
    assert judges.finals == ["best", "start"]


class Refusing:
    """Says for good that it will not answer, from one call on."""

    def __init__(self, first: int) -> None:
        self._first, self._count = first, 0
        self._answering = Scripted(Improver())

    def complete(self, request: Request) -> Reply:
        self._count += 1
        if self._count >= self._first:
            raise ProviderError("no such key", is_final=True)
        return self._answering.complete(request)


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["refine", "evoengineer-free", "robust-kbench"])
def test_a_run_whose_model_refuses_is_replayed_and_resumed(name: str, tmp_path: Path) -> None:
    begun(tmp_path, few(name, 8))
    first = carry_out(tmp_path, providers={"model": Refusing(6)})
    assert first.outcome.stop == "provider_error"
    assert told(replayed(tmp_path)) == told(first)
    resumed = carry_out(tmp_path, providers=answering(Improver()))
    assert (resumed.outcome.stop, resumed.budget.spent.evaluations) == ("budget", 8)
    assert told(replayed(tmp_path)) == told(resumed)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [("number -1\n", UsageError, "failed at correct: -1.0 is negative"), ("broken", HarnessError, "not today")],
)
def test_a_start_that_is_not_right_ends_the_run_before_anybody_is_asked(
    code: str, error: type[KBenchError], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, file_of("refine"), KERNEL.model_copy(update={"sources": {"kernel.cpp": code}}))
    if code == "broken":
        broken = [("root", Judged("harness", log="not today", is_ours=True))]
        monkeypatch.setattr(Judges, "each", lambda self, work, submissions: broken)
    with pytest.raises(error, match=words):
        carry_out(tmp_path, providers=answering(nobody))
    assert (tmp_path / JOURNAL).read_bytes() == b""


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("run.yaml", "harness: ", "harness: other #"), id="another harness"),
        pytest.param(("brief.json", "vector instructions: ", "vector instructions: none, not "), id="another machine"),
    ],
)
def test_a_run_is_not_resumed_elsewhere_and_can_be_looked_at_there(
    change: tuple[str, str, str], tmp_path: Path
) -> None:
    begun(tmp_path, few("stark", 4))
    search(tmp_path, providers=answering(Improver()))
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"".join(lines[:5]))
    name, old, new = change
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
    with pytest.raises(UsageError, match="was begun on another machine, or by another kbench"):
        carry_out(tmp_path, providers=answering(nobody))
    assert len(replayed(tmp_path).outcome.archive) > 1


def test_a_finished_run_whose_journal_does_not_reach_its_end_is_not_passed_off_as_shorter(tmp_path: Path) -> None:
    begun(tmp_path, few("refine", 4))
    carry_out(tmp_path, providers=answering(Improver()))
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    calls = [number for number, line in enumerate(lines) if b'"event":"call"' in line]
    (tmp_path / JOURNAL).write_bytes(b"".join(line for number, line in enumerate(lines) if number != calls[-1]))
    with pytest.raises(UsageError, match="would have gone another way"):
        replayed(tmp_path)


@pytest.mark.parametrize("name", ["brief.json", "prices.json", "run.yaml", "final.jsonl"])
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    begun(tmp_path, few("refine", 2))
    carry_out(tmp_path, providers=answering(Improver()))
    (tmp_path / name).write_text('{"nonsense": [\n')
    with pytest.raises(SpecError, match=name.replace(".", r"\.")):
        replayed(tmp_path)


def test_models_are_not_told_the_seed_of_the_cases(tmp_path: Path) -> None:
    improver = Improver()
    begun(tmp_path, few("robust-kbench", 9))
    carry_out(tmp_path, providers=answering(improver))
    prompts = "\n".join(message.text for request in improver.asked for message in request.messages)
    assert str(PUBLIC_SEED) not in prompts


def test_half_of_a_character_does_not_end_a_run(tmp_path: Path) -> None:
    begun(tmp_path, few("refine", 2))

    def script(request: Request) -> str:
        return "name: \ud83d\n```cpp\nnumber 3 \udc00\n```"

    evolved = carry_out(tmp_path, providers=answering(script))
    assert evolved.budget.spent.evaluations == 2
    assert read_submission(tmp_path / "best").sources["kernel.cpp"] == "number 3 ?"
    assert told(replayed(tmp_path)) == told(evolved)


def test_prices_are_those_of_the_day_on_which_the_run_was_begun(tmp_path: Path) -> None:
    price_file = tmp_path / "prices.yaml"
    price_file.write_text('as_of: "2026-01-01"\nmodels: {model: {input: 1000000, output: 0}}\n')
    begin(tmp_path / "run", file_of(few("refine", 3)), KERNEL, price_file=price_file)

    class Counting:
        def complete(self, request: Request) -> Reply:
            return Reply("```cpp\nnumber 2\n```", "model", 2, 5)

    price_file.unlink()
    evolved = carry_out(tmp_path / "run", providers={"model": Counting()})
    assert evolved.budget.spent.usd == 6.0
    assert replayed(tmp_path / "run").budget.spent.usd == 6.0


class Untold:
    """Answers without counts, or not at all; each prompt and answer is much shorter than it might be."""

    def __init__(self, *, answers: bool) -> None:
        self.answers, self.bytes = answers, 0

    def complete(self, request: Request) -> Reply:
        self.bytes += request.most_prompt_tokens
        if not self.answers:
            raise ProviderError("busy")
        self.bytes += len("```cpp\nnumber 2\n```")
        return Reply("```cpp\nnumber 2\n```", "model")


@pytest.mark.parametrize("answers", [True, False])
def test_tokens_that_nobody_tells_count_for_the_limit_as_what_they_can_be_at_most(
    answers: bool, tmp_path: Path
) -> None:
    agent = presets.load("best-of-n").model_copy(update={"limits": Limits(evaluations=40, tokens=60_000)})
    begun(tmp_path, agent)
    model = Untold(answers=answers)
    spent = search(tmp_path, providers={"model": model}).budget.spent
    assert spent.tokens == 0
    assert 1 < spent.calls < 40
    assert spent.untold_tokens == model.bytes + (0 if answers else spent.calls * MAX_TOKENS)
    assert spent.untold_tokens <= 60_000
