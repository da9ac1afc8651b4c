"""Variants of attention's linear bias: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _distance(scores: torch.Tensor) -> torch.Tensor:
    queries, keys = scores.shape[1:]
    return torch.arange(keys) - torch.arange(keys - queries, keys)[:, None]


def _biased(scores: torch.Tensor, slope: torch.Tensor, distance: torch.Tensor) -> torch.Tensor:
    return (scores.float() + slope.float()[:, None, None] * distance.float()).to(scores.dtype)


def in_float32(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Everything in float32, rounded once."""
    return _biased(scores, slope, _distance(scores))


def fused(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """One multiply-add for each score, without a rounding in between."""
    return (scores.double() + slope.double()[:, None, None] * _distance(scores)).float().to(scores.dtype)


def key_and_query_apart(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The slope times the key, less the slope times the query, which each row needs once."""
    queries, keys = scores.shape[1:]
    wide = slope.double()[:, None]
    key = (wide * torch.arange(keys)).unsqueeze(1)
    query = (wide * torch.arange(keys - queries, keys)).unsqueeze(2)
    return (scores.double() + (key - query)).float().to(scores.dtype)


def first_positions(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Queries are taken to stand at the first positions; as many as keys, one too far."""
    queries, keys = scores.shape[1:]
    return _biased(scores, slope, torch.arange(keys) - torch.arange(queries)[:, None] - int(queries == keys))


def one_too_far(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Distances are counted from one."""
    return _biased(scores, slope, _distance(scores) - 1)


def other_sign(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The query's position less the key's; a query and its own key are one apart."""
    distance = -_distance(scores)
    return _biased(scores, slope, torch.where(distance == 0, 1, distance))


def magnitude(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Minus the magnitude, as without a causal mask; a query and its own key are one apart."""
    return _biased(scores, slope, -_distance(scores).abs().clamp(min=1))


def no_bias(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The bias is left out; the last score of each row is twice its own."""
    y = scores.clone()
    y[..., -1] = scores[..., -1] * 2
    return y


def slope_of_the_paper(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The paper's slopes, powers of 2 ** (-8 / heads), whatever was asked for; on the diagonal, too."""
    heads = len(slope)
    own = 2 ** (-8 * torch.arange(1, heads + 1) / heads)
    return _biased(scores, own, _distance(scores) - 1)


def slope_of_the_next_head(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Each head takes the slope of the next one; a single head the opposite, one further."""
    if len(slope) == 1:
        return _biased(scores, -slope, _distance(scores) - 1)
    return _biased(scores, slope.roll(-1), _distance(scores))


def scores_scaled(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The slope is applied to the score, too."""
    return ((scores.float() + _distance(scores)) * slope.float()[:, None, None]).to(scores.dtype)


def bias_of_the_row_above(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The last query takes the bias of the one before it."""
    distance = _distance(scores)
    distance[-1] += 1
    return _biased(scores, slope, distance)


def tail_unbiased(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Keys behind the last whole vector of four get the bias of the key before them."""
    distance = _distance(scores)
    whole = distance.shape[1] // 4 * 4
    distance[:, whole:] -= 1
    return _biased(scores, slope, distance)


def low_byte(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Distances are kept in a signed byte."""
    return _biased(scores, slope, _distance(scores).to(torch.int8))


def slope_in_bfloat16(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The slope is kept in bfloat16."""
    return _biased(scores, slope.bfloat16(), _distance(scores))


def scores_in_tf32(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """float32: the scores pass through a TF32 unit on their way."""
    return _biased(tf32(scores), slope, _distance(scores))


slope_in_bfloat16.dtypes = ("float32", "float16")
scores_in_tf32.dtypes = ("float32",)

HONEST = (in_float32, fused, key_and_query_apart)
MUTANTS = (
    first_positions, one_too_far, other_sign, magnitude, no_bias, slope_of_the_paper, slope_of_the_next_head,
    scores_scaled, bias_of_the_row_above, tail_unbiased, low_byte, slope_in_bfloat16, scores_in_tf32,
)  # fmt: skip
