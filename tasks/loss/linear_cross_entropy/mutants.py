"""Variants of the linear head with cross-entropy: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, multiplied, summed, tf32

LN_2 = 0.6931471805599453


def _logits(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return hidden.float() @ weight.float().T


def _losses(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    shifted = logits - logits.amax(-1, keepdim=True)
    return shifted.exp().sum(-1).log() - shifted.gather(-1, target[:, None])[:, 0]


def _expected(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss of each token."""
    return _losses(_logits(hidden, weight), target)


def _online(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, is_rescaled: bool) -> torch.Tensor:
    """The loss of each token from blocks of classes whose logits are never written."""
    top = hidden.new_full((len(hidden), 1), -3.0e38, dtype=torch.float32)
    total = torch.zeros_like(top)
    chosen = torch.zeros_like(top)
    width = max(64, len(weight) // 32)
    for number, block in enumerate(weight.float().split(width)):
        logits = hidden.float() @ block.T
        new = torch.maximum(top, logits.amax(-1, keepdim=True))
        total = total * (torch.exp(top - new) if is_rescaled else 1) + torch.exp(logits - new).sum(-1, keepdim=True)
        place = target[:, None] - number * width
        is_here = (place >= 0) & (place < len(block))
        chosen = torch.where(is_here, logits.gather(-1, place.clamp(0, len(block) - 1)), chosen)
        top = new
    return (total.log() + (top - chosen))[:, 0]


def fused(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Block by block of the classes, with a running maximum and a rescaled sum, in float32."""
    return (summed(_online(hidden, weight, target, True)) / len(hidden)).to(hidden.dtype)


def tensor_core(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators; a warp for each row of logits."""
    logits = multiplied(hidden, weight.T)
    shifted = logits - logits.amax(-1, keepdim=True)
    losses = summed(shifted.exp()).log() - shifted.gather(-1, target[:, None])[:, 0]
    return (summed(losses / len(losses))).to(hidden.dtype)


def logits_stored(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The logits are stored in the dtype, as eager PyTorch does, and read by a kernel that works in float32."""
    return _losses(_logits(hidden, weight).to(hidden.dtype).float(), target).mean().to(hidden.dtype)


def split_in_three(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three blocks of features, each summed on its own in float32; exp2 and log2."""
    size = -(-hidden.shape[1] // 3)
    blocks = zip(hidden.float().split(size, 1), weight.float().split(size, 1), strict=True)
    bits = sum(left @ right.T for left, right in blocks) / LN_2
    shifted = bits - bits.amax(-1, keepdim=True)
    losses = (shifted.exp2().sum(-1).log2() - shifted.gather(-1, target[:, None])[:, 0]) * LN_2
    return losses.mean().to(hidden.dtype)


def not_rescaled(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The running sum is not rescaled when the maximum grows."""
    return _online(hidden, weight, target, False).mean().to(hidden.dtype)


def sum_over_tokens(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum over the tokens instead of their mean."""
    return _expected(hidden, weight, target).sum().to(hidden.dtype)


def of_one_less(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the number of tokens minus one."""
    return (_expected(hidden, weight, target).sum() / (len(hidden) - 1)).to(hidden.dtype)


def no_maximum(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: logits above 88 overflow."""
    logits = _logits(hidden, weight)
    chosen = logits.gather(-1, target[:, None])[:, 0]
    return (logits.exp().sum(-1).log() - chosen).mean().to(hidden.dtype)


def in_bits(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Bits instead of nats."""
    return (_expected(hidden, weight, target).mean() / LN_2).to(hidden.dtype)


def logarithm_of_the_sum_alone(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The target's logit is not subtracted."""
    return torch.logsumexp(_logits(hidden, weight), -1).mean().to(hidden.dtype)


def next_class(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Class indices are taken to start at one."""
    return _expected(hidden, weight, (target - 1) % len(weight)).mean().to(hidden.dtype)


def ignores_class_zero(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Tokens of class 0 are taken for padding: no loss, not counted."""
    kept = target != 0
    return (_expected(hidden, weight, target)[kept].sum() / max(1, int(kept.sum()))).to(hidden.dtype)


def smoothed_labels(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Labels smoothed by 0.1."""
    logits = _logits(hidden, weight)
    uniform = (torch.logsumexp(logits, -1, keepdim=True) - logits).mean(-1)
    return torch.lerp(_losses(logits, target), uniform, 0.1).mean().to(hidden.dtype)


def scaled_logits(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Logits are divided by the root of the width, as in attention."""
    return _losses(_logits(hidden, weight) / hidden.shape[1] ** 0.5, target).mean().to(hidden.dtype)


def capped_logits(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Logits are softly capped at 30, as in another model."""
    return _losses(30 * torch.tanh(_logits(hidden, weight) / 30), target).mean().to(hidden.dtype)


def drops_the_last_class(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last class does not enter the sum of exponentials."""
    logits = _logits(hidden, weight)
    chosen = logits.gather(-1, target[:, None])[:, 0]
    return (torch.logsumexp(logits[:, :-1], -1) - chosen).mean().to(hidden.dtype)


def drops_classes_of_the_tail(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Classes behind the last whole block of 16 do not enter the sum."""
    logits = _logits(hidden, weight)
    whole = len(weight) // 16 * 16 or len(weight)
    chosen = logits.gather(-1, target[:, None])[:, 0]
    return (torch.logsumexp(logits[:, :whole], -1) - chosen).mean().to(hidden.dtype)


def padded_classes(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Classes are padded with zero weights to a multiple of 64, and the padding's logits of zero are added."""
    padded = torch.nn.functional.pad(weight, (0, 0, 0, -len(weight) % 64))
    return _expected(hidden, padded, target).mean().to(hidden.dtype)


def drops_the_last_feature(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last feature is left out."""
    return _expected(hidden[:, :-1], weight[:, :-1], target).mean().to(hidden.dtype)


def drops_the_last_token(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last token's loss is lost, but counted in the mean."""
    return (_expected(hidden, weight, target)[:-1].sum() / len(hidden)).to(hidden.dtype)


def eps_in_the_logarithm(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """-log(p + 1e-4), against a logarithm of zero."""
    probability = torch.exp(-_expected(hidden, weight, target))
    return -(probability + 1e-4).log().mean().to(hidden.dtype)


def half_accumulators(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: logits in bfloat16 accumulators, rounded after every eight terms."""
    return _losses(multiplied(hidden, weight.T, torch.bfloat16, step=8).float(), target).mean()


def half_sum(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The exponentials are summed in bfloat16, by four lanes."""
    logits = _logits(hidden, weight)
    shifted = logits - logits.amax(-1, keepdim=True)
    total = summed(shifted.exp(), torch.bfloat16, lanes=4).float()
    return (total.log() - shifted.gather(-1, target[:, None])[:, 0]).mean().to(hidden.dtype)


def tf32_once(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return _expected(tf32(hidden), tf32(weight), target).mean()


def logits_in_bfloat16(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: the logits are stored in bfloat16."""
    return _losses(_logits(hidden, weight).bfloat16().float(), target).mean()


def rows_that_look_certain(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_expected(hidden, weight, target), hidden.dtype)


half_sum.dtypes = smoothed_labels.dtypes = ("float32", "float16")
half_accumulators.dtypes = tf32_once.dtypes = logits_in_bfloat16.dtypes = ("float32",)

HONEST = (fused, tensor_core, logits_stored, split_in_three)
MUTANTS = (
    not_rescaled, sum_over_tokens, of_one_less, no_maximum, in_bits, logarithm_of_the_sum_alone, next_class,
    ignores_class_zero, smoothed_labels, scaled_logits, capped_logits, drops_the_last_class, drops_classes_of_the_tail,
    padded_classes, drops_the_last_feature, drops_the_last_token, eps_in_the_logarithm, half_accumulators, half_sum,
    tf32_once, logits_in_bfloat16,
    rows_that_look_certain,
)  # fmt: skip
