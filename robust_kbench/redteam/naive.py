"""Naive harness: judges kernels in its own process, on one shape, with a loose tolerance and equal inputs.

It is modelled on KernelBench's evaluation (five trials with known seeds, allclose at 1e-2, the mean of a hundred timed
calls on the same inputs, the baseline timed afterwards in the same process). An attack whose defence is the process
boundary must succeed here, or it is not armed. `python -m robust_kbench.redteam.naive REQUEST` prints one line of JSON:
{"passed": …, "reason": …, "speedup": …}. Without an argument it does so for every request that a line of its input
names, each in a copy of itself: see naive_process.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from robust_kbench.worker import loaders

_SEED, _TRIALS, _WARM_UP, _CALLS, _TOLERANCE = 42, 5, 3, 100, 1e-2
Tensors = list[torch.Tensor]


def evaluate(request: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on a built kernel. `request`: reference, artefact, abi, shapes, axes, whether it is timed."""
    reference = _reference(request["reference"])
    kernel = _kernel(request)
    for trial in range(_TRIALS):
        torch.manual_seed(_SEED + trial)
        inputs = _inputs(request)
        expected = reference(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        answer = kernel(inputs, [each.shape for each in expected])
        if not all(
            torch.allclose(mine, due, atol=_TOLERANCE, rtol=_TOLERANCE)
            for mine, due in zip(answer, expected, strict=False)
        ):
            return {"passed": False, "reason": "output mismatch", "speedup": 0.0}
    if not request["is_timed"]:
        return {"passed": True, "reason": "", "speedup": 0.0}
    shapes = [each.shape for each in expected]
    candidate = _time(lambda: kernel(inputs, shapes))
    baseline = _time(lambda: reference(*inputs))
    return {"passed": True, "reason": "", "speedup": baseline / candidate if candidate > 0 else 1e9}


def _reference(path: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.reference
    return found


def _inputs(request: dict[str, Any]) -> Tensors:
    random.seed(_SEED)
    return [torch.randn(shape) for shape in request["shapes"]]


def _kernel(request: dict[str, Any]) -> Callable[[Tensors, list[torch.Size]], Tensors]:
    """Wrap the submission, of any calling convention, as a function from inputs and shapes to outputs."""
    loaded = loaders.load(request)
    if request["abi"] == "value":

        def value(inputs: Tensors, shapes: list[torch.Size]) -> Tensors:
            result = loaded(*inputs)
            return list(result) if isinstance(result, tuple | list) else [result]

        return value

    def destination(inputs: Tensors, shapes: list[torch.Size]) -> Tensors:
        outputs = [torch.empty(shape) for shape in shapes]
        if request["abi"] == "c":
            pointers = [ctypes.c_void_p(each.data_ptr()) for each in (*inputs, *outputs)]
            loaded(*pointers, *(ctypes.c_int64(size) for size in request["axes"]))
        else:
            loaded(*inputs, *outputs)
        return outputs

    return destination


def _time(call: Callable[[], object]) -> float:
    for _ in range(_WARM_UP):
        call()
    times = []
    for _ in range(_CALLS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return sum(times) / len(times)


def main() -> None:
    """Judge the request that the command line names, or else each request that a line of the input names."""
    torch.set_num_threads(1)  # before anything forks: it leaves no threads behind
    request = Path(sys.argv[1]) if len(sys.argv) > 1 else _next_in_a_copy()
    if request is None:
        return
    try:
        verdict = evaluate(json.loads(request.read_text()))
    except Exception as error:
        verdict = {"passed": False, "reason": f"{type(error).__name__}: {error}", "speedup": 0.0}
    print(json.dumps(verdict))


def _next_in_a_copy() -> Path | None:
    """Return its request in a copy of this process, as if it was started for that; None here, after the last one.

    The output of the copy is put beside the request. A line tells here when the copy has ended.
    """
    for line in sys.stdin:
        request = Path(line.removesuffix("\n"))
        here, there = os.pipe()
        copy = os.fork()
        if not copy:
            os.close(here)
            _look_fresh(request, there)
            return request
        os.close(there)
        with open(here, "rb") as pipe:
            request.with_suffix(".out").write_bytes(pipe.read())
        os.waitpid(copy, 0)
        print(request, flush=True)
    return None


def _look_fresh(request: Path, output: int) -> None:
    """Set streams, folder and arguments as in a process that was started for `request` alone."""
    os.chdir(request.parent)
    errors = os.open(request.with_suffix(".err"), os.O_WRONLY | os.O_CREAT, 0o600)
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), output, errors)):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv.append(str(request))
    sys.orig_argv.append(str(request))


if __name__ == "__main__":
    main()
