"""Variants of the gated delta rule: honest ones that must pass and wrong ones that must fail."""

from typing import NamedTuple

import torch

from robust_kbench.audit.emulated import tf32

STRETCH = 16


class Parts(NamedTuple):
    """Stretches in float32: [batch, heads, stretches, size, ...], `decay` without the last axis."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    decay: torch.Tensor
    rate: torch.Tensor


class Inside(NamedTuple):
    """What a stretch makes of its own positions: corrections, what the memory takes from them, weights of pairs."""

    written: torch.Tensor
    erased: torch.Tensor
    pairs: torch.Tensor


def _normalised(k: torch.Tensor) -> torch.Tensor:
    return k.float() * k.float().square().sum(-1, keepdim=True).rsqrt()


def _split(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor, size: int = STRETCH
) -> Parts:
    """`k`: normalised. Filled up with zeros, and with ones for the decay."""
    surplus, pad = -q.shape[2] % size, torch.nn.functional.pad
    rows = (pad(x.float(), (0, 0, 0, surplus)).unflatten(2, (-1, size)) for x in (q, k, v))
    factors = pad(decay.float(), (0, surplus), value=1.0).unflatten(2, (-1, size))
    return Parts(*rows, factors, pad(rate.float(), (0, surplus)).unflatten(2, (-1, size)).unsqueeze(-1))


def _products(parts: Parts) -> torch.Tensor:
    """Of the decays behind one position up to another."""
    later = torch.ones(parts.decay.shape[-1], parts.decay.shape[-1], dtype=torch.bool).tril(-1)
    return torch.where(later, parts.decay.unsqueeze(-1), 1.0).cumprod(-2)


def _begun(parts: Parts) -> torch.Tensor:
    return parts.decay.cumprod(-1).unsqueeze(-1)


def _substituted(overlap: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The solution of (1 + overlap) x = right, row by row."""
    solved = right.clone()
    for row in range(1, right.shape[-2]):
        solved[..., row, :] -= (overlap[..., row : row + 1, :row] @ solved[..., :row, :]).squeeze(-2)
    return solved


def _inside(parts: Parts) -> Inside:
    products = _products(parts)
    overlap = (parts.k @ parts.k.mT * products * parts.rate).tril(-1)
    solved = _substituted(overlap, torch.cat((parts.v, _begun(parts) * parts.k), -1) * parts.rate)
    written, erased = solved.split([parts.v.shape[-1], parts.k.shape[-1]], -1)
    return Inside(written, erased, (parts.q @ parts.k.mT * products).tril())


def _run(
    parts: Parts,
    inside: Inside,
    like: torch.Tensor,
    stored: torch.dtype = torch.float32,
    handed_on: torch.Tensor | None = None,
) -> torch.Tensor:
    """Stretch by stretch. The memory is rounded to `stored`; `handed_on`: what it is multiplied by on the way."""
    begun, kept = _begun(parts), (parts.k * _products(parts)[..., -1, :].unsqueeze(-1)).mT
    handed_on = begun[..., -1:, :] if handed_on is None else handed_on
    memory, results = torch.zeros_like((kept @ inside.written)[:, :, 0]), []
    reads = parts.q * begun
    for part in range(parts.q.shape[2]):
        corrections = inside.written[:, :, part] - inside.erased[:, :, part] @ memory
        results.append(reads[:, :, part] @ memory + inside.pairs[:, :, part] @ corrections)
        memory = handed_on[:, :, part] * memory + kept[:, :, part] @ corrections
        memory = memory.to(stored).float()
    return torch.stack(results, 2).flatten(2, 3)[:, :, : like.shape[2]].to(like.dtype)


def in_turn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
    """Position by position, the memory in float32."""
    keys, memory, results = _normalised(k), v.new_zeros(*k.shape[:2], k.shape[3], v.shape[3], dtype=torch.float32), []
    for place in range(q.shape[2]):
        key, query = keys[:, :, place].unsqueeze(-2), q[:, :, place].float().unsqueeze(-2)
        memory = decay[:, :, place, None, None].float() * memory
        difference = v[:, :, place].float().unsqueeze(-2) - key @ memory
        memory = memory + key.mT @ (rate[:, :, place, None, None].float() * difference)
        results.append((query @ memory).squeeze(-2))
    return torch.stack(results, 2).to(v.dtype)


