"""Variants of the gradient of layer normalisation: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-5
Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _normed(x: torch.Tensor, epsilon: float = EPSILON) -> tuple[torch.Tensor, torch.Tensor]:
    centred = x.float() - x.float().mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)
    return centred * scale, scale


def _grad_x(scaled: torch.Tensor, normed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    projected = normed * (scaled * normed).mean(-1, keepdim=True)
    return scale * (scaled - scaled.mean(-1, keepdim=True) - projected)


def _all(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, epsilon: float = EPSILON
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    normed, scale = _normed(x, epsilon)
    grad = grad_y.float()
    return _grad_x(grad * weight.float(), normed, scale), (grad * normed).sum(0), grad.sum(0)


def _stored(gradients: tuple[torch.Tensor, ...], dtype: torch.dtype) -> Gradients:
    grad_x, grad_weight, grad_bias = (gradient.to(dtype) for gradient in gradients)
    return grad_x, grad_weight, grad_bias


def warp_for_a_row(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """32 float32 accumulators for each sum over the columns, and 8 for those over the rows."""
    cols, wide = x.shape[-1], x.float()
    centred = wide - summed(wide)[:, None] / cols
    scale = torch.rsqrt(summed(centred.square())[:, None] / cols + EPSILON)
    normed, grad = centred * scale, grad_y.float()
    scaled = grad * weight.float()
    first, second = summed(scaled)[:, None] / cols, summed(scaled * normed)[:, None] / cols
    sums = summed((grad * normed).T, lanes=8), summed(grad.T, lanes=8)
    return _stored((scale * (scaled - first - normed * second), *sums), x.dtype)


def partial_sums_of_rows(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Sums over the rows in blocks of 32, which are joined in a second pass, from the last to the first."""
    grad_x, _, _ = _all(grad_y, x, weight)
    normed, _ = _normed(x)
    blocks = [(g * n).sum(0) for g, n in zip(grad_y.float().split(32), normed.split(32), strict=True)]
    biases = [g.sum(0) for g in grad_y.float().split(32)]
    return _stored((grad_x, torch.stack(blocks[::-1]).sum(0), torch.stack(biases[::-1]).sum(0)), x.dtype)


