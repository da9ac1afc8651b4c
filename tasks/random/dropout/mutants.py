"""Variants of dropout: honest ones that must pass and wrong ones that must fail."""

import torch


def _hashed(x: torch.Tensor, seed: int) -> torch.Tensor:
    """A uniform number for each element, from its place and the seed by two rounds of multiply and shift."""
    bits = torch.arange(x.numel(), dtype=torch.int64) + seed * 0x632BE59BD9B4E019 % 2**61
    for factor in (0x3F58476D1CE4E5B9, 0x14D049BB133111EB):
        bits = (bits ^ ((bits >> 30) & 0x3FFFFFFFF)) * factor
    bits = bits ^ ((bits >> 31) & 0x1FFFFFFFF)
    return ((bits >> 20) & 0xFFFFFF).double().div(2**24).reshape(x.shape)


def _scale(p: float) -> float:
    """The factor of what is kept; with p = 1 nothing is."""
    return 1 / (1 - p) if p < 1 else 0.0


def _drop(x: torch.Tensor, kept: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.where(kept, x.float() * scale, 0.0).to(x.dtype)


def counter(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """A hash of the place and the seed, as counter-based generators are on GPUs."""
    return _drop(x, _hashed(x, seed) >= p, _scale(p))


def bernoulli(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """PyTorch's Bernoulli numbers."""
    kept = torch.empty(x.shape).bernoulli_(1 - p, generator=torch.Generator().manual_seed(seed))
    return _drop(x, kept.bool(), _scale(p))


def sixteen_bits(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Random integers of 16 bits against a rounded threshold."""
    bits = torch.randint(0, 1 << 16, x.shape, generator=torch.Generator().manual_seed(seed))
    return _drop(x, bits >= round(p * (1 << 16)), _scale(p))


def not_scaled(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """What is kept keeps its size."""
    return _drop(x, _hashed(x, seed) >= p, 1.0)


def scaled_by_p(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """What is kept is divided by p."""
    return _drop(x, _hashed(x, seed) >= p, 1 / p if p else 0.0)


def kept_with_p(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The probability is taken for the probability to keep; the scale is right."""
    return _drop(x, _hashed(x, seed) < p, _scale(p))


def four_bits(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The threshold has four bits: 0.1 becomes 1/8."""
    return _drop(x, _hashed(x, seed) >= round(p * 16) / 16, _scale(p))


def one_mask_for_all_rows(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The place in the row alone decides."""
    return _drop(x, (_hashed(x[:1], seed) >= p).expand(x.shape), _scale(p))


def whole_rows(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """A row is dropped as a whole."""
    return _drop(x, (_hashed(x[:, :1], seed) >= p).expand(x.shape), _scale(p))


def pairs(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Two neighbours share a random number."""
    drawn = _hashed(x, seed).view(-1)
    return _drop(x, (drawn[torch.arange(x.numel()) // 2 * 2] >= p).view(x.shape), _scale(p))


def short_period(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Random numbers repeat after 64 elements of a row."""
    places = torch.arange(x.shape[-1]) % 64
    return _drop(x, (_hashed(x, seed) >= p)[:, places], _scale(p))


def tail_kept(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Columns behind the last whole vector of eight are never dropped."""
    kept = _hashed(x, seed) >= p
    kept[:, x.shape[-1] // 8 * 8 :] = True
    return _drop(x, kept, _scale(p))


def nothing_dropped(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """As in evaluation: the identity."""
    return x


def everything_scaled(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Nothing is dropped, but all is scaled."""
    return _drop(x, torch.ones_like(x, dtype=torch.bool), _scale(p))


def scale_in_bfloat16(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The scale is kept in bfloat16."""
    return _drop(x, _hashed(x, seed) >= p, float(torch.tensor(_scale(p)).bfloat16()))


def regular_pattern(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """In place of chance, a share p of each group of twenty columns, from a random start."""
    start = int(_hashed(x.reshape(-1)[:1], seed)[0] * 20) if x.numel() else 0
    places = (torch.arange(x.shape[-1]) + start) % 20
    return _drop(x, (places >= round(20 * p)).expand(x.shape), _scale(p))


def second_half_again(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The second half of the elements uses the random numbers of the first one."""
    drawn = _hashed(x, seed).view(-1)
    return _drop(x, (drawn[torch.arange(x.numel()) % (x.numel() // 2 + 13)] >= p).view(x.shape), _scale(p))


def rows_again(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """The last third of the rows uses the random numbers of the first third, in another order."""
    third = len(x) // 3
    order = torch.randperm(third, generator=torch.Generator().manual_seed(seed))
    drawn = _hashed(x, seed)
    return _drop(x, torch.cat((drawn[: len(x) - third], drawn[:third][order])) >= p, _scale(p))


def sixteen_masks(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """Four bits of the seed decide."""
    return _drop(x, _hashed(x, seed * 2654435761 % 2**32 // 2**28) >= p, _scale(p))


def never_everything(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """With p = 1, one element of 256 stays: the threshold has eight bits, and does not go beyond 255."""
    return _drop(x, (_hashed(x, seed) * 256).floor() >= min(round(p * 256), 255), _scale(p) or 1.0)


scale_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (counter, bernoulli, sixteen_bits)
MUTANTS = (
    not_scaled,
    scaled_by_p,
    kept_with_p,
    four_bits,
    one_mask_for_all_rows,
    whole_rows,
    pairs,
    short_period,
    tail_kept,
    nothing_dropped,
    everything_scaled,
    scale_in_bfloat16,
    regular_pattern,
    second_half_again,
    rows_again,
    sixteen_masks,
    never_everything,
)
