"""Variants of the gradient through pooling, rectifier and convolution: honest ones that must pass and wrong ones."""

import torch
from torch import Tensor
from torch.nn.functional import conv_transpose2d, fold, pad, unfold

from robust_kbench.audit.emulated import multiplied, summed, tf32

Gradients = tuple[Tensor, Tensor, Tensor]


def _passed(grad_y: Tensor, x: Tensor, place: Tensor) -> Tensor:
    """The gradient of the convolution's result, in float32."""
    height, width = grad_y.shape[2:]
    image = torch.zeros((*grad_y.shape[:2], x.shape[2] - 2, x.shape[3] - 2))
    for number in range(4):
        u, v = divmod(number, 2)
        image[:, :, u::2, v::2][:, :, :height, :width] = torch.where(place == number, grad_y.float(), 0.0)
    return image


def _gradients(passed: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The library's gradients of the convolution in float32."""
    ones, zeros = [1, 1], [0, 0]
    return torch.ops.aten.convolution_backward(
        passed, x.float(), weight.float(), [len(weight)], ones, zeros, ones, False, zeros, 1, [True, True, True]
    )


def _stored(gradients: Gradients, dtype: torch.dtype) -> Gradients:
    grad_x, grad_weight, grad_bias = gradients
    return grad_x.to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)


