"""Segment sum: sums[s] = sum of values[r] over the rows r with segment[r] = s (tf.math.unsorted_segment_sum)."""

import torch


def reference(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """values: [rows, cols], segment: [rows] int64 in [0, num_segments) -> sums: [num_segments, cols].

    A segment without rows sums to zero.
    """
    return values.new_zeros(num_segments, values.shape[1]).index_add(0, segment, values)


def float32_inside(values: torch.Tensor, segment: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The same with float32 sums, rounded once."""
    return reference(values.float(), segment, num_segments).to(values.dtype)
