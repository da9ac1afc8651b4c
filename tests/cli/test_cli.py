"""The command line as a user meets it: output, messages, exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needs_compiler

from robust_kbench.folders import data_folder

BASELINES = data_folder("baselines")
WRONG = "import torch\n\ndef rmsnorm(x, weight):\n    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * weight\n"
ZEROS = "import torch\n\ndef rmsnorm(x, weight):\n    return torch.zeros_like(x)\n"


def kbench(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robust_kbench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


def write_submission(folder: Path, source: str) -> Path:
    folder.mkdir()
    header = "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::rmsnorm\ndtypes: [float32]\n"
    (folder / "submission.yaml").write_text(header)
    (folder / "kernel.py").write_text(source)
    return folder


def test_tasks_lists_every_task_with_its_summary() -> None:
    done = kbench("tasks")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == sorted("/".join(path.parts[-3:-1]) for path in data_folder("tasks").glob("*/*/task.yaml"))


def test_tasks_filters_by_pattern_and_prints_json() -> None:
    done = kbench("tasks", "norm/*", "--json")
    names = [json.loads(line)["name"] for line in done.stdout.splitlines()]
    assert names == sorted(f"norm/{path.parent.name}" for path in data_folder("tasks").glob("norm/*/task.yaml"))


def test_an_unknown_pattern_says_what_to_do() -> None:
    done = kbench("tasks", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no task matches 'nothing'; `kbench tasks` lists all\n"


@pytest.mark.rotating
def test_json_prints_one_record_and_nothing_else(tmp_path: Path) -> None:
    folder = write_submission(tmp_path / "zeros", ZEROS)
    done = kbench("evaluate", folder, "--device", "cpu", "--tier", "quick", "--json")
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["status"] == "incorrect"
    assert done.stderr == ""


@pytest.mark.slow
def test_an_incorrect_result_and_its_smallest_case_are_explained_and_can_be_reproduced(tmp_path: Path) -> None:
    folder = write_submission(tmp_path / "zeros", ZEROS)
    done = kbench("evaluate", folder, "--device", "cpu", "--tier", "quick")
    lines = done.stdout.splitlines()
    commands = [line for line in lines if line.startswith("  reproduce ")]
    explanations = [line for line in lines if line.startswith("            y[")]
    assert len(commands) == 2
    for command, explanation in zip(commands, (explanations[0], explanations[-1]), strict=True):
        again = kbench(*shlex.split(command)[2:])
        assert explanation in again.stdout
        assert "got 0, expected" in explanation
        assert again.returncode == 1


@pytest.mark.rotating
def test_the_line_that_pins_the_smallest_case_is_a_pinned_case(tmp_path: Path) -> None:
    from robust_kbench.registry import read_task

    folder = write_submission(tmp_path / "zeros", ZEROS)
    done = kbench("evaluate", folder, "--device", "cpu", "--tier", "quick")
    (line,) = (line.removeprefix("  pin       ") for line in done.stdout.splitlines() if line.startswith("  pin "))
    task = shutil.copytree(data_folder("tasks") / "norm/rmsnorm", tmp_path / "norm/rmsnorm")
    (task / "regressions.yaml").write_text(f"cases:\n  {line}\n")
    (pinned,) = read_task(task).pinned
    assert (pinned.axes, pinned.dtype) == ({"rows": 1, "cols": 1}, "float32")


@pytest.mark.rotating
def test_a_broken_file_costs_exit_code_two_and_not_the_others_verdict(tmp_path: Path) -> None:
    write_submission(tmp_path / "good", (BASELINES / "../tasks/norm/rmsnorm/reference.py").read_text())
    (tmp_path / "good" / "submission.yaml").write_text(
        "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::reference\ndtypes: [float32]\n"
    )
    write_submission(tmp_path / "typo", ZEROS)
    (tmp_path / "typo" / "submission.yaml").write_text("task: norm/rmsnorm\nlanguag: python\n")
    done = kbench("evaluate", tmp_path, "--device", "cpu", "--tier", "quick")
    assert done.returncode == 2
    assert "typo/submission.yaml: languag: unknown key; did you mean 'language'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert "PASSED" in done.stdout


def test_a_file_that_words_its_own_error_does_not_steer_the_terminal(tmp_path: Path) -> None:
    # An escape that sets the title of a window: nothing between here and the terminal takes it out.
    folder = write_submission(tmp_path / "typo", ZEROS)
    (folder / "submission.yaml").write_text('task: norm/rmsnorm\n"\\e]0;mine\\a\\x9b2J\\nerror: all is well": 1\n')
    for verb in ("evaluate", "profile"):
        done = kbench(verb, folder)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.isprintable()
        assert "]0;mine" in line


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "/no/such/place"], "/no/such/place: no such file or directory"),
        (["evaluate", "--case", "3", "."], "--case needs --seed"),
        (["evaluate", "--case", "{axes: {rows: 1}, dtype: float31, seed: 1}", "."], "--case: dtype: "),
        (["new", "norm/rmsnrm", "x"], "no task 'norm/rmsnrm'; did you mean 'norm/rmsnorm'?"),
        (["new", "norm/rmsnorm", "x", "-l", "rust"], "--language rust: unknown; use python, triton, cpp, cuda"),
        (["schema", "tsk"], "no schema 'tsk'; use task, submission, record"),
        (["leaderboard", "/no/such/store.jsonl"], "/no/such/store.jsonl: No such file or directory"),
    ],
    ids=["path", "case", "described case", "task", "language", "schema", "store"],
)
def test_a_wrong_request_gets_one_clear_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = kbench(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.rotating
@pytest.mark.parametrize(
    "language", ["python", pytest.param("cpp", marks=needs_compiler), pytest.param("triton", marks=pytest.mark.slow)]
)
def test_a_scaffolded_submission_passes(language: str, tmp_path: Path) -> None:
    written = kbench("new", "norm/rmsnorm", "mine", "--language", language, cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    done = kbench("evaluate", "mine", "--device", "cpu", "--tier", "quick", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_scaffold_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("work")
    done = kbench("new", "norm/rmsnorm", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert "mine: already exists and is not empty" in done.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["precious"]


@pytest.mark.rotating
def test_records_become_a_leaderboard_that_regenerates_to_the_byte(tmp_path: Path) -> None:
    folder = write_submission(tmp_path / "zeros", ZEROS)
    kbench("evaluate", folder, "--device", "cpu", "--tier", "quick", "--store", tmp_path / "records.jsonl")
    for out in ("first", "second"):
        assert kbench("leaderboard", tmp_path / "records.jsonl", "--out", tmp_path / out).returncode == 0
    csv = [(tmp_path / out / "leaderboard.csv").read_bytes() for out in ("first", "second")]
    assert csv[0] == csv[1]
    assert b"norm/rmsnorm" in csv[0]
    assert b",incorrect," in csv[0]


@pytest.mark.parametrize("name", ["task", "submission", "record"])
def test_schemas_are_json_schema(name: str) -> None:
    schema = json.loads(kbench("schema", name).stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["additionalProperties"] is False
    assert schema["required"]


@pytest.mark.slow
def test_several_jobs_give_every_verdict(tmp_path: Path) -> None:
    for name, source in (
        ("a_zeros", ZEROS),
        ("b_raises", WRONG + "    raise RuntimeError('no')\n"),
        ("c_zeros", ZEROS),
    ):
        write_submission(tmp_path / name, source)
    done = kbench("evaluate", tmp_path, "--device", "cpu", "--tier", "quick", "--json", "--jobs", "2")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [("a_zeros", "incorrect"), ("b_raises", "crashed"), ("c_zeros", "incorrect")]
    assert sorted((record["submission"], record["status"]) for record in records) == expected
