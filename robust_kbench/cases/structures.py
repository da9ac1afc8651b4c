"""Structures of indices, offsets, masks and some parameters, as in real data, where a few experts get most of the load.

Uniform indices fill all bins alike, so that a kernel with room for four times the average is never found out. Half of
the cases that are checked have another structure that the input allows. The seed of a case decides which one, for each
input on its own. Timed calls and probes have uniform ones.
"""

from __future__ import annotations

import math

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import INDEX_STRUCTURES, MASK_STRUCTURES, OFFSET_STRUCTURES, Input, Structure

_SHARE = 0.5
_MOST_STEP, _MOST_RUN = 64, 48
_RARE = 1 / 16
_DOMINANT = 15 / 16
_NEAR = 2.0**-12
_TINY = (0.0, 1e-8, 1e-5)
_MEMORY = 6.0  # terms for each that a constant factor leaves, by which a sum of powers converges


def structures_of(spec: Input) -> tuple[Structure, ...]:
    """List all structures that an input allows beside the uniform one; none if it has no role for them."""
    if spec.structures is not None:
        return tuple(each for each in spec.structures if each != "uniform")
    if spec.role == "mask":
        return MASK_STRUCTURES
    if spec.role != "index":
        return ()
    return OFFSET_STRUCTURES if spec.offsets else INDEX_STRUCTURES


def structure_of(case: Case, name: str, spec: Input) -> Structure:
    """Choose the structure of the input `name` in `case`."""
    allowed = structures_of(spec)
    draw = Draw(case.seed, f"structure {name}")
    if case.role == "timed" or case.probe is not None or not allowed or draw.unit() >= _SHARE:
        return "uniform"
    return draw.choice(allowed)


def draw_structured(
    structure: Structure, spec: Input, bound: int, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    """Draw integers in [0, `bound`), int64, of `shape`, as `structure` lays them out; offsets are ascending already."""
    count = math.prod(shape)
    if structure == "uniform" or not count:
        return torch.randint(0, bound, shape, generator=generator)
    if spec.role == "mask":
        return _mask(structure, count, generator).view(shape)
    if spec.offsets:
        rows = [_offsets(structure, shape[-1], bound, generator) for _ in range(count // shape[-1])]
        return torch.stack(rows).view(shape)
    return _indices(structure, count, bound, generator).view(shape)


def restructured(structure: Structure, values: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return the usual `values` of a parameter, or the values that `structure` puts in their place."""
    if structure == "uniform":
        return values
    if structure == "ones":
        return torch.ones_like(values)
    if structure == "near_one":
        return 1.0 - _NEAR * torch.rand(values.shape, generator=generator)
    if structure == "tiny":
        return torch.tensor(_TINY)[torch.randint(0, len(_TINY), values.shape, generator=generator)]
    chosen = _coins(values.numel(), _RARE if structure == "zeros" else 0.5, generator).bool().view(values.shape)
    if structure == "negative":
        return torch.where(chosen, -values, values)
    if chosen.numel():
        chosen.view(-1)[torch.randint(0, chosen.numel(), (1,), generator=generator)] = True
    return values.masked_fill(chosen, 0.0)


def _indices(structure: Structure, count: int, bound: int, generator: torch.Generator) -> torch.Tensor:
    def uniform(below: int, size: int = count) -> torch.Tensor:
        return torch.randint(0, max(1, below), (size,), generator=generator)

    if structure == "one":
        return uniform(bound, 1).expand(count).clone()
    if structure == "two":
        return uniform(bound, 2)[_coins(count, 0.5, generator)]
    if structure == "ends":
        return _coins(count, 0.5, generator) * (bound - 1)
    if structure == "zipf":  # the probability of value number k is log(1 + 1 / k) / log(bound + 1)
        ranks = torch.rand(count, generator=generator, dtype=torch.float64).mul_(math.log(bound + 1)).exp_()
        return (ranks.long() - 1 + uniform(bound, 1)).remainder_(bound)
    if structure == "ascending":
        return uniform(bound).sort().values
    if structure == "strided":
        step = 1 + int(uniform(_MOST_STEP, 1))
        return uniform(-(-bound // step)) * step
    if structure == "pairs":
        return uniform(bound, -(-count // 2)).repeat_interleave(2)[:count]
    length = 1 + int(uniform(_MOST_RUN, 1))  # runs: neighbours point at neighbours
    starts = uniform(bound, -(-count // length)).repeat_interleave(length)[:count]
    return (starts + torch.arange(count) % length).remainder_(bound)


def _offsets(structure: Structure, count: int, bound: int, generator: torch.Generator) -> torch.Tensor:
    """Draw the bounds of `count` - 1 segments of [0, `bound` - 1)."""
    total, segments = bound - 1, count - 1
    if segments < 1:
        return torch.zeros(count, dtype=torch.int64)
    if structure == "equal":
        return torch.arange(count) * total // segments
    large = int(torch.randint(0, segments, (1,), generator=generator))
    lengths = torch.zeros(segments, dtype=torch.int64)
    if structure == "dominated":
        rest = total - int(_DOMINANT * total)
        places = torch.randint(0, segments, (rest,), generator=generator)
        lengths = torch.bincount(places, minlength=segments)
        total -= rest
    lengths[large] += total
    return torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])


def _mask(structure: Structure, count: int, generator: torch.Generator) -> torch.Tensor:
    if structure in ("none", "all"):
        return torch.full((count,), int(structure == "all"))
    if structure in ("rare", "frequent"):
        return _coins(count, _RARE if structure == "rare" else 1 - _RARE, generator)
    if structure == "single":
        values = torch.zeros(count, dtype=torch.int64)
        values[torch.randint(0, count, (1,), generator=generator)] = 1
        return values
    length = 1 + int(torch.randint(0, _MOST_RUN, (1,), generator=generator))
    return _coins(-(-count // length), 0.5, generator).repeat_interleave(length)[:count]


def _coins(count: int, chance: float, generator: torch.Generator) -> torch.Tensor:
    return (torch.rand(count, generator=generator) < chance).long()


def largest_group(spec: Input, values: torch.Tensor) -> int:
    """Count the elements that share one value of an index, or lie between two offsets, at most."""
    if not values.numel():
        return 0
    if spec.offsets:
        return int(values.diff(dim=-1).amax()) if values.shape[-1] > 1 else 0
    return int(torch.bincount(values.reshape(-1).long()).amax())


def remembered(spec: Input, values: torch.Tensor) -> int:
    """Count the terms that stay in the memory of a recurrence with these factors, at most as many as it has steps."""
    length = values.shape[(dim := spec.shape.index(spec.carried_along or ""))]
    if not values.numel():
        return 0
    lost = 1.0 - float(values.double().abs().mean(dim).amax())
    return length if lost * length <= _MEMORY else int(_MEMORY / lost)
