"""Cost of a verdict on a CUDA device, beside those of KernelBench and of the original robust-kbench.

    python tests/perf/gpu_cost.py --out FILE [--kernelbench CHECKOUT] [--robust-kbench CHECKOUT] [--runs 3]

Each row is a process of its own: the seconds of each run, their median, and the last line that it said. Nothing of
others' checkouts is copied or changed. They import modules beyond PyTorch for the sake of language models, or to name
the GPU; a module of these that is not installed is replaced by an empty one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600
QUICK = ("norm/rmsnorm/cuda_register_rows", "activation/softmax/triton_tile", "norm/rmsnorm/python_two_pass")
FULL = (
    "norm/rmsnorm/cuda_register_rows", "activation/softmax/triton_tile", "norm/layernorm/cuda_register_rows",
    "matmul/matmul/triton_tiled", "attention/causal/cuda_flash",
)  # fmt: skip
_STAND_INS: Mapping[str, str] = {
    "openai.py": "class OpenAI: pass\n",
    "litellm.py": "completion = None\n",
    "dotenv.py": "def load_dotenv(*arguments, **options): pass\n",
    "requests.py": "",
    "tqdm.py": "def tqdm(items, *arguments, **options): return items\n",
    "pycuda/__init__.py": "",
    "pycuda/autoinit.py": "",
    "pycuda/driver.py": "class Device:\n    count = staticmethod(lambda: 0)\n",
}
_KERNEL = r"""
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <torch/extension.h>

__global__ void normalise(const float* x, float* y, long features, long inner, long count, float eps) {
  long place = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (place >= count) return;
  const float* column = x + place / inner * features * inner + place % inner;
  float* target = y + (column - x);
  float total = 0;
  for (long i = 0; i < features; i++) total += column[i * inner] * column[i * inner];
  float scale = 1 / sqrtf(total / features + eps);
  for (long i = 0; i < features; i++) target[i * inner] = column[i * inner] * scale;
}

torch::Tensor rmsnorm(torch::Tensor x, double eps) {
  auto y = torch::empty_like(x);
  long inner = x.numel() / x.size(0) / x.size(1), count = x.size(0) * inner;
  normalise<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), inner, count, eps);
  return y;
}
'''
DECLARED = "torch::Tensor rmsnorm(torch::Tensor x, double eps);"
built = load_inline("normalised", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["rmsnorm"])


class ModelNew(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return built.rmsnorm(x, self.eps)
"""
_KERNELBENCH = """
import pathlib, sys, torch
from kernelbench.eval import eval_kernel_against_ref

problem, kernel, folder = (pathlib.Path(path) for path in sys.argv[1:])
print(eval_kernel_against_ref(
    problem.read_text(), kernel.read_text(), num_correct_trials=5, num_perf_trials=100, measure_performance=True,
    build_dir=folder, device=torch.device("cuda:0"),
))
"""


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> tuple[float, str]:
    """Return the wall seconds of a process, and the last line that it said."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, text=True, timeout=LIMIT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said = [line for line in done.stdout.splitlines() if line.strip()] or [""]
        last = f"exit code {done.returncode}: {said[-1][-300:]}"
    except subprocess.TimeoutExpired:
        last = "cut off"
    return time.monotonic() - started, last


def ours(submission: str, tier: str, scratch: Path) -> list[str]:
    """Return the command that judges one of our kernels."""
    command = [sys.executable, "-m", "robust_kbench", "evaluate", str(ROOT / "baselines" / submission)]
    return [*command, "--device", "cuda", "--tier", tier, "--store", str(scratch / "records.jsonl")]


def kernelbench(checkout: Path, scratch: Path) -> list[str]:
    """Return the command of KernelBench's own function: problem 36 of level 1, 5 correctness and 100 timed trials."""
    (scratch / "judge.py").write_text(_KERNELBENCH)
    (scratch / "kernel.py").write_text(_KERNEL)
    problem = checkout / "KernelBench" / "level1" / "36_RMSNorm_.py"
    paths = (scratch / "judge.py", problem, scratch / "kernel.py", Path(tempfile.mkdtemp(dir=scratch)))
    return [sys.executable, *map(str, paths)]


def original(checkout: Path) -> list[str]:
    """Return the command of the original robust-kbench for the RMS normalisation that it highlights."""
    kernel = "highlighted/llama_rmsnorm/forward/kernel.cu"
    return [sys.executable, "run_kernel.py", "--task_dir", "tasks/llama_rmsnorm", "--cuda_code_path", kernel]


def stand_ins(folder: Path) -> Path:
    """Write empty modules for modules that are not installed."""
    for name, source in _STAND_INS.items():
        if importlib.util.find_spec(name.split("/")[0].removesuffix(".py")) is None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(source)
    return folder


def main() -> None:
    """Run all commands, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kernelbench", type=Path)
    parser.add_argument("--robust-kbench", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=["quick", "full", "others"])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chosen.out.open("a") as file:
        scratch = Path(name)
        python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        plain = {**os.environ, "PATH": python, "PYTHONPATH": str(ROOT)}
        rows = [
            *((f"quick {each}", ours(each, "quick", scratch), plain, ROOT) for each in QUICK),
            *((f"full {each}", ours(each, "full", scratch), plain, ROOT) for each in FULL),
        ]
        modules = stand_ins(scratch / "modules")
        if chosen.kernelbench:
            path = os.pathsep.join([str(chosen.kernelbench.resolve() / "src"), str(modules)])
            rows += [
                (
                    "others KernelBench 1/36",
                    kernelbench(chosen.kernelbench.resolve(), scratch),
                    {**plain, "PYTHONPATH": path},
                    scratch,
                )
            ]
        if chosen.robust_kbench:
            checkout = chosen.robust_kbench.resolve()
            path = os.pathsep.join([str(checkout), str(modules)])
            rows += [
                ("others robust-kbench llama_rmsnorm", original(checkout), {**plain, "PYTHONPATH": path}, checkout)
            ]
        for label, command, environment, folder in rows:
            if chosen.only and not label.startswith(chosen.only):
                continue
            extensions = tempfile.mkdtemp(dir=scratch)  # or the second run would find what the first has built
            if label.startswith("others"):
                environment = {**environment, "HOME": extensions}
            timed = [
                run(command, {**environment, "TORCH_EXTENSIONS_DIR": f"{extensions}/{number}"}, folder)
                for number in range(chosen.runs)
            ]
            seconds = [round(each, 1) for each, _ in timed]
            row = {"what": label, "median_s": statistics.median(seconds), "seconds": seconds, "said": timed[-1][1]}
            print(json.dumps(row), file=file, flush=True)


if __name__ == "__main__":
    main()
