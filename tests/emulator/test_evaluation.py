"""CUDA kernels through evaluate() on the cpu device: what each kind of mistake ends as."""

from __future__ import annotations

import shutil

import pytest
from conftest import Submit, needs_compiler

from robust_kbench import emulation
from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.registry import read_submission
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import RunRecord, Status, Tier

pytestmark = needs_compiler

KERNEL = """
__global__ void normalise(const float* x, const float* weight, float* y, int cols) {
    __shared__ float sums[128];
    float sum = 0.f;
    for (int i = threadIdx.x; i < cols; i += 128) sum += x[blockIdx.x * cols + i] * x[blockIdx.x * cols + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    float scale = rsqrtf(sums[0] / cols + 1e-6f);
    for (int i = threadIdx.x; i < cols; i += 128)
        y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] * scale * weight[i];
}
extern "C" void rmsnorm(
    const float* x, const float* weight, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows * cols > 0) normalise<<<rows, 128, 0, stream>>>(x, weight, y, cols);
}
"""
_REFUSES_THE_CHECKER = "#ifdef __SANITIZE_THREAD__\n#error not with the checker\n#endif\n"
SEED = 20
CASE = Case(axes={"rows": 15, "cols": 847}, dtype="float32", seed=SEED)  # every thread has work


def evaluated(evaluator: Evaluator, submit: Submit, old: str = "", new: str = "", *, tier: Tier = "quick") -> RunRecord:
    """The record of one case; the others would tell the same."""
    assert old in KERNEL
    kernel = submit(KERNEL.replace(old, new, 1), language="cuda", abi="c")
    return evaluator.evaluate(kernel, tier=tier, case=CASE)


def line_of(text: str, source: str = KERNEL) -> int:
    (line,) = [number for number, code in enumerate(source.splitlines(), 1) if text in code]
    return line


