"""Offsets in an artefact become lines, whatever the artefact says about its files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_compiler

from robust_kbench.emulator import report
from robust_kbench.languages import cuda
from robust_kbench.languages.built import Built
from robust_kbench.schema.submission import Submission, SubmissionFile

pytestmark = [needs_compiler, pytest.mark.skipif(shutil.which("addr2line") is None, reason="needs addr2line")]

HONEST = 'extern "C" int honest(int x) { return x * 3; }\n'
OTHER = 'extern "C" int other(int x) { return x * 5; }\n'


def built(folder: Path, source: str) -> Path:
    (folder / "kernel.cu").write_text(source)
    command = ["g++", "-g1", "-O1", "-shared", "-fPIC", "-x", "c++", "kernel.cu", "-o", "a.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "a.so"


def offset(artefact: Path, symbol: str) -> int:
    listed = subprocess.run(["nm", str(artefact)], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {symbol}"))


def found(place: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "trap", "message": "", "kernel": "k", "count": 1, "place": place}


def lines(artefact: Path, *offsets: int) -> list[tuple[str, int]]:
    def run(command: list[str]) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    defects = report.resolve([found({"offset": each}) for each in offsets], artefact, {"kernel.cu"}, run)
    return [(defect.file, defect.line) for defect in defects]


@pytest.mark.parametrize("name", [r"/x\n0xzz", r"/x\n0x", r"/kernel.cu:" + "9" * 5000 + r"\n", r"/x\r\f\n0x1\n0x2"])
def test_a_file_of_any_name_is_no_error(name: str, tmp_path: Path) -> None:
    artefact = built(tmp_path, f'{HONEST}#line 7 "{name}"\n{OTHER}')
    places = [offset(artefact, symbol) for symbol in ("honest", "other")]
    assert lines(artefact, *places) == [("kernel.cu", 1), ("", 0)]


def test_a_file_cannot_be_named_so_that_another_place_gets_its_line(tmp_path: Path) -> None:
    first, behind = "int first() { return 1; }\n", '#line 3 "kernel.cu"\n' + HONEST
    after = offset(built(tmp_path, first + OTHER + behind), "honest")
    artefact = built(tmp_path, f'{first}#line 7 "/x:1\\n0x{after:016x}\\nkernel.cu"\n{OTHER}{behind}')
    places = [offset(artefact, symbol) for symbol in ("other", "honest")]
    assert lines(artefact, *places) == [("kernel.cu", 7), ("kernel.cu", 3)]


def test_what_was_found_stands_where_its_line_cannot_be_looked_up(tmp_path: Path) -> None:
    file = SubmissionFile(task="norm/rmsnorm", language="cuda", abi="c", entry_point="kernel.cu::f")
    (tmp_path / "a.so").write_bytes(b"\x7fELF")
    submission = Submission(name="mine", file=file, sources={"kernel.cu": ""})
    (defect,) = cuda.defects([found({"offset": 16})], Built(tmp_path / "a.so", "f", "c"), submission)
    assert (defect.kind, defect.line) == ("trap", 0)
