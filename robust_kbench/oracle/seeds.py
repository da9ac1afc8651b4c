"""Two runs of a random op that differ in their seed alone must differ as two draws of its law do.

That equal seeds give equal outputs needs no law: it is what every op is held to when it runs twice on equal inputs.
"""

from __future__ import annotations

import math

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.schema.task import Task

IMPROBABLE = 1e-9
"""Of honest runs, fewer than this share are refused."""


def reseeded(inputs: Inputs) -> Inputs:
    """The same inputs with the next seed."""
    return Inputs({**inputs.values, "seed": int(inputs.values["seed"]) + 1})


def coincidence(task: Task, name: str, inputs: Inputs, first: torch.Tensor, second: torch.Tensor) -> str | None:
    """What is wrong with output `name` of two runs of `inputs` with different seeds, or None.

    None as well for an output that is not random, and for one that is too small to tell. The probability of so many or
    so few coincidences is bounded by exp(-n * KL(observed share, expected share)), which holds for independent choices
    of any chances (Hoeffding 1963, theorem 1).
    """
    law = task.outputs[name].law
    if law == "dropout":
        visible = (inputs.tensors["x"] != 0) & inputs.tensors["x"].isfinite()
        p = float(inputs.values["p"])
        same = ((first == 0) == (second == 0))[visible]
        chances = torch.full(same.shape, p * p + (1 - p) ** 2, dtype=torch.float64)
    elif law == "categorical":
        same = first == second
        chances = torch.softmax(inputs.tensors["logits"].double(), -1).square().sum(-1)
    else:
        return None
    count = same.numel()
    if count == 0:
        return None
    share, expected = float(same.sum()) / count, float(chances.mean())
    probability = math.exp(-count * _divergence(share, min(expected, 1.0)))
    if probability >= IMPROBABLE:
        return None
    return (
        f"{name}: {int(same.sum()):,} of {count:,} choices are the same with another seed; "
        f"{expected * count:,.0f} are expected of independent ones, which have so many or so few with a probability "
        f"of at most {probability:.1g}"
    )


def _divergence(share: float, expected: float) -> float:
    """Kullback and Leibler's, of two Bernoulli distributions, in nats."""
    parts = ((share, expected), (1 - share, 1 - expected))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in parts if p > 0)
