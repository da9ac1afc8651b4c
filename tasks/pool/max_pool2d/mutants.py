"""Variants of max pooling: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import avg_pool2d, max_pool2d, pad

from robust_kbench.audit.lower_precision import lower


def separable(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Maxima over rows, then over columns of them."""
    return x.unfold(3, kernel_size, stride).amax(-1).unfold(2, kernel_size, stride).amax(-1)


def shifted_views(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The maximum of one strided view for each place in the window, the last place first."""
    rows, columns = ((size - kernel_size) // stride * stride + 1 for size in x.shape[2:])
    y = None
    for row in reversed(range(kernel_size)):
        for column in reversed(range(kernel_size)):
            view = x[:, :, row : row + rows : stride, column : column + columns : stride]
            y = view.clone() if y is None else torch.maximum(y, view)
    return y


def in_float32(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Values are widened before they are compared."""
    return max_pool2d(x.float(), kernel_size, stride).to(x.dtype)


def channels_last(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Through a copy with the channels innermost."""
    return max_pool2d(x.contiguous(memory_format=torch.channels_last), kernel_size, stride).contiguous()


def average(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The mean of each window."""
    return avg_pool2d(x.float(), kernel_size, stride).to(x.dtype)


def minimum(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The minimum of each window."""
    return -max_pool2d(-x, kernel_size, stride)


def magnitude(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The largest magnitude of each window."""
    return max_pool2d(x.abs(), kernel_size, stride)


def starts_at_zero(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The running maximum starts at zero, so that negative windows become zero."""
    return max_pool2d(x, kernel_size, stride).relu()


def starts_at_minus_one(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The running maximum starts at -1, below which few windows lie."""
    return max_pool2d(x, kernel_size, stride).clamp(min=-1)


def starts_at_a_low_number(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The running maximum begins with -10,000."""
    return max_pool2d(x.float(), kernel_size, stride).clamp_min(-1e4).to(x.dtype)


def drops_nan(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """A NaN loses every comparison, as with fmaxf."""
    y = max_pool2d(x.nan_to_num(nan=float("-inf"), posinf=float("inf"), neginf=float("-inf")), kernel_size, stride)
    return torch.where(max_pool2d((~x.isnan()).float(), kernel_size, stride) > 0, y, float("nan"))


def window_short_of_a_row(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The last row of each window is not looked at."""
    return max_pool2d(x[:, :, :-1], (kernel_size - 1, kernel_size), stride)


def window_short_of_a_corner(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The last corner of each window is not looked at."""
    above = max_pool2d(x[:, :, :-1], (kernel_size - 1, kernel_size), stride)
    return torch.maximum(above, max_pool2d(x[..., :-1], (kernel_size, kernel_size - 1), stride))


def window_too_wide(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Each window reaches one column further, but not over the edge."""
    wide = pad(x, (0, 1), value=float("-inf"))
    return max_pool2d(wide, (kernel_size, kernel_size + 1), stride)


def last_column_of_its_neighbour(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The last column of outputs repeats the one before it, or is zero where it is alone."""
    y = max_pool2d(x, kernel_size, stride)
    y[..., -1] = y[..., -2] if y.shape[-1] > 1 else 0
    return y


def last_element_unwritten(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The last element stays zero."""
    y = max_pool2d(x, kernel_size, stride).contiguous()
    y[-1, -1, -1, -1] = 0
    return y


def first_element_of_its_neighbour(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The first element is the second one's, or zero where it is alone."""
    y = max_pool2d(x, kernel_size, stride).contiguous()
    flat = y.view(-1)
    flat[0] = flat[1] if len(flat) > 1 else 0
    return y


def last_window_short(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The very last window misses its last row."""
    y = max_pool2d(x, kernel_size, stride)
    row, column = ((size - kernel_size) // stride * stride for size in x.shape[2:])
    y[-1, -1, -1, -1] = x[-1, -1, row : row + kernel_size - 1, column : column + kernel_size].max()
    return y


def one_window_short(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """One window, in the middle, misses its largest value: the minimum stands there."""
    y = max_pool2d(x, kernel_size, stride)
    place = tuple(size // 2 for size in y.shape)
    row, column = place[2] * stride, place[3] * stride
    y[place] = x[place[0], place[1], row : row + kernel_size, column : column + kernel_size].min()
    return y


def stride_of_the_window(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The stride is taken for the window's size; what lies beyond the edge repeats the last output."""
    rows, columns = ((size - kernel_size) // stride + 1 for size in x.shape[2:])
    y = max_pool2d(x, kernel_size, kernel_size)
    row = torch.arange(rows, device=x.device).clamp(max=y.shape[2] - 1)
    return y[:, :, row][..., torch.arange(columns, device=x.device).clamp(max=y.shape[3] - 1)]


def channel_of_the_neighbour(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Every image is read one channel, or image, further on."""
    return max_pool2d(x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2]), kernel_size, stride)


def lower_precision(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """Values are rounded to the next lower precision before they are compared."""
    return max_pool2d(lower(x), kernel_size, stride)


def smooth(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """A soft maximum, log(sum(exp(64 x))) / 64."""
    windows = x.double().unfold(2, kernel_size, stride).unfold(3, kernel_size, stride).flatten(-2)
    return (torch.logsumexp(windows * 64, -1) / 64).to(x.dtype)


HONEST = (separable, shifted_views, in_float32, channels_last)
MUTANTS = (
    average, minimum, magnitude, starts_at_zero, starts_at_minus_one, drops_nan, window_short_of_a_row,
    window_short_of_a_corner, window_too_wide, last_column_of_its_neighbour, last_element_unwritten,
    first_element_of_its_neighbour, last_window_short, one_window_short,
    stride_of_the_window, channel_of_the_neighbour, lower_precision, smooth,
    starts_at_a_low_number,
)  # fmt: skip
