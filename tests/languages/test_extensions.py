"""Torch extensions are compiled with the few of torch's headers that they need, and with all where that fails."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Submit, needs_compiler

from robust_kbench.emulator import torch_headers
from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler, cuda, extensions
from robust_kbench.registry import load_task
from robust_kbench.worker import loaders

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH; install the CUDA toolkit")
SOURCE = """
#include <torch/extension.h>

template <typename T>
__global__ void scale(const T* x, T* y, int64_t n, at::opmath_type<T> factor) {
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = static_cast<T>(static_cast<at::opmath_type<T>>(x[i]) * factor);
}

std::vector<torch::Tensor> rmsnorm(torch::Tensor x, torch::Tensor weight, std::optional<double> factor) {
    TORCH_CHECK(x.dim() == 2, "x has ", x.dim(), " dimensions");
    auto y = torch::empty_like(x);
    const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(x.device());
    auto zeros = torch::zeros({1, x.size(1)}, options);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
        if (x.is_cuda()) scale<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel(), 2);
        else y.copy_(x * factor.value_or(1.0));
    });
    return {y * weight, at::cat({at::sum(y, 0, true), zeros}), torch::arange(3, x.options())};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("rmsnorm", &rmsnorm, py::arg("x"), py::arg("weight"), py::arg("factor") = py::none());
}
"""


class Compiler:
    """Stand-in for a compiler: it fails or succeeds as it is told, attempt after attempt."""

    def __init__(self, *outcomes: str, seconds: float = 0) -> None:
        self.outcomes = list(outcomes)
        self.seconds = seconds
        self.now = 0.0
        self.attempts: list[tuple[list[str], int]] = []

    def __call__(self, headers: Sequence[str], timeout_s: int) -> str:
        self.attempts.append((list(headers), timeout_s))
        self.now += self.seconds
        outcome = self.outcomes.pop(0)
        if "error" in outcome:
            raise BuildError(outcome, f"log of {outcome}")
        return outcome

    @property
    def few(self) -> list[bool]:
        return [bool(headers) for headers, _ in self.attempts]

    def run(self, source: str, folder: Path, *, timeout_s: int = 300) -> str:
        return extensions.compile_extension({"kernel.cu": source}, folder, self, timeout_s=timeout_s)


def test_few_headers_are_all_where_they_suffice(tmp_path: Path) -> None:
    found = Compiler("a warning")
    assert found.run(SOURCE, tmp_path) == "a warning"
    assert found.few == [True]


def test_what_the_few_lack_is_compiled_with_all_and_leaves_no_trace(tmp_path: Path) -> None:
    found = Compiler("an error", "a warning")
    assert found.run(SOURCE, tmp_path) == "a warning"
    assert found.few == [True, False]


def test_of_two_failures_the_one_with_all_headers_is_shown(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="^second error$") as raised:
        Compiler("first error", "second error").run(SOURCE, tmp_path)
    assert raised.value.log == "log of second error"
    assert raised.value.__context__ is None  # nor is the first one shown above it


def test_both_attempts_together_take_no_longer_than_one_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Compiler("an error", "", seconds=20)
    monkeypatch.setattr(time, "monotonic", lambda: found.now)
    found.run(SOURCE, tmp_path, timeout_s=300)
    assert [seconds for _, seconds in found.attempts] == [300, 280]


def test_what_fails_late_does_not_fail_for_want_of_a_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Compiler("first error", "", seconds=200)
    monkeypatch.setattr(time, "monotonic", lambda: found.now)
    with pytest.raises(BuildError, match="first error"):
        found.run(SOURCE, tmp_path, timeout_s=300)
    assert found.few == [True]


@pytest.mark.parametrize(
    "text",
    [
        "namespace F = torch::nn::functional;",
        "class Square : public torch::autograd::Function<Square> {};",
        "TORCH_LIBRARY(mine, m) {}",
        # Functions of namespace at would be found, which do something else.
        "auto y = torch::zeros({2}, torch::requires_grad());",
        "auto y = torch::empty({2}, x.options().requires_grad(true));",
        "auto y = torch::tensor({1.0, 2.0});",
        "using namespace torch; auto y = tensor(1.5);",
        "auto y = torch::from_blob(data, {2});",
        "#if defined(X) && AT_PARALLEL_OPENMP\n#endif",
        "#ifdef TORCH_ARG\n#endif",
        "#ifndef C10_HOST_DEVICE\n#endif",
    ],
)
def test_what_the_few_lack_or_would_mean_differently_is_told_by_name(text: str, tmp_path: Path) -> None:
    found = Compiler("")
    found.run(SOURCE + text, tmp_path)
    assert found.few == [False]


@pytest.mark.parametrize("text", ["x.index({0});", "torch::Tensor tensor = x;", "#if TORCH_VERSION_MAJOR > 1\n#endif"])
def test_what_is_but_like_it_is_tried_with_few(text: str) -> None:
    assert not extensions.needs_whole(text)


def test_functions_that_are_called_by_name_are_included(tmp_path: Path) -> None:
    included = made_header(
        "torch::empty_like(x); at::sum(x); using namespace at; where(x); x.relu(); f->abs();", tmp_path
    )
    assert included == ["ATen/ops/empty_like.h", "ATen/ops/sum.h", "ATen/ops/where.h"]
    assert "ATen/core/IListRef.h" in made_header("at::cat({x, y})", tmp_path)
    assert made_header("x.index({torch::indexing::Slice()})", tmp_path) == ["ATen/TensorIndexing.h"]


@pytest.mark.parametrize(
    "text",
    ["../../secret(", "at::no_such_function(", 'sum.h>\n#include "x"(', "SUM(", "sum_ops(", "sum_native(", "ſum("],
)
def test_nothing_else_can_be_had_included(text: str, tmp_path: Path) -> None:
    assert made_header(text, tmp_path) == []


@pytest.mark.parametrize(
    "text", ["a" * 10**5, "sum " * 10**5, "torch :: " * 10**5, "sum" + " " * 10**5, "# if " * 10**5]
)
def test_a_long_source_is_searched_in_no_time(text: str, tmp_path: Path) -> None:
    started = time.monotonic()
    extensions.needs_whole(text)
    made_header(text, tmp_path)
    assert time.monotonic() - started < 2


def made_header(source: str, folder: Path) -> list[str]:
    """List the headers that the header made for a source includes."""
    extensions.few_headers(source, folder)
    text = (folder / "operators" / extensions.OPERATORS).read_text()
    assert all(re.fullmatch(r"#include <[\w/]+\.h>", line) for line in text.splitlines())
    return re.findall("<(.*)>", text)


def test_namespace_torch_has_the_names_of_the_installed_torch() -> None:
    constant = re.compile(r"constexpr auto (k\w+) = (?:at::)?(\w+);")
    theirs = torch_headers.torch_folder() / "include/torch/csrc/api/include/torch/types.h"
    ours = extensions.INCLUDE / "kbench" / "reduced_torch.h"
    missing = set(constant.findall(theirs.read_text())) - set(constant.findall(ours.read_text()))
    assert missing == set()


@needs_nvcc
@needs_compiler
@pytest.mark.slow
def test_nvcc_makes_a_working_module_with_few_headers(
    submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], *positions: Any, **keys: Any) -> str:
        commands.append(command)
        return original(command, *positions, **keys)

    original = compiler.run
    monkeypatch.setattr(compiler, "run", run)
    submission = submit(SOURCE, language="cuda", abi="torch")
    task = load_task("norm/rmsnorm").spec
    built = cuda._compile(submission, task, "float32", tmp_path, architecture=["-gencode=arch=compute_90a,code=sm_90a"])
    assert len(commands) == 1
    assert built.log == ""
    kernel = loaders.load(built.entry)
    x, weight = torch.randn(4, 3), torch.randn(3)
    y, sums, steps = kernel(x, weight, factor=2.0)
    assert torch.equal(y, x * 2 * weight)
    assert torch.equal(sums, torch.cat([(x * 2).sum(0, keepdim=True), torch.zeros(1, 3)]))
    assert torch.equal(steps, torch.arange(3.0))
    assert torch.equal(kernel(x.half(), weight.half())[0], x.half() * weight.half())
    with pytest.raises(RuntimeError, match="x has 1 dimensions"):
        kernel(weight, weight)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        kernel(1, weight)


@needs_nvcc
@pytest.mark.slow
def test_kernels_with_instructions_of_their_generation_alone_are_compiled(
    submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robust_kbench.devices.nvml.architecture", lambda: "sm_90")
    source = """
    __global__ void fence() { asm volatile("wgmma.fence.sync.aligned;"); }
    extern "C" void rmsnorm(const KBENCH_T*, const KBENCH_T*, KBENCH_T*, int64_t, int64_t, cudaStream_t) {
        fence<<<1, 128>>>();
    }
    """
    submission = submit(source, language="cuda", abi="c")
    assert cuda.build(submission, load_task("norm/rmsnorm").spec, "float32", "cuda", tmp_path).path.exists()
