"""Foreign Python runs where it can harm nothing, and what it reports is a claim."""

from __future__ import annotations

import json
import time
from pathlib import Path
from threading import Event

import foreign
import pytest

from robust_kbench.importers import sandbox
from robust_kbench.importers.description import Report, Request

PROBLEM = Request(what="model", name="made/problem", summary="A problem of these tests.", origin="these tests")


def ask(source: str, seconds: int = 60) -> Report:
    return sandbox.ask(
        PROBLEM.model_copy(update={"source": source, "seconds": float(seconds)}), seconds=seconds, stop=Event()
    )


@pytest.mark.rotating
def test_an_honest_problem_is_surveyed() -> None:
    report = ask(foreign.AFFINE)
    assert report.error == ""
    assert list(report.surveyed[0].task["axes"]) == ["rows", "columns", "features"]


@pytest.mark.rotating
def test_a_problem_that_says_what_a_broken_sandbox_says_costs_only_itself() -> None:
    report = ask("import os\nos.write(2, b'No module named robust_kbench\\n')\nos._exit(1)\n" + foreign.AFFINE)
    assert report.error == "ended with exit code 1: No module named robust_kbench"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("while True:\n    pass", "out of time"),
        ("import os\nos._exit(0)", "ended with exit code 0"),
        ("import sys\nsys.exit('gone')", "gone"),
        ("x = bytearray(60 << 30)", "MemoryError"),
        ("import ctypes\nctypes.string_at(0)", "ended with exit code 139"),
        ("def f():\n    f()\nf()", "RecursionError"),
        ("(" * 5000, "SyntaxError"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", "Error"),
        ("raise BaseException('no')", "no"),
    ],
    ids=[
        "a loop", "an end", "a complaint", "memory", "a wild pointer", "a recursion", "brackets", "a network",
        "no exception of ours",
    ],
)  # fmt: skip
def test_what_an_attack_comes_to_is_a_reason(attack: str, words: str) -> None:
    seconds = 8 if "out of time" in words else 60
    started = time.monotonic()
    report = ask(f"{attack}\n{foreign.AFFINE}", seconds)
    assert report.surveyed == ()
    assert words in report.error
    assert time.monotonic() - started < seconds + 20


@pytest.mark.slow
def test_files_of_the_user_cannot_be_read_or_written(tmp_path: Path) -> None:
    secret, target = tmp_path / "secret", tmp_path / "target"
    secret.write_text("a secret")
    attack = f"""
found = []
try:
    found.append(open({str(secret)!r}).read())
except OSError as error:
    found.append(type(error).__name__)
try:
    open({str(target)!r}, "w").write("x")
except OSError as error:
    found.append(type(error).__name__)
raise ValueError(" ".join(found))
"""
    report = ask(attack)
    assert report.error in ("ValueError: PermissionError PermissionError", "ValueError: FileNotFoundError OSError")
    assert not target.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{", "the answer of the sandbox is none"),
        ("[" * 100_000, "the answer of the sandbox is none"),
        ('{"surveyed": [{"task": {}, "adapter": {"kind": "shell"}}]}', "the answer of the sandbox is none"),
        ('{"unknown": 1}', "unknown key"),
        ("x" * (9 << 20), "the answer of the sandbox is none"),
    ],
    ids=["no JSON", "deep JSON", "another adapter", "another key", "nine megabytes"],
)
def test_a_forged_answer_is_refused(written: str, words: str) -> None:
    text = repr(written) if len(written) < 1000 else f"{written[:1]!r} * {len(written)}"
    attack = f"import os, pathlib, sys\npathlib.Path(sys.argv[1], 'result.json').write_text({text})\nos._exit(0)"
    assert words in ask(attack).error


@pytest.mark.slow
def test_an_answer_that_is_a_link_is_none(tmp_path: Path) -> None:
    place = tmp_path / "report.json"
    place.write_text(json.dumps({"error": "read from elsewhere"}))
    attack = f"import os, sys\nos.symlink({str(place)!r}, sys.argv[1] + '/result.json')\nos._exit(0)"
    assert "read from elsewhere" not in ask(attack).error


@pytest.mark.slow
def test_a_forged_task_must_still_be_one(tmp_path: Path) -> None:
    from robust_kbench.importers.description import Found
    from robust_kbench.importers.importing import import_one

    task = {"summary": "A forged task.", "axes": {"../../x": {"low": 1}}}
    claim = {"surveyed": [{"task": task, "adapter": {"kind": "model"}}]}
    attack = (
        "import os, pathlib, sys\n"
        f"pathlib.Path(sys.argv[1], 'result.json').write_text({json.dumps(claim)!r})\nos._exit(0)"
    )
    request = PROBLEM.model_copy(update={"source": attack})
    (outcome,) = import_one(Found("x.py", "kernelbench", request), tmp_path, seconds=60, with_audit=False, stop=Event())
    assert "task.yaml" in outcome.error
    assert list(tmp_path.iterdir()) == []


def test_without_a_sandbox_nothing_foreign_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from robust_kbench.importers import child

    readable = tmp_path / "readable"
    readable.write_text("")
    request = PROBLEM.model_copy(update={"source": "raise SystemExit('it ran')", "forbidden": str(readable)})
    (tmp_path / sandbox.REQUEST).write_text(request.model_dump_json())
    monkeypatch.setattr("sys.argv", ["child", str(tmp_path)])
    child.main()
    assert "no sandbox on this machine" in json.loads((tmp_path / sandbox.RESULT).read_text())["error"]
