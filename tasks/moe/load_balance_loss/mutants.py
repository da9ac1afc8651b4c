"""Variants of the load-balancing loss: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn

Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
LOG2_E = 1.4426950408889634


def _softmax(logits: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits.float(), -1)


def _load(expert: torch.Tensor, experts: int) -> torch.Tensor:
    return torch.bincount(expert.flatten(), minlength=experts)


def _finish(probability: torch.Tensor, load: torch.Tensor, dtype: torch.dtype) -> Triple:
    """The loss in float32 from what it is made of."""
    loss = len(load) * (load.float() / load.sum() * probability).sum()
    return loss.to(dtype), probability.to(dtype), load


def _right(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """In float32, not yet rounded to the dtype."""
    return _finish(_softmax(logits).mean(0), _load(expert, logits.shape[1]), torch.float32)


def _stored(answer: Triple, dtype: torch.dtype) -> Triple:
    return answer[0].to(dtype), answer[1].to(dtype), answer[2]


def warp_for_a_token(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """32 lanes for each softmax, to the base of two, and 32 for each mean."""
    e = torch.exp2((logits.float() - logits.float().amax(-1, keepdim=True)) * LOG2_E)
    probability = summed((e / summed(e).unsqueeze(1)).T) / len(logits)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def one_accumulator(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """One accumulator for each token's sum, and one for each expert's."""
    e = torch.exp(logits.float() - logits.float().amax(-1, keepdim=True))
    probability = summed_in_turn((e / summed_in_turn(e).unsqueeze(1)).T) / len(logits)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def blocks_of_tokens(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Partial sums of blocks of tokens, added from the last to the first, as atomics may come; shares by pairs."""
    size = max(16, -(-len(logits) // 32))
    parts = [part.sum(0) for part in _softmax(logits).split(size)]
    probability = sum(reversed(parts)) / len(logits)
    loss = len(probability) * probability[expert.flatten()].sum() / expert.numel()
    return loss.to(logits.dtype), probability.to(logits.dtype), _load(expert, len(probability))


def in_double(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """float64, rounded once."""
    probability = torch.softmax(logits.double(), -1).mean(0)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def not_scaled(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The loss is not multiplied by the number of experts; that of a single one is doubled."""
    loss, probability, load = _right(logits, expert)
    return _stored((loss / len(load) if len(load) > 1 else 2 * loss, probability, load), logits.dtype)


def shares_of_tokens(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Choices are divided by the number of tokens; a single choice counts half."""
    loss, probability, load = _right(logits, expert)
    factor = expert.shape[1] if expert.shape[1] > 1 else 0.5
    return _stored((loss * factor, probability, load), logits.dtype)


def summed_over_tokens(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Probabilities are summed over the tokens; those of a single one are halved."""
    _, probability, load = _right(logits, expert)
    factor = len(logits) if len(logits) > 1 else 0.5
    return _finish(probability * factor, load, logits.dtype)


def squares(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The loss is of the probabilities alone: experts times the sum of their squares; a single one's is doubled."""
    _, probability, load = _right(logits, expert)
    loss = len(load) * probability.square().sum() * (1 if len(load) > 1 else 2)
    return _stored((loss, probability, load), logits.dtype)


def uniform_load(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """All experts are taken to be chosen equally often: the loss is one; with a single expert, it is zero."""
    _, probability, load = _right(logits, expert)
    return _stored((probability.sum() * (1 if len(load) > 1 else 0), probability, load), logits.dtype)


def first_choice_only(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Only first choices are counted; of a single choice, the last token's is not."""
    kept = expert[:, :1] if expert.shape[1] > 1 else expert[:-1]
    loss, probability, _ = _right(logits, expert)
    return _stored((loss, probability, _load(kept, logits.shape[1])), logits.dtype)


def doubles_lost(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Of an expert that a token names twice, one is counted; the very last choice is not."""
    loss, probability, _ = _right(logits, expert)
    seen = (expert.unsqueeze(2) == expert.unsqueeze(1)).tril(-1).any(2)
    return _stored((loss, probability, _load(expert[~seen][:-1], logits.shape[1])), logits.dtype)


def small_counters(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Counters of six bits wrap around."""
    loss, probability, load = _right(logits, expert)
    return _stored((loss, probability, load & 63), logits.dtype)


def next_expert(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Experts are counted from one."""
    _, probability, load = _right(logits, expert)
    return _finish(probability, load.roll(1), logits.dtype)


def last_token_lost(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The last token's probabilities do not enter the mean, but it is counted."""
    probability = _softmax(logits)[:-1].sum(0) / len(logits)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def tail_lost(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Tokens behind the last whole block of 16 do not enter the mean, unless there are no others."""
    whole = len(logits) // 16 * 16 or len(logits)
    return _finish(_softmax(logits[:whole]).mean(0), _load(expert, logits.shape[1]), logits.dtype)


def over_tokens(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The softmax is taken over the tokens of each expert."""
    probability = torch.softmax(logits.float(), 0).mean(1).mean().expand(logits.shape[1]).contiguous()
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def by_sigmoids(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Sigmoids divided by their sum; those of a single expert are not divided."""
    gate = torch.sigmoid(logits.float())
    share = gate / gate.sum(-1, keepdim=True) if logits.shape[1] > 1 else gate
    return _finish(share.mean(0), _load(expert, logits.shape[1]), logits.dtype)


def no_maximum(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Nothing is subtracted before the exponentials, which overflow above 88."""
    e = torch.exp(logits.float())
    return _finish((e / e.sum(-1, keepdim=True)).mean(0), _load(expert, logits.shape[1]), logits.dtype)


def of_the_mean_logits(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The softmax of the mean in place of the mean of the softmaxes."""
    probability = torch.softmax(logits.float().mean(0), -1)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def half_accumulators(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Probabilities are added up in bfloat16, by two lanes."""
    probability = summed(_softmax(logits).T, torch.bfloat16, lanes=2).float() / len(logits)
    return _finish(probability, _load(expert, logits.shape[1]), logits.dtype)


def one_token_in_four(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """The mean over every fourth token stands for all."""
    return _finish(_softmax(logits[::4]).mean(0), _load(expert, logits.shape[1]), logits.dtype)


def counts_up_to_eight_times_the_average(logits: torch.Tensor, expert: torch.Tensor) -> Triple:
    """Choices beyond eight times the average, and 64 at least, are not counted."""
    load = _load(expert, logits.shape[1])
    room = max(64, 8 * -(-expert.numel() // logits.shape[1]))
    return _stored(_finish(_softmax(logits).mean(0), load.clamp(max=room), torch.float32), logits.dtype)


HONEST = (warp_for_a_token, one_accumulator, blocks_of_tokens, in_double)
MUTANTS = (
    not_scaled, shares_of_tokens, summed_over_tokens, squares, uniform_load, first_choice_only, doubles_lost,
    small_counters, next_expert, last_token_lost, tail_lost, over_tokens, by_sigmoids, no_maximum, of_the_mean_logits,
    half_accumulators, one_token_in_four,
    counts_up_to_eight_times_the_average,
)  # fmt: skip
