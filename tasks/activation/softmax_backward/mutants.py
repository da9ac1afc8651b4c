"""Variants of the gradient of softmax: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32


def _exponential(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x.float() - x.float().amax(-1, keepdim=True))


def _gradient(grad_y: torch.Tensor, probability: torch.Tensor, dot: torch.Tensor | None = None) -> torch.Tensor:
    if dot is None:
        dot = (grad_y.float() * probability).sum(-1, keepdim=True)
    return (probability * (grad_y.float() - dot)).to(grad_y.dtype)


def warp_for_a_row(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators for each of the two sums."""
    e = _exponential(x)
    p = e / summed(e)[:, None]
    return _gradient(grad_y, p, summed(grad_y.float() * p)[:, None])


def one_pass_for_both_sums(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """sum(e) and sum(grad_y e) side by side; one division at the end."""
    e = _exponential(x)
    total, dot = summed(e, lanes=8)[:, None], summed(grad_y.float() * e, lanes=8)[:, None]
    return (e / total * (grad_y.float() - dot / total)).to(x.dtype)


def one_accumulator(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds the terms of either sum one after the other."""
    e = _exponential(x)
    total, dot = summed_in_turn(e)[:, None], summed_in_turn(grad_y.float() * e)[:, None]
    return (e / total * (grad_y.float() - dot / total)).to(x.dtype)


def online(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 columns with a running maximum; both sums are rescaled when it grows."""
    top, total, dot = x.new_full((len(x), 1), -torch.inf, dtype=torch.float32), 0.0, 0.0
    for part, grad in zip(x.float().split(128, -1), grad_y.float().split(128, -1), strict=True):
        new = torch.maximum(top, part.amax(-1, keepdim=True))
        e, shrink = torch.exp(part - new), torch.exp(top - new)
        total = total * shrink + e.sum(-1, keepdim=True)
        dot = dot * shrink + (grad * e).sum(-1, keepdim=True)
        top = new
    return (torch.exp(x.float() - top) / total * (grad_y.float() - dot / total)).to(x.dtype)


def no_dot(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The sum of the products is left out."""
    return _gradient(grad_y, torch.softmax(x.float(), -1), grad_y.new_zeros(()).float())


def dot_without_the_last(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the sum of the products."""
    p = torch.softmax(x.float(), -1)
    return _gradient(grad_y, p, (grad_y.float() * p)[:, :-1].sum(-1, keepdim=True))


def tail_lost(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of eight enter neither sum."""
    whole = x.shape[-1] // 8 * 8
    e = _exponential(x)
    p = e / e[:, :whole].sum(-1, keepdim=True)
    return _gradient(grad_y, p, (grad_y.float() * p)[:, :whole].sum(-1, keepdim=True))


def half_accumulators(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Both sums are kept in bfloat16, by eight lanes."""
    e = _exponential(x)
    p = e / summed(e, torch.bfloat16, lanes=8).float()[:, None]
    return _gradient(grad_y, p, summed(grad_y.float() * p, torch.bfloat16, lanes=8).float()[:, None])


def accumulators_of_the_dtype(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Halves: both sums are kept in the input's own dtype, by four lanes."""
    e = _exponential(x)
    p = e / summed(e, x.dtype, lanes=4).float()[:, None]
    return _gradient(grad_y, p, summed(grad_y.float() * p, x.dtype, lanes=4).float()[:, None])


def probability_in_bfloat16(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The probabilities are kept in bfloat16 between the passes."""
    return _gradient(grad_y, torch.softmax(x.float(), -1).bfloat16().float())


def tf32_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: grad_y passes through TF32."""
    return _gradient(tf32(grad_y), torch.softmax(x, -1))


def sigmoid_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """grad_y * p * (1 - p): the diagonal of the Jacobian alone."""
    p = torch.softmax(x.float(), -1)
    return (grad_y.float() * p * (1 - p)).to(x.dtype)


def mean_in_place_of_the_dot(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The mean of grad_y in place of its mean under p."""
    return _gradient(grad_y, torch.softmax(x.float(), -1), grad_y.float().mean(-1, keepdim=True))


def dot_of_the_row_before(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last row uses the first row's sum."""
    p = torch.softmax(x.float(), -1)
    dot = (grad_y.float() * p).sum(-1, keepdim=True)
    return _gradient(grad_y, p, torch.cat((dot[:-1], dot[:1])))


def given_probabilities(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The input is taken for the softmax itself."""
    return _gradient(grad_y, x.float())


def log_softmax_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """grad_y - p * sum(grad_y): the gradient of the logarithm."""
    p = torch.softmax(x.float(), -1)
    return (grad_y.float() - p * grad_y.float().sum(-1, keepdim=True)).to(x.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
probability_in_bfloat16.dtypes = ("float32", "float16")
tf32_gradient.dtypes = ("float32",)

HONEST = (warp_for_a_row, one_pass_for_both_sums, one_accumulator, online)
MUTANTS = (
    no_dot,
    dot_without_the_last,
    tail_lost,
    half_accumulators,
    accumulators_of_the_dtype,
    probability_in_bfloat16,
    tf32_gradient,
    sigmoid_gradient,
    mean_in_place_of_the_dot,
    dot_of_the_row_before,
    given_probabilities,
    log_softmax_gradient,
)
