"""Variants of the permutation by expert: honest ones that must pass and wrong ones that must fail."""

import torch

Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _counts(expert: torch.Tensor, num_experts: int) -> torch.Tensor:
    return torch.bincount(expert.flatten(), minlength=num_experts)


def _offsets(expert: torch.Tensor, num_experts: int) -> torch.Tensor:
    return torch.cat((torch.zeros(1, dtype=torch.int64), _counts(expert, num_experts).cumsum(0)))


def _order(expert: torch.Tensor) -> torch.Tensor:
    """For each place, the number of the choice that goes there."""
    return expert.flatten().sort(stable=True).indices


def _written(x: torch.Tensor, expert: torch.Tensor, order: torch.Tensor, num_experts: int) -> Triple:
    """What follows from an order, right or wrong."""
    place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
    return x[order // expert.shape[1]], place.reshape(expert.shape), _offsets(expert, num_experts)


def by_keys(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """A sort of keys made of the expert and of the choice's number, no two of which are equal."""
    flat = expert.flatten()
    keys = (flat * len(flat) + torch.arange(len(flat))).sort().values
    return _written(x, expert, keys % len(flat), num_experts)


def by_counting(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """A counting sort: each choice's place is its expert's offset and the number of equal choices before it."""
    flat, offsets = expert.flatten(), _offsets(expert, num_experts)
    place = torch.empty_like(flat)
    for number in range(num_experts):
        is_own = flat == number
        place[is_own] = offsets[number] + torch.arange(int(is_own.sum()))
    y = x.new_empty(len(flat), x.shape[1])
    y[place] = x.repeat_interleave(expert.shape[1], 0)
    return y, place.reshape(expert.shape), offsets


def by_blocks(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Four blocks of choices are sorted apart; each expert's places go from block to block."""
    flat, next_place = expert.flatten(), _offsets(expert, num_experts)[:-1].clone()
    places = []
    for part in flat.tensor_split(4):
        counts, order = _counts(part, num_experts), part.sort(stable=True).indices
        first = counts.cumsum(0) - counts
        place = torch.empty_like(part)
        place[order] = torch.arange(len(part)) - first[part[order]] + next_place[part[order]]
        places.append(place)
        next_place += counts
    place = torch.cat(places)
    return _written(x, expert, place.argsort(), num_experts)


def last_first(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Within an expert, the last token comes first, as atomics may give places."""
    flat = expert.flatten()
    order = len(flat) - 1 - flat.flip(0).sort(stable=True).indices
    return _written(x, expert, order, num_experts)


def choices_first(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Within an expert, all first choices come before all second ones."""
    tokens, chosen = expert.shape
    order = expert.T.flatten().sort(stable=True).indices
    return _written(x, expert, order % tokens * chosen + order // tokens, num_experts)


def order_for_places(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Where each row came from is given in place of where it went."""
    order = _order(expert)
    y, _, offsets = _written(x, expert, order, num_experts)
    return y, order.reshape(expert.shape), offsets


def scattered_backwards(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Rows are gathered by the places that they should go to."""
    _, place, offsets = _written(x, expert, _order(expert), num_experts)
    return x[place.flatten() // expert.shape[1]], place, offsets


def choices_taken_for_tokens(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """The number of a choice is taken modulo the number of tokens, and not divided by the choices of a token."""
    order = _order(expert)
    _, place, offsets = _written(x, expert, order, num_experts)
    return x[order % len(x)], place, offsets


def counts_for_offsets(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """The numbers of rows are given in place of where they begin."""
    y, place, offsets = _written(x, expert, _order(expert), num_experts)
    offsets[:-1] = _counts(expert, num_experts)
    return y, place, offsets


def ends_for_offsets(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Each expert's end stands where its beginning should."""
    y, place, offsets = _written(x, expert, _order(expert), num_experts)
    return y, place, torch.cat((offsets[1:], offsets[-1:]))


def low_bits(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Only the lowest four bits of an expert's number are looked at in sorting."""
    return _written(x, expert, _order(expert & 15), num_experts)


def highest_first(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """The last expert's rows come first; of a single expert, the last token."""
    flat = expert.flatten()
    order = flat.sort(stable=True, descending=True).indices
    return _written(x, expert, order if num_experts > 1 else order.flip(0), num_experts)


def beyond_capacity(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Rows of an expert beyond its equal share are dropped: zeros."""
    order = _order(expert)
    y, place, offsets = _written(x, expert, order, num_experts)
    rank = torch.arange(len(order)) - offsets[expert.flatten()[order]]
    y[rank >= -(-len(order) // num_experts)] = 0
    return y, place, offsets


def last_row_lost(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """The last place of all is not written."""
    y, place, offsets = _written(x, expert, _order(expert), num_experts)
    y[-1] = 0
    return y, place, offsets


def second_choice_of_the_first(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """All choices of a token are taken to be its first; a single choice of several experts, the next expert."""
    flat = expert[:, :1].expand_as(expert) if expert.shape[1] > 1 else (expert + 1) % num_experts
    return _written(x, expert, _order(flat), num_experts)


def tail_lost(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Columns behind the last whole vector of four stay zero."""
    y, place, offsets = _written(x, expert, _order(expert), num_experts)
    y[:, x.shape[1] // 4 * 4 :] = 0
    return y, place, offsets


def half_on_the_way(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Rows pass through bfloat16."""
    return _written(x.bfloat16().to(x.dtype), expert, _order(expert), num_experts)


def beyond_four_times_the_average(x: torch.Tensor, expert: torch.Tensor, num_experts: int) -> Triple:
    """Rows beyond four times an expert's average share, and eight at least, are zero."""
    y, place, offsets = _written(x, expert, _order(expert), num_experts)
    room = max(8, 4 * -(-expert.numel() // num_experts))
    owner = expert.flatten()[_order(expert)]
    rank = torch.arange(len(owner)) - offsets[owner]
    return torch.where((rank < room)[:, None], y, 0), place, offsets


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (by_keys, by_counting, by_blocks)
MUTANTS = (
    last_first, choices_first, order_for_places, scattered_backwards, choices_taken_for_tokens, counts_for_offsets,
    ends_for_offsets, low_bits, highest_first, beyond_capacity, last_row_lost, second_choice_of_the_first, tail_lost,
    half_on_the_way,
    beyond_four_times_the_average,
)  # fmt: skip
