"""Sources made to exhaust whoever parses them: they fail to build, and the judge's own process takes no part in it."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import pytest
from conftest import Submit, needs_compiler

from robust_kbench.emulator.rewrite import rewrite, rewrite_tree
from robust_kbench.errors import BuildError, Unsupported
from robust_kbench.evaluate import Evaluator
from robust_kbench.languages import rewriting
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import Submission, SubmissionFile

SECONDS = 3
LEVELS = "".join(f"#define A{level} A{level - 1}*A{level - 1}\n" for level in range(1, 41))
NESTED = 40_000
# What they exhaust.
OF_TIME = {
    "bounds in bounds": "__launch_bounds__(" * NESTED + ")" * NESTED,
    "operands in operands": 'asm("" :: "r"(' * NESTED + "))" * NESTED + ";",
    "templates that may be none": "__device__ int " + "a<b," * 200_000 + "c;",
    "macros beside macros": "".join(f"#define A{number} k<<<1,1>>>()\n" for number in range(30_000)),
    "registers of many statements": 'asm(".reg .b32 r<10000>;");' * 20_000,
}
OF_MEMORY = 'asm("' + ".reg .b32 r<10000>;" * 2_000 + '");'
HONEST = "__global__ void k(int* x) { __shared__ int a[2]; }\r\nvoid f() { k<<<1, 1>>>(nullptr); } // é\n"


def submission(**sources: str) -> Submission:
    file = SubmissionFile(task="norm/rmsnorm", language="cuda", abi="c", entry_point="kernel.cu::f")
    return Submission(name="hostile", file=file, sources={"kernel.cu": "", **sources})


def rewritten(folder: Path, text: str) -> bool:
    return rewriting.write_rewritten(submission(**{"kernel.cu": text}), folder)


def test_sources_are_rewritten_as_if_in_this_process(tmp_path: Path) -> None:
    sources = {"kernel.cu": HONEST, "more/part.cuh": "volatile int flag;", "notes.txt": "k<<<1, 1>>>(x);"}
    assert rewriting.write_rewritten(submission(**sources), tmp_path)
    expected = {name: file.text for name, file in rewrite_tree(sources).items()}
    assert {name: (tmp_path / "source" / name).read_bytes().decode() for name in sources} == expected


def test_what_needs_a_device_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"a texture \(cudaTextureObject_t\) at kernel.cu:2 cannot be emulated"):
        rewritten(tmp_path, "\ncudaTextureObject_t t;")


@pytest.mark.rotating
@pytest.mark.parametrize("text", OF_TIME.values(), ids=OF_TIME)
def test_what_takes_too_long_does_not_build(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "_CPU_SECONDS", SECONDS)
    used = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(BuildError, match="kernel.cu: rewriting it for the emulator takes too much time; write it"):
        rewritten(tmp_path, text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - used.ru_utime < 1


@pytest.mark.rotating
def test_what_takes_too_much_memory_does_not_build(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="kernel.cu: rewriting it for the emulator takes too much memory; write it"):
        rewritten(tmp_path, OF_MEMORY)


def test_what_our_own_code_stumbles_over_does_not_build(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="kernel.cu: rewriting it for the emulator fails: OSError") as told:
        rewritten(tmp_path, f"#include <{'a/' * 10_000}>\n")
    assert "in _headers" in told.value.log


@pytest.mark.parametrize("process", ["ctypes.string_at(0)", "os._exit(3)", "os._exit(0)"])
def test_a_process_that_dies_is_a_failed_build(process: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", f"import ctypes, os; print('at the end', flush=True); {process}"]
    monkeypatch.setattr(rewriting, "confined_python", lambda *_: command)
    with pytest.raises(BuildError, match=r"ended with exit code \d+: at the end; write"):
        rewritten(tmp_path, "")


def test_a_process_that_hangs_is_a_failed_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "confined_python", lambda *_: ["sleep", "60"])
    monkeypatch.setattr(rewriting, "_TIMEOUT_S", 1)
    with pytest.raises(BuildError, match="the sources take more than 1 s to rewrite"):
        rewritten(tmp_path, "")


@pytest.mark.parametrize("count", ["10001", "99999999999", "9" * 5000])
def test_a_declaration_of_more_registers_than_there_are_does_not_build(count: str) -> None:
    with pytest.raises(BuildError, match=r"kernel.cu:2: inline PTX with the registers `r<\d+>`: .* at most; declare"):
        rewrite(f'\nasm(".reg .b32 r<{count}>;");', "kernel.cu")


@pytest.mark.parametrize(
    "ptx", ["mov.u32 %" + "1" * 5000 + ", 1;", "/* " * 100_000, ".reg .b32 r<x>;"], ids=["digits", "comments", "word"]
)
def test_ptx_that_is_none_is_refused_at_once(ptx: str) -> None:
    started = time.process_time()
    with pytest.raises(Unsupported, match="at kernel.cu:1"):
        rewrite(f'asm("{ptx}" : "=r"(x));', "kernel.cu")
    assert time.process_time() - started < 5


@pytest.mark.rotating
@pytest.mark.parametrize(
    "text",
    [
        f"#define A0 3\n{LEVELS}#if A40\n#endif\n",
        "#ifdef A\n{\n#else\n{\n#endif\n" * 10_000,
        "#ifdef A\n{\n" + "#elif B\n{\n" * 60_000 + "#endif\n}",
        "{" * 100_000 + "#ifdef A\n#else\n#endif\n" * 5_000,
        "{\n#ifdef A\n" * 40_000,
        "cusolver" + "A" * 100_000 + "$",
    ],
    ids=["powers", "alternatives", "one of many", "under open ones", "in each other", "a long name"],
)
def test_time_grows_no_faster_than_the_source(text: str) -> None:
    started = time.process_time()
    rewrite(text, "kernel.cu")
    assert time.process_time() - started < 10


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize("text", ['asm(".reg .b32 r<99999999999>;");', OF_MEMORY], ids=["one", "many"])
def test_the_record_says_that_the_submission_does_not_build(evaluator: Evaluator, submit: Submit, text: str) -> None:
    record = evaluator.evaluate(submit(text, language="cuda", abi="c"), tier="quick")
    assert record.status is Status.BUILD_FAILED
    assert "kernel.cu:" in record.reason
