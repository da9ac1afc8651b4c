from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import needs_compiler

from robust_kbench.emulator.survey import extension, sandbox, sources
from robust_kbench.emulator.survey.__main__ import main, totals

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size))
    def forward(self, x):
        return x * self.weight
batch_size = 64
def get_inputs():
    return [torch.randn(batch_size, 8)]
def get_init_inputs():
    return [8]
"""
CUDA = r"""
#include <torch/extension.h>
__global__ void multiply(const float* x, const float* w, float* y, int n, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * w[i % columns];
}
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
    auto y = torch::empty_like(x);
    multiply<<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.numel(), w.numel());
    return y;
}
"""
CANDIDATE = f'''
import torch
from torch.utils.cpp_extension import load_inline
module = load_inline(name="multiply", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);",
                     cuda_sources=r"""{CUDA}""", functions=["run"], extra_cuda_cflags=["--use_fast_math"])
class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size, device="cuda"))
    def forward(self, x):
        torch.cuda.synchronize()
        return module.run(x.cuda(), self.weight)
'''
MEMORY = 12 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "tasks/level_1/7_multiply.py": REFERENCE,
        "solutions/level_1/task_7.py": CANDIDATE,
        "extension.cu": CUDA + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", &run); }",
        "copy.cu": CUDA + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", &run); }",
        "no_module.cu": CUDA,
        "notes.py": "print('nothing to see')",
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_extensions_and_models_are_found_once_with_their_references(folder: Path) -> None:
    found = list(sources.find(folder))
    assert [(item.path.name, item.kind) for item in found] == [("copy.cu", "extension"), ("task_7.py", "model")]
    assert found[1].reference == folder / "tasks/level_1/7_multiply.py"


def test_totals_count_each_kind() -> None:
    results = [
        {"kind": "extension", "built": True, "ran": False},
        {"kind": "model", "built": True, "ran": True, "right": True},
        {"kind": "model", "built": False, "ran": False},
    ]
    assert totals(results).splitlines() == [
        "1 extensions: 1 built",
        "2 models: 1 built, 1 ran, 1 within the tolerance",
    ]


@needs_compiler
@pytest.mark.slow
class TestRuns:
    def test_the_command_builds_and_compares(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(folder), "--json", "--batch", "4"]) == 0
        built, model = json.loads(capsys.readouterr().out)
        assert built["built"]
        assert (model["built"], model["ran"], model["right"], model["max_error"]) == (True, True, True, 0.0)
        assert model["findings"] == []

    def test_a_kernel_that_kills_the_process_is_explained_by_the_checker(self, folder: Path) -> None:
        faulty = CANDIDATE.replace("y[i] = x[i]", "y[i + (i ? 0 : 1 << 28)] = x[i]")
        path = folder / "solutions" / "level_1" / "task_7.py"
        path.write_text(faulty)
        found = sources.Found(path, "model", folder / "tasks/level_1/7_multiply.py")
        result = sandbox.run(found, sandbox.Settings(120, MEMORY, checked=True), extension.libraries())
        assert [finding["kind"] for finding in result["findings"]] == ["out_of_bounds_global"]

    def test_a_model_cannot_write_outside_its_folder(self, folder: Path) -> None:
        path = folder / "solutions" / "level_1" / "task_7.py"
        target = folder / "stolen"
        path.write_text(f"open({str(target)!r}, 'w').write('here')\n" + CANDIDATE)
        found = sources.Found(path, "model", folder / "tasks/level_1/7_multiply.py")
        result = sandbox.run(found, sandbox.Settings(120, MEMORY), extension.libraries())
        assert not target.exists()
        assert "PermissionError" in result["reason"]

    def test_time_is_limited(self, folder: Path) -> None:
        path = folder / "solutions" / "level_1" / "task_7.py"
        path.write_text("import time\ntime.sleep(60)\n" + CANDIDATE)
        found = sources.Found(path, "model", None)
        # Long enough for PyTorch to be loaded on a busy machine: five seconds were not, once.
        result = sandbox.run(found, sandbox.Settings(15, MEMORY), extension.libraries())
        assert result["reason"].startswith("out of time")
        assert "task_7.py" in result["reason"]
        assert result["seconds"] < 30
