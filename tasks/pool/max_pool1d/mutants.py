"""Variants of max pooling: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import pad

from robust_kbench.audit.lower_precision import lower

LOWEST = float("-inf")


def _windows(
    x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int, value: float = LOWEST
) -> torch.Tensor:
    """[batch, channels, out_length, kernel_size], with `value` in the margins."""
    padded = pad(x, (padding, padding), value=value)
    return padded.unfold(2, dilation * (kernel_size - 1) + 1, stride)[..., ::dilation]


def _pooled(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    return _windows(x, kernel_size, stride, padding, dilation).amax(-1)


def shifted_views(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The maximum of one strided view for each place in the window, the last place first."""
    padded = pad(x, (padding, padding), value=LOWEST)
    reach = (padded.shape[2] - dilation * (kernel_size - 1) - 1) // stride * stride + 1
    y = None
    for place in reversed(range(kernel_size)):
        view = padded[..., place * dilation : place * dilation + reach : stride]
        y = view.clone() if y is None else torch.maximum(y, view)
    return y


def in_float32(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """Values are widened before they are compared."""
    return _pooled(x.float(), kernel_size, stride, padding, dilation).to(x.dtype)


def doubling(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """Maxima over one, two, four, ... places, of which two that overlap make a window."""
    maxima, size = pad(x, (padding, padding), value=LOWEST), 1
    while 2 * size <= kernel_size:
        shift = size * dilation
        maxima, size = torch.maximum(maxima[..., :-shift], maxima[..., shift:]), 2 * size
    rest = (kernel_size - size) * dilation
    if rest:
        maxima = torch.maximum(maxima[..., :-rest], maxima[..., rest:])
    return maxima[..., ::stride].contiguous()


def places_outside_skipped(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """No margins are made: places outside are moved to the window's nearest place inside."""
    length = x.shape[2]
    count = (length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1
    starts = torch.arange(count, device=x.device)[:, None] * stride - padding
    places = starts + torch.arange(kernel_size, device=x.device) * dilation
    lowest = torch.where(places < 0, length, places).amin(-1, keepdim=True)
    inside = torch.where((places < 0) | (places >= length), lowest, places)
    return x[..., inside].amax(-1)


def average(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The mean of each window, zeros in the margins."""
    return _windows(x.float(), kernel_size, stride, padding, dilation, 0.0).mean(-1).to(x.dtype)


def minimum(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The minimum of each window."""
    return -_pooled(-x, kernel_size, stride, padding, dilation)


def magnitude(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The largest magnitude of each window."""
    return _pooled(x.abs(), kernel_size, stride, padding, dilation)


def starts_at_zero(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The running maximum starts at zero, so that negative windows become zero."""
    return _pooled(x, kernel_size, stride, padding, dilation).relu()


def zeros_in_the_margins(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The margins hold zeros, as those of a convolution."""
    return _windows(x, kernel_size, stride, padding, dilation, 0.0).amax(-1)


def low_numbers_in_the_margins(
    x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int
) -> torch.Tensor:
    """The margins hold -10,000."""
    return _windows(x.float(), kernel_size, stride, padding, dilation, -1e4).amax(-1).to(x.dtype)


def drops_nan(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """A NaN loses every comparison, as with fmaxf."""
    windows = _windows(x, kernel_size, stride, padding, dilation)
    y = windows.nan_to_num(nan=LOWEST, posinf=-LOWEST, neginf=LOWEST).amax(-1)
    return torch.where(windows.isnan().all(-1), float("nan"), y)


def window_short_by_one(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The last place of each window is not looked at."""
    return _windows(x, kernel_size, stride, padding, dilation)[..., :-1].amax(-1)


def last_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The very last window misses its first place."""
    y = _pooled(x, kernel_size, stride, padding, dilation)
    y[-1, -1, -1] = _windows(x, kernel_size, stride, padding, dilation)[-1, -1, -1, 1:].amax()
    return y


def one_window_short(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """One window, in the middle, misses its largest value: its first place stands there, or zero from a margin."""
    y = _pooled(x, kernel_size, stride, padding, dilation)
    place = tuple(size // 2 for size in y.shape)
    y[place] = _windows(x, kernel_size, stride, padding, dilation, 0.0)[place][0]
    return y


def windows_one_too_far(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """Every window begins one place too far to the right."""
    moved = torch.cat((x[..., 1:], x[..., -1:]), -1)
    return _pooled(moved, kernel_size, stride, padding, dilation)


def dilation_ignored(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The places of a window are neighbours."""
    padded = pad(x, (padding, padding), value=LOWEST)
    return padded.unfold(2, dilation * (kernel_size - 1) + 1, stride)[..., :kernel_size].amax(-1)


def whole_span(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """A dilated window looks at the places in between, too."""
    return _pooled(x, dilation * (kernel_size - 1) + 1, stride, padding, 1)


def stride_of_the_window(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The stride is taken for the window's size; what lies beyond the end repeats the last output."""
    right = _pooled(x, kernel_size, stride, padding, dilation)
    y = _pooled(x, kernel_size, kernel_size, padding, dilation)
    return y[..., torch.arange(right.shape[2], device=x.device).clamp(max=y.shape[2] - 1)]


def last_output_of_its_neighbour(
    x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int
) -> torch.Tensor:
    """The last output of each row repeats the one before it, or is zero where it is alone."""
    y = _pooled(x, kernel_size, stride, padding, dilation)
    y[..., -1] = y[..., -2] if y.shape[-1] > 1 else 0
    return y


def last_element_unwritten(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The last element stays zero."""
    y = _pooled(x, kernel_size, stride, padding, dilation)
    y[-1, -1, -1] = 0
    return y


def channel_of_the_neighbour(
    x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int
) -> torch.Tensor:
    """Every signal is read one channel, or one member of the batch, further on."""
    moved = x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2])
    return _pooled(moved, kernel_size, stride, padding, dilation)


def lower_precision(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """Values are rounded to the next lower precision before they are compared."""
    return _pooled(lower(x), kernel_size, stride, padding, dilation)


HONEST = (shifted_views, in_float32, doubling, places_outside_skipped)
MUTANTS = (
    average, minimum, magnitude, starts_at_zero, zeros_in_the_margins, drops_nan, window_short_by_one,
    last_window_short, one_window_short, windows_one_too_far, dilation_ignored, whole_span, stride_of_the_window,
    last_output_of_its_neighbour, last_element_unwritten, channel_of_the_neighbour, lower_precision,
    low_numbers_in_the_margins,
)  # fmt: skip
