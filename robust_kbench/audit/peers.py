"""The acceptance rules of other benchmarks, as their sources have them, to be compared with ours.

All of them compare with PyTorch's answer in the same dtype. Constants are theirs; where a rule is configurable, its
default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

_TESTING = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}
"""rtol and atol of torch.testing.assert_close."""


@dataclass(frozen=True)
class Peer:
    """Another benchmark's rule. `accepts(answer, native)`: two tensors of one shape and dtype."""

    name: str
    rule: str
    accepts: Callable[[torch.Tensor, torch.Tensor], bool]


def _allclose(relative: float, absolute: float) -> Callable[[torch.Tensor, torch.Tensor], bool]:
    def accepts(answer: torch.Tensor, native: torch.Tensor) -> bool:
        return bool(torch.allclose(answer.double(), native.double(), relative, absolute, equal_nan=True))

    return accepts


def _kernelbench(answer: torch.Tensor, native: torch.Tensor) -> bool:
    tolerance = 1e-4 if answer.dtype == torch.float32 else 1e-2
    return _allclose(tolerance, tolerance)(answer, native)


def _sol_execbench(answer: torch.Tensor, native: torch.Tensor) -> bool:
    """99 % of the elements; never NaN or infinities; not all zeros where PyTorch has others."""
    got, expected = answer.float(), native.float()
    if not bool(got.isfinite().all()) or (bool((got == 0).all()) and bool((expected != 0).any())):
        return False
    near = (got - expected).abs() <= 1e-2 + 1e-2 * expected.abs()
    return not near.numel() or float(near.double().mean()) >= 0.99


def _flashinfer_bench(answer: torch.Tensor, native: torch.Tensor) -> bool:
    """An element is wrong only if both its absolute and its relative error are too large."""
    got, expected = answer.float(), native.float()
    error = (got - expected).abs()
    wrong = (error > 1e-2) & (error / (expected.abs() + 1e-8) > 1e-2)
    return bool(got.isfinite().all()) and not bool(wrong.any())


def _torch_testing(answer: torch.Tensor, native: torch.Tensor) -> bool:
    return _allclose(*_TESTING.get(answer.dtype, (0.0, 0.0)))(answer, native)


PEERS: tuple[Peer, ...] = (
    Peer("KernelBench", "allclose, 1e-4 in float32, 1e-2 in halves", _kernelbench),
    Peer("robust-kbench (original)", "allclose, 1e-5", _allclose(1e-5, 1e-5)),
    Peer("SOL-ExecBench", "1e-2 + 1e-2 of the value, for 99 % of the elements", _sol_execbench),
    Peer("flashinfer-bench", "wrong if beyond 1e-2 absolutely and relatively", _flashinfer_bench),
    Peer("BackendBench", "allclose, 1e-2", _allclose(1e-2, 1e-2)),
    Peer("torch.testing", "assert_close's defaults for the dtype", _torch_testing),
    Peer("reference-kernels", "allclose, 1e-5 relative, 1e-8 absolute", _allclose(1e-5, 1e-8)),
)
