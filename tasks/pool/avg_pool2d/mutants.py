"""Variants of average pooling: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import avg_pool2d, pad

from robust_kbench.audit.emulated import summed, tf32


def _windows(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """[batch, channels, out_height, out_width, kernel_size, kernel_size] in float32, with zeros in the margins."""
    padded = pad(x.float(), (padding,) * 4)
    return padded.unfold(2, kernel_size, stride).unfold(3, kernel_size, stride)


def _pooled(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    return _windows(x, kernel_size, stride, padding).mean((-2, -1))


def library(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The library's float32 operator."""
    return avg_pool2d(x.float(), kernel_size, stride, padding).to(x.dtype)


def rows_then_columns(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Sums along the width, then along the height of them, times a reciprocal."""
    rows = summed(pad(x.float(), (padding,) * 4).unfold(3, kernel_size, stride), lanes=1)
    return (summed(rows.unfold(2, kernel_size, stride), lanes=1) * (1 / kernel_size**2)).to(x.dtype)


def one_accumulator(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """One float32 accumulator for each window, the last place first."""
    total = summed(_windows(x, kernel_size, stride, padding).flatten(-2).flip(-1), lanes=1)
    return (total / kernel_size**2).to(x.dtype)


def divided_first(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every place is multiplied by the weight of a convolution, in float32, and then added."""
    return summed(_windows(x, kernel_size, stride, padding).flatten(-2) * (1 / kernel_size**2), lanes=4).to(x.dtype)


def zeros_do_not_count(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Divided by the number of places inside of the image."""
    return avg_pool2d(x.float(), kernel_size, stride, padding, count_include_pad=False).to(x.dtype)


def edges_in_the_margins(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The margins repeat the edge."""
    return _pooled(pad(x.float(), (padding,) * 4, mode="replicate"), kernel_size, stride, 0).to(x.dtype)


def divided_by_the_width(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Divided by the window's width alone."""
    return (_windows(x, kernel_size, stride, padding).sum((-2, -1)) / kernel_size).to(x.dtype)


def maximum(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The maximum of each window."""
    return _windows(x, kernel_size, stride, padding).amax((-2, -1)).to(x.dtype)


def window_short_of_a_row(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last row of each window is left out of the sum."""
    total = _windows(x, kernel_size, stride, padding)[..., :-1, :].sum((-2, -1))
    return (total / kernel_size**2).to(x.dtype)


def window_short_of_a_corner(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last corner of each window is left out of the sum."""
    total = _windows(x, kernel_size, stride, padding).flatten(-2)[..., :-1].sum(-1)
    return (total / kernel_size**2).to(x.dtype)


def divided_by_one_less(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Divided by the number of places minus one."""
    total = _windows(x, kernel_size, stride, padding).sum((-2, -1))
    return (total / (kernel_size**2 - 1)).to(x.dtype)


def windows_one_too_far(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every window begins one column too far to the right."""
    moved = pad(x.float(), (padding, padding + 1, padding, padding))[..., 1:]
    return _pooled(moved, kernel_size, stride, 0).to(x.dtype)


def stride_of_the_window(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The stride is taken for the window's size; what lies beyond the edge repeats the last output."""
    rows, columns = ((size + 2 * padding - kernel_size) // stride + 1 for size in x.shape[2:])
    y = _pooled(x, kernel_size, kernel_size, padding)
    row = torch.arange(rows).clamp(max=y.shape[2] - 1)
    return y[:, :, row][..., torch.arange(columns).clamp(max=y.shape[3] - 1)].to(x.dtype)


def last_column_unseen(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last column of the image is taken for padding."""
    cut = x.float().clone()
    cut[..., -1] = 0
    return _pooled(cut, kernel_size, stride, padding).to(x.dtype)


def last_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The very last window misses its first row."""
    y = _pooled(x, kernel_size, stride, padding)
    y[-1, -1, -1, -1] = _windows(x, kernel_size, stride, padding)[-1, -1, -1, -1, 1:].sum() / kernel_size**2
    return y.to(x.dtype)


def channel_of_the_neighbour(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every image is read one channel, or image, further on."""
    moved = x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2])
    return _pooled(moved, kernel_size, stride, padding).to(x.dtype)


def tf32_terms(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with weights."""
    return _pooled(tf32(x), kernel_size, stride, padding)


def half_accumulators(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Sums are kept in bfloat16."""
    total = summed(_windows(x, kernel_size, stride, padding).flatten(-2), torch.bfloat16, lanes=1)
    return (total.float() / kernel_size**2).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Halves: sums are kept in the input's own dtype, which shows in the larger windows."""
    total = summed(_windows(x, kernel_size, stride, padding).flatten(-2), x.dtype, lanes=1)
    return (total.float() / kernel_size**2).to(x.dtype)


def reciprocal_in_bfloat16(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The reciprocal of the window's size is kept in bfloat16."""
    reciprocal = torch.tensor(1 / kernel_size**2).bfloat16().float()
    return (_windows(x, kernel_size, stride, padding).sum((-2, -1)) * reciprocal).to(x.dtype)


tf32_terms.dtypes = ("float32",)
half_accumulators.dtypes = reciprocal_in_bfloat16.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (library, rows_then_columns, one_accumulator, divided_first)
MUTANTS = (
    zeros_do_not_count, edges_in_the_margins, divided_by_the_width, maximum, window_short_of_a_row,
    window_short_of_a_corner, divided_by_one_less, windows_one_too_far, stride_of_the_window, last_column_unseen,
    last_window_short, channel_of_the_neighbour, tf32_terms, half_accumulators, accumulators_of_the_dtype,
    reciprocal_in_bfloat16,
)  # fmt: skip
