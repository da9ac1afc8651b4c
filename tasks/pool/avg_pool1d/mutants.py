"""Variants of average pooling: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import avg_pool1d, pad

from robust_kbench.audit.emulated import summed, tf32


def _windows(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """[batch, channels, out_length, kernel_size] in float32, with zeros in the margins."""
    return pad(x.float(), (padding, padding)).unfold(2, kernel_size, stride)


def _pooled(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    return _windows(x, kernel_size, stride, padding).mean(-1)


def library(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The library's float32 operator."""
    return avg_pool1d(x.float(), kernel_size, stride, padding).to(x.dtype)


def one_accumulator(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """One float32 accumulator for each window, the last place first, times a reciprocal."""
    total = summed(_windows(x, kernel_size, stride, padding).flip(-1), lanes=1)
    return (total * (1 / kernel_size)).to(x.dtype)


def lanes_of_a_warp(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Eight accumulators for each window, then a tree."""
    return (summed(_windows(x, kernel_size, stride, padding), lanes=8) / kernel_size).to(x.dtype)


def product_with_weights(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """A convolution with equal weights in float32."""
    return (_windows(x, kernel_size, stride, padding) @ torch.full((kernel_size,), 1 / kernel_size)).to(x.dtype)


def zeros_do_not_count(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Divided by the number of places inside of the signal."""
    return avg_pool1d(x.float(), kernel_size, stride, padding, count_include_pad=False).to(x.dtype)


def edges_in_the_margins(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The margins repeat the first and the last value."""
    return _pooled(pad(x.float(), (padding, padding), mode="replicate"), kernel_size, stride, 0).to(x.dtype)


def not_divided(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The sum."""
    return _windows(x, kernel_size, stride, padding).sum(-1).to(x.dtype)


def maximum(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The maximum of each window."""
    return _windows(x, kernel_size, stride, padding).amax(-1).to(x.dtype)


def window_short_by_one(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last place of each window is left out of the sum."""
    return (_windows(x, kernel_size, stride, padding)[..., :-1].sum(-1) / kernel_size).to(x.dtype)


def divided_by_one_less(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Divided by the window's size minus one."""
    return (_windows(x, kernel_size, stride, padding).sum(-1) / (kernel_size - 1)).to(x.dtype)


def first_place_twice(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The first place of each window is the initial value, too."""
    windows = _windows(x, kernel_size, stride, padding)
    return ((windows[..., 0] + windows.sum(-1)) / kernel_size).to(x.dtype)


def windows_one_too_far(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every window begins one place too far to the right."""
    moved = pad(x.float(), (padding, padding + 1))[..., 1:]
    return _pooled(moved, kernel_size, stride, 0).to(x.dtype)


def stride_of_the_window(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The stride is taken for the window's size; what lies beyond the end repeats the last output."""
    count = (x.shape[2] + 2 * padding - kernel_size) // stride + 1
    y = _pooled(x, kernel_size, kernel_size, padding)
    return y[..., torch.arange(count).clamp(max=y.shape[2] - 1)].to(x.dtype)


def last_place_unseen(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last place of each signal is taken for padding."""
    cut = x.float().clone()
    cut[..., -1] = 0
    return _pooled(cut, kernel_size, stride, padding).to(x.dtype)


def last_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The very last window misses its first place."""
    y = _pooled(x, kernel_size, stride, padding)
    y[-1, -1, -1] = _windows(x, kernel_size, stride, padding)[-1, -1, -1, 1:].sum() / kernel_size
    return y.to(x.dtype)


def channel_of_the_neighbour(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every signal is read one channel, or one member of the batch, further on."""
    moved = x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2])
    return _pooled(moved, kernel_size, stride, padding).to(x.dtype)


def running_sum(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """float32: differences of a sum over the whole signal, whose rounding errors stay in every later window."""
    sums = pad(pad(x.float(), (padding, padding)).cumsum(-1), (1, 0))
    return (sums[..., kernel_size:] - sums[..., :-kernel_size])[..., ::stride] / kernel_size


def tf32_terms(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with weights."""
    return _pooled(tf32(x), kernel_size, stride, padding)


def half_accumulators(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Sums are kept in bfloat16."""
    total = summed(_windows(x, kernel_size, stride, padding), torch.bfloat16, lanes=1)
    return (total.float() / kernel_size).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Halves: sums are kept in the input's own dtype, which shows in the longer windows."""
    total = summed(_windows(x, kernel_size, stride, padding), x.dtype, lanes=1)
    return (total.float() / kernel_size).to(x.dtype)


def reciprocal_in_bfloat16(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The reciprocal of the window's size is kept in bfloat16."""
    reciprocal = torch.tensor(1 / kernel_size).bfloat16().float()
    return (_windows(x, kernel_size, stride, padding).sum(-1) * reciprocal).to(x.dtype)


running_sum.dtypes = tf32_terms.dtypes = ("float32",)
half_accumulators.dtypes = reciprocal_in_bfloat16.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (library, one_accumulator, lanes_of_a_warp, product_with_weights)
MUTANTS = (
    zeros_do_not_count, edges_in_the_margins, not_divided, maximum, window_short_by_one, divided_by_one_less,
    first_place_twice, windows_one_too_far, stride_of_the_window, last_place_unseen, last_window_short,
    channel_of_the_neighbour, running_sum, tf32_terms, half_accumulators, accumulators_of_the_dtype,
    reciprocal_in_bfloat16,
)  # fmt: skip
