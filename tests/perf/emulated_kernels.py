"""Times of the emulator: build and run of every published CUDA kernel, plain and checked, beside PyTorch.

    python tests/perf/emulated_kernels.py [--json]

Kernels run in float32 in a worker, as in an evaluation, on tensors of normal values; PyTorch runs the task's reference
on one thread. The shapes are chosen here, small enough for the checker. Milliseconds, the best of three.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from robust_kbench import emulation
from robust_kbench.cases.values import make_inputs
from robust_kbench.contestant import build
from robust_kbench.devices import open_device
from robust_kbench.emulation import Mode
from robust_kbench.folders import data_folder
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages import cuda
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import load_task, read_submission, submission_folders
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import Submission

SHAPES: dict[str, dict[str, int]] = {
    "activation/softmax": {"rows": 1024, "cols": 1024},
    "attention/causal": {"batch": 1, "heads": 4, "length": 128, "head_dim": 64},
    "fused/linear_relu": {"batch": 256, "in_features": 256, "out_features": 256},
    "loss/cross_entropy": {"rows": 1024, "classes": 1024},
    "loss/cross_entropy_backward": {"rows": 1024, "classes": 1024},
    "matmul/linear": {"batch": 256, "in_features": 256, "out_features": 256},
    "matmul/matmul": {"m": 512, "n": 512, "k": 512},
    "norm/layernorm": {"rows": 1024, "cols": 1024},
    "norm/rmsnorm": {"rows": 1024, "cols": 1024},
    "norm/rmsnorm_backward": {"rows": 256, "cols": 1024},
    "pool/max_pool2d": {"batch": 4, "channels": 16, "height": 32, "width": 32, "window": 2, "step": 2},
}
_REPEATS = 3
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Row:
    """Times of one kernel: runs in milliseconds, builds in seconds."""

    kernel: str
    shape: str
    build_s: float
    build_checked_s: float
    run_ms: float
    run_checked_ms: float
    torch_ms: float


def measure(folder: Path, pool: WarmPool) -> Row:
    """Build and run one kernel both ways."""
    submission = read_submission(folder)
    task = load_task(submission.file.task)
    case = Case(axes=SHAPES[task.spec.name], dtype="float32", seed=1)
    device = open_device("cpu")
    started = time.perf_counter()
    contestant = build("candidate", submission, task.spec, ["float32"], device, pool.scratch())
    built = time.perf_counter()
    checked = cuda.emulate(submission, task.spec, "float32", pool.scratch(), checked=True)
    built_checked = time.perf_counter()
    inputs = make_inputs(task.spec, case)
    arena = Arena(case_footprint(task.spec, case) * 2)
    caller = Caller(task.spec, arena, timeout_s=_TIMEOUT_S)

    def run(mode: Mode) -> float:
        artefact = checked if mode.checked else contestant.built["float32"]
        worker = contestant.start(pool, arena, device, "float32", artefact)
        try:
            seen = [caller.call(worker, "c", case, inputs, emulation=mode) for _ in range(_REPEATS)]
        finally:
            worker.close()
        if any(observation.ending != "returned" or observation.reports for observation in seen):
            raise SystemExit(f"{submission.name}: {seen[0].ending} {seen[0].message} {seen[0].reports}")
        return min(observation.elapsed_ns for observation in seen) / 1e6

    plain_ms, checked_ms = run(emulation.modes(case)[0]), run(emulation.under_checker(case))
    arena.close()
    reference = Reference(task)
    torch_ms = min(_milliseconds(lambda: reference.native(inputs)) for _ in range(_REPEATS))
    shape = " ".join(f"{name}={size}" for name, size in case.axes.items())
    name = f"{task.spec.name} {submission.name}"
    return Row(name, shape, built - started, built_checked - built, plain_ms, checked_ms, torch_ms)


def _milliseconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1e3


def kernels() -> Iterator[Path]:
    """Yield the folder of every published CUDA kernel."""
    for folder in submission_folders(data_folder("baselines")):
        if _is_cuda(read_submission(folder)):
            yield folder


def _is_cuda(submission: Submission) -> bool:
    return submission.file.language == "cuda" and submission.abi == "c"


def main() -> None:
    """Print the table of all kernels."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    as_json = arguments.parse_args().json
    torch.set_num_threads(1)
    if not as_json:
        print("| kernel | shape | build s | checked | run ms | checked | torch ms | slow-down | checked |")
        print("|---|---|---|---|---|---|---|---|---|")
    with WarmPool() as pool:
        for folder in kernels():
            row = measure(folder, pool)
            if as_json:
                print(json.dumps(row.__dict__))
                continue
            print(
                f"| {row.kernel} | {row.shape} | {row.build_s:.2f} | {row.build_checked_s:.2f} | {row.run_ms:.1f} "
                f"| {row.run_checked_ms:.0f} | {row.torch_ms:.2f} | {row.run_ms / row.torch_ms:.0f} "
                f"| {row.run_checked_ms / row.torch_ms:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
