from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.profiling import nvcc, tools
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission

needs_nvcc = pytest.mark.skipif(tools.find("nvcc") is None, reason="no nvcc on the PATH; install the CUDA toolkit")
TASK = load_task("norm/rmsnorm").spec
# A local array with a computed index lives in memory; the tile lies in shared memory.
SOURCE = """
__global__ void heavy(const KBENCH_T* x, KBENCH_T* y, int64_t n) {
    __shared__ float tile[256];
    float own[64];
    for (int i = 0; i < 64; ++i) own[(i * n) % 64] = float(x[threadIdx.x + i * n]);
    tile[threadIdx.x] = own[n % 64];
    __syncthreads();
    y[threadIdx.x] = KBENCH_T(tile[255 - threadIdx.x] * 0.1);
}
extern "C" void rmsnorm(const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    heavy<<<1, 256, 0, stream>>>(x, y, cols);
}
"""


@pytest.fixture
def heavy(submit: Submit) -> Submission:
    return submit(SOURCE, language="cuda", abi="c")


@pytest.mark.rotating
@needs_nvcc
def test_every_dtype_and_architecture_is_compiled_without_a_device(heavy: Submission, tmp_path: Path) -> None:
    report, cubins = nvcc.compile_kernels(heavy, TASK, ["float32", "float16"], ["sm_80", "sm_90"], tmp_path)
    assert not report.failure
    assert [(kernel.dtype, kernel.architecture) for kernel in report.kernels] == [
        ("float32", "sm_80"), ("float32", "sm_90"), ("float16", "sm_80"), ("float16", "sm_90"),
    ]  # fmt: skip
    assert len(cubins) == 4
    for kernel in report.kernels:
        assert kernel.kernel == "heavy"
        assert (kernel.shared_bytes, kernel.stack_bytes, kernel.spill_store_bytes) == (1024, 256, 0)
        assert kernel.registers > 0


@needs_nvcc
def test_machine_code_shows_the_local_array_and_the_double_literal(heavy: Submission, tmp_path: Path) -> None:
    _, cubins = nvcc.compile_kernels(heavy, TASK, ["float32"], ["sm_90"], tmp_path)
    report = nvcc.disassemble(cubins, tmp_path, keep_listing=False)
    (mix,) = report.kernels
    assert (mix.kernel, mix.architecture) == ("heavy", "sm_90")
    assert "STL" in mix.widths
    assert {"barrier", "shared load", "shared store", "global load"} <= set(mix.classes)
    assert any("local memory" in hint for hint in mix.hints)
    assert any("float64 instructions in a float32 build" in hint for hint in mix.hints)
    assert report.listing == ""


@needs_nvcc
def test_the_listing_is_kept_where_it_is_asked_for(heavy: Submission, tmp_path: Path) -> None:
    _, cubins = nvcc.compile_kernels(heavy, TASK, ["float32"], ["sm_90"], tmp_path)
    listing = nvcc.disassemble(cubins, tmp_path, keep_listing=True).listing
    assert listing.startswith("// float32 sm_90\n")
    assert "BAR.SYNC" in listing


@needs_nvcc
def test_source_that_does_not_compile_is_reported_with_the_first_error(submit: Submit, tmp_path: Path) -> None:
    broken = submit(SOURCE.replace("tile[255", "nothing[255"), language="cuda", abi="c")
    report, cubins = nvcc.compile_kernels(broken, TASK, ["float32"], ["sm_80"], tmp_path)
    assert 'identifier "nothing" is undefined' in report.failure
    assert (report.kernels, cubins) == ((), [])


@needs_nvcc
def test_flags_of_the_submission_reach_the_compiler(submit: Submit, tmp_path: Path) -> None:
    narrow = submit(SOURCE, language="cuda", abi="c", build=("-O3", "-maxrregcount=24"))
    (kernel,) = nvcc.compile_kernels(narrow, TASK, ["float32"], ["sm_80"], tmp_path)[0].kernels
    assert kernel.registers <= 24


def test_a_torch_extension_is_compiled_once_with_options_that_nvcc_knows(
    submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def record(command: list[str], *_: object, **__: object) -> str:
        commands.append(command)
        return ""

    monkeypatch.setattr("robust_kbench.languages.compiler.run", record)
    monkeypatch.setattr(tools, "find", lambda name: name)
    submission = submit(SOURCE, language="cuda", abi="torch")
    report, _ = nvcc.compile_kernels(submission, TASK, ["float32", "float16"], ["sm_80", "sm_90"], tmp_path)
    (command,) = commands
    assert "-arch=sm_90" in command
    assert any(command[at - 1] == "-isystem" and path.endswith("torch/include") for at, path in enumerate(command))
    assert not any(option.startswith("-isystem/") for option in command)  # nvcc does not know it in one word
    assert report.notes == ("abi torch: compiled once for all dtypes, and for sm_90 alone",)


def test_a_missing_compiler_costs_one_line(heavy: Submission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find", lambda name: None)
    report, cubins = nvcc.compile_kernels(heavy, TASK, ["float32"], ["sm_80"], tmp_path)
    assert report.notes == ("no nvcc on the PATH; install the CUDA toolkit",)
    assert (report.failure, cubins) == ("", [])


def test_a_missing_disassembler_costs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find", lambda name: None)
    cubin = nvcc.Cubin(tmp_path / "kernel.cubin", "float32", "sm_90")
    (note,) = nvcc.disassemble([cubin], tmp_path, keep_listing=False).notes
    assert note == "no nvdisasm on the PATH; install the CUDA toolkit, or triton, which brings one"


def test_what_is_no_machine_code_costs_one_line(tmp_path: Path) -> None:
    if tools.find("nvdisasm") is None:
        pytest.skip("no nvdisasm")
    cubin = nvcc.Cubin(tmp_path / "kernel.cubin", "float32", "sm_90")
    cubin.path.write_text("#!/bin/sh\n")
    report = nvcc.disassemble([cubin], tmp_path, keep_listing=False)
    assert report.kernels == ()
    assert report.notes[0].startswith("nvdisasm: ")
