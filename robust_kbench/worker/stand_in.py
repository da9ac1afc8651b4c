"""Call a submission on arguments of the right shape and without any of the judge's values: for compilers and tools.

`python -I -m robust_kbench.worker.stand_in REQUEST` does so on the CUDA device, inside a tool that watches this
process.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import torch

from robust_kbench.worker import loaders, profiled


def arguments(request: dict[str, Any], device: str) -> list[Any]:
    """Make the inputs, then the outputs; scalars have their value, tensors are zeros, which every index may be."""
    return [_argument(spec, device) for spec in (*request["inputs"], *request["outputs"])]


def _argument(spec: dict[str, Any], device: str) -> Any:
    if "value" in spec:
        return spec["value"]
    return torch.zeros(spec["shape"], dtype=getattr(torch, spec["dtype"]), device=device)


def call(request: dict[str, Any], device: str) -> Callable[[], Any]:
    """Return the submission, ready to be called without arguments."""
    kernel = loaders.load(request)
    passed = arguments(request, device)
    return profiled.bound(kernel, request["abi"], passed, len(request["inputs"]), request["axes"], device)


def main() -> None:
    """Call the submission once to warm up, and once between the marks that profilers heed."""
    with open(sys.argv[1]) as file:
        request = json.load(file)
    kernel = call(request, "cuda")
    kernel()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    kernel()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
