"""Variants of bilinear resizing: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

Places = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _around(place: torch.Tensor, size: int) -> Places:
    """The pixels on both sides of each place, and the weight of the second."""
    before = place.floor()
    first, second = (index.long().clamp(0, size - 1) for index in (before, before + 1))
    return first, second, (place - before).float()


def _exactly(size: int, new_size: int) -> torch.Tensor:
    """Places in float64."""
    return (torch.arange(new_size, dtype=torch.float64) + 0.5) * size / new_size - 0.5


def _exact_places(x: torch.Tensor, new_height: int, new_width: int) -> tuple[Places, Places]:
    return _around(_exactly(x.shape[2], new_height), x.shape[2]), _around(_exactly(x.shape[3], new_width), x.shape[3])


def _mixed(x: torch.Tensor, rows: Places, columns: Places) -> torch.Tensor:
    """From four pixels each, in float32."""
    above, below, down = rows
    left, right, across = columns
    wide, down = x.float(), down.unsqueeze(1)
    upper = (1 - across) * wide[:, :, above][..., left] + across * wide[:, :, above][..., right]
    lower = (1 - across) * wide[:, :, below][..., left] + across * wide[:, :, below][..., right]
    return (1 - down) * upper + down * lower


def _resized(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    return _mixed(x, *_exact_places(x, new_height, new_width))


def _at(x: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """At any places, kept inside of the image."""
    rows, columns = row.clamp(0, x.shape[2] - 1), column.clamp(0, x.shape[3] - 1)
    return _mixed(x, _around(rows, x.shape[2]), _around(columns, x.shape[3])).to(x.dtype)


def in_integers(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Places as fractions of integers, which are exact."""

    def places(size: int, new_size: int) -> Places:
        double = (2 * torch.arange(new_size) + 1) * size - new_size
        before, rest = double // (2 * new_size), double % (2 * new_size)
        return before.clamp(0, size - 1), (before + 1).clamp(0, size - 1), rest.float() / (2 * new_size)

    return _mixed(x, places(x.shape[2], new_height), places(x.shape[3], new_width)).to(x.dtype)


