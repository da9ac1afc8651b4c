"""Numbers of more digits than Python makes an integer of, from hostile code, a compiler or a tool."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.cli.case_text import parse_case
from robust_kbench.cli.sweep import _numbers
from robust_kbench.emulator import assembly, report
from robust_kbench.errors import BuildError, SpecError, Unsupported, UsageError
from robust_kbench.profiling import nsight, resources, run_time, triton_kernels, vectorisation
from robust_kbench.redteam import naive_process
from robust_kbench.schema.documents import read_yaml

LONG = "1" * 5000
ENTRY = "Compiling entry function 'f' for 'sm_80'\n"


@pytest.mark.parametrize(
    "line",
    [
        f"{LONG} bytes stack frame, 8 bytes spill stores, 8 bytes spill loads",
        f"8 bytes stack frame, 8 bytes spill stores, {LONG} bytes spill loads",
        f"Used {LONG} registers, 8 bytes smem",
    ],
    ids=["a frame", "spills", "registers"],
)
def test_a_line_that_ptxas_cannot_have_printed_counts_for_nothing(line: str) -> None:
    (kernel,) = resources.from_ptxas(f"{ENTRY}{line}\n", "float32")
    assert (kernel.registers, kernel.stack_bytes, kernel.spill_load_bytes, kernel.shared_bytes) == (0, 0, 0, 0)


def test_of_a_line_of_ptxas_what_is_a_number_counts() -> None:
    line = f"Used 30 registers, {LONG} bytes smem, {LONG} bytes cmem[0], 352 bytes cmem[2]"
    (kernel,) = resources.from_ptxas(f"{ENTRY}{line}\n", "float32")
    assert (kernel.registers, kernel.shared_bytes, kernel.constant_bytes) == (30, 0, 352)


@pytest.mark.parametrize("place", range(4))
def test_a_function_that_cuobjdump_cannot_have_printed_is_none(place: int) -> None:
    numbers = [LONG if number == place else "8" for number in range(4)]
    text = "Function f:\n REG:{} STACK:{} SHARED:{} LOCAL:{} CONSTANT[0]:8\n".format(*numbers)
    assert resources.from_usage(text, "float32", "sm_80") == []


def test_constant_memory_that_cuobjdump_cannot_have_printed_is_none() -> None:
    text = f"Function f:\n REG:8 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:{LONG}\n"
    assert [kernel.constant_bytes for kernel in resources.from_usage(text, "float32", "sm_80")] == [0]


def test_a_remark_that_the_compiler_cannot_have_made_is_none() -> None:
    printed = "\n".join(
        [
            f"k.cpp:{LONG}:1: optimized: loop vectorized using 16 byte vectors",
            f"k.cpp:7:1: optimized: loop vectorized using {LONG} byte vectors",
            "k.cpp:9:1: optimized: loop vectorized using 16 byte vectors",
        ]
    )
    assert [loop.line for loop in vectorisation.from_remarks(printed, "float32", ["k.cpp"])] == [9]


@pytest.mark.parametrize("digits", [4000, 5000])
def test_a_profile_or_a_manifest_with_such_a_number_is_none(digits: int, tmp_path: Path) -> None:
    number = "1" * digits
    page = f'{{"calls": {number}, "operators": [], "activities": []}}'
    assert "the worker's profile is none" in run_time.parse(page.encode(), "cpu").notes[0]
    (tmp_path / "manifest").write_text(
        f'[{{"capability": 80, "name": "f", "shared_bytes": {number}, "warps": 4, "stages": 1}}]'
    )
    with pytest.raises(BuildError, match="the list of compiled kernels is none"):
        triton_kernels.read_manifest(tmp_path / "manifest")


def test_a_counter_of_such_a_length_is_none() -> None:
    text = f'"ID","Kernel Name","gpu__time_duration.sum"\n"","","us"\n"0","f","{LONG}"\n'
    assert [kernel.duration_us for kernel in nsight.parse(text)] == [None]


@pytest.mark.parametrize("printed", [f"0x5\nk.cu:{LONG}\n", "0xk.cu:1\n0x5\n", "0x\nk.cu:1\n", f"0x{LONG}\nk.cu:1\n"])
def test_a_line_that_addr2line_cannot_have_printed_leads_nowhere(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool prints names of files from a hostile artefact, which may have ends of lines in them."""
    monkeypatch.setattr(shutil, "which", lambda name: name)
    raw: list[dict[str, Any]] = [{"kind": "trap", "message": "", "kernel": "f", "count": 1, "place": {"offset": 5}}]
    (defect,) = report.resolve(raw, Path("kernel.so"), ["k.cu"], lambda _: printed)
    assert (defect.file, defect.line) == ("", 0)


def test_an_operand_of_such_a_number_cannot_be_emulated() -> None:
    with pytest.raises(Unsupported, match="inline PTX with the register"):
        assembly.translate(f"mov.u32 %0, %{LONG};", [("=r", "x")], [], "k.cu", 1)


@pytest.mark.parametrize("text", ["a: " + "1:" * 5000 + "1.5", f"a: {LONG}", f"a: 1e{LONG}", f"a: [{LONG}]"])
def test_a_number_of_a_file_is_a_number_or_refused(text: str) -> None:
    with pytest.raises(SpecError, match="^here:"):
        read_yaml(text, "here")


@pytest.mark.parametrize(
    "read",
    [
        lambda digits: read_yaml(f"a: {digits}x", "here"),
        lambda digits: resources.from_ptxas(ENTRY + digits, "float32"),
    ],
    ids=["a file", "a compiler"],
)
def test_what_looks_like_a_number_is_read_once(read: Callable[[str], object]) -> None:
    started = time.process_time()
    read("1" * 200_000)  # a minute and more, where each digit is looked at from every one before it
    assert time.process_time() - started < 2


def test_a_number_that_a_user_gives_is_refused_in_words() -> None:
    with pytest.raises(SpecError, match="--case"):
        parse_case(LONG)
    with pytest.raises(UsageError, match="--seeds"):
        _numbers([LONG])


@pytest.mark.parametrize("line", [LONG, "[" * 200_000], ids=["digits", "brackets"])
def test_the_last_line_of_a_naive_harness_may_be_anything(line: str) -> None:
    assert naive_process._last_line(line) is None
