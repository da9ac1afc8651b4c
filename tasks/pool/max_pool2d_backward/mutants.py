"""Variants of max pooling's gradient: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed


def _spread(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """[batch, channels, image_height, image_width, kernel_size ** 2] in float32: what each place of a window adds."""
    rows, columns = grad_y.shape[2:]
    images = []
    for number in range(kernel_size * kernel_size):
        u, v = divmod(number, kernel_size)
        image = torch.zeros((*grad_y.shape[:2], image_height, image_width))
        image[:, :, u::stride, v::stride][:, :, :rows, :columns] = torch.where(place == number, grad_y.float(), 0.0)
        images.append(image)
    return torch.stack(images, -1)


def _flat_index(place: torch.Tensor, kernel_size: int, stride: int, pitch: int) -> torch.Tensor:
    """[batch, channels, windows]: the place in an image whose rows have `pitch` elements."""
    rows, columns = (torch.arange(size) * stride for size in place.shape[2:])
    wide = place.long()
    return ((rows[:, None] + wide // kernel_size) * pitch + columns + wide % kernel_size).flatten(2)


def _scattered(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """In float32."""
    image = torch.zeros((*grad_y.shape[:2], image_height * image_width))
    index = _flat_index(place, kernel_size, stride, image_width)
    return image.scatter_add(2, index, grad_y.float().flatten(2)).unflatten(2, (image_height, image_width))


def scattered(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """A thread for each window adds to a float32 image, as atomics do."""
    return _scattered(grad_y, place, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def gathered(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """A thread for each place of the image asks the windows around it, the last one first, in float32."""
    parts = _spread(grad_y, place, kernel_size, stride, image_height, image_width)
    return summed(parts.flip(-1), lanes=1).to(grad_y.dtype)


def folded(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Columns that are zero but at the maximum, folded to an image in float32."""
    numbers = torch.arange(kernel_size * kernel_size)[:, None]
    columns = torch.where(
        place.flatten(0, 1).flatten(1)[:, None] == numbers, grad_y.float().flatten(0, 1).flatten(1)[:, None], 0.0
    )
    image = torch.nn.functional.fold(columns, (image_height, image_width), kernel_size, stride=stride)
    return image.unflatten(0, grad_y.shape[:2])[:, :, 0].to(grad_y.dtype)


def overwritten(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Where windows meet, the last one is written and not added."""
    parts = _spread(grad_y, place, kernel_size, stride, image_height, image_width)
    image = torch.zeros_like(parts[..., 0])
    for part in parts.unbind(-1):
        image = torch.where(part != 0, part, image)
    return image.to(grad_y.dtype)


def to_every_place(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Every place of a window gets the gradient."""
    parts = [
        _scattered(grad_y, torch.full_like(place, number), kernel_size, stride, image_height, image_width)
        for number in range(kernel_size * kernel_size)
    ]
    return torch.stack(parts).sum(0).to(grad_y.dtype)


def of_an_average(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The gradient of average pooling."""
    wide = to_every_place(grad_y.float(), place, kernel_size, stride, image_height, image_width)
    return (wide / kernel_size**2).to(grad_y.dtype)


def to_the_first_place(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The first place of each window gets the gradient."""
    first = torch.zeros_like(place)
    return _scattered(grad_y, first, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def rows_for_columns(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The place is read as column times kernel_size plus row."""
    turned = place % kernel_size * kernel_size + place // kernel_size
    return _scattered(grad_y, turned, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def places_from_one(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Places are taken to be counted from one; the first one becomes the last."""
    moved = (place.long() - 1) % kernel_size**2
    return _scattered(grad_y, moved, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def pitch_of_the_output(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Rows of the image are taken to be as far apart as rows of windows are."""
    image = torch.zeros((*grad_y.shape[:2], image_height * image_width))
    index = _flat_index(place, kernel_size, stride, grad_y.shape[3] * stride) % image.shape[2]
    image = image.scatter_add(2, index, grad_y.float().flatten(2))
    return image.unflatten(2, (image_height, image_width)).to(grad_y.dtype)


def stride_of_the_window(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The stride is taken for the window's size; what falls behind the image comes in again at its start."""
    image = torch.zeros((*grad_y.shape[:2], image_height * image_width))
    index = _flat_index(place, kernel_size, kernel_size, image_width) % image.shape[2]
    image = image.scatter_add(2, index, grad_y.float().flatten(2))
    return image.unflatten(2, (image_height, image_width)).to(grad_y.dtype)


def last_window_lost(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The very last window is left out."""
    kept = grad_y.contiguous().clone()
    kept[-1, -1, -1, -1] = 0
    return _scattered(kept, place, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def last_column_of_windows_lost(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The last window of each row is left out."""
    kept = grad_y.contiguous().clone()
    kept[..., -1] = 0
    return _scattered(kept, place, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def place_of_the_first_channel(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """All channels of an image use the places of its first one."""
    first = place[:, :1].expand(place.shape)
    return _scattered(grad_y, first, kernel_size, stride, image_height, image_width).to(grad_y.dtype)


def half_accumulators(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """Sums are kept in bfloat16."""
    parts = _spread(grad_y, place, kernel_size, stride, image_height, image_width)
    return summed(parts, torch.bfloat16, lanes=1).to(grad_y.dtype)


def not_emptied(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The first row of each image holds ones before anything is added."""
    image = _scattered(grad_y, place, kernel_size, stride, image_height, image_width)
    image[:, :, 0] += 1
    return image.to(grad_y.dtype)


half_accumulators.dtypes = ("float32", "float16")

HONEST = (scattered, gathered, folded)
MUTANTS = (
    overwritten, to_every_place, of_an_average, to_the_first_place, rows_for_columns, places_from_one,
    pitch_of_the_output, stride_of_the_window, last_window_lost, last_column_of_windows_lost,
    place_of_the_first_channel, half_accumulators, not_emptied,
)  # fmt: skip
