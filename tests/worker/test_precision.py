from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from robust_kbench.worker.precision import set_precision


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    matmul = torch.backends.cuda.matmul
    before = [matmul.allow_tf32, torch.backends.cudnn.allow_tf32]
    reduced = [matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction]
    yield
    matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
    matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction = reduced


@pytest.mark.parametrize(
    ("contract", "tf32", "half_sums"),
    [("ieee", False, False), ("half_fp32acc", True, False), ("tf32_ok", True, False), ("any_halfacc", True, True)],
)
def test_pytorch_rounds_what_the_contract_allows_and_nothing_else(contract: str, tf32: bool, half_sums: bool) -> None:
    set_precision(contract)
    matmul = torch.backends.cuda.matmul
    assert (matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (tf32, tf32)
    sums = matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction
    assert sums == (half_sums, half_sums)
