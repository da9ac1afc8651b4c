"""The custom track: a submission that declares kernels of its own is tried without them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.errors import SpecError
from robust_kbench.evaluate import Evaluator
from robust_kbench.languages import cuda
from robust_kbench.registry import load_task
from robust_kbench.schema.documents import parse
from robust_kbench.schema.submission import SubmissionFile

TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def row(x, weight, y, cols, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    inside = place < cols
    start = tl.program_id(0).to(tl.int64) * cols
    values = tl.load(x + start + place, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(values * values) / cols + 1e-6)
    tl.store(y + start + place, values * scale * tl.load(weight + place, mask=inside), mask=inside)

def kernels(x, weight):
    x, weight, y = x.contiguous(), weight.contiguous(), torch.empty(x.shape, dtype=x.dtype)
    row[(len(x),)](x, weight, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y

def library(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""
HONEST = f"{TRITON}\ndef rmsnorm(x, weight):\n    return kernels(x, weight)\n"
FOR_SHOW = f"{TRITON}\ndef rmsnorm(x, weight):\n    kernels(x, weight)\n    return library(x, weight)\n"
FALLBACK = f"""{TRITON}
def rmsnorm(x, weight):
    y = kernels(x, weight)
    due = library(x, weight)
    return y if torch.allclose(y, due, equal_nan=True) else due
"""
CUDA = """
__global__ void scale_rows(const float* x, const float* weight, float* y, int64_t cols) {
    if (threadIdx.x) return;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    double sum = 0.0;
    for (int64_t i = 0; i < cols; ++i) sum += double(x[i]) * x[i];
    const double scale = 1.0 / sqrt(sum / cols + 1e-6);
    for (int64_t i = 0; i < cols; ++i) y[i] = x[i] * scale * weight[i];
}

extern "C" void rmsnorm(
    const float* x, const float* weight, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows) scale_rows<<<rows, 32, 0, stream>>>(x, weight, y, cols);
}
"""


@pytest.mark.rotating
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(FOR_SHOW, id="beside the library", marks=pytest.mark.slow),
        pytest.param(FALLBACK, id="as a fallback"),
    ],
)
def test_kernels_that_do_nothing_for_the_answer_are_rejected(source: str, evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(source, language="triton", track="custom"), tier="quick")
    assert record.status == "rejected"
    assert record.reason.startswith("knock_out: the answer is right without the submission's kernels")
    assert record.track == "custom"


@pytest.mark.slow
def test_on_the_open_track_nobody_asks(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(FOR_SHOW, language="triton"), tier="quick")
    assert (record.status, record.track) == ("passed", "open"), record.reason


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("source", "language", "abi"),
    [pytest.param(HONEST, "triton", "value", marks=pytest.mark.slow), (CUDA, "cuda", "c")],
)
def test_kernels_that_do_the_work_pass(
    source: str, language: str, abi: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(source, language=language, abi=abi, track="custom"), tier="quick")
    assert record.status == "passed", record.reason


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_a_language_without_launches_has_no_such_track(language: str) -> None:
    told = {"task": "norm/rmsnorm", "language": language, "entry_point": "kernel.py::rmsnorm", "track": "custom"}
    with pytest.raises(SpecError, match=f"of triton or cuda; {language} has none"):
        parse(SubmissionFile, told, "submission.yaml")


def test_the_open_track_does_not_change_a_digest(submit: Submit) -> None:
    plain = submit(HONEST, language="triton")
    assert submit(HONEST, language="triton", track="open").digest == plain.digest
    assert submit(HONEST, language="triton", track="custom").digest != plain.digest


@pytest.mark.rotating
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH; install the CUDA toolkit")
def test_what_nvcc_builds_launches_through_us(submit: Submit, tmp_path: Path) -> None:
    """The build refers to our launch wrapper. Running it needs a device: see tests/perf/gpu_trials.py."""
    task = load_task("norm/rmsnorm").spec
    wanted = submit(CUDA, language="cuda", abi="c", track="custom")
    architecture = ["-gencode", "arch=compute_80,code=sm_80"]
    built = cuda._compile(wanted, task, "float32", tmp_path, architecture=architecture)
    symbols = subprocess.run(["nm", built.path], capture_output=True, text=True, check=True).stdout  # noqa: S607
    assert "__wrap_" in symbols
