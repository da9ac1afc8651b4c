"""Variants of the convolution's gradient: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import fold, pad, unfold

from robust_kbench.audit.emulated import multiplied, summed, tf32

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _library(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """The library's gradients in float32."""
    sizes = [stride, stride], [padding, padding], [1, 1]
    return torch.ops.aten.convolution_backward(
        grad_y.float(), x.float(), weight.float(), [len(weight)], *sizes, False, [0, 0], 1, [True, True, True]
    )


def _stored(gradients: Gradients, dtype: torch.dtype) -> Gradients:
    grad_x, grad_weight, grad_bias = gradients
    return grad_x.to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)


def _columns(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """[channels * kernel, batch * places] in float32."""
    columns = unfold(x.float(), tuple(weight.shape[2:]), padding=padding, stride=stride)
    return columns.transpose(0, 1).flatten(1)


def _flat(grad_y: torch.Tensor) -> torch.Tensor:
    """[filters, batch * places] in float32."""
    return grad_y.float().transpose(0, 1).flatten(1)


def _folded(columns: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """From [channels * kernel, batch * places] to the image to which they add, in their dtype."""
    parts = columns.unflatten(1, (len(x), -1)).transpose(0, 1)
    return fold(parts, tuple(x.shape[2:]), tuple(weight.shape[2:]), padding=padding, stride=stride)


def library(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """The library's float32 operator."""
    return _stored(_library(grad_y, x, weight, stride, padding), x.dtype)


def products(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """Two matrix products in float32, the image from columns that are folded; 32 lanes for each bias."""
    flat = _flat(grad_y)
    grad_x = _folded(weight.float().flatten(1).T @ flat, x, weight, stride, padding)
    grad_weight = (flat @ _columns(x, weight, stride, padding).T).unflatten(1, weight.shape[1:])
    return _stored((grad_x, grad_weight, summed(flat)), x.dtype)


def split_batch(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """Each image by itself, the filters' gradients added from the last one to the first, as atomics may come."""
    images = [
        _library(grad_y[number : number + 1], x[number : number + 1], weight, stride, padding)
        for number in reversed(range(len(x)))
    ]
    grad_x = torch.cat([image[0] for image in reversed(images)])
    grad_weight, grad_bias = torch.zeros_like(weight, dtype=torch.float32), torch.zeros(len(weight))
    for _, part, bias in images:
        grad_weight, grad_bias = grad_weight + part, grad_bias + bias
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def tf32_inputs(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _library(tf32(grad_y), tf32(x), tf32(weight), stride, padding)


def half_accumulators(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The filters' gradients are summed in the next lower class, rounded after every sixteen terms."""
    grad_x, _, grad_bias = _library(grad_y, x, weight, stride, padding)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    columns, flat = _columns(x, weight, stride, padding), _flat(grad_y)
    step = max(16, -(-columns.shape[1] // 64))
    grad_weight = multiplied(flat, columns.T, lower, step=step).unflatten(1, weight.shape[1:])
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def taps_of_the_dtype(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """bfloat16: what each tap adds to the image is rounded before it is added."""
    _, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    columns = (weight.float().flatten(1).T @ _flat(grad_y)).to(x.dtype).float()
    return _stored((_folded(columns, x, weight, stride, padding), grad_weight, grad_bias), x.dtype)


def filters_not_mirrored(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The image's gradient uses the filters as they are."""
    grad_x, _, _ = _library(grad_y, x, weight.flip(2, 3), stride, padding)
    _, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def filters_gradient_mirrored(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The filters' gradient is that of a mathematical convolution."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight.flip(2, 3), grad_bias), x.dtype)


def last_image_lost(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The last image adds nothing to the filters' gradients."""
    grad_x, _, grad_bias = _library(grad_y, x, weight, stride, padding)
    kept = x.clone()
    kept[-1] = 0
    return _stored((grad_x, _library(grad_y, kept, weight, stride, padding)[1], grad_bias), x.dtype)


def last_filter_lost(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The last filter adds nothing to the image's gradient."""
    _, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    kept = torch.cat((weight[:-1], torch.zeros_like(weight[-1:])))
    return _stored((_library(grad_y, x, kept, stride, padding)[0], grad_weight, grad_bias), x.dtype)


def last_place_lost(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The last column of grad_y is not read for the bias."""
    grad_x, grad_weight, _ = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight, grad_y[..., :-1].float().sum((0, 2, 3))), x.dtype)


def bias_averaged(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """The bias's gradient is averaged over the images."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight, grad_bias / len(x)), x.dtype)


def filters_averaged(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The filters' gradient is averaged over the images."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight / len(x), grad_bias), x.dtype)


def edge_padding(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """For the filters' gradient the margin repeats the edge."""
    grad_x, _, grad_bias = _library(grad_y, x, weight, stride, padding)
    padded = pad(x.float(), (padding,) * 4, mode="replicate")
    return _stored((grad_x, _library(grad_y, padded, weight, stride, 0)[1], grad_bias), x.dtype)


def corner_tap_lost(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The kernel's last place, in the last filter, is left out of the image's gradient."""
    _, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    kept = weight.clone()
    kept[-1, :, -1, -1] = 0
    return _stored((_library(grad_y, x, kept, stride, padding)[0], grad_weight, grad_bias), x.dtype)


def image_shifted(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> Gradients:
    """The image's gradient stands one column too far to the right."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((pad(grad_x, (1, 0))[..., :-1], grad_weight, grad_bias), x.dtype)


def last_element_missing_a_tap(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The last element of the filters' gradient misses the last image."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    part = _library(grad_y[-1:], x[-1:], weight, stride, padding)[1]
    grad_weight[-1, -1, -1, -1] -= part[-1, -1, -1, -1]
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def channels_and_filters_swapped(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> Gradients:
    """The filters' gradient is written as [in_channels, out_channels]."""
    grad_x, grad_weight, grad_bias = _library(grad_y, x, weight, stride, padding)
    return _stored((grad_x, grad_weight.transpose(0, 1).reshape(weight.shape), grad_bias), x.dtype)


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, products, split_batch)
MUTANTS = (
    tf32_inputs, half_accumulators, taps_of_the_dtype, filters_not_mirrored, filters_gradient_mirrored,
    last_image_lost, last_filter_lost, last_place_lost, bias_averaged, filters_averaged, edge_padding,
    corner_tap_lost, image_shifted, last_element_missing_a_tap, channels_and_filters_swapped,
)  # fmt: skip
