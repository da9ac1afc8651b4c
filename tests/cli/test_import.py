"""`kbench import` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import kbench

from robust_kbench.cli.import_ import Format, _find
from robust_kbench.errors import SpecError

SOUND = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.cumsum(dim=1)


rows, columns = 256, 128


def get_inputs():
    return [torch.rand(rows, columns)]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/7_Running_sum.py").write_text(SOUND)
    (tmp_path / "level1/8_Zero.py").write_text(SOUND.replace("x.cumsum(dim=1)", "x - x"))
    return tmp_path


@pytest.mark.slow
def test_what_was_imported_is_told_line_by_line_and_summed_up(checkout: Path) -> None:
    done = kbench("import", "kernelbench", checkout, "--into", checkout / "into", config=checkout)
    assert done.returncode == 1
    assert done.stdout.startswith("admitted      kernelbench_level1/p007_running_sum  float32: ")
    assert "\nnot admitted  kernelbench_level1/p008_zero  float32: " in done.stdout
    assert "\n2/2 imported, 1 of them admitted\n1 accept a non-answer\n  kernelbench_level1/p008_zero: " in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_with_only_sound_problems_the_exit_code_is_zero_and_a_second_import_keeps_them(checkout: Path) -> None:
    command = ("import", "kernelbench", checkout, "--into", checkout / "into", "--only", "/7_")
    first = kbench(*command, config=checkout)
    written = {path: path.stat().st_mtime_ns for path in (checkout / "into").rglob("*.yaml")}
    again = kbench(*command, config=checkout)
    assert (first.returncode, again.returncode, again.stdout) == (0, 0, first.stdout)
    assert written == {path: path.stat().st_mtime_ns for path in (checkout / "into").rglob("*.yaml")}


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("kernelbench", "nowhere", "--into", "x"), "nowhere: no such file or directory"),
        (("kernelbench", ".", "--into", "x", "--only", "("), "--only (: "),
        (("flashinfer", ".", "--into", "x"), ".: neither a problem nor a kernel of flashinfer here"),
        (("kernelbench", ".", "--into", "x", "--task", "."), "--task .: no folder of an imported task"),
    ],
    ids=["no folder", "no expression", "nothing there", "no task"],
)
def test_a_wrong_request_is_told_before_anything_runs(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = kbench("import", *arguments, config=tmp_path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {words}")
    assert not (tmp_path / "x").exists()


def test_an_unknown_format_is_a_wrong_request(tmp_path: Path) -> None:
    done = kbench("import", "tarball", ".", "--into", "x", config=tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert "kernelbench" in done.stderr


def test_a_file_that_cannot_be_read_is_told_once_as_neither_a_problem_nor_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/broken.json").write_text("{")
    done = kbench("import", "flashinfer", "source", "--into", "into", config=tmp_path, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("not imported  source/broken.json") == 1


def test_a_broken_line_does_not_cost_the_definition_that_was_asked_for(tmp_path: Path) -> None:
    tensor = {"shape": ["rows"], "dtype": "float32"}
    definition = {"name": "d", "axes": {"rows": {"type": "var"}}, "inputs": {"x": tensor}, "outputs": {"y": tensor}}
    (tmp_path / "d.json").write_text(json.dumps({**definition, "reference": "def run(x):\n    return x + 1\n"}))
    (tmp_path / "d.jsonl").write_text('{"axes": {"rows": 9}}\n{"axes": \n')
    found, unread = _find(Format.FLASHINFER, tmp_path / "d.json", "")
    assert [each.request.options["sizes"] for each in found] == [{"rows": 9}]
    assert [each.place for each in unread] == [f"{tmp_path}/d.jsonl:2"]
    (tmp_path / "d.json").write_text("{")
    with pytest.raises(SpecError, match=r"d\.json: Expecting"):
        _find(Format.FLASHINFER, tmp_path / "d.json", "")