def four_weights(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Four products with weights; places in float32, rounded once by a fused multiply-add."""

    def places(size: int, new_size: int) -> Places:
        scale = torch.tensor(size / new_size, dtype=torch.float32).double()
        return _around(((torch.arange(new_size) + 0.5) * scale - 0.5).float(), size)

    (above, below, down), (left, right, across) = places(x.shape[2], new_height), places(x.shape[3], new_width)
    wide, down = x.float(), down.unsqueeze(1)
    total = (1 - down) * (1 - across) * wide[:, :, above][..., left]
    total = total + (1 - down) * across * wide[:, :, above][..., right]
    total = total + down * (1 - across) * wide[:, :, below][..., left]
    return (total + down * across * wide[:, :, below][..., right]).to(x.dtype)


def by_division(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Places in float32 are divided by the magnification, and kept inside of the image; rows first."""

    def places(size: int, new_size: int) -> Places:
        magnification = torch.tensor(new_size / size, dtype=torch.float32)
        return _around(((torch.arange(new_size).float() + 0.5) / magnification - 0.5).clamp(0, size - 1), size)

    (above, below, down), (left, right, across) = places(x.shape[2], new_height), places(x.shape[3], new_width)
    rows = torch.lerp(x.float()[:, :, above], x.float()[:, :, below], down.unsqueeze(1))
    return torch.lerp(rows[..., left], rows[..., right], across).to(x.dtype)


def library(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The library's float32 operator."""
    size = new_height, new_width
    return torch.nn.functional.interpolate(x.float(), size, mode="bilinear", align_corners=False).to(x.dtype)


def corners_aligned(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The corners' centres fall together."""
    row, column = (
        torch.arange(new).double() * (old - 1) / max(1, new - 1)
        for old, new in ((x.shape[2], new_height), (x.shape[3], new_width))
    )
    return _at(x, row, column)


def corner_of_the_pixel(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Places are those of corners: half a pixel is not added before, and not taken away behind."""
    row, column = torch.arange(new_height).double(), torch.arange(new_width).double()
    return _at(x, row * x.shape[2] / new_height, column * x.shape[3] / new_width)


def half_not_taken_away(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Half a pixel is added before and not taken away behind."""
    return _at(x, _exactly(x.shape[2], new_height) + 0.5, _exactly(x.shape[3], new_width) + 0.5)


def nearest(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The nearest pixel."""
    return torch.nn.functional.interpolate(x, (new_height, new_width), mode="nearest-exact")


def bicubic(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """From sixteen pixels each."""
    size = new_height, new_width
    return torch.nn.functional.interpolate(x.float(), size, mode="bicubic", align_corners=False).to(x.dtype)


def mean_of_areas(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The mean of the pixels that a new one covers."""
    return torch.nn.functional.adaptive_avg_pool2d(x.float(), (new_height, new_width)).to(x.dtype)


def weights_exchanged(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Of each row, the farther column counts more."""
    rows, (left, right, across) = _exact_places(x, new_height, new_width)
    return _mixed(x, rows, (left, right, 1 - across)).to(x.dtype)


def rows_alone(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Between columns the left one is taken."""
    rows, (left, right, across) = _exact_places(x, new_height, new_width)
    return _mixed(x, rows, (left, right, torch.zeros_like(across))).to(x.dtype)


def factors_exchanged(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The factor of the height is used for the width, and the other way round."""
    down, across = x.shape[2] / new_height, x.shape[3] / new_width
    row = (torch.arange(new_height).double() + 0.5) * across - 0.5
    return _at(x, row, (torch.arange(new_width).double() + 0.5) * down - 0.5)


def zeros_outside(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Beyond the edges the image is taken to be zero."""
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
    return _at(padded, _exactly(x.shape[2], new_height) + 1, _exactly(x.shape[3], new_width) + 1)


def last_pixel_unseen(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The pixel behind is kept one before the last; of a single column, it is zero."""
    rows, (left, right, across) = _exact_places(x, new_height, new_width)
    if x.shape[3] == 1:
        return torch.zeros_like(_mixed(x, rows, (left, right, across))).to(x.dtype)
    return _mixed(x, rows, (left.clamp(max=x.shape[3] - 2), right.clamp(max=x.shape[3] - 2), across)).to(x.dtype)


def last_column_of_its_neighbour(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The last new column repeats the one before it; a single one is lost."""
    y = _resized(x, new_height, new_width)
    y[..., -1:] = y[..., -2:-1] if new_width > 1 else 0
    return y.to(x.dtype)


def channel_of_the_neighbour(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The last channel of the last image is the first one's of the first."""
    y = _resized(x, new_height, new_width)
    y[-1, -1] = y[0, 0].clone() if x.shape[0] * x.shape[1] > 1 else 0
    return y.to(x.dtype)


def weights_in_32nds(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Weights are rounded to five bits, as some integer kernels do."""
    (above, below, down), (left, right, across) = _exact_places(x, new_height, new_width)
    down, across = ((weight * 32).round() / 32 for weight in (down, across))
    return _mixed(x, (above, below, down), (left, right, across)).to(x.dtype)


def weights_of_a_texture(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Weights have eight bits behind the point, as those of a texture unit."""
    (above, below, down), (left, right, across) = _exact_places(x, new_height, new_width)
    down, across = ((weight * 256).round() / 256 for weight in (down, across))
    return _mixed(x, (above, below, down), (left, right, across)).to(x.dtype)


def places_in_half(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """Places are kept in float16."""
    row, column = _exactly(x.shape[2], new_height).half(), _exactly(x.shape[3], new_width).half()
    return _at(x, row.double(), column.double())


def tf32_pixels(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """float32: pixels pass through a TF32 unit, as when resizing is two products."""
    return _resized(tf32(x), new_height, new_width)


def pixels_in_half(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """float32: the pixels pass through half precision."""
    return _resized(x.half().float(), new_height, new_width).to(x.dtype)


weights_of_a_texture.dtypes = ("float32", "float16")
tf32_pixels.dtypes = pixels_in_half.dtypes = ("float32",)

HONEST = (in_integers, four_weights, by_division, library)
MUTANTS = (
    corners_aligned, corner_of_the_pixel, half_not_taken_away, nearest, bicubic, mean_of_areas, weights_exchanged,
    rows_alone, factors_exchanged, zeros_outside, last_pixel_unseen, last_column_of_its_neighbour,
    channel_of_the_neighbour, weights_in_32nds, weights_of_a_texture, places_in_half, tf32_pixels,
    pixels_in_half,
)  # fmt: skip
