from __future__ import annotations

import dataclasses

import pytest
from conftest import Submit, needs_compiler

from robust_kbench.contestant import build
from robust_kbench.devices import open_device
from robust_kbench.errors import Unsupported
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.built import Built
from robust_kbench.profiling import emulated
from robust_kbench.profiling.reports import SanitizerReport
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType

pytestmark = needs_compiler
TASK = load_task("norm/rmsnorm")
SOURCE = """
__global__ void normalise(const float* x, const float* weight, float* y, int64_t cols) {
    __shared__ float partial[64];
    const int64_t row = blockIdx.x;
    float sum = 0;
    for (int64_t c = threadIdx.x; c < cols; c += 64) sum += x[row * cols + c] * x[row * cols + c];
    partial[threadIdx.x] = sum;
    __syncthreads();
    float total = 0;
    for (int i = 0; i < 64; ++i) total += partial[i];
    const float scale = 1 / sqrtf(total / cols + 1e-6f);
    for (int64_t c = threadIdx.x; c < cols; c += 64) y[row * cols + c] = x[row * cols + c] * scale * weight[c];
}
extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    normalise<<<rows, 64, 0, stream>>>(x, weight, y, cols);
}
"""
RACY = SOURCE.replace("    __syncthreads();\n", "")


def check(submission: Submission) -> SanitizerReport:
    device = open_device("cpu")
    with WarmPool() as pool:
        contestant = build("test", submission, TASK.spec, ["float32"], device, pool.scratch())
        return emulated.check(TASK, contestant, "float32", device, pool)


@pytest.mark.slow
def test_a_missing_barrier_is_found_with_its_line(submit: Submit) -> None:
    report = check(submit(RACY, language="cuda", abi="c"))
    line = RACY.splitlines().index("    for (int i = 0; i < 64; ++i) total += partial[i];") + 1
    assert any(f"kernel.cu:{line}: race_shared" in finding.message for finding in report.findings)
    assert {finding.tool for finding in report.findings} == {"emulator"}


@pytest.mark.rotating
def test_a_sound_kernel_is_checked_on_long_rows_and_on_many(submit: Submit) -> None:
    report = check(submit(SOURCE, language="cuda", abi="c"))
    assert (report.findings, report.notes) == ((), ())
    sizes = [dict(part.split("=") for part in case.split() if "=" in part) for case in report.checked]
    assert len(sizes) >= 2
    assert max(int(size["cols"]) for size in sizes) > 64


@pytest.mark.rotating
def test_a_wrong_answer_without_undefined_behaviour_is_told(submit: Submit) -> None:
    report = check(submit(SOURCE.replace("1 / sqrtf", "2 / sqrtf"), language="cuda", abi="c"))
    assert report.findings == ()
    assert report.notes[0].startswith("the case came out incorrect: ")


@pytest.mark.rotating
def test_what_cannot_be_emulated_costs_one_line(submit: Submit) -> None:
    device = open_device("cpu")
    with WarmPool() as pool:
        contestant = build(
            "test", submit(SOURCE, language="cuda", abi="c"), TASK.spec, ["float32"], device, pool.scratch()
        )
        failing = dataclasses.replace(contestant, instrument=_unsupported)
        report = emulated.check(TASK, failing, "float32", device, pool)
    assert (report.checked, report.notes) == ((), ("not here; use a device",))


def _unsupported(dtype: FloatDType) -> Built:
    raise Unsupported("not here; use a device")
