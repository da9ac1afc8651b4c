"""`kbench profile` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from conftest import needs_compiler
from typer.testing import CliRunner

from robust_kbench.cli.profile import profile
from robust_kbench.errors import UsageError

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(profile)

HEADER = "task: norm/rmsnorm\nlanguage: {language}\nabi: {abi}\nentry_point: {entry}::rmsnorm\ndtypes: [float32]\n"
PYTHON = (
    "import torch\n\ndef rmsnorm(x, weight):\n    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)\n"
)
RACY = """
__global__ void sum(const float* x, float* y) {
    __shared__ float partial[64];
    partial[threadIdx.x] = x[0];
    y[0] = partial[63 - threadIdx.x];
}
extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    sum<<<1, 64, 0, stream>>>(x, y);
}
"""


def write(folder: Path, source: str, language: str = "python", abi: str = "value") -> Path:
    entry = {"python": "kernel.py", "cuda": "kernel.cu"}[language]
    folder.mkdir()
    (folder / "submission.yaml").write_text(HEADER.format(language=language, abi=abi, entry=entry))
    (folder / entry).write_text(source)
    return folder


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["--device", "cpu", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


@pytest.mark.rotating
def test_a_page_is_printed_for_a_submission(tmp_path: Path) -> None:
    code, printed = run(write(tmp_path / "mine", PYTHON))
    assert code == 0
    assert printed.startswith("norm/rmsnorm  mine (python)  float32 rows=")
    assert "\n  submission " in printed


@pytest.mark.rotating
def test_a_single_file_needs_its_task_and_json_is_one_object(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(PYTHON.replace("(x, weight)", "(x, weight, y)").replace("return ", "y.copy_(").rstrip() + ")\n")
    with pytest.raises(UsageError, match="a single file needs --task"):
        run(path)
    code, printed = run(path, "--task", "norm/rmsnorm", "--dtype", "float32", "--json")
    data = json.loads(printed)
    assert (code, data["dtype"], data["run_time"]["is_claim"], data["compiler"]["failure"]) == (0, "float32", True, "")


def test_several_submissions_are_one_too_many(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, PYTHON)
    with pytest.raises(UsageError, match="2 submissions; name the directory of one"):
        run(tmp_path)


@pytest.mark.rotating
@needs_compiler
def test_a_race_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    code, printed = run(write(tmp_path / "racy", RACY, "cuda", "c"))
    assert code == 1
    assert "emulator: kernel.cu:5: " in printed
    assert "\nlisting" not in printed
