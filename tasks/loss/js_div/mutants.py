"""Variants of the Jensen-Shannon divergence: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

LN_2 = 0.6931471805599453


def _log_softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x.float() - x.float().amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def _parts(log_p: torch.Tensor, log_q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The terms of p and those of q, not halved."""
    log_m = torch.logaddexp(log_p, log_q) - LN_2
    return log_p.exp() * (log_p - log_m), log_q.exp() * (log_q - log_m)


def _mean(log_p: torch.Tensor, log_q: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    one, other = _parts(log_p, log_q)
    return (0.5 * (one + other).sum(-1)).mean().to(dtype)


def _rows(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    one, other = _parts(_log_softmax(first), _log_softmax(second))
    return 0.5 * (one + other).sum(-1)


def warp_for_a_row(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators for each row and sum; the rows' divergences by a tree."""
    logarithms = []
    for logits in (first, second):
        shifted = logits.float() - logits.float().amax(-1, keepdim=True)
        logarithms.append(shifted - summed(shifted.exp())[:, None].log())
    one, other = _parts(*logarithms)
    return (0.5 * summed(summed(one + other)) / len(first)).to(first.dtype)


def by_the_difference(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """log(p / m) = log(2) - log(1 + exp(log q - log p)), in which no exponential overflows; 64 lanes."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    d = log_q - log_p
    small = torch.log1p(torch.exp(-d.abs()))
    one = log_p.exp() * (LN_2 - small - d.clamp(min=0))
    other = log_q.exp() * (LN_2 - small + d.clamp(max=0))
    return (summed(0.5 * summed(one + other, lanes=64), lanes=64) / len(first)).to(first.dtype)


def base_two(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """exp2 and log2 throughout; each row is divided by the number of rows before they are added."""
    probabilities = []
    for logits in (first, second):
        power = ((logits.float() - logits.float().amax(-1, keepdim=True)) / LN_2).exp2()
        probabilities.append(power * (1 / power.sum(-1, keepdim=True)))
    p, q = probabilities
    tiny = torch.finfo(torch.float32).tiny
    m = (0.5 * (p + q)).clamp(min=tiny)
    bits = p * (p / m).clamp(min=tiny).log2() + q * (q / m).clamp(min=tiny).log2()
    return ((0.5 * LN_2 / len(p)) * bits.sum(-1)).sum().to(first.dtype)


def not_halved(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The sum of the two divergences from their middle."""
    return (2 * _rows(first, second)).mean().to(first.dtype)


def one_side(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The first's divergence from the middle alone."""
    one, _ = _parts(_log_softmax(first), _log_softmax(second))
    return one.sum(-1).mean().to(first.dtype)


def kullback_leibler(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The first's divergence from the second."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean().to(first.dtype)


def jeffreys(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """A quarter of the sum of the divergences from each other, which is the same for nearly equal ones."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    return (0.125 * (log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1).mean().to(first.dtype)


def middle_of_the_logarithms(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The middle is the geometric one."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    half = 0.5 * (log_p - log_q)
    return (0.5 * (log_p.exp() * half - log_q.exp() * half)).sum(-1).mean().to(first.dtype)


def distance(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The root of each row's divergence."""
    return _rows(first, second).clamp(min=0).sqrt().mean().to(first.dtype)


def in_bits(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Bits instead of nats."""
    return (_rows(first, second) / LN_2).mean().to(first.dtype)


def mean_of_all(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The mean over all elements."""
    return (_rows(first, second).mean() / first.shape[-1]).to(first.dtype)


def sum_of_rows(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The sum over the rows."""
    return _rows(first, second).sum().to(first.dtype)


def of_one_less(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Divided by the number of rows minus one."""
    return (_rows(first, second).sum() / (len(first) - 1)).to(first.dtype)


def eps_in_the_logarithm(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """1e-3 is added to the middle against a logarithm of zero."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    log_m = (0.5 * (log_p.exp() + log_q.exp()) + 1e-3).log()
    terms = log_p.exp() * (log_p - log_m) + log_q.exp() * (log_q - log_m)
    return (0.5 * terms.sum(-1)).mean().to(first.dtype)


def no_maximum(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: logits above 88 overflow."""
    log_p, log_q = (x.float() - x.float().exp().sum(-1, keepdim=True).log() for x in (first, second))
    return _mean(log_p, log_q, first.dtype)


def second_not_normalised(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The second's exponentials are not divided by their sum."""
    shifted = second.float() - second.float().amax(-1, keepdim=True)
    return _mean(_log_softmax(first), shifted, first.dtype)


def last_class_lost(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The last class's terms are left out."""
    one, other = _parts(_log_softmax(first), _log_softmax(second))
    return (0.5 * (one + other)[:, :-1].sum(-1)).mean().to(first.dtype)


def tail_lost(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Classes behind the last whole vector of four are left out of everything."""
    whole = first.shape[-1] // 4 * 4 or first.shape[-1]
    return _rows(first[:, :whole], second[:, :whole]).mean().to(first.dtype)


def last_row_lost(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The last row is left out, but counted."""
    return (_rows(first, second)[:-1].sum() / len(first)).to(first.dtype)


def second_of_the_next_row(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Rows of the second are one too far."""
    return _rows(first, second.roll(1, 0)).mean().to(first.dtype)


def half_accumulator(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The terms are summed in bfloat16, by eight lanes."""
    one, other = _parts(_log_softmax(first), _log_softmax(second))
    return (0.5 * summed(one + other, torch.bfloat16, lanes=8).float()).mean().to(first.dtype)


def probabilities_in_bfloat16(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Both softmaxes are kept in bfloat16."""
    p, q = (torch.softmax(logits.float(), -1).bfloat16().float() for logits in (first, second))
    m = 0.5 * (p + q)
    terms = torch.where(p > 0, p * (p / m).log(), 0) + torch.where(q > 0, q * (q / m).log(), 0)
    return (0.5 * terms.sum(-1)).mean().to(first.dtype)


def coarse_logarithm(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """float32: logarithms of the ratios have ten bits, as of a texture unit."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    log_m = torch.logaddexp(log_p, log_q) - LN_2
    terms = log_p.exp() * tf32(log_p - log_m) + log_q.exp() * tf32(log_q - log_m)
    return (0.5 * terms.sum(-1)).mean()


def tf32_inputs(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return _rows(tf32(first), tf32(second)).mean()


half_accumulator.dtypes = ("float32", "float16")
probabilities_in_bfloat16.dtypes = coarse_logarithm.dtypes = tf32_inputs.dtypes = ("float32",)


def maximum_from_zero(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: of a row far below, nothing is left of its exponentials."""
    shifted = second.float() - second.float().amax(-1, keepdim=True).clamp(min=0)
    return _mean(_log_softmax(first), shifted - shifted.exp().sum(-1, keepdim=True).log(), first.dtype)


HONEST = (warp_for_a_row, by_the_difference, base_two)
MUTANTS = (
    maximum_from_zero,
    not_halved, one_side, kullback_leibler, jeffreys, middle_of_the_logarithms, distance, in_bits, mean_of_all,
    sum_of_rows, of_one_less, eps_in_the_logarithm, no_maximum, second_not_normalised, last_class_lost, tail_lost,
    last_row_lost, second_of_the_next_row, half_accumulator, probabilities_in_bfloat16, coarse_logarithm, tf32_inputs,
)  # fmt: skip
_AVERAGED = "the roundings of a row's logits average out, and so do those of the rows"
EXEMPT = {name: {"float16": _AVERAGED, "bfloat16": _AVERAGED} for name in ("lower_first", "lower_second")}
