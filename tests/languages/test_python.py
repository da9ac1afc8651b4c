"""Python is parsed before anybody imports it, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler, python
from robust_kbench.registry import load_task

TASK = load_task("norm/rmsnorm").spec
SOURCE = "import torch\n\ndef rmsnorm(x, w):\n    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders whose files have been parsed."""
    folders: list[Path] = []
    run = compiler.run

    def run_and_tell(command: list[str], folder: Path, timeout_s: int) -> object:
        folders.append(folder)
        return run(command, folder, timeout_s=timeout_s)

    monkeypatch.setattr(compiler, "run", run_and_tell)
    monkeypatch.setattr(python, "_parsed", set())
    return folders


def test_equal_sources_are_parsed_once_and_others_anew(submit: Submit, tmp_path: Path, parsed: list[Path]) -> None:
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder, source in zip(folders, (SOURCE, SOURCE, SOURCE + "\n"), strict=True):
        folder.mkdir()
        built = python.build(submit(source), TASK, "float32", "cpu", folder)
        assert built.path.read_text() == source
    assert parsed == [folders[0], folders[2]]


def test_a_syntax_error_is_told_every_time(submit: Submit, tmp_path: Path, parsed: list[Path]) -> None:
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        with pytest.raises(BuildError, match="SyntaxError"):
            python.build(submit("def rmsnorm(:\n"), TASK, "float32", "cpu", tmp_path / name)
    assert len(parsed) == 2