def in_stretches(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Stretches of 16, everything in float32."""
    parts = _split(q, _normalised(k), v, decay, rate)
    return _run(parts, _inside(parts), v)


def longer_stretches(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Stretches of 32, keys divided by their root of squares."""
    keys = k.float() / k.float().square().sum(-1, keepdim=True).sqrt()
    parts = _split(q, keys, v, decay, rate, 32)
    return _run(parts, _inside(parts), v)


def stored_of_the_dtype(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """What a stretch makes of its own positions is handed on by a kernel of its own, in the inputs' dtype."""
    parts = _split(q, _normalised(k), v, decay, rate)
    inside = _inside(parts)
    rounded = Inside(*(part.to(v.dtype).float() for part in inside))
    return _run(parts, rounded, v)


def by_logarithms(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Products of decays as exponentials of differences of running sums of logarithms."""
    parts = _split(q, _normalised(k), v, decay, rate)
    sums = parts.decay.log().cumsum(-1)
    products = torch.exp((sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril())
    overlap = (parts.k @ parts.k.mT * products * parts.rate).tril(-1)
    right = torch.cat((parts.v, sums.exp().unsqueeze(-1) * parts.k), -1) * parts.rate
    written, erased = _substituted(overlap, right).split([v.shape[-1], k.shape[-1]], -1)
    return _run(parts, Inside(written, erased, (parts.q @ parts.k.mT * products).tril()), v)


def no_correction(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Values are written as they are, whatever their keys bring back: gated linear attention."""
    parts = _split(q, _normalised(k), v, decay, rate)
    pairs = (parts.q @ parts.k.mT * _products(parts)).tril()
    return _run(parts, Inside(parts.v * parts.rate, torch.zeros_like(parts.k), pairs), v)


def no_decay(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """The memory does not decay."""
    return in_stretches(q, k, v, torch.ones_like(decay), rate)


def full_rate(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """The whole difference is written."""
    return in_stretches(q, k, v, decay, torch.ones_like(rate))


def erases_everything(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """What the key brings back is erased in full, and the value written at its rate."""
    parts = _split(q, _normalised(k), v, decay, rate)
    products = _products(parts)
    overlap = (parts.k @ parts.k.mT * products).tril(-1)
    right = torch.cat((parts.v * parts.rate, _begun(parts) * parts.k), -1)
    written, erased = _substituted(overlap, right).split([v.shape[-1], k.shape[-1]], -1)
    return _run(parts, Inside(written, erased, (parts.q @ parts.k.mT * products).tril()), v)


def compared_before_decay(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """The key asks the memory before it has decayed."""
    parts = _split(q, _normalised(k), v, decay, rate)
    products = _products(parts)
    overlap = (parts.k @ parts.k.mT * products * parts.rate / parts.decay.unsqueeze(-1)).tril(-1)
    begun = _begun(parts) / parts.decay.unsqueeze(-1)
    right = torch.cat((parts.v, begun * parts.k), -1) * parts.rate
    written, erased = _substituted(overlap, right).split([v.shape[-1], k.shape[-1]], -1)
    return _run(parts, Inside(written, erased, (parts.q @ parts.k.mT * products).tril()), v)


def keys_by_the_largest(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Keys are divided by their largest element."""
    keys = k.float() / k.float().abs().amax(-1, keepdim=True) * k.shape[-1] ** -0.5
    parts = _split(q, keys, v, decay, rate)
    return _run(parts, _inside(parts), v)


def queries_normalised(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Queries are normalised, too."""
    return in_stretches(_normalised(q), k, v, decay, rate)


def scaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
    """The result is divided by the root of key_dim, as attention is."""
    return in_stretches(q.float() * k.shape[-1] ** -0.5, k, v, decay, rate)


def read_before_writing(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """A position reads the memory before its own value is written."""
    parts = _split(q, _normalised(k), v, decay, rate)
    inside = _inside(parts)
    return _run(parts, inside._replace(pairs=inside.pairs.tril(-1)), v)


def first_order(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Corrections within a stretch are not corrected themselves: 1 - a in place of the inverse of 1 + a."""
    parts = _split(q, _normalised(k), v, decay, rate)
    products = _products(parts)
    overlap = (parts.k @ parts.k.mT * products * parts.rate).tril(-1)
    right = torch.cat((parts.v, _begun(parts) * parts.k), -1) * parts.rate
    written, erased = (right - overlap @ right).split([v.shape[-1], k.shape[-1]], -1)
    return _run(parts, Inside(written, erased, (parts.q @ parts.k.mT * products).tril()), v)


def pairs_not_decayed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Within a stretch the decays are left out of what is read."""
    parts = _split(q, _normalised(k), v, decay, rate)
    return _run(parts, _inside(parts)._replace(pairs=(parts.q @ parts.k.mT).tril()), v)


def stretches_apart(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Each stretch of 16 begins with an empty memory."""
    parts = _split(q, _normalised(k), v, decay, rate)
    inside = _inside(parts)
    return (inside.pairs @ inside.written).flatten(2, 3)[:, :, : q.shape[2]].to(v.dtype)


def memory_not_erased(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """What is written in a stretch of 16 is not corrected by the memory at its start."""
    parts = _split(q, _normalised(k), v, decay, rate)
    inside = _inside(parts)
    return _run(parts, inside._replace(erased=torch.zeros_like(inside.erased)), v)


def memory_not_decayed_between(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """From one stretch of 16 to the next the memory is handed on as it is."""
    parts = _split(q, _normalised(k), v, decay, rate)
    return _run(parts, _inside(parts), v, handed_on=torch.ones_like(_begun(parts)[..., -1:, :]))


def memory_in_bfloat16(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """float32: the memory is kept in bfloat16 from one stretch of 16 to the next."""
    parts = _split(q, _normalised(k), v, decay, rate)
    return _run(parts, _inside(parts), v, stored=torch.bfloat16)


def decays_of_the_position_before(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Every position uses the decay of the one before it."""
    return in_stretches(q, k, v, decay.roll(1, 2), rate)


def rates_of_the_first_head(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """All heads use the first one's rates."""
    return in_stretches(q, k, v, decay, rate[:, :1].expand_as(rate))


def tf32_factors(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """float32: queries, normalised keys and values pass through a TF32 unit."""
    parts = _split(tf32(q), tf32(_normalised(k)), tf32(v), decay, rate)
    return _run(parts, _inside(parts), v)


def last_of_the_key_lost(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """The last element of queries and keys is left out, but not of the keys' norm."""
    parts = _split(q[..., :-1], _normalised(k)[..., :-1], v, decay, rate)
    return _run(parts, _inside(parts), v)


def last_head_of_the_first(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """The last head uses the first one's keys."""
    return in_stretches(q, torch.cat((k[:, :-1], k[:, :1]), 1), v, decay, rate)


memory_in_bfloat16.dtypes = tf32_factors.dtypes = ("float32",)


def memory_of_64(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, rate: torch.Tensor
) -> torch.Tensor:
    """Stretches of 32 positions by themselves, each warmed up by the 64 before it alone."""
    parts = []
    for start in range(0, q.shape[2], 32):
        first = max(0, start - 64)
        y = in_stretches(*(each[:, :, first : start + 32] for each in (q, k, v, decay, rate)))
        parts.append(y[:, :, start - first :])
    return torch.cat(parts, 2)


HONEST = (in_turn, in_stretches, longer_stretches, stored_of_the_dtype, by_logarithms)
MUTANTS = (
    no_correction, no_decay, full_rate, erases_everything, compared_before_decay, keys_by_the_largest,
    queries_normalised, scaled, read_before_writing, first_order, pairs_not_decayed, stretches_apart,
    memory_not_erased, memory_not_decayed_between, memory_in_bfloat16, decays_of_the_position_before,
    rates_of_the_first_head, tf32_factors, last_of_the_key_lost, last_head_of_the_first,
    memory_of_64,
)  # fmt: skip
