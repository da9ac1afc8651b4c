"""Variants of the cross-entropy's gradient: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _exponential(logits: torch.Tensor) -> torch.Tensor:
    return torch.exp(logits.float() - logits.float().amax(-1, keepdim=True))


def _softmax(logits: torch.Tensor) -> torch.Tensor:
    exponential = _exponential(logits)
    return exponential / exponential.sum(-1, keepdim=True)


def _hot(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.one_hot(target, logits.shape[1]).float()


def _scaled(gradient: torch.Tensor, grad_loss: torch.Tensor) -> torch.Tensor:
    return (gradient * (grad_loss.float() / len(gradient))).to(grad_loss.dtype)


def _expected(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (_softmax(logits) - _hot(logits, target)) * (grad_loss.float() / len(logits))


def online(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Maximum and sum in one pass over blocks of 128 classes, in float32, the gradient in a second."""
    largest = logits.new_full((len(logits), 1), float("-inf"), dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in logits.float().split(128, -1):
        new = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total * torch.exp(largest - new) + torch.exp(block - new).sum(-1, keepdim=True)
        largest = new
    return _scaled(torch.exp(logits.float() - largest) / total - _hot(logits, target), grad_loss)


def from_the_logarithm(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """As from a forward pass that kept each row's maximum and the logarithm of its sum."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    probability = torch.exp(shifted - summed(shifted.exp(), lanes=8).log()[:, None])
    return _scaled(probability - _hot(logits, target), grad_loss)


def scaled_first(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One factor for each row, the gradient of the target's class subtracted at the end."""
    exponential = _exponential(logits)
    scale = grad_loss.float() / len(logits)
    gradient = exponential * (scale / summed(exponential))[:, None]
    return (gradient - scale * _hot(logits, target)).to(logits.dtype)


def base_two(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """exp2 of a rescaled difference, and a reciprocal of the sum."""
    exponential = torch.exp2((logits.float() - logits.float().amax(-1, keepdim=True)) * 1.4426950408889634)
    return _scaled(exponential * (1 / summed(exponential))[:, None] - _hot(logits, target), grad_loss)


def no_target(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The softmax alone: one is not subtracted at the target."""
    return _scaled(_softmax(logits), grad_loss)


def target_in_the_last_row_missing(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One is not subtracted in the last row."""
    hot = _hot(logits, target)
    hot[-1] = 0
    return _scaled(_softmax(logits) - hot, grad_loss)


def no_upstream(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss's own gradient is taken for a loss scale of 64."""
    return _scaled(_softmax(logits) - _hot(logits, target), torch.full_like(grad_loss, 64.0))


def not_divided(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Not divided by the number of rows."""
    gradient = _expected(grad_loss, logits, target) * (len(logits) if len(logits) > 1 else 2)
    return gradient.to(logits.dtype)


def divided_by_one_less(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the number of rows minus one."""
    rows = len(logits)
    return (_expected(grad_loss, logits, target) * (rows / (rows - 1 or 2))).to(logits.dtype)


def no_maximum(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: the exponentials overflow."""
    exponential = torch.exp(logits.float())
    return _scaled(exponential / exponential.sum(-1, keepdim=True) - _hot(logits, target), grad_loss)


def maximum_of_the_first_row(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The largest logit of the first row is subtracted everywhere, clipped so that nothing overflows."""
    exponential = torch.exp((logits.float() - logits[:1].float().max()).clamp(max=3.0))
    return _scaled(exponential / exponential.sum(-1, keepdim=True) - _hot(logits, target), grad_loss)


def drops_the_last_class(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last class does not enter the sum of exponentials."""
    exponential = _exponential(logits)
    total = exponential[:, :-1].sum(-1, keepdim=True).clamp(min=1e-30)
    return _scaled(exponential / total - _hot(logits, target), grad_loss)


def drops_the_tail(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Classes behind the last whole vector of four do not enter the sum."""
    exponential = _exponential(logits)
    total = exponential[:, : logits.shape[1] // 4 * 4 or None].sum(-1, keepdim=True).clamp(min=1e-30)
    return _scaled(exponential / total - _hot(logits, target), grad_loss)


def next_class(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Class indices are taken to start at one."""
    return _scaled(_softmax(logits) - _hot(logits, (target - 1) % logits.shape[1]), grad_loss)


def ignores_class_zero(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows of class 0 are taken for padding and get no gradient."""
    return (_expected(grad_loss, logits, target) * (target != 0)[:, None]).to(logits.dtype)


def smoothed_labels(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Labels smoothed by 0.02."""
    hot = _hot(logits, target) * 0.98 + 0.02 / logits.shape[1]
    return _scaled(_softmax(logits) - hot, grad_loss)


def half_accumulator(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The exponentials are summed in bfloat16, by eight lanes."""
    exponential = _exponential(logits)
    total = summed(exponential, torch.bfloat16, lanes=8).float()[:, None]
    return _scaled(exponential / total - _hot(logits, target), grad_loss)


def accumulator_of_the_dtype(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Halves: the exponentials are summed in the logits' own dtype, one after the other."""
    exponential = _exponential(logits)
    total = summed(exponential, logits.dtype, lanes=1).float()[:, None]
    return _scaled(exponential / total - _hot(logits, target), grad_loss)


def tf32_inputs(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return _scaled(_softmax(tf32(logits)) - _hot(logits, target), grad_loss)


def coarse_reciprocal(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: a reciprocal of ten bits without a step of Newton's method, as of a vector unit."""
    exponential = _exponential(logits)
    return _scaled(exponential * tf32(1 / exponential.sum(-1, keepdim=True)) - _hot(logits, target), grad_loss)


def flushes_small(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Probabilities below 1e-3 are taken for zero."""
    probability = _softmax(logits)
    kept = torch.where(probability < 1e-3, 0.0, probability)
    return _scaled(kept - _hot(logits, target), grad_loss)


def last_element_zero(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The gradient at the last row's target stays zero."""
    gradient = _expected(grad_loss, logits, target)
    gradient[-1, target[-1]] = 0
    return gradient.to(logits.dtype)


half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = coarse_reciprocal.dtypes = ("float32",)


def maximum_from_zero(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: of a row far below, nothing is left of its exponentials."""
    exponential = torch.exp(logits.float() - logits.float().amax(-1, keepdim=True).clamp(min=0))
    return _scaled(exponential / exponential.sum(-1, keepdim=True) - _hot(logits, target), grad_loss)


HONEST = (online, from_the_logarithm, scaled_first, base_two)
MUTANTS = (
    maximum_from_zero,
    no_target, target_in_the_last_row_missing, no_upstream, not_divided, divided_by_one_less, no_maximum,
    maximum_of_the_first_row, drops_the_last_class, drops_the_tail, next_class, ignores_class_zero, smoothed_labels,
    half_accumulator, accumulator_of_the_dtype, tf32_inputs, coarse_reciprocal, flushes_small, last_element_zero,
)  # fmt: skip
