"""Variants of the box filter: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import avg_pool2d, pad

from robust_kbench.audit.emulated import summed, tf32


def _windows(x: torch.Tensor, radius: int, mode: str = "replicate") -> torch.Tensor:
    """[batch, channels, height, width, size, size] in float32."""
    size = 2 * radius + 1
    return pad(x.float(), (radius,) * 4, mode=mode).unfold(2, size, 1).unfold(3, size, 1)


def _blurred(x: torch.Tensor, radius: int) -> torch.Tensor:
    """In float32."""
    return avg_pool2d(pad(x.float(), (radius,) * 4, mode="replicate"), 2 * radius + 1, 1)


def library(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The library's float32 pooling of a padded image."""
    return _blurred(x, radius).to(x.dtype)


def columns_first(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Sums along the height, then along the width, times a reciprocal; one float32 accumulator for each."""
    size = 2 * radius + 1
    columns = summed(pad(x.float(), (radius,) * 4, mode="replicate").unfold(2, size, 1), lanes=1)
    return (summed(columns.unfold(3, size, 1), lanes=1) * (1 / size**2)).to(x.dtype)


def one_accumulator(x: torch.Tensor, radius: int) -> torch.Tensor:
    """One float32 accumulator for each window, the last place first."""
    total = 0.0
    padded = pad(x.float(), (radius,) * 4, mode="replicate").unfold(3, 2 * radius + 1, 1).sum(-1)
    for part in reversed(padded.unfold(2, 2 * radius + 1, 1).unbind(-1)):
        total = total + part
    return (total / (2 * radius + 1) ** 2).to(x.dtype)


def two_lanes(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Means of rows by two accumulators, then means of those."""
    size = 2 * radius + 1
    rows = summed(pad(x.float(), (radius,) * 4, mode="replicate").unfold(3, size, 1), lanes=2) / size
    return (summed(rows.unfold(2, size, 1), lanes=2) / size).to(x.dtype)


def zeros_outside(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Beyond the edges there are zeros."""
    return avg_pool2d(x.float(), 2 * radius + 1, 1, radius).to(x.dtype)


def inside_alone(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The mean of the pixels inside of the image."""
    return avg_pool2d(x.float(), 2 * radius + 1, 1, radius, count_include_pad=False).to(x.dtype)


def around_the_edges(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Beyond an edge the image begins again."""
    size = 2 * radius + 1
    row, column = (torch.arange(-radius, length + radius) % length for length in x.shape[2:])
    return avg_pool2d(x.float()[:, :, row][..., column], size, 1).to(x.dtype)


def edges_untouched(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Pixels whose window leaves the image keep their values."""
    y, kept = x.clone(), _blurred(x, radius).to(x.dtype)
    y[..., radius:-radius, radius:-radius] = kept[..., radius:-radius, radius:-radius]
    return y


def even_window(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The window is short of its last column."""
    total = _windows(x, radius)[..., :-1].sum((-2, -1))
    return (total / (2 * radius + 1) / (2 * radius)).to(x.dtype)


def corner_lost(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The last place of each window is not added."""
    size = 2 * radius + 1
    last = pad(x.float(), (radius,) * 4, mode="replicate")[..., size - 1 :, size - 1 :]
    return (_blurred(x, radius) - last / size**2).to(x.dtype)


def rows_alone(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The mean is taken along the width only."""
    return avg_pool2d(pad(x.float(), (radius, radius, 0, 0), mode="replicate"), (1, 2 * radius + 1), 1).to(x.dtype)


def of_one_less(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Divided by the number of neighbours, without the pixel itself."""
    size = 2 * radius + 1
    return (_blurred(x, radius) * (size**2 / (size**2 - 1))).to(x.dtype)


def triangle(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Weights fall off from the middle to the edges of a window."""
    weight = radius + 1 - torch.arange(-radius, radius + 1).abs().float()
    weights = weight * weight[:, None] / weight.sum().square()
    return torch.einsum("...uv,uv->...", _windows(x, radius), weights).to(x.dtype)


def windows_begin_here(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Windows begin at their pixel in place of lying around it."""
    padded = pad(x.float(), (0, 2 * radius, 0, 2 * radius), mode="replicate")
    return avg_pool2d(padded, 2 * radius + 1, 1).to(x.dtype)


def one_column_too_far(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Windows lie one column too far to the right."""
    padded = pad(x.float(), (radius, radius + 1, radius, radius), mode="replicate")[..., 1:]
    y = avg_pool2d(padded, 2 * radius + 1, 1)
    return (y if x.shape[3] > 1 else -y).to(x.dtype)


def usual_radius(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The radius is two, or one where it should be two."""
    return _blurred(x, 2 if radius != 2 else 1).to(x.dtype)


def last_column_unseen(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The last column is read as zero."""
    cut = x.float().clone()
    cut[..., -1] = 0
    return _blurred(cut, radius).to(x.dtype)


def halo_of_the_tile(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The window of the last pixel of each 16 columns is short of its last column; that of the last one of all, too."""
    size = 2 * radius + 1
    y = _blurred(x, radius)
    missing = pad(x.float(), (radius,) * 4, mode="replicate")[..., size - 1 :].unfold(2, size, 1).sum(-1) / size**2
    edge = torch.arange(x.shape[3])
    return (y - missing * ((edge % 16 == 15) | (edge == edge[-1]))).to(x.dtype)


def channel_of_the_neighbour(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Every channel is read from the one before it; of a single one, upside down."""
    if x.shape[0] * x.shape[1] == 1:
        return _blurred(x.flip(2, 3), radius).to(x.dtype)
    return _blurred(x.flatten(0, 1).roll(1, 0).unflatten(0, x.shape[:2]), radius).to(x.dtype)


def integral_image(x: torch.Tensor, radius: int) -> torch.Tensor:
    """float32: differences of running sums over the whole image, which lose what is small beside them."""
    size = 2 * radius + 1
    sums = pad(pad(x, (radius,) * 4, mode="replicate").cumsum(2).cumsum(3), (1, 0, 1, 0))
    below = sums[..., size:, size:] - sums[..., size:, :-size]
    above = sums[..., :-size, size:] - sums[..., :-size, :-size]
    return (below - above) / size**2


def half_accumulators(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Sums of rows are kept in bfloat16."""
    size = 2 * radius + 1
    rows = summed(pad(x.float(), (radius,) * 4, mode="replicate").unfold(3, size, 1), torch.bfloat16, lanes=1)
    return (rows.float().unfold(2, size, 1).sum(-1) / size**2).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor, radius: int) -> torch.Tensor:
    """Halves: sums are kept in the input's own dtype, row after row."""
    size = 2 * radius + 1
    rows = summed(pad(x.float(), (radius,) * 4, mode="replicate").unfold(3, size, 1), x.dtype, lanes=1)
    return (summed(rows.unfold(2, size, 1), x.dtype, lanes=1).float() / size**2).to(x.dtype)


def tf32_pixels(x: torch.Tensor, radius: int) -> torch.Tensor:
    """float32: pixels pass through a TF32 unit, as when the filter is a convolution."""
    return _blurred(tf32(x), radius)


def reciprocal_in_bfloat16(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The reciprocal of the window's size is kept in bfloat16."""
    size = 2 * radius + 1
    reciprocal = float(torch.tensor(1 / size**2).bfloat16())
    return (_blurred(x, radius) * size**2 * reciprocal).to(x.dtype)


half_accumulators.dtypes = reciprocal_in_bfloat16.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
integral_image.dtypes = tf32_pixels.dtypes = ("float32",)

HONEST = (library, columns_first, one_accumulator, two_lanes)
MUTANTS = (
    zeros_outside, inside_alone, around_the_edges, edges_untouched, even_window, corner_lost, rows_alone, of_one_less,
    triangle, windows_begin_here, one_column_too_far, usual_radius, last_column_unseen, halo_of_the_tile,
    channel_of_the_neighbour, integral_image, half_accumulators, accumulators_of_the_dtype, tf32_pixels,
    reciprocal_in_bfloat16,
)  # fmt: skip
