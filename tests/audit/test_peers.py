"""The peers' rules: their known holes are reproduced, and so is what they do refuse."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.audit.peers import PEERS

RULES = {peer.name: peer.accepts for peer in PEERS}
SOFTMAX = torch.randn(64, 8192, generator=torch.Generator().manual_seed(1)).mul(0.8).softmax(-1).half()
ROW_MISSING = SOFTMAX.clone()
ROW_MISSING[7] = 0
TAIL_MISSING = torch.randn(512, 512, generator=torch.Generator().manual_seed(2))
RIGHT = TAIL_MISSING.clone()
TAIL_MISSING[-1, -4:] = 50.0


@pytest.mark.parametrize(
    ("rule", "answer", "native", "accepted"),
    [
        ("KernelBench", torch.zeros_like(SOFTMAX), SOFTMAX, True),
        ("flashinfer-bench", torch.zeros_like(SOFTMAX), SOFTMAX, True),
        ("SOL-ExecBench", torch.zeros_like(SOFTMAX), SOFTMAX, False),
        ("SOL-ExecBench", torch.full_like(SOFTMAX, 1 / 8192), SOFTMAX, True),
        ("KernelBench", ROW_MISSING, SOFTMAX, True),
        ("SOL-ExecBench", ROW_MISSING, SOFTMAX, True),
        ("robust-kbench (original)", ROW_MISSING, SOFTMAX, False),
        ("SOL-ExecBench", TAIL_MISSING, RIGHT, True),
        ("KernelBench", TAIL_MISSING, RIGHT, False),
        ("flashinfer-bench", TAIL_MISSING, RIGHT, False),
        ("KernelBench", RIGHT + 1e-3, RIGHT, False),
        ("BackendBench", RIGHT + 1e-3, RIGHT, True),
        ("robust-kbench (original)", RIGHT + 1e-3, RIGHT, False),
        ("torch.testing", RIGHT * (1 + 1e-6), RIGHT, True),
        ("torch.testing", RIGHT * (1 + 1e-4), RIGHT, False),
        ("reference-kernels", RIGHT + 1e-6, RIGHT, False),
    ],
)
def test_a_rule_accepts_what_its_source_accepts(
    rule: str, answer: torch.Tensor, native: torch.Tensor, accepted: bool
) -> None:
    assert RULES[rule](answer, native) is accepted


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_accepts_equality_and_refuses_nonsense(rule: str) -> None:
    assert RULES[rule](RIGHT, RIGHT)
    assert not RULES[rule](RIGHT.flip(0) * 3, RIGHT)
    assert not RULES[rule](torch.full_like(RIGHT, float("nan")), RIGHT)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_handles_integers_and_empty_tensors(rule: str) -> None:
    indices = torch.arange(1000)
    assert RULES[rule](indices, indices)
    assert not RULES[rule](indices.flip(0), indices)
    assert RULES[rule](torch.empty(0, 5), torch.empty(0, 5))
