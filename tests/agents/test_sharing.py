"""Verdicts that runs of a sweep share: no kernel is judged twice on the same cases, whichever run asks, and when."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from specimens import make_record
from test_runs import Judges, answering, begun, few
from test_sequences import Improver

from robust_kbench.agents import brief, evolution, finals, judging
from robust_kbench.agents.archive import Judged
from robust_kbench.agents.journal import JOURNAL
from robust_kbench.agents.judging import Form, PublicJudge
from robust_kbench.agents.sharing import Shared
from robust_kbench.schema.record import RunRecord, Status
from robust_kbench.schema.submission import Submission, SubmissionFile

FILE = SubmissionFile(task="norm/rmsnorm", language="cpp", entry_point="kernel.cpp::rmsnorm", author="somebody")
KERNEL = Submission(name="mine", file=FILE, sources={"kernel.cpp": "// old\n"})
TERMS = ("harness", "machine")


class Counting:
    """Judging processes that count: a verdict's speedup is the number of requests so far. `ours`: errors of ours."""

    def __init__(self, *, ours: bool = False) -> None:
        self.asked: list[str] = []
        self.ours = ours

    def each(self, work: partial[Any], submissions: Mapping[str, Submission]) -> Iterator[tuple[str, Any]]:
        for name, submission in submissions.items():
            self.asked.append(submission.sources["kernel.cpp"])
            if work.func is judging.judge_publicly:
                failed = Judged("harness", log="ours", is_ours=True)
                yield name, failed if self.ours else Judged("time", True, float(len(self.asked)), findings=("a", "b"))
            else:
                status = Status.HARNESS_ERROR if self.ours else Status.PASSED
                yield name, make_record(submission=name, author=submission.file.author, status=status)


def verdicts(shared: Shared, judges: Counting, named: Sequence[tuple[str, str]], seed: int = 1) -> dict[str, Judged]:
    return dict(shared.verdicts(PublicJudge(cast(judging.Judges, judges), Form(KERNEL), seed), named))


def test_a_kernel_is_judged_once_whatever_it_is_called_and_who_has_judged_it(tmp_path: Path) -> None:
    judges = Counting()
    first = verdicts(Shared(tmp_path, TERMS), judges, [("g1.p0", "a"), ("g1.p1", "b")])
    again = verdicts(Shared(tmp_path, TERMS), judges, [("g7.p2", "b"), ("g7.p3", "c"), ("g7.p4", "a")])
    assert judges.asked == ["a", "b", "c"]
    third = Judged("time", True, 3.0, findings=("a", "b"))
    assert again == {"g7.p4": first["g1.p0"], "g7.p2": first["g1.p1"], "g7.p3": third}


@pytest.mark.parametrize("changed", ["seed", "terms", "form"])
def test_what_was_judged_on_other_terms_is_judged_again(changed: str, tmp_path: Path) -> None:
    judges = Counting()
    verdicts(Shared(tmp_path, TERMS), judges, [("g1.p0", "a")])
    shared = Shared(tmp_path, ("harness", "another") if changed == "terms" else TERMS)
    file = FILE.model_copy(update={"build": ("-O3",)}) if changed == "form" else FILE
    public = PublicJudge(
        cast(judging.Judges, judges), Form(KERNEL.model_copy(update={"file": file})), 2 if changed == "seed" else 1
    )
    assert len(dict(shared.verdicts(public, [("g1.p0", "a")]))) == 1
    assert judges.asked == ["a", "a"]


def test_an_error_of_ours_is_told_and_not_kept(tmp_path: Path) -> None:
    shared, failing, working = Shared(tmp_path, TERMS), Counting(ours=True), Counting()
    assert verdicts(shared, failing, [("a", "a")])["a"].is_ours
    assert verdicts(shared, working, [("a", "a")])["a"].is_right
    assert verdicts(shared, failing, [("a", "a")])["a"].is_right
    assert (len(failing.asked), len(working.asked)) == (1, 1)


