"""Variants of the Kullback-Leibler divergence: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, summed, tf32

LN_2 = 0.6931471805599453


def _log_softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x.float() - x.float().amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def _terms(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    log_p = _log_softmax(teacher)
    return log_p.exp() * (log_p - _log_softmax(student))


def _mean(terms: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return terms.sum(-1).mean().to(dtype)


def warp_for_a_row(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Three passes, each with 32 float32 accumulators for a row; the rows' divergences by a tree."""
    logarithms = []
    for logits in (student, teacher):
        shifted = logits.float() - logits.float().amax(-1, keepdim=True)
        logarithms.append(shifted - summed(shifted.exp())[:, None].log())
    log_q, log_p = logarithms
    return (summed(summed(log_p.exp() * (log_p - log_q))) / len(student)).to(student.dtype)


def differences_of_logits(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The mean of t - s under p, both less their maxima, and the difference of the logarithms of the two sums."""
    s, t = (logits.float() - logits.float().amax(-1, keepdim=True) for logits in (student, teacher))
    weight = t.exp()
    total = summed(weight, lanes=64)
    rows = summed(weight * (t - s), lanes=64) / total + summed(s.exp(), lanes=64).log() - total.log()
    return (summed(rows) / len(rows)).to(student.dtype)


def base_two(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """exp2 and log2 throughout; each row is divided by the number of rows before they are added."""
    bits = []
    for logits in (student, teacher):
        shifted = (logits.float() - logits.float().amax(-1, keepdim=True)) / LN_2
        bits.append(shifted - shifted.exp2().sum(-1, keepdim=True).log2())
    bits_q, bits_p = bits
    rows = (bits_p.exp2() * (bits_p - bits_q)).sum(-1) * LN_2
    return (rows / len(rows)).sum().to(student.dtype)


def online(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """One pass over blocks of classes that rescales three running sums when a maximum grows, in float32."""
    s, t = student.float(), teacher.float()
    top_s = top_t = s.new_full((len(s), 1), -3.0e38)
    sum_s = sum_t = mixed = torch.zeros_like(top_s)
    width = max(128, s.shape[-1] // 32)
    for part_s, part_t in zip(s.split(width, -1), t.split(width, -1), strict=True):
        new_s = torch.maximum(top_s, part_s.amax(-1, keepdim=True))
        new_t = torch.maximum(top_t, part_t.amax(-1, keepdim=True))
        weight, kept = torch.exp(part_t - new_t), torch.exp(top_t - new_t)
        moved = sum_t * ((top_t - new_t) - (top_s - new_s))
        mixed = (mixed + moved) * kept + (weight * ((part_t - new_t) - (part_s - new_s))).sum(-1, keepdim=True)
        sum_s = sum_s * torch.exp(top_s - new_s) + torch.exp(part_s - new_s).sum(-1, keepdim=True)
        sum_t = sum_t * kept + weight.sum(-1, keepdim=True)
        top_s, top_t = new_s, new_t
    rows = mixed / sum_t + (sum_s.log() - sum_t.log())
    return rows.mean().to(student.dtype)


def other_way_round(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The divergence of the teacher from the student."""
    return _mean(_terms(teacher, student), student.dtype)


def cross_entropy(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The teacher's entropy is not subtracted."""
    return _mean(-_log_softmax(teacher).exp() * _log_softmax(student), student.dtype)


def mean_of_all(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The mean over all elements, PyTorch's default."""
    return _terms(student, teacher).mean().to(student.dtype)


def sum_of_rows(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The sum over the rows."""
    return _terms(student, teacher).sum().to(student.dtype)


def of_one_less(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Divided by the number of rows minus one."""
    return (_terms(student, teacher).sum() / max(1, len(student) - 1)).to(student.dtype)


def student_not_normalised(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The student's logits are taken for logarithms of probabilities."""
    log_p = _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - student.float()), student.dtype)


def weights_of_the_student(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The logarithms' difference is weighted by the student's probabilities."""
    log_p, log_q = _log_softmax(teacher), _log_softmax(student)
    return _mean(log_q.exp() * (log_p - log_q), student.dtype)


def magnitudes(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The magnitude of every term."""
    return _mean(_terms(student, teacher).abs(), student.dtype)


def no_maximum(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: logits above 88 overflow."""
    s, t = student.float(), teacher.float()
    log_q, log_p = (x - x.exp().sum(-1, keepdim=True).log() for x in (s, t))
    return _mean(log_p.exp() * (log_p - log_q), student.dtype)


def eps_in_the_logarithm(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The logarithm of q + 1e-4, against a logarithm of zero."""
    log_p = _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - (_log_softmax(student).exp() + 1e-4).log()), student.dtype)


def probability_first(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The logarithm of the softmax, taken after it: small probabilities become zero, and the divergence infinite."""
    p, q = (torch.softmax(logits.float(), -1) for logits in (teacher, student))
    return _mean(torch.where(p > 0, p * (p.log() - q.log()), 0), student.dtype)


def in_bits(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Bits instead of nats."""
    return _mean(_terms(student, teacher) / LN_2, student.dtype)


def warm(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """At a temperature of 1.1."""
    return _mean(_terms(student.float() / 1.1, teacher.float() / 1.1), student.dtype)


def last_class_lost(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The last class's term is left out."""
    return _mean(_terms(student, teacher)[:, :-1], student.dtype)


def tail_lost(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Classes behind the last whole vector of four do not enter the student's sum of exponentials."""
    shifted = student.float() - student.float().amax(-1, keepdim=True)
    whole = student.shape[-1] // 4 * 4 or student.shape[-1]
    total = shifted[:, :whole].exp().sum(-1, keepdim=True) + torch.finfo(torch.float32).tiny
    log_p = _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - (shifted - total.log())), student.dtype)


def last_row_lost(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The last row is left out, but counted."""
    return (_terms(student, teacher)[:-1].sum() / len(student)).to(student.dtype)


def half_accumulator(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The student's exponentials are summed in bfloat16, by eight lanes."""
    shifted = student.float() - student.float().amax(-1, keepdim=True)
    total = summed(shifted.exp(), torch.bfloat16, lanes=8).float()[:, None]
    log_p = _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - (shifted - total.log())), student.dtype)


def logarithms_in_bfloat16(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The logarithms of the probabilities are kept in bfloat16."""
    log_p, log_q = (_log_softmax(logits).bfloat16().float() for logits in (teacher, student))
    return _mean(log_p.exp() * (log_p - log_q), student.dtype)


def coarse_logarithm(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """float32: the logarithm of the student's sum has ten bits, as of a texture unit."""
    shifted = student - student.amax(-1, keepdim=True)
    log_p = _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - (shifted - tf32(shifted.exp().sum(-1, keepdim=True).log()))), student.dtype)


def tf32_inputs(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return _mean(_terms(tf32(student), tf32(teacher)), student.dtype)


def teacher_of_the_next_row(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Rows of the teacher are one too far."""
    return _mean(_terms(student, teacher.roll(1, 0)), student.dtype)


def rows_that_look_certain(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_terms(student, teacher).sum(-1), student.dtype)


half_accumulator.dtypes = logarithms_in_bfloat16.dtypes = ("float32", "float16")
coarse_logarithm.dtypes = tf32_inputs.dtypes = ("float32",)


def maximum_from_zero(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: of a row far below, nothing is left of its exponentials."""
    shifted = student.float() - student.float().amax(-1, keepdim=True).clamp(min=0)
    log_q, log_p = shifted - shifted.exp().sum(-1, keepdim=True).log(), _log_softmax(teacher)
    return _mean(log_p.exp() * (log_p - log_q), student.dtype)


HONEST = (warp_for_a_row, differences_of_logits, base_two, online)
MUTANTS = (
    maximum_from_zero,
    other_way_round, cross_entropy, mean_of_all, sum_of_rows, of_one_less, student_not_normalised,
    weights_of_the_student, magnitudes, no_maximum, eps_in_the_logarithm, probability_first, in_bits, warm,
    last_class_lost, tail_lost, last_row_lost, half_accumulator, logarithms_in_bfloat16, coarse_logarithm, tf32_inputs,
    teacher_of_the_next_row,
    rows_that_look_certain,
)  # fmt: skip
