"""Check that two runs of a random op that differ in their seed alone differ as two draws of its law do.

Equal outputs for equal seeds need no law: every op that runs twice on equal inputs is held to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.schema.task import Task

IMPROBABLE = 1e-9
"""Largest share of honest runs that are refused."""
MOVED_DEVIATIONS = 10.0
"""Largest correlation of two independent masks in deviations. With 2**26 distances, a larger one is improbable at 1e-15
for numbers that are nearly normal."""
LEAST_PAIRS = 120
"""Least expected pairs of places where both masks have their rarer value. Such pairs nearly follow Poisson's law: ten
deviations above 120 come with 1e-17, so that 2**26 distances stay below IMPROBABLE."""


def reseeded(inputs: Inputs) -> Inputs:
    """Return the same inputs with the next seed."""
    return Inputs({**inputs.values, "seed": int(inputs.values["seed"]) + 1})


@dataclass(frozen=True)
class Run:
    """Inputs that a random op was given, and one of its outputs."""

    inputs: Inputs
    output: torch.Tensor


def coincidence(task: Task, name: str, one: Run, other: Run, *, thorough: bool = True) -> str | None:
    """Describe what is wrong with output `name` of two runs of equal shape with different seeds, or return None.

    Return None also for an output that is not random, and for one that is too small to tell. The probability of so many
    or so few coincidences is bounded by exp(-n * KL(observed share, expected share)), which holds for independent
    choices of any chances (Hoeffding 1963, theorem 1).

    `thorough`: look also for a mask that is the other one, moved, which takes a tenth of a second.
    """
    law = task.outputs[name].law
    if law is None:
        return None
    same, expected = (_dropped_alike if law == "dropout" else _drawn_alike)(one, other)
    count = same.numel()
    if count == 0:
        return None
    probability = math.exp(-count * _divergence(float(same.sum()) / count, min(expected, 1.0)))
    if probability >= IMPROBABLE:
        words = _moved(one, other) if law == "dropout" and thorough else None
        return words and f"{name}: {words}"
    return (
        f"{name}: {int(same.sum()):,} of {count:,} choices are the same with another seed; "
        f"{expected * count:,.0f} are expected of independent ones, which have so many or so few with a probability "
        f"of at most {probability:.1g}"
    )


def _moved(one: Run, other: Run) -> str | None:
    """Tell if one mask is the other one, moved by some places; in words, or None.

    Windows of one long row of random numbers are such masks. The correlation at every distance is given in deviations
    of independent masks. These depend on how many pairs of places show which elements were dropped in both. With n
    distances, the largest is about sqrt(2 log n).
    """
    first, second = (_signal(run) for run in (one, other))
    if first.shape != second.shape:
        return None
    chances = [float(run.inputs.values["p"]) for run in (one, other)]
    pairs = _pairs(first != 0, second != 0)
    can_tell = pairs * math.prod(min(p, 1 - p) for p in chances) >= LEAST_PAIRS
    if not bool(can_tell.any()):
        return None
    scatter = pairs.mul_(math.prod(p * (1 - p) for p in chances)).clamp_(min=1e-30).sqrt_()
    found = _correlation(first, second).abs_().div_(scatter).mul_(can_tell)
    deviations, place = (float(part) for part in found.max(0))
    if deviations <= MOVED_DEVIATIONS:
        return None
    distance = int(place) if place < len(found) / 2 else int(place) - len(found)
    return (
        f"what is dropped is what another seed has dropped, moved by {distance:,} places ({deviations:.0f} deviations)"
    )


def _pairs(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Count the pairs of places that are both visible, at every distance, in the order of `_correlation`."""
    if not (bool(first.all()) and bool(second.all())):
        return _correlation(first.float(), second.float())
    places = torch.arange(_size(len(first)))
    return (len(first) - torch.minimum(places, len(places) - places)).clamp_(min=0).float()


def _size(count: int) -> int:
    """Return a power of two that is at least twice as long, so that the ends do not meet."""
    return 1 << (2 * count - 1).bit_length()


def _correlation(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Compute sums of products at every distance; distances backwards are counted from the end."""
    size = _size(len(first))
    sums: torch.Tensor = torch.fft.irfft(torch.fft.rfft(first, size).conj() * torch.fft.rfft(second, size), size)
    return sums


def _signal(run: Run) -> torch.Tensor:
    """Return the kept elements with mean 0 where they are visible; 0 elsewhere and nowhere else."""
    x, p = run.inputs.tensors["x"], float(run.inputs.values["p"])
    is_visible = (x != 0) & x.isfinite()
    return torch.where(is_visible, (run.output != 0).float() - (1 - p), 0.0).flatten()


def _dropped_alike(one: Run, other: Run) -> tuple[torch.Tensor, float]:
    """Tell for each visible element if both have kept or both dropped it; return also the share that should be so."""
    values = [run.inputs.tensors["x"] for run in (one, other)]
    chances = [float(run.inputs.values["p"]) for run in (one, other)]
    is_visible = (values[0] != 0) & (values[1] != 0) & values[0].isfinite() & values[1].isfinite()
    same = ((one.output == 0) == (other.output == 0))[is_visible]
    return same, math.prod(chances) + math.prod(1 - p for p in chances)


def _drawn_alike(one: Run, other: Run) -> tuple[torch.Tensor, float]:
    """Tell row by row if both have drawn the same class; return also the share that should be so."""
    first, second = (torch.softmax(run.inputs.tensors["logits"].double(), -1) for run in (one, other))
    return one.output == other.output, float((first * second).sum(-1).mean()) if len(first) else 0.0


def _divergence(share: float, expected: float) -> float:
    """Compute Kullback and Leibler's divergence of two Bernoulli distributions, in nats."""
    parts = ((share, expected), (1 - share, 1 - expected))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in parts if p > 0)
