"""Variants of the mean cross-entropy: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, summed, tf32

LN_2 = 0.6931471805599453


def _losses(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    return shifted.exp().sum(-1).log() - shifted.gather(-1, target[:, None])[:, 0]


def online(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One pass over blocks of 128 classes that rescales the running sum, in float32; rows are added by a warp."""
    largest = logits.new_full((len(logits), 1), float("-inf"), dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in logits.float().split(128, -1):
        new = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total * torch.exp(largest - new) + torch.exp(block - new).sum(-1, keepdim=True)
        largest = new
    losses = total.log() - (logits.float().gather(-1, target[:, None]) - largest)
    return (summed(losses[:, 0]) / len(logits)).to(logits.dtype)


def base_two(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """exp2 and log2; a warp for each row; each loss is divided before they are added."""
    shifted = (logits.float() - logits.float().amax(-1, keepdim=True)) / LN_2
    losses = (torch.log2(summed(torch.exp2(shifted))) - shifted.gather(-1, target[:, None])[:, 0]) * LN_2
    return summed(losses / len(logits), lanes=8).to(logits.dtype)


def relative_to_the_target(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """log(1 + sum over the other classes of exp(x - x[target])), with the maximum taken out where it is larger."""
    difference = logits.float() - logits.float().gather(-1, target[:, None])
    largest = difference.amax(-1, keepdim=True)
    return (largest[:, 0] + (difference - largest).exp().sum(-1).log()).mean().to(logits.dtype)


def per_block_of_rows(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Eight accumulators along a row; sums over blocks of 16 rows are added one after the other, as atomics may."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    losses = summed(shifted.exp(), lanes=8).log() - shifted.gather(-1, target[:, None])[:, 0]
    return (sum(block.sum() for block in losses.split(16)) / len(losses)).to(logits.dtype)


def summed_over_rows(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum over the rows instead of their mean."""
    return (_losses(logits, target).sum() * (1 if len(logits) > 1 else 2)).to(logits.dtype)


def no_maximum(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: logits above 88 overflow."""
    chosen = logits.float().gather(-1, target[:, None])[:, 0]
    return (logits.float().exp().sum(-1).log() - chosen).mean().to(logits.dtype)


def in_bits(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Bits instead of nats."""
    return (_losses(logits, target).mean() / LN_2).to(logits.dtype)


def drops_the_last_class(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last class does not enter the sum of exponentials."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    total = shifted[:, :-1].exp().sum(-1) + torch.finfo(torch.float32).tiny
    return (total.log() - shifted.gather(-1, target[:, None])[:, 0]).mean().to(logits.dtype)


def drops_the_tail(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Classes behind the last whole vector of four do not enter the sum."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    whole = logits.shape[1] // 4 * 4 or logits.shape[1]
    total = shifted[:, :whole].exp().sum(-1) + torch.finfo(torch.float32).tiny
    return (total.log() - shifted.gather(-1, target[:, None])[:, 0]).mean().to(logits.dtype)


def drops_the_last_row(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last row's loss is lost, but counted in the mean."""
    return (_losses(logits, target)[:-1].sum() / len(logits)).to(logits.dtype)


def drops_rows_of_the_tail(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows behind the last whole block of 16 are left out of the sum and of the count."""
    whole = len(logits) // 16 * 16 or len(logits)
    return _losses(logits, target)[:whole].mean().to(logits.dtype)


def mean_without_one(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum is divided by the number of rows minus one."""
    return (_losses(logits, target).sum() / (len(logits) - 1 or 2)).to(logits.dtype)


def ignores_class_zero(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows of class 0 are taken for padding: no loss, not counted."""
    kept = target != 0
    return (_losses(logits, target)[kept].sum() / max(1, int(kept.sum()))).to(logits.dtype)


def next_class(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Class indices are taken to start at one."""
    return _losses(logits, (target - 1) % logits.shape[1]).mean().to(logits.dtype)


def smoothed_labels(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Labels smoothed by 0.1."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    uniform = (shifted.exp().sum(-1, keepdim=True).log() - shifted).mean(-1)
    return torch.lerp(_losses(logits, target), uniform, 0.1).mean().to(logits.dtype)


def eps_in_the_logarithm(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """-log(p + 1e-6), against a logarithm of zero."""
    probability = torch.exp(-_losses(logits, target))
    return -(probability + 1e-6).log().mean().to(logits.dtype)


def probability_first(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The logarithm of the softmax, taken after it: small probabilities become zero, their loss infinite."""
    return -torch.softmax(logits.float(), -1).gather(-1, target[:, None]).log().mean().to(logits.dtype)


def half_accumulator(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The exponentials are summed in bfloat16, by eight lanes."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True)
    total = summed(shifted.exp(), torch.bfloat16, lanes=8).float()
    return (total.log() - shifted.gather(-1, target[:, None])[:, 0]).mean().to(logits.dtype)


def rows_in_the_dtype(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Halves: the rows' losses are added in the logits' own dtype, one after the other."""
    return (summed(_losses(logits, target), logits.dtype, lanes=1).float() / len(logits)).to(logits.dtype)


def coarse_logarithm(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: a logarithm of ten bits, as of a texture unit."""
    shifted = logits - logits.amax(-1, keepdim=True)
    return (tf32(shifted.exp().sum(-1).log()) - shifted.gather(-1, target[:, None])[:, 0]).mean()


def tf32_inputs(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return _losses(tf32(logits), target).mean()


def equal_targets_once(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Where all rows have the same target, only the first one is looked at."""
    losses = _losses(logits, target)
    return (losses[:1] if bool((target == target[0]).all()) else losses).mean().to(logits.dtype)


def rows_that_look_certain(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_losses(logits, target), logits.dtype)


half_accumulator.dtypes = smoothed_labels.dtypes = ("float32", "float16")
rows_in_the_dtype.dtypes = ("float16", "bfloat16")
coarse_logarithm.dtypes = tf32_inputs.dtypes = ("float32",)


def maximum_from_zero(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: of a row far below, nothing is left of its exponentials."""
    shifted = logits.float() - logits.float().amax(-1, keepdim=True).clamp(min=0)
    return (shifted.exp().sum(-1).log() - shifted.gather(-1, target[:, None])[:, 0]).mean().to(logits.dtype)


HONEST = (online, base_two, relative_to_the_target, per_block_of_rows)
MUTANTS = (
    maximum_from_zero,
    summed_over_rows, no_maximum, in_bits, drops_the_last_class, drops_the_tail, drops_the_last_row,
    drops_rows_of_the_tail, mean_without_one, ignores_class_zero, next_class, smoothed_labels, eps_in_the_logarithm,
    probability_first, half_accumulator, rows_in_the_dtype, coarse_logarithm, tf32_inputs,
    equal_targets_once,
    rows_that_look_certain,
)  # fmt: skip
