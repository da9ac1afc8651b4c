"""The import of a foreign file, end to end, up to a task that was audited."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import foreign
import pytest
from specimens import make_record

from robust_kbench.importers import admission, importing, kernelbench, sandbox
from robust_kbench.importers.admission import record
from robust_kbench.importers.description import Adapter, Audited, Found, Report, Request, Surveyed
from robust_kbench.registry import ADMISSION_FILE, read_task

SURVEYED = Surveyed(task={}, adapter=Adapter(kind="model"))


def import_(source: str, folder: Path, name: str = "1_Made.py") -> importing.Outcome:
    (folder / "level1").mkdir(exist_ok=True)
    (folder / "level1" / name).write_text(source)
    problems = kernelbench.find(folder / "level1" / name)
    (outcome,) = importing.import_all(problems, folder / "into", seconds=120, with_audit=True, jobs=1)
    return outcome


@pytest.mark.slow
def test_a_sound_problem_is_admitted(tmp_path: Path) -> None:
    outcome = import_(foreign.LOSS, tmp_path)
    assert outcome.is_admitted, list(importing.report(outcome))
    task = read_task(tmp_path / "into/kernelbench_level1/p001_made")
    assert task.objection == ""
    (line,) = importing.report(outcome)
    assert line.startswith("admitted      kernelbench_level1/p001_made  float32: ")


@pytest.mark.slow
def test_a_problem_that_a_non_answer_passes_is_imported_as_not_admitted(tmp_path: Path) -> None:
    outcome = import_(foreign.IDLE, tmp_path)
    assert outcome.admission is not None
    assert not outcome.is_admitted
    assert "float32 zeros" in outcome.admission.non_answers
    task = read_task(tmp_path / "into/kernelbench_level1/p001_made")
    assert task.objection == outcome.admission.reasons[0]
    text = "\n".join(importing.summary([outcome]))
    assert "1/1 imported, 0 of them admitted\n1 accept a non-answer\n  kernelbench_level1/p001_made: " in text


@pytest.mark.slow
def test_a_problem_that_does_not_run_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    outcome = import_("import no_such_package\n" + foreign.AFFINE, tmp_path)
    assert outcome.error == "ModuleNotFoundError: No module named 'no_such_package'"
    assert not (tmp_path / "into").exists()
    assert "1 not imported" in list(importing.summary([outcome]))


@pytest.mark.slow
def test_an_audit_cannot_change_what_it_audits(tmp_path: Path) -> None:
    """The audit works on a copy, and its report is a claim of bounded size."""
    attack = "import pathlib\nfor path in pathlib.Path.cwd().rglob('task.yaml'):\n    path.write_text('x')\n"
    outcome = import_(attack + foreign.LOSS, tmp_path)
    assert outcome.admission is not None
    assert read_task(tmp_path / "into/kernelbench_level1/p001_made").spec.name == "kernelbench_level1/p001_made"


class Sandbox:
    """Stand-in for a sandbox that answers at once, as a child would."""

    def __init__(self, *tasks: str) -> None:
        from specimens import TASK

        self.asked: list[str] = []
        self.faults: tuple[str, ...] = ()
        self.error = ""
        unnamed = {key: value for key, value in TASK.items() if key != "name"}
        summaries = tasks or ("A task of these tests.",)
        self._surveyed = tuple(SURVEYED.model_copy(update={"task": {**unnamed, "summary": text}}) for text in summaries)

    def ask(self, request: Request, *, seconds: int, stop: Event, files: Any = None) -> Report:
        self.asked.append(f"{request.what} {request.name}")
        if request.what != "audit":
            return Report(surveyed=self._surveyed)
        return Report(error=self.error, audited=(Audited(dtype="float32", cases=3, faults=self.faults),))


@pytest.fixture
def found() -> Found:
    request = Request(what="model", name="made/problem", source="# theirs\n", summary="Made.", origin="these tests")
    return Found("x.py", "kernelbench", request)


def imported(
    found: Found, folder: Path, child: Sandbox, monkeypatch: pytest.MonkeyPatch, *, with_audit: bool = True
) -> list[importing.Outcome]:
    monkeypatch.setattr(sandbox, "ask", child.ask)
    return list(importing.import_all([found], folder, seconds=5, with_audit=with_audit, jobs=1))


def test_what_was_imported_before_is_told_again_and_nothing_runs(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, idle = Sandbox("One of two tasks.", "The other of two tasks."), Sandbox()
    child.faults = ("zeros passes",)
    first = imported(found, tmp_path, child, monkeypatch)
    assert [(each.name, each.is_admitted) for each in first] == [("made/problem", False), ("made/problem_2", False)]
    assert imported(found, tmp_path, idle, monkeypatch) == first
    assert idle.asked == []


def test_a_task_that_cannot_be_read_back_is_told_and_leaves_nothing(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox's report is a claim, in which a number may have more digits than a file may."""
    child = Sandbox()
    child._surveyed = (SURVEYED.model_copy(update={"task": {**child._surveyed[0].task, "version": 10**30}}),)
    (outcome,) = imported(found, tmp_path, child, monkeypatch)
    assert "a number of 31 digits" in outcome.error
    assert not (tmp_path / "made/problem").exists()


