"""Variants of the segment sum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _added(
    values: torch.Tensor, segment: torch.Tensor, num_segments: int, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Row by row, every partial sum rounded to `dtype`."""
    zeros = torch.zeros(num_segments, values.shape[1], dtype=dtype)
    return zeros.index_add(0, segment, values.to(dtype))


def backwards(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """From the last row to the first, as atomics may come, in float32."""
    return _added(values.flip(0), segment.flip(0), num_segments).to(values.dtype)


def sorted_first(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Rows are sorted by segment, and each run is added by itself in float64."""
    order = segment.argsort(stable=True)
    sums = _added(values[order], segment[order], num_segments, torch.float64)
    return sums.float().to(values.dtype)


def partial_sums(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Blocks of rows have sums of their own in float32, added to each other after that."""
    size = max(1, -(-len(values) // 4))
    parts = zip(values.split(size), segment.split(size), strict=True)
    total = torch.zeros(num_segments, values.shape[1])
    for part, names in parts:
        total += _added(part, names, num_segments)
    return total.to(values.dtype)


def last_row_lost(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The last row is not added."""
    return _added(values[:-1], segment[:-1], num_segments).to(values.dtype)


def tail_lost(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Rows behind the last whole block of eight are not added."""
    whole = len(values) // 8 * 8
    return _added(values[:whole], segment[:whole], num_segments).to(values.dtype)


def last_one_wins(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """A row is written instead of added."""
    last = torch.full((num_segments,), -1).scatter_reduce(0, segment, torch.arange(len(segment)), "amax")
    return torch.where((last >= 0)[:, None], values[last.clamp(min=0)], torch.zeros_like(values[:1]))


def lost_updates(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Of two neighbouring rows of one segment the first is lost: the addition is not atomic."""
    kept = torch.ones(len(segment), dtype=torch.bool)
    kept[:-1] = segment[:-1] != segment[1:]
    return _added(values[kept], segment[kept], num_segments).to(values.dtype)


def runs_alone(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Segments are taken to be sorted: rows of a segment that comes back after a smaller one are not added."""
    kept = segment >= segment.cummax(0).values
    return _added(values[kept], segment[kept], num_segments).to(values.dtype)


def mean_of_each(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The mean of each segment."""
    number = torch.bincount(segment, minlength=num_segments).clamp(min=1)
    return (_added(values, segment, num_segments) / number[:, None]).to(values.dtype)


def largest(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The largest value of each segment and column, or zero."""
    names = segment[:, None].expand(values.shape)
    zeros = torch.zeros(num_segments, values.shape[1])
    return zeros.scatter_reduce(0, names, values.float(), "amax", include_self=False).to(values.dtype)


def next_segment(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Segments are counted from one."""
    return _added(values, (segment + 1) % num_segments, num_segments).to(values.dtype)


def first_segment_ignored(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Segment 0 is taken for padding and stays zero."""
    sums = _added(values, segment, num_segments)
    sums[0] = 0
    return sums.to(values.dtype)


def last_segment_unreachable(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """What belongs to the last segment is added to the one before it."""
    return _added(values, segment.clamp(max=max(0, num_segments - 2)), num_segments).to(values.dtype)


def low_byte(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Only the low byte of a segment is read."""
    return _added(values, segment & 255, num_segments).to(values.dtype)


def words_of_the_wrong_size(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Segments are read as 32-bit words, every second of which is zero."""
    words = segment.contiguous().view(torch.int32)[: len(segment)]
    return _added(values, words.long(), num_segments).to(values.dtype)


def running_sums(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Each segment has the sums of those before it, too."""
    return _added(values, segment, num_segments).cumsum(0).to(values.dtype)


def half_accumulators(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Partial sums are kept in bfloat16."""
    return _added(values, segment, num_segments, torch.bfloat16).to(values.dtype)


def tf32_terms(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with a matrix of zeros and ones."""
    return _added(tf32(values), segment, num_segments)


def last_column_of_another(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The last column has the first one's sums."""
    sums = _added(values, segment, num_segments)
    sums[:, -1] = sums[:, 0].clone()
    return sums.to(values.dtype)


def room_for_four_times_the_average(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Each segment has room for four times the average number of rows, and eight at least; the others are dropped."""
    room = max(8, 4 * -(-len(segment) // num_segments))
    order = segment.argsort(stable=True)
    rank = torch.arange(len(segment)) - torch.searchsorted(segment[order], segment[order])
    kept = order[rank < room]
    return _added(values[kept], segment[kept], num_segments).to(values.dtype)


half_accumulators.dtypes = ("float32", "float16")
tf32_terms.dtypes = ("float32",)

HONEST = (backwards, sorted_first, partial_sums)
MUTANTS = (
    last_row_lost, tail_lost, last_one_wins, lost_updates, runs_alone, mean_of_each, largest, next_segment,
    first_segment_ignored, last_segment_unreachable, low_byte, words_of_the_wrong_size, running_sums,
    half_accumulators, tf32_terms, last_column_of_another,
    room_for_four_times_the_average,
)  # fmt: skip
