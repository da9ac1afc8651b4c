"""Variants of top-k gating: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn

Pair = tuple[torch.Tensor, torch.Tensor]
LOG2_E = 1.4426950408889634


def _weighted(values: torch.Tensor) -> torch.Tensor:
    """The softmax in float32."""
    return torch.softmax(values.float(), -1)


def _at(logits: torch.Tensor, indices: torch.Tensor) -> Pair:
    """The gate of given experts."""
    return _weighted(logits.gather(-1, indices)).to(logits.dtype), indices


def by_sorting(logits: torch.Tensor, k: int) -> Pair:
    """The first k of a whole sort; exponentials to the base of two, 32 accumulators."""
    values, order = logits.float().sort(-1, descending=True)
    e = torch.exp2((values[:, :k] - values[:, :1]) * LOG2_E)
    return (e / summed(e).unsqueeze(1)).to(logits.dtype), order[:, :k].contiguous()


def softmax_of_all(logits: torch.Tensor, k: int) -> Pair:
    """The exponentials of all experts, of which those of the chosen are divided by their own sum."""
    e = torch.exp(logits.float() - logits.float().amax(-1, keepdim=True))
    indices = logits.topk(k, -1).indices
    chosen = e.gather(-1, indices)
    return (chosen / summed_in_turn(chosen).unsqueeze(1)).to(logits.dtype), indices


def one_after_the_other(logits: torch.Tensor, k: int) -> Pair:
    """One search after the other for the largest of what is left, the sum of exponentials going along."""
    left, places, e = logits.float().clone(), [], []
    top = left.amax(-1, keepdim=True)
    total = torch.zeros_like(top)
    for _ in range(k):
        value, place = left.max(-1, keepdim=True)
        e.append(torch.exp(value - top))
        total = total + e[-1]
        places.append(place)
        left = left.scatter(-1, place, -torch.inf)
    return (torch.cat(e, -1) / total).to(logits.dtype), torch.cat(places, -1)


def last_of_equals_first(logits: torch.Tensor, k: int) -> Pair:
    """Of equal logits the last ones are chosen."""
    order = logits.flip(-1).argsort(dim=-1, descending=True, stable=True)[:, :k]
    return _at(logits, logits.shape[-1] - 1 - order)


def chosen_by_probability(logits: torch.Tensor, k: int) -> Pair:
    """The experts are chosen by their probabilities in float32, of which many are zero beside a large one."""
    return _at(logits, torch.softmax(logits.float(), -1).topk(k, -1).indices)


def not_normalised(logits: torch.Tensor, k: int) -> Pair:
    """The probabilities among all experts; where all are chosen, half of them."""
    indices = logits.topk(k, -1).indices
    weights = _weighted(logits).gather(-1, indices)
    return (weights * (1.0 if k < logits.shape[-1] else 0.5)).to(logits.dtype), indices


def by_sigmoids(logits: torch.Tensor, k: int) -> Pair:
    """Sigmoids divided by their sum, as another model's gate; that of a single expert is not divided."""
    values, indices = logits.topk(k, -1)
    gate = torch.sigmoid(values.float())
    return (gate / gate.sum(-1, keepdim=True) if k > 1 else gate).to(logits.dtype), indices


def equal_weights(logits: torch.Tensor, k: int) -> Pair:
    """Every expert weighs the same; a single one half."""
    indices = logits.topk(k, -1).indices
    return torch.full_like(logits, 1 / max(2, k))[:, :k].contiguous(), indices


def no_maximum(logits: torch.Tensor, k: int) -> Pair:
    """Nothing is subtracted before the exponentials, which overflow above 88; a single weight is doubled."""
    values, indices = logits.topk(k, -1)
    e = torch.exp(values.float())
    return (e / e.sum(-1, keepdim=True) * (1 if k > 1 else 2)).to(logits.dtype), indices


def ascending(logits: torch.Tensor, k: int) -> Pair:
    """The right ones, the largest last; a single one is the smallest."""
    if k == 1:
        return _at(logits, logits.topk(1, -1, largest=False).indices)
    return _at(logits, logits.topk(k, -1).indices.flip(-1))


def places_in_order(logits: torch.Tensor, k: int) -> Pair:
    """The experts are named in ascending order, the weights come in descending order."""
    values, indices = logits.topk(k, -1)
    return _weighted(values).to(logits.dtype), indices.sort(-1).values


def by_magnitude(logits: torch.Tensor, k: int) -> Pair:
    """Signs are not looked at in choosing."""
    return _at(logits, logits.abs().topk(k, -1).indices)


def next_best(logits: torch.Tensor, k: int) -> Pair:
    """The last one is the next best; where all are chosen, the first comes again."""
    indices = logits.topk(min(k + 1, logits.shape[-1]), -1).indices
    chosen = indices[:, :k].clone()
    chosen[:, -1] = indices[:, -1] if k < logits.shape[-1] else indices[:, 0]
    return _at(logits, chosen)


def tail_unseen(logits: torch.Tensor, k: int) -> Pair:
    """Experts behind the last whole vector of eight are not looked at, unless they are needed."""
    whole = max(k, logits.shape[-1] // 8 * 8)
    return _at(logits, logits[:, :whole].topk(k, -1).indices)


def same_place_for_equals(logits: torch.Tensor, k: int) -> Pair:
    """Each of the largest is looked up by itself, so that equal ones name one expert."""
    values = logits.topk(k, -1).values
    places = (logits.unsqueeze(1) == values.unsqueeze(2)).int().argmax(-1)
    return _at(logits, places)


def compared_in_bfloat16(logits: torch.Tensor, k: int) -> Pair:
    """Logits are rounded to bfloat16 before they are compared."""
    return _at(logits, logits.bfloat16().topk(k, -1).indices)


def weights_in_bfloat16(logits: torch.Tensor, k: int) -> Pair:
    """The weights are kept in bfloat16."""
    values, indices = logits.topk(k, -1)
    return _weighted(values).bfloat16().to(logits.dtype), indices


def last_token_of_the_first(logits: torch.Tensor, k: int) -> Pair:
    """The last token gets the first one's answer."""
    weights, indices = _at(logits, logits.topk(k, -1).indices)
    weights[-1], indices[-1] = weights[0].clone(), indices[0].clone()
    return weights, indices


def chosen_are_set_to_a_low_number(logits: torch.Tensor, k: int) -> Pair:
    """One expert after the other: the logit of each that was chosen becomes -10,000."""
    left = logits.float().clone()
    places = []
    for _ in range(k):
        places.append(left.argmax(-1, keepdim=True))
        left.scatter_(-1, places[-1], -1e4)
    return _at(logits, torch.cat(places, -1))


compared_in_bfloat16.dtypes = weights_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (by_sorting, softmax_of_all, one_after_the_other, last_of_equals_first)
MUTANTS = (
    chosen_by_probability, not_normalised, by_sigmoids, equal_weights, no_maximum, ascending, places_in_order,
    by_magnitude, next_best, tail_unseen, same_place_for_equals, compared_in_bfloat16, weights_in_bfloat16,
    last_token_of_the_first,
    chosen_are_set_to_a_low_number,
)  # fmt: skip