@pytest.mark.rotating
def test_an_honest_kernel_passes_without_a_time_and_without_a_finding(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluated(evaluator, submit, tier="full")
    assert (record.status, record.execution, record.reason) == (Status.PASSED, "emulated", "")
    assert (record.findings, record.timings, record.is_rankable) == ((), (), False)


@pytest.mark.rotating
def test_a_published_kernel_passes_in_every_dtype(evaluator: Evaluator) -> None:
    kernel = read_submission(data_folder("baselines") / "norm/rmsnorm/cuda_register_rows")
    record = evaluator.evaluate(kernel, tier="quick")
    assert {(case.dtype, case.status) for case in record.cases} == {
        ("float32", "passed"), ("float16", "passed"), ("bfloat16", "passed"),
    }  # fmt: skip


@pytest.mark.rotating
def test_a_missing_barrier_is_undefined_behaviour_at_its_line_and_no_wrong_answer(
    evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluated(evaluator, submit, "        __syncthreads();\n", "", tier="full")
    assert record.status is Status.REJECTED
    assert {finding.guard for finding in record.findings} == {"undefined_behaviour"}
    found = {(finding.evidence["kind"], finding.evidence["line"]) for finding in record.findings}
    assert ("race_shared", line_of("+= sums[threadIdx.x + half]")) in found
    assert not [case for case in record.cases if case.status == "incorrect"]


@pytest.mark.rotating
def test_a_read_beyond_a_tensor_is_found_although_the_answer_is_right(evaluator: Evaluator, submit: Submit) -> None:
    spoilt = "y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] * scale * weight[i]"
    beyond = f"{spoilt} * (weight[cols] == 1.2345f ? 2.f : 1.f)"
    assert evaluated(evaluator, submit, spoilt, beyond).status is Status.PASSED  # as on a device
    record = evaluated(evaluator, submit, spoilt, beyond, tier="full")
    assert record.status is Status.REJECTED
    (finding,) = record.findings
    assert finding.evidence["line"] == line_of("* scale * weight[i]")
    assert "'weight'" in finding.message
    assert "out_of_bounds_global" in finding.message


@pytest.mark.rotating
def test_a_wrong_formula_is_incorrect_and_no_undefined_behaviour(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluated(evaluator, submit, "1e-6f", "1e-1f", tier="full")
    assert (record.status, record.findings) == (Status.INCORRECT, ())


def test_a_wild_pointer_is_explained_and_ends_nobody_else(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluated(evaluator, submit, "sums[threadIdx.x] = sum;", "sums[threadIdx.x] = sum + x[1l << 40];")
    assert record.status is Status.REJECTED
    assert record.findings[0].evidence["line"] == line_of("sums[threadIdx.x] = sum;")


@pytest.mark.rotating
def test_a_result_that_depends_on_the_order_of_threads_is_explained_at_tier_quick(
    evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluated(evaluator, submit, "        __syncthreads();\n", "")
    assert record.status is Status.REJECTED
    assert record.findings[0].evidence["kind"] == "race_shared"


@pytest.mark.rotating
def test_an_endless_kernel_times_out_at_its_line(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulation, "_CPU_SECONDS", 1)
    record = evaluated(evaluator, submit, "i += 128) sum +=", "i += 0) sum +=")
    assert record.status is Status.TIMED_OUT
    assert record.reason.startswith(f"kernel.cu:{line_of('sum += x')}: work_limit")


def test_what_cannot_be_emulated_is_unsupported_with_its_line(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluated(evaluator, submit, "\n__global__", "\n#include <cutlass/cutlass.h>\n__global__")
    assert record.status is Status.UNSUPPORTED
    assert "kernel.cu:2" in record.reason
    assert record.reason.endswith("a CUDA device can run it")


def test_what_turns_out_at_run_time_to_be_impossible_is_unsupported(evaluator: Evaluator, submit: Submit) -> None:
    host = "    if (rows * cols > 0) normalise"
    big = f"    cudaFuncSetAttribute(normalise, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);\n{host}"
    record = evaluated(evaluator, submit, host, big)
    assert record.status is Status.UNSUPPORTED
    assert "compute capability 9.0" in record.reason


@pytest.mark.rotating
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH")
def test_a_function_that_only_nvcc_knows_is_unsupported(evaluator: Evaluator, submit: Submit) -> None:
    fence = "    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);\n    float scale ="
    record = evaluated(evaluator, submit, "    float scale =", fence)
    assert record.status is Status.UNSUPPORTED
    assert f"kernel.cu:{line_of('float scale =')}:" in record.reason
    assert record.reason.endswith("a CUDA device can run it (nvcc accepts the source)")


def test_a_kernel_that_no_compiler_accepts_fails_to_build_at_its_line(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluated(evaluator, submit, "float scale =", "flaot scale =")
    assert record.status is Status.BUILD_FAILED
    assert f"kernel.cu:{line_of('float scale =')}" in record.reason.replace("(", ":")


EXTENSION = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

template <typename T>
__global__ void normalise(const T* x, const T* weight, T* y, int cols) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0.f;
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float value = x[blockIdx.x * cols + i];
        atomicAdd(&sum, value * value);
    }
    __syncthreads();
    const float scale = rsqrtf(sum / cols + 1e-6f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        y[blockIdx.x * cols + i] = static_cast<T>(static_cast<float>(x[blockIdx.x * cols + i]) * scale * weight[i]);
    }
}

torch::Tensor forward(torch::Tensor input, torch::Tensor weight) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    const auto x = input.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rmsnorm", [&] {
        normalise<scalar_t><<<x.size(0), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), weight.contiguous().data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1));
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


@pytest.mark.slow
def test_a_torch_extension_is_built_once_and_passes_in_every_dtype_and_layout(
    evaluator: Evaluator, submit: Submit
) -> None:
    fields = {"entry_point": "kernel.cu::forward", "dtypes": ("float32", "float16", "bfloat16")}
    record = evaluator.evaluate(submit(EXTENSION, language="cuda", abi="torch", **fields), tier="full", seed=SEED)
    assert (record.status, record.execution, record.reason) == (Status.PASSED, "emulated", "")
    assert {case.layout for case in record.cases} > {"contiguous", "transposed"}


@pytest.mark.slow
def test_a_read_beyond_a_tensor_of_the_extension_is_found(evaluator: Evaluator, submit: Submit) -> None:
    broken = EXTENSION.replace("sum / cols", "(sum + 0 * weight[cols]) / cols")
    fields = {"entry_point": "kernel.cu::forward"}
    record = evaluator.evaluate(submit(broken, language="cuda", abi="torch", **fields), tier="full", seed=SEED)
    assert record.status is Status.REJECTED
    assert record.findings[0].evidence["kind"] == "out_of_bounds_global"
    assert record.findings[0].evidence["line"] == line_of("rsqrtf(", broken)


@pytest.mark.rotating
def test_a_source_that_does_not_build_for_the_checker_is_as_wrong_as_it_was(
    evaluator: Evaluator, submit: Submit
) -> None:
    wrong = _REFUSES_THE_CHECKER + KERNEL.replace("1e-6f", "0.5f")
    record = evaluator.evaluate(submit(wrong, language="cuda", abi="c"), tier="quick", case=CASE)
    assert record.status is Status.INCORRECT, record.reason
    assert [case.status for case in record.cases] == ["incorrect"]