def _from(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """In the dtype of x, by the library in float32."""
    return _stored(_gradients(_passed(grad_y, x, place), x, weight), x.dtype)


def _flat(passed: Tensor) -> Tensor:
    """[filters, batch * places]."""
    return passed.transpose(0, 1).flatten(1)


def _columns(x: Tensor) -> Tensor:
    """[channels * 9, batch * places] in float32."""
    return unfold(x.float(), 3).transpose(0, 1).flatten(1)


def library(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The gradient is spread over an image, and the library's float32 operator called."""
    return _from(grad_y, x, weight, place)


def products(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """Two matrix products in float32, the image from columns that are folded; 32 lanes for each bias."""
    passed = _passed(grad_y, x, place)

    flat = _flat(passed)
    parts = (weight.float().flatten(1).T @ flat).unflatten(1, (len(x), -1)).transpose(0, 1)
    grad_x = fold(parts, tuple(x.shape[2:]), 3)
    grad_weight = (flat @ _columns(x).T).unflatten(1, weight.shape[1:])
    return _stored((grad_x, grad_weight, summed(flat)), x.dtype)


def place_by_place(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The four places of the windows one after the other, with a stride of two and nothing spread out."""
    height, width = grad_y.shape[2:]
    grad_x = torch.zeros_like(x, dtype=torch.float32)
    grad_weight = torch.zeros_like(weight, dtype=torch.float32)
    for number in range(4):
        u, v = divmod(number, 2)
        kept = torch.where(place == number, grad_y.float(), 0.0)
        windows = x.float().unfold(2, 3, 1).unfold(3, 3, 1)[:, :, u::2, v::2][:, :, :height, :width]
        grad_weight = grad_weight + torch.einsum("boij,bcijkl->ockl", kept, windows)
        part = conv_transpose2d(kept, weight.float(), stride=2)
        grad_x[:, :, u : u + part.shape[2], v : v + part.shape[3]] += part
    grad_bias = (grad_y.float() * (place < 4)).sum((0, 2, 3))
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def split_batch(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """Each image by itself, the filters' gradients added from the last one to the first, as atomics may come."""
    passed = _passed(grad_y, x, place)

    images = [_gradients(passed[n : n + 1], x[n : n + 1], weight) for n in reversed(range(len(x)))]
    grad_weight, grad_bias = torch.zeros_like(weight, dtype=torch.float32), torch.zeros(len(weight))
    for _, part, bias in images:
        grad_weight, grad_bias = grad_weight + part, grad_bias + bias
    grad_x = torch.cat([image[0] for image in reversed(images)])
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def tf32_inputs(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """float32: the library's default, factors rounded to TF32."""
    return _gradients(tf32(_passed(grad_y, x, place)), tf32(x), tf32(weight))


def half_accumulators(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The filters' gradients are summed in the next lower class, rounded after every few terms."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)

    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    columns, flat = _columns(x), _flat(passed)
    product = multiplied(flat, columns.T, lower, step=max(16, -(-columns.shape[1] // 64)))
    grad_weight = product.unflatten(1, weight.shape[1:])
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def taps_of_the_dtype(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """bfloat16: what each tap adds to the image is rounded before it is added."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)

    columns = (weight.float().flatten(1).T @ _flat(passed)).to(x.dtype).float()
    grad_x = fold(columns.unflatten(1, (len(x), -1)).transpose(0, 1), tuple(x.shape[2:]), 3)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def not_rectified(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """Where the rectifier left nothing, the first place of the window gets the gradient."""
    return _from(grad_y, x, weight, torch.where(place == 4, 0, place))


def bias_not_rectified(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The bias's gradient sums over the windows in which the rectifier left nothing, too."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_bias = grad_y.float().sum((0, 2, 3))
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def to_every_place(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """Every place of a window gets the gradient."""
    passed = sum(_passed(grad_y, x, torch.where(place == 4, place, number)) for number in range(4))
    return _stored(_gradients(passed, x, weight), x.dtype)


def to_the_first_place(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The first place of each window gets the gradient."""
    return _from(grad_y, x, weight, torch.where(place == 4, place, 0))


def rows_for_columns(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The place is read as column times two plus row."""
    return _from(grad_y, x, weight, torch.where(place == 4, place, place % 2 * 2 + place // 2))


def filters_not_mirrored(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The image's gradient uses the filters as they are."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_x, _, _ = _gradients(passed, x, weight.flip(2, 3))
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def filters_gradient_mirrored(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The filters' gradient is that of a mathematical convolution."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_weight = grad_weight.flip(2, 3)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def last_image_lost(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The last image adds nothing to the filters' gradients."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_weight = grad_weight - _gradients(passed[-1:], x[-1:], weight)[1]
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def last_filter_lost(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The last filter adds nothing to the image's gradient."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_x, _, _ = _gradients(passed, x, torch.cat((weight[:-1], torch.zeros_like(weight[-1:]))))
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def last_window_lost(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The last window of each row is left out."""
    kept = grad_y.clone()
    kept[..., -1] = 0
    return _from(kept, x, weight, place)


def averaged(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The gradients of filters and bias are averaged over the images."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    return _stored((grad_x, grad_weight / len(x), grad_bias / len(x)), x.dtype)


def image_shifted(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The image's gradient stands one column too far to the right."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_x = pad(grad_x, (1, 0))[..., :-1]
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def corner_tap_lost(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The filters' last place, in the last filter, is left out of the image's gradient."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)

    kept = weight.clone()
    kept[-1, :, -1, -1] = 0
    grad_x, _, _ = _gradients(passed, x, kept)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def channels_and_filters_swapped(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """The filters' gradient is written as [in_channels, out_channels]."""
    passed = _passed(grad_y, x, place)
    grad_x, grad_weight, grad_bias = _gradients(passed, x, weight)
    grad_weight = grad_weight.transpose(0, 1).reshape(weight.shape)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def place_of_the_first_filter(grad_y: Tensor, x: Tensor, weight: Tensor, place: Tensor) -> Gradients:
    """All filters of an image use the places of its first one."""
    return _from(grad_y, x, weight, place[:, :1].expand(place.shape))


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, products, place_by_place, split_batch)
MUTANTS = (
    tf32_inputs, half_accumulators, taps_of_the_dtype, not_rectified, bias_not_rectified, to_every_place,
    to_the_first_place, rows_for_columns, filters_not_mirrored, filters_gradient_mirrored, last_image_lost,
    last_filter_lost, last_window_lost, averaged, image_shifted, corner_tap_lost, channels_and_filters_swapped,
    place_of_the_first_filter,
)  # fmt: skip