def as_apex_does(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """As scale / cols * (cols * g - sum(g) - n * sum(g n))."""
    (normed, scale), cols = _normed(x), x.shape[-1]
    scaled = grad_y.float() * weight.float()
    inner = cols * scaled - scaled.sum(-1, keepdim=True) - normed * (scaled * normed).sum(-1, keepdim=True)
    return _stored((scale / cols * inner, (grad_y.float() * normed).sum(0), grad_y.float().sum(0)), x.dtype)


def no_mean(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The gradient through the mean is left out."""
    normed, scale = _normed(x)
    scaled = grad_y.float() * weight.float()
    grad_x = scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
    return _stored((grad_x, *_all(grad_y, x, weight)[1:]), x.dtype)


def no_projection(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The gradient through the deviation is left out."""
    _, scale = _normed(x)
    scaled = grad_y.float() * weight.float()
    grad_x = scale * (scaled - scaled.mean(-1, keepdim=True))
    return _stored((grad_x, *_all(grad_y, x, weight)[1:]), x.dtype)


def weight_forgotten(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """grad_x does not see the scale."""
    return _stored(_all(grad_y, x, torch.ones_like(weight)), x.dtype)


def unbiased(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The variance is divided by the columns minus one."""
    centred = x.float() - x.float().mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1) + EPSILON)
    normed, grad = centred * scale, grad_y.float()
    return _stored((_grad_x(grad * weight.float(), normed, scale), (grad * normed).sum(0), grad.sum(0)), x.dtype)


def eps_of_another(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Epsilon 1e-3 instead of 1e-5."""
    return _stored(_all(grad_y, x, weight, 1e-3), x.dtype)


def eps_of_rmsnorm(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Epsilon 1e-6 instead of 1e-5."""
    return _stored(_all(grad_y, x, weight, 1e-6), x.dtype)


def not_centred(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The gradient of the scale takes x as it is, without its mean."""
    grad_x, _, grad_bias = _all(grad_y, x, weight)
    _, scale = _normed(x)
    return _stored((grad_x, (grad_y.float() * x.float() * scale).sum(0), grad_bias), x.dtype)


def last_row_lost(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The last row enters neither sum over the rows."""
    grad_x, grad_weight, grad_bias = _all(grad_y, x, weight)
    normed, _ = _normed(x)
    grad = grad_y.float()
    return _stored((grad_x, grad_weight - (grad * normed)[-1], grad_bias - grad[-1]), x.dtype)


def tail_of_rows_lost(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Rows behind the last whole block of four do not enter the offset's gradient."""
    grad_x, grad_weight, _ = _all(grad_y, x, weight)
    whole = len(x) // 4 * 4
    return _stored((grad_x, grad_weight, grad_y.float()[:whole].sum(0)), x.dtype)


def last_column_unseen(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The last column enters neither mean of grad_x."""
    normed, scale = _normed(x)
    scaled = grad_y.float() * weight.float()
    first = scaled[:, :-1].sum(-1, keepdim=True) / x.shape[-1]
    second = (scaled * normed)[:, :-1].sum(-1, keepdim=True) / x.shape[-1]
    grad_x = scale * (scaled - first - normed * second)
    return _stored((grad_x, *_all(grad_y, x, weight)[1:]), x.dtype)


def half_sums_of_rows(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Sums over the rows are kept in bfloat16, by four lanes."""
    grad_x, _, _ = _all(grad_y, x, weight)
    products = grad_y.float() * _normed(x)[0]
    sums = summed(products.T, torch.bfloat16, lanes=4), summed(grad_y.float().T, torch.bfloat16, lanes=4)
    return _stored((grad_x, *sums), x.dtype)


def sums_of_the_dtype(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """Halves: sums over the rows are kept in the input's own dtype, by two lanes, as atomics on the result do."""
    grad_x, _, _ = _all(grad_y, x, weight)
    products = grad_y.float() * _normed(x)[0]
    sums = summed(products.T, x.dtype, lanes=2), summed(grad_y.float().T, x.dtype, lanes=2)
    return _stored((grad_x, *sums), x.dtype)


def normed_in_bfloat16(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """What the forward pass saved was rounded to bfloat16."""
    normed, scale = _normed(x)
    normed, grad = normed.bfloat16().float(), grad_y.float()
    return _stored((_grad_x(grad * weight.float(), normed, scale), (grad * normed).sum(0), grad.sum(0)), x.dtype)


def tf32_gradient(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """float32: grad_y passes through TF32."""
    return _stored(_all(tf32(grad_y), x, weight), x.dtype)


def sums_swapped(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The gradients of scale and offset change places."""
    grad_x, grad_weight, grad_bias = _all(grad_y, x, weight)
    return _stored((grad_x, grad_bias, grad_weight), x.dtype)


def mean_over_rows(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The gradients of scale and offset are means over the rows."""
    grad_x, grad_weight, grad_bias = _all(grad_y, x, weight)
    return _stored((grad_x, grad_weight / len(x), grad_bias / len(x)), x.dtype)


sums_of_the_dtype.dtypes = ("float16", "bfloat16")
normed_in_bfloat16.dtypes = ("float32", "float16")
tf32_gradient.dtypes = ("float32",)

HONEST = (warp_for_a_row, partial_sums_of_rows, as_apex_does)
MUTANTS = (
    no_mean,
    no_projection,
    weight_forgotten,
    unbiased,
    eps_of_another,
    eps_of_rmsnorm,
    not_centred,
    last_row_lost,
    tail_of_rows_lost,
    last_column_unseen,
    half_sums_of_rows,
    sums_of_the_dtype,
    normed_in_bfloat16,
    tf32_gradient,
    sums_swapped,
    mean_over_rows,
)