@pytest.mark.parametrize("how", ["killed", "half of it", "no audit", "out of time", "another version"])
def test_an_import_that_did_not_come_to_its_end_is_made_again(
    how: str, found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, again = (
        Sandbox("One of two tasks.", "The other of two tasks."),
        Sandbox("One of two tasks.", "The other of two tasks."),
    )
    child.error = "out of time after 5 s" if how == "out of time" else ""
    imported(found, tmp_path, child, monkeypatch, with_audit=how != "no audit")
    if how == "killed":
        (tmp_path / "made/problem" / ADMISSION_FILE).unlink()
        assert read_task(tmp_path / "made/problem").objection == "its import did not finish"
    if how == "half of it":
        shutil.rmtree(tmp_path / "made/problem_2")
    if how == "another version":
        monkeypatch.setattr(admission, "__version__", "99")
    assert [each.is_admitted for each in imported(found, tmp_path, again, monkeypatch)] == [True, True]
    assert again.asked == ["model made/problem", "audit made/problem", "audit made/problem_2"]


def test_what_was_imported_of_another_text_is_not_overwritten(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(found, tmp_path, Sandbox(), monkeypatch)
    changed = replace(found, request=found.request.model_copy(update={"source": "# theirs, newer\n"}))
    (outcome,) = imported(changed, tmp_path, Sandbox(), monkeypatch)
    assert outcome.error.endswith("made/problem: already exists; remove it, or import into another folder")
    assert read_task(tmp_path / "made/problem").objection == ""


def test_who_gives_up_ends_the_sandbox_and_leaves_no_half_imported_task(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting(Sandbox):
        def ask(self, request: Request, *, seconds: int, stop: Event, files: Any = None) -> Report:
            if request.name == "made/later":
                begun.set()
                assert stop.wait(60)
                stopped.append(request.what)
            assert begun.wait(60)  # one that had not begun would be left out
            return super().ask(request, seconds=seconds, stop=stop, files=files)

    stopped: list[str] = []
    begun = Event()
    monkeypatch.setattr(sandbox, "ask", Waiting().ask)
    later = replace(found, request=found.request.model_copy(update={"name": "made/later"}))
    outcomes = importing.import_all([found, later], tmp_path, seconds=5, with_audit=True, jobs=2)
    assert next(outcomes).name == "made/problem"
    outcomes.close()  # type: ignore[attr-defined]
    assert stopped == ["model", "audit"]
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["problem"]


def test_a_child_that_nobody_waits_for_is_killed(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    started = time.monotonic()
    request = Request(what="model", name="made/problem", source="while True:\n    pass\n")
    assert sandbox.ask(request, seconds=60, stop=stop).error
    assert time.monotonic() - started < 20


def written(folder: Path) -> Path:
    from specimens import REFERENCE, TASK

    from robust_kbench.importers.writing import task_text

    place = folder / "norm/scale"
    place.mkdir(parents=True)
    (place / "task.yaml").write_text(task_text(TASK))
    (place / "reference.py").write_text(REFERENCE)
    return place


def test_a_task_of_the_registry_meets_no_objection(tmp_path: Path) -> None:
    assert read_task(written(tmp_path)).objection == ""


def test_faults_of_survey_and_audit_are_the_reasons(tmp_path: Path) -> None:
    place = written(tmp_path)
    audit = Audited(dtype="float32", cases=3, faults=("zeros passes",), non_answers=("zeros",), killed=(4, 5))
    found = record(place, SURVEYED.model_copy(update={"notes": ("a note",)}), Report(audited=(audit,)))
    assert (found.status, found.reasons, found.non_answers) == (
        "not admitted", ("float32: zeros passes",), ("float32 zeros",),
    )  # fmt: skip
    assert read_task(place).objection == "float32: zeros passes"


def test_without_an_audit_nothing_is_admitted(tmp_path: Path) -> None:
    place = written(tmp_path)
    record(place, SURVEYED, None)
    assert read_task(place).objection == "it was imported without an audit"


def test_an_audit_that_did_not_finish_admits_nothing(tmp_path: Path) -> None:
    place = written(tmp_path)
    record(place, SURVEYED, Report(error="out of time after 5 s"))
    assert read_task(place).objection == "the audit did not finish: out of time after 5 s"


def test_a_task_that_was_changed_after_its_audit_is_no_longer_admitted(tmp_path: Path) -> None:
    place = written(tmp_path)
    record(place, SURVEYED, Report(audited=(Audited(dtype="float32", cases=3),)))
    assert read_task(place).objection == ""
    (place / "reference.py").write_text("def reference(x, weight):\n    return x + weight\n")
    assert read_task(place).objection == "it was changed after its audit; import it again"


def test_a_malformed_admission_is_an_error_with_its_place(tmp_path: Path) -> None:
    from robust_kbench.errors import SpecError

    place = written(tmp_path)
    (place / ADMISSION_FILE).write_text("status: perhaps\ndigest: x\n")
    with pytest.raises(SpecError, match=r"admission.yaml: status"):
        read_task(place)


def test_a_record_of_a_task_that_was_not_admitted_is_never_ranked() -> None:
    assert make_record().is_rankable
    assert not make_record(objection="zeros are the answer").is_rankable


def test_the_report_of_a_record_says_that_its_task_was_not_admitted() -> None:
    from robust_kbench.cli.report import report

    assert "  task      not admitted: zeros are the answer" in report(
        make_record(objection="zeros are the answer"), "x"
    )
