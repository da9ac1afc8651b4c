"""Precision of PyTorch in this worker: it may round as the task's contract allows, independent of its defaults.

The older names of the settings are used, because inductor reads them, and mixing them with the newer ones raises.
"""

import torch

_TF32 = {"tf32_ok", "half_fp32acc", "any_halfacc", "fp8"}  # the others allow factors that are rounded even further
_HALF_SUMS = {"any_halfacc"}


def set_precision(contract: str) -> None:
    """Allow TF32, and sums of halves in half precision, under the contracts that say so."""
    matmul = torch.backends.cuda.matmul
    torch.backends.cudnn.allow_tf32 = matmul.allow_tf32 = contract in _TF32
    matmul.allow_fp16_reduced_precision_reduction = contract in _HALF_SUMS
    matmul.allow_bf16_reduced_precision_reduction = contract in _HALF_SUMS
