"""The tasks on which the rule's constants were chosen, and those that they had not seen."""

from __future__ import annotations

FITTED = frozenset(
    {
        "activation/gelu", "activation/softmax", "activation/swish", "attention/causal", "block/llama_ffw",
        "fused/linear_relu", "loss/cross_entropy", "loss/cross_entropy_backward", "matmul/linear", "matmul/matmul",
        "norm/layernorm", "norm/rmsnorm", "norm/rmsnorm_backward", "pool/max_pool2d",
    }
)  # fmt: skip
"""Half A: what existed when the constants of the three metrics were fixed, and two for those of the ulp mode.

Every other task, whenever it is added, belongs to half B.
"""


def half_of(task: str) -> str:
    """A or B."""
    return "A" if task in FITTED else "B"
