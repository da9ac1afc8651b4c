"""Variants of state space duality: honest ones that must pass and wrong ones that must fail."""

from typing import NamedTuple

import torch

from robust_kbench.audit.emulated import tf32

STRETCH = 16


class Parts(NamedTuple):
    """Stretches in float32: x [batch, stretches, heads, size, head_dim], the others without head_dim, or heads."""

    x: torch.Tensor
    decay: torch.Tensor
    b: torch.Tensor
    c: torch.Tensor


def _split(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor, size: int = 0) -> Parts:
    """At most 64 of them, filled up with zeros, and with ones for the decay. `size` 0: 16 or more."""
    size = max(size or STRETCH, -(-x.shape[1] // 64))
    surplus, pad = -x.shape[1] % size, torch.nn.functional.pad
    return Parts(
        pad(x.float(), (0, 0, 0, 0, 0, surplus)).unflatten(1, (-1, size)).transpose(2, 3),
        pad(decay.float(), (0, 0, 0, surplus), value=1.0).unflatten(1, (-1, size)).transpose(2, 3),
        *(pad(part.float(), (0, 0, 0, surplus)).unflatten(1, (-1, size)).unsqueeze(2) for part in (b, c)),
    )


def _joined(stretches: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Back to the shape and dtype of `x`."""
    return stretches.transpose(2, 3).flatten(1, 2)[:, : x.shape[1]].to(x.dtype)


def _products(decay: torch.Tensor, diagonal: int = -1) -> torch.Tensor:
    """For each position and each up to it, the product of the decays behind the second up to the first."""
    later = torch.ones(decay.shape[-1], decay.shape[-1], dtype=torch.bool).tril(diagonal)
    return torch.where(later, decay.unsqueeze(-1), 1.0).cumprod(-2)


def _within(parts: Parts, products: torch.Tensor) -> torch.Tensor:
    """What each stretch makes of its own positions."""
    return (parts.c @ parts.b.mT * products).tril() @ parts.x


def _added(parts: Parts, products: torch.Tensor) -> torch.Tensor:
    """What each stretch adds to the state: [batch, stretches, heads, state, head_dim]."""
    return (parts.b * products[..., -1, :].unsqueeze(-1)).mT @ parts.x


def _before(added: torch.Tensor, whole: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The state at the start of each stretch. `whole`: the product of its decays, [batch, stretches, heads]."""
    state, before = torch.zeros_like(added[:, 0]), []
    for factor, new in zip(whole.unbind(1), added.unbind(1), strict=True):
        before.append(state)
        state = (factor[..., None, None] * state + new).to(dtype).float()
    return torch.stack(before, 1)


def _in_stretches(
    x: torch.Tensor, parts: Parts, dtype: torch.dtype = torch.float32, stored: torch.dtype = torch.float32
) -> torch.Tensor:
    """The states are summed in `dtype`, and rounded to `stored` before they are read."""
    products, begun = _products(parts.decay), parts.decay.cumprod(-1)
    before = _before(_added(parts, products), begun[..., -1], dtype).to(stored).float()
    return _joined(_within(parts, products) + (parts.c * begun.unsqueeze(-1)) @ before, x)


def _in_pairs(x: torch.Tensor, products: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """`products`: [batch, heads, length, length]."""
    weights = ((c.float() @ b.float().mT).unsqueeze(1) * products).tril()
    return (weights @ x.float().transpose(1, 2)).transpose(1, 2).to(x.dtype)


def in_pairs(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """All pairs in float32."""
    return _in_pairs(x, _products(decay.float().transpose(1, 2)), b, c)


def weights_of_the_dtype(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """All pairs, weights rounded to the inputs' dtype before they meet x."""
    products = _products(decay.float().transpose(1, 2))
    weights = ((c.float() @ b.float().mT).unsqueeze(1) * products).tril().to(x.dtype).float()
    return (weights @ x.float().transpose(1, 2)).transpose(1, 2).to(x.dtype)


def in_stretches(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Stretches of 16, the state between them in float32."""
    return _in_stretches(x, _split(x, decay, b, c))


def states_of_the_dtype(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Stretches of 64; a kernel of its own makes the states in float32 and stores them in the inputs' dtype."""
    return _in_stretches(x, _split(x, decay, b, c, 64), stored=x.dtype)


def by_logarithms(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Stretches of 64; products of decays as exponentials of differences of running sums of logarithms."""
    parts = _split(x, decay, b, c, 64)
    sums = parts.decay.log().cumsum(-1)
    products = torch.exp((sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril())
    before = _before(_added(parts, products), sums[..., -1].exp())
    return _joined(_within(parts, products) + (parts.c * sums.exp().unsqueeze(-1)) @ before, x)


def no_decay(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The decays are left out."""
    return in_pairs(x, torch.ones_like(decay), b, c)


def own_decay_too(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """What a position adds is multiplied by its own decay at once."""
    return in_pairs(x.float() * decay.float().unsqueeze(-1), decay, b, c).to(x.dtype)


def decay_of_the_position_before(
    x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> torch.Tensor:
    """The state is multiplied by the decay of the position that it comes from."""
    return in_pairs(x, decay.roll(1, 1), b, c)


def decays_of_the_first_head(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """All heads use the first one's decays."""
    return in_pairs(x, decay[..., :1].expand_as(decay), b, c)


def first_decay_for_all(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Each head uses its first decay at every position."""
    return in_pairs(x, decay[:, :1].expand_as(decay), b, c)


def decays_up_to_one(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Decays are kept from exceeding one."""
    return in_pairs(x, decay.clamp(max=1), b, c)


def gated(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """What a position adds is multiplied by one less its decay, as in an average."""
    return in_pairs(x.float() * (1 - decay.float()).unsqueeze(-1), decay, b, c).to(x.dtype)


def not_itself(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The state is read before the position's own product is added."""
    weights = ((c.float() @ b.float().mT).unsqueeze(1) * _products(decay.float().transpose(1, 2))).tril(-1)
    return (weights @ x.float().transpose(1, 2)).transpose(1, 2).to(x.dtype)


def sees_the_next(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Every position meets the next one too."""
    weights = ((c.float() @ b.float().mT).unsqueeze(1) * _products(decay.float().transpose(1, 2))).tril(1)
    return (weights @ x.float().transpose(1, 2)).transpose(1, 2).to(x.dtype)


def stretches_apart(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Each stretch of 16 begins with a state of zeros."""
    parts = _split(x, decay, b, c)
    return _joined(_within(parts, _products(parts.decay)), x)


def last_stretch_alone(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The state at the start of a stretch of 16 holds the stretch before it, and nothing earlier."""
    parts = _split(x, decay, b, c)
    products, begun = _products(parts.decay), parts.decay.cumprod(-1)
    before = _before(_added(parts, products), torch.zeros_like(begun[..., -1]))
    return _joined(_within(parts, products) + (parts.c * begun.unsqueeze(-1)) @ before, x)


def state_not_decayed_between(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """From one stretch of 16 to the next the state is added up as it is."""
    parts = _split(x, decay, b, c)
    products, begun = _products(parts.decay), parts.decay.cumprod(-1)
    before = _before(_added(parts, products), torch.ones_like(begun[..., -1]))
    return _joined(_within(parts, products) + (parts.c * begun.unsqueeze(-1)) @ before, x)


def state_not_decayed_within(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Every position of a stretch of 16 reads the state as it was at its start."""
    parts = _split(x, decay, b, c)
    products = _products(parts.decay)
    before = _before(_added(parts, products), parts.decay.prod(-1))
    return _joined(_within(parts, products) + parts.c @ before, x)


def first_decay_of_a_stretch_lost(
    x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> torch.Tensor:
    """The decay of a stretch's first position is not applied to the state before it."""
    parts = _split(x, decay, b, c)
    products, begun = _products(parts.decay), parts.decay.cumprod(-1)
    before = _before(_added(parts, products), begun[..., -1])
    read = parts.c * (begun / parts.decay[..., :1]).unsqueeze(-1)
    return _joined(_within(parts, products) + read @ before, x)


def added_without_decay(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """What a stretch of 16 adds to the state has not decayed by its end."""
    parts = _split(x, decay, b, c)
    products, begun = _products(parts.decay), parts.decay.cumprod(-1)
    before = _before(parts.b.mT @ parts.x, begun[..., -1])
    return _joined(_within(parts, products) + (parts.c * begun.unsqueeze(-1)) @ before, x)


def state_in_bfloat16(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """float32: the state is kept in bfloat16 from one stretch of 16 to the next."""
    return _in_stretches(x, _split(x, decay, b, c), dtype=torch.bfloat16)


def decays_in_bfloat16(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The products of decays are kept in bfloat16."""
    return _in_pairs(x, _products(decay.float().transpose(1, 2)).bfloat16().float(), b, c)


def tf32_factors(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """float32: x, b and c pass through a TF32 unit."""
    return in_pairs(tf32(x), decay, tf32(b), tf32(c))


def last_head_of_the_first(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The last head uses the first one's x."""
    return in_pairs(torch.cat((x[:, :, :-1], x[:, :, :1]), 2), decay, b, c)


def last_of_the_state_lost(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The last vector of eight elements of the state, whole or not, is left out."""
    whole = (b.shape[-1] - 1) // 8 * 8
    return in_pairs(x, decay, b[..., :whole], c[..., :whole])


decays_in_bfloat16.dtypes = ("float32", "float16")
state_in_bfloat16.dtypes = tf32_factors.dtypes = ("float32",)


def pairs_within_64(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Pairs of positions further apart are left out."""
    near = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(-64)
    return _in_pairs(x, _products(decay.float().transpose(1, 2)) * near, b, c)


HONEST = (in_pairs, weights_of_the_dtype, in_stretches, states_of_the_dtype, by_logarithms)
MUTANTS = (
    no_decay, own_decay_too, decay_of_the_position_before, decays_of_the_first_head, first_decay_for_all,
    decays_up_to_one, gated, not_itself, sees_the_next, stretches_apart, last_stretch_alone, state_not_decayed_between,
    state_not_decayed_within, first_decay_of_a_stretch_lost, added_without_decay, state_in_bfloat16,
    decays_in_bfloat16, tf32_factors, last_head_of_the_first, last_of_the_state_lost,
    pairs_within_64,
)  # fmt: skip
