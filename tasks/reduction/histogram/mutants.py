"""Variants of the histogram: honest ones that must pass and wrong ones that must fail."""

import torch


def _counts(places: torch.Tensor, inside: torch.Tensor, num_bins: int) -> torch.Tensor:
    """How often each place from 0 to num_bins - 1 stands among those that are `inside`."""
    return torch.bincount(places[inside].flatten(), minlength=num_bins)[:num_bins]


def _inside(x: torch.Tensor) -> torch.Tensor:
    return (x >= -4) & (x < 4)


def _places(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Where there is one; anything that is inside the bounds elsewhere."""
    scaled = torch.where(_inside(x), x, 0).float() * (num_bins / 8)
    return scaled.floor().long() + num_bins // 2


def _expected(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    return _counts(_places(x, num_bins), _inside(x), num_bins)


def by_searching(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The place of each element among the edges, which float32 holds exactly."""
    edges = torch.arange(num_bins + 1) * (8 / num_bins) - 4
    places = torch.searchsorted(edges, x.float().contiguous(), right=True) - 1
    return _counts(places, _inside(x), num_bins)


def by_sorting(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The sorted elements are cut at the edges."""
    ordered = x[_inside(x)].float().sort().values
    edges = torch.arange(num_bins + 1) * (8 / num_bins) - 4
    return torch.searchsorted(ordered, edges, right=False).diff()


def private_counts(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Each block of 64 rows counts for itself in 32-bit integers, added up after that."""
    total = torch.zeros(num_bins, dtype=torch.int64)
    for part in x.split(max(64, len(x) // 16)):
        own = torch.zeros(num_bins, dtype=torch.int32)
        own.scatter_add_(0, _places(part, num_bins).flatten(), _inside(part).flatten().int())
        total += own
    return total


def in_double(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """(x + 4) * num_bins / 8 in float64, which rounds nothing that a float32 number between -4 and 4 can hold."""
    wide = torch.where(_inside(x), x, 0).double()
    # Of a tiny negative number not even float64 keeps the sum with 4.
    places = ((wide + 4) * (num_bins / 8)).floor().long() - ((wide < 0) & (wide + 4 >= 4)).long()
    return _counts(places, _inside(x), num_bins)


def last_edge_inside(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """As torch.histc: what is exactly 4 is counted in the last interval."""
    y = _expected(x, num_bins)
    y[-1] += (x == 4).sum()
    return y


def first_edge_outside(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """What is exactly -4 is not counted."""
    y = _expected(x, num_bins)
    y[0] -= (x == -4).sum()
    return y


def outside_at_the_ends(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """What lies outside is counted in the first and the last interval."""
    y = _expected(x, num_bins)
    y[0] += (x < -4).sum()
    y[-1] += (x >= 4).sum()
    return y


def nan_in_the_first(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """A NaN is converted to place 0 and counted."""
    y = _expected(x, num_bins)
    y[0] += x.isnan().sum()
    return y


def towards_zero(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Places are truncated towards zero before the middle is added, so that it counts twice as much."""
    scaled = torch.where(_inside(x), x, 0).float() * (num_bins / 8)
    return _counts(scaled.long() + num_bins // 2, _inside(x), num_bins)


def to_the_nearest(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Places are rounded to the nearest."""
    scaled = torch.where(_inside(x), x, 0).float() * (num_bins / 8)
    return _counts(scaled.round().long() + num_bins // 2, _inside(x), num_bins)


def upper_edges_inside(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Intervals are open below and closed above."""
    kept = (x > -4) & (x <= 4)
    scaled = torch.where(kept, x, 0).float() * (num_bins / 8)
    return _counts(scaled.ceil().long() - 1 + num_bins // 2, kept, num_bins)


def shifted_in_the_dtype(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The sum of x and 4 is rounded to the dtype, which moves what lies just below an edge to it."""
    shifted = (torch.where(_inside(x), x, 0) + 4).float() * (num_bins / 8)
    return _counts(shifted.floor().long(), _inside(x), num_bins)


def through_bfloat16(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Elements pass through bfloat16."""
    return _expected(x.bfloat16().float(), num_bins)


def small_counters(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Counters of eight bits wrap around."""
    return _expected(x, num_bins) & 255


def float16_counters(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Counters in float16 stall at 2048."""
    return _expected(x, num_bins).clamp(max=2048)


def lost_updates(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Neighbours that fall into one interval at once count as one: no atomic addition."""
    places, inside = _places(x, num_bins).flatten(), _inside(x).flatten()
    again = torch.zeros_like(inside)
    again[1::2] = (places[1::2] == places[:-1:2]) & inside[1::2] & inside[:-1:2]
    return _counts(places, inside & ~again, num_bins)


def one_place_too_far(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Places are counted from one, and the last one becomes the first."""
    return _expected(x, num_bins).roll(1)


def last_column_lost(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The last column is not looked at."""
    return _expected(x[:, :-1], num_bins)


def tail_lost(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """Elements behind the last whole vector of four are not looked at."""
    return _expected(x.flatten()[: x.numel() // 4 * 4], num_bins)


def running_counts(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The cumulative histogram."""
    return _expected(x, num_bins).cumsum(0)


def of_the_magnitude(x: torch.Tensor, num_bins: int) -> torch.Tensor:
    """The sign is lost."""
    return _expected(x.abs(), num_bins)


through_bfloat16.dtypes = ("float32", "float16")

HONEST = (by_searching, by_sorting, private_counts, in_double)
MUTANTS = (
    last_edge_inside, first_edge_outside, outside_at_the_ends, nan_in_the_first, towards_zero, to_the_nearest,
    upper_edges_inside, shifted_in_the_dtype, through_bfloat16, small_counters, float16_counters, lost_updates,
    one_place_too_far, last_column_lost, tail_lost, running_counts, of_the_magnitude,
)  # fmt: skip
