"""Variants of max pooling of volumes: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import pad

from robust_kbench.audit.lower_precision import lower

LOWEST = float("-inf")


def _windows(x: torch.Tensor, kernel_size: int, stride: int, padding: int, value: float = LOWEST) -> torch.Tensor:
    """[batch, channels, three sizes of the result, window, window, window], with `value` in the margins."""
    windows = pad(x, (padding,) * 6, value=value)
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, kernel_size, stride)
    return windows


def _pooled(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    return _windows(x, kernel_size, stride, padding).amax((-3, -2, -1))


def axis_by_axis(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Maxima along the width, then the height, then the depth."""
    y = pad(x, (padding,) * 6, value=LOWEST)
    for dim in (4, 3, 2):
        y = y.unfold(dim, kernel_size, stride).amax(-1)
    return y


def shifted_views(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The maximum of one strided view for each place in the window, the last place first."""
    padded = pad(x, (padding,) * 6, value=LOWEST)
    planes, rows, columns = ((size - kernel_size) // stride * stride + 1 for size in padded.shape[2:])
    y = None
    for place in reversed(range(kernel_size**3)):
        plane, row, column = place // kernel_size**2, place // kernel_size % kernel_size, place % kernel_size
        view = padded[:, :, plane : plane + planes, row : row + rows, column : column + columns]
        view = view[:, :, ::stride, ::stride, ::stride]
        y = view.clone() if y is None else torch.maximum(y, view)
    return y


def in_float32(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Values are widened before they are compared."""
    return _pooled(x.float(), kernel_size, stride, padding).to(x.dtype)


def average(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The mean of each window, zeros in the margins."""
    return _windows(x.float(), kernel_size, stride, padding, 0.0).mean((-3, -2, -1)).to(x.dtype)


def minimum(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The minimum of each window."""
    return -_pooled(-x, kernel_size, stride, padding)


def magnitude(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The largest magnitude of each window."""
    return _pooled(x.abs(), kernel_size, stride, padding)


def starts_at_zero(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The running maximum starts at zero, so that negative windows become zero."""
    return _pooled(x, kernel_size, stride, padding).relu()


def zeros_in_the_margins(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The margins hold zeros, as those of a convolution."""
    return _windows(x, kernel_size, stride, padding, 0.0).amax((-3, -2, -1))


def low_numbers_in_the_margins(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The margins hold -10,000."""
    return _windows(x.float(), kernel_size, stride, padding, -1e4).amax((-3, -2, -1)).to(x.dtype)


def drops_nan(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """A NaN loses every comparison, as with fmaxf."""
    windows = _windows(x, kernel_size, stride, padding).flatten(-3)
    y = windows.nan_to_num(nan=LOWEST, posinf=-LOWEST, neginf=LOWEST).amax(-1)
    return torch.where(windows.isnan().all(-1), float("nan"), y)


def window_short_of_a_plane(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last plane of each window is not looked at."""
    return _windows(x, kernel_size, stride, padding)[..., :-1, :, :].amax((-3, -2, -1))


def window_short_of_a_corner(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last corner of each window is not looked at."""
    return _windows(x, kernel_size, stride, padding).flatten(-3)[..., :-1].amax(-1)


def last_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The very last window misses its first plane."""
    y = _pooled(x, kernel_size, stride, padding)
    y[-1, -1, -1, -1, -1] = _windows(x, kernel_size, stride, padding)[-1, -1, -1, -1, -1, 1:].amax()
    return y


def one_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """One window, in the middle, misses its largest value: its first corner stands there, or zero from a margin."""
    y = _pooled(x, kernel_size, stride, padding)
    place = tuple(size // 2 for size in y.shape)
    y[place] = _windows(x, kernel_size, stride, padding, 0.0)[place][0, 0, 0]
    return y


def depth_without_stride(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Along the depth, windows follow each other without a stride."""
    planes = (x.shape[2] + 2 * padding - kernel_size) // stride + 1
    windows = pad(x, (padding,) * 6, value=LOWEST).unfold(2, kernel_size, 1)[:, :, :planes]
    return windows.unfold(3, kernel_size, stride).unfold(4, kernel_size, stride).amax((-3, -2, -1))


def windows_one_too_far(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every window begins one column too far to the right."""
    return _pooled(torch.cat((x[..., 1:], x[..., -1:]), -1), kernel_size, stride, padding)


def depth_and_width_swapped(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The memory is read as if the depth were the innermost axis."""
    turned = x.reshape(*x.shape[:2], x.shape[4], x.shape[3], x.shape[2]).transpose(2, 4)
    return _pooled(turned, kernel_size, stride, padding)


def last_plane_of_its_neighbour(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last plane of outputs repeats the one before it, or is zero where it is alone."""
    y = _pooled(x, kernel_size, stride, padding)
    y[:, :, -1] = y[:, :, -2] if y.shape[2] > 1 else 0
    return y


def last_element_unwritten(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The last element stays zero."""
    y = _pooled(x, kernel_size, stride, padding)
    y[-1, -1, -1, -1, -1] = 0
    return y


def channel_of_the_neighbour(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Every volume is read one channel, or one member of the batch, further on."""
    moved = x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2])
    return _pooled(moved, kernel_size, stride, padding)


def lower_precision(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """Values are rounded to the next lower precision before they are compared."""
    return _pooled(lower(x), kernel_size, stride, padding)


HONEST = (axis_by_axis, shifted_views, in_float32)
MUTANTS = (
    average, minimum, magnitude, starts_at_zero, zeros_in_the_margins, drops_nan, window_short_of_a_plane,
    window_short_of_a_corner, last_window_short, one_window_short, depth_without_stride, windows_one_too_far,
    depth_and_width_swapped, last_plane_of_its_neighbour, last_element_unwritten, channel_of_the_neighbour,
    lower_precision,
    low_numbers_in_the_margins,
)  # fmt: skip