def test_what_was_half_written_when_somebody_was_killed_counts_as_not_there(tmp_path: Path) -> None:
    judges = Counting()
    verdicts(Shared(tmp_path, TERMS), judges, [("a", "a")])
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-9])
    verdicts(Shared(tmp_path, TERMS), judges, [("a", "a")])
    assert judges.asked == ["a", "a"]
    assert json.loads(kept.read_bytes()) == json.loads(whole) | {"speedup": 2.0}


def test_who_asks_while_another_judges_the_same_waits_for_that(tmp_path: Path) -> None:
    """Overlapping batches that are asked for at once in opposite orders all end, and each kernel is judged once."""
    judges, names = Counting(), [str(number) for number in range(20)]
    found: list[dict[str, Judged]] = []

    def ask(order: Sequence[str]) -> None:
        found.append(verdicts(Shared(tmp_path, TERMS), judges, [(name, name) for name in order]))

    threads = [threading.Thread(target=ask, args=(order,)) for order in (names, names[::-1], names[5:15])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(judges.asked) == sorted(names)
    assert [len(each) for each in sorted(found, key=len)] == [10, 20, 20]
    assert all(each[name] == found[0][name] for each in found for name in set(each) & set(found[0]))


def test_a_record_of_the_final_judging_is_shared_and_names_no_author(tmp_path: Path) -> None:
    judges, shared = Counting(), Shared(tmp_path, TERMS)

    def finals(author: str, tier: Any = "full", **due: str) -> dict[str, RunRecord | None]:
        file = FILE.model_copy(update={"author": author})
        submissions = {
            name: KERNEL.model_copy(update={"name": name, "file": file, "sources": {"kernel.cpp": code}})
            for name, code in due.items()
        }
        return dict(shared.finals(cast(judging.Judges, judges), submissions, tier))

    first = finals("one", best="b", start="s")
    assert finals("two", best="b", start="s") == first
    assert {record.author for record in first.values() if record} == {""}
    assert judges.asked == ["b", "s"]
    finals("two", tier="quick", best="b")
    finals("two", best="s")
    assert judges.asked == ["b", "s", "b", "s"]


def test_who_judges_the_kernel_that_all_started_from_holds_up_nobody_s_own(tmp_path: Path) -> None:
    """The runs of a sweep share their start; kernels that are judged together with it would be judged one by one."""
    begun, goes_on = threading.Event(), threading.Event()

    class Slow(Counting):
        def each(self, work: partial[Any], submissions: Mapping[str, Submission]) -> Iterator[tuple[str, Any]]:
            for name, record in super().each(work, submissions):
                if name == "start":
                    begun.set()
                    assert goes_on.wait(60)
                yield name, record

    def kernels(best: str) -> dict[str, Submission]:
        return {
            name: KERNEL.model_copy(update={"name": name, "sources": {"kernel.cpp": code}})
            for name, code in (("best", best), ("start", "s"))
        }

    def finals(judges: Counting, best: str) -> Iterator[tuple[str, RunRecord | None]]:
        return Shared(tmp_path, TERMS).finals(cast(judging.Judges, judges), kernels(best), "full")

    slow, other = Slow(), Counting()
    thread = threading.Thread(target=lambda: list(finals(slow, "a")))
    thread.start()
    assert begun.wait(60)
    records = finals(other, "b")
    try:
        assert next(records)[0] == "best"
    finally:
        goes_on.set()
    assert [name for name, _ in records] == ["start"]
    thread.join(60)
    assert (slow.asked, other.asked) == (["a", "s"], ["b"])


def test_a_final_judging_that_was_our_own_fault_is_tried_again(tmp_path: Path) -> None:
    shared, due = Shared(tmp_path, TERMS), {"best": KERNEL}
    failing, working = Counting(ours=True), Counting()
    ((_, failed),) = shared.finals(cast(judging.Judges, failing), due, "full")
    ((_, passed),) = shared.finals(cast(judging.Judges, working), due, "full")
    assert [record and record.status for record in (failed, passed)] == [Status.HARNESS_ERROR, Status.PASSED]
    assert len(working.asked) == 1


class Noted(Judges):
    """Judges as in test_runs that also keep the codes that were judged in a search."""

    codes: list[str] = []

    def each(self, work: Any, submissions: Mapping[str, Submission]) -> Iterator[tuple[str, Any]]:
        if work.func is judging.judge_publicly:
            self.codes.extend(submission.sources["kernel.cpp"] for submission in submissions.values())
        return super().each(work, submissions)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> type[Noted]:
    monkeypatch.setattr(Noted, "finals", [])
    monkeypatch.setattr(Noted, "codes", [])
    for module in (evolution, finals):
        monkeypatch.setattr(module, "Judges", Noted)
    return Noted


def test_runs_that_share_come_to_what_they_would_have_come_to_alone(noted: type[Noted], tmp_path: Path) -> None:
    alone = begun(tmp_path / "alone", few("refine", 6))
    expected = evolution.carry_out(alone, providers=answering(Improver()))
    together = [begun(tmp_path / name, few("refine", 6)) for name in ("one", "two")]
    judged_alone = list(noted.codes)
    noted.codes.clear()
    noted.finals.clear()
    for folder in together:
        found = evolution.search(folder, providers=answering(Improver()), shared=tmp_path / "shared")
        assert list(found.outcome.archive) == list(expected.outcome.archive)
        assert found.final == ()
    assert (folder / JOURNAL).read_bytes().count(b'"judged"') == (alone / JOURNAL).read_bytes().count(b'"judged"')
    assert noted.codes == judged_alone
    assert noted.finals == []
    ends = [evolution.conclude(folder, shared=tmp_path / "shared") for folder in together]
    assert noted.finals == ["best", "start"]
    assert ends[0].final == ends[1].final
    assert [record.submission for record in ends[0].final] == ["best", "start"]


def test_what_was_judged_on_another_machine_is_judged_again_on_this(
    noted: type[Noted], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = (begun(tmp_path / name, few("refine", 6)) for name in ("there", "here"))
    for folder in (there, here):
        evolution.search(folder, providers=answering(Improver()), shared=tmp_path / "shared")
    evolution.conclude(there, shared=tmp_path / "shared")
    noted.finals.clear()
    real = brief.brief_for
    monkeypatch.setattr(brief, "brief_for", lambda *about: replace(real(*about), hardware="- device: this one"))
    evolution.conclude(here, shared=tmp_path / "shared")
    assert noted.finals == ["best", "start"]


def test_who_is_judged_for_all_runs_is_not_judged_again_when_they_end(noted: type[Noted], tmp_path: Path) -> None:
    folders, shared = [begun(tmp_path / name, few("refine", 6)) for name in ("one", "two")], tmp_path / "shared"
    assert evolution.finalists(folders[0]) == {}, "it has not searched yet"
    for folder in folders:
        evolution.search(folder, providers=answering(Improver()), shared=shared)
    due = evolution.finalists(folders[0])
    assert list(due) == ["best", "start"]
    assert {name: each.digest for name, each in evolution.finalists(folders[1]).items()} == {
        name: each.digest for name, each in due.items()
    }
    for name in due:
        evolution.judge_finalist(folders[0], name, shared=shared)
    assert noted.finals == ["best", "start"]
    assert all(evolution.replayed(folder).final == () for folder in folders)
    ends = [evolution.conclude(folder, shared=shared) for folder in folders]
    assert noted.finals == ["best", "start"]
    assert [record.submission_digest for record in ends[1].final] == [each.digest for each in due.values()]
    assert evolution.finalists(folders[0]) == {}, "it is over"
