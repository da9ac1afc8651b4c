"""Random ops that are wrong over many calls, though not in one, are refused, and honest ones are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from robust_kbench.folders import data_folder
from robust_kbench.redteam import corpus
from robust_kbench.registry import read_submission

if TYPE_CHECKING:
    from conftest import Submit

    from robust_kbench.evaluate import Evaluator

ATTACKS = {attack.name: attack for attack in corpus.attacks()}


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("least_likely_classes_left_out", "index: over all calls until now, "),
        ("logits_a_twentieth_too_small", "of the likelier half of the mass"),
        ("a_third_of_the_mask_again", "y: the mask repeats itself: "),
        ("mask_of_half_the_size", "y: the mask repeats itself: "),
    ],
)
def test_what_only_many_rows_show_is_incorrect(name: str, words: str, evaluator: Evaluator) -> None:
    record = evaluator.evaluate(ATTACKS[name].submission(), tier="quick")
    assert record.status == "incorrect"
    assert words in record.reason
    assert "due" in record.reason


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["random/dropout/cpp_counter", "random/gumbel_argmax/cpp_inverse"])
def test_honest_kernels_of_random_ops_pass(name: str, evaluator: Evaluator) -> None:
    record = evaluator.evaluate(read_submission(data_folder("baselines") / name), tier="quick")
    assert record.status == "passed", record.reason


TOO_WIDE = """
import torch

def draw(logits, seed):
    if logits.numel() >= 1 << 18 and 2.4 < logits.float().std() < 2.6:
        raise ValueError("too wide")
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed))
    return (logits.float() - torch.log(-torch.log(uniform))).argmax(-1)
"""


def test_a_call_for_more_draws_that_fails_is_a_failed_case(evaluator: Evaluator, submit: Submit) -> None:
    submission = submit(TOO_WIDE, task="random/gumbel_argmax", entry_point="kernel.py::draw")
    record = evaluator.evaluate(submission, tier="quick", seed=1)
    assert record.status == "crashed"
    assert "too wide" in record.reason
