"""Variants of causal linear attention: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32

STRETCH = 16


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _stretches(x: torch.Tensor, size: int = STRETCH) -> torch.Tensor:
    """[batch, heads, stretches, size, head_dim] in float32, the last one filled up with zeros."""
    return torch.nn.functional.pad(x.float(), (0, 0, 0, -x.shape[-2] % size)).unflatten(-2, (-1, size))


def _joined(stretches: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Back to the shape and dtype of `q`, scaled."""
    return (stretches.flatten(-3, -2)[..., : q.shape[-2], :] * q.shape[-1] ** -0.5).to(q.dtype)


def _within(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int = STRETCH) -> torch.Tensor:
    """What each stretch makes of its own keys, not scaled."""
    scores = _stretches(q, size) @ _stretches(k, size).transpose(-2, -1)
    return scores.tril() @ _stretches(v, size)


def _sums(k: torch.Tensor, v: torch.Tensor, size: int = STRETCH) -> torch.Tensor:
    """The sum of k v^T over each stretch."""
    return _stretches(k, size).transpose(-2, -1) @ _stretches(v, size)


def _before(sums: torch.Tensor) -> torch.Tensor:
    """For each stretch, that of the one before it; zero for the first."""
    return torch.nn.functional.pad(sums[..., :-1, :, :], (0, 0, 0, 0, 1, 0))


def in_pairs(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All pairs in float32."""
    return (_scores(q, k).tril() @ v.float()).to(v.dtype)


def weights_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All pairs; the products of queries and keys are rounded to the inputs' dtype before they meet the values."""
    return (_scores(q, k).tril().to(q.dtype).float() @ v.float()).to(v.dtype)


def running_sum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum of k v^T up to each position, in float32."""
    sums = (k.float().unsqueeze(-1) * v.float().unsqueeze(-2)).cumsum(-3)
    y = (q.float() * q.shape[-1] ** -0.5).unsqueeze(-2) @ sums
    return y.squeeze(-2).to(v.dtype)


def in_stretches(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Stretches of 16: pairs within one, a running sum between them."""
    before = _before(_sums(k, v).cumsum(-3))
    return _joined(_within(q, k, v) + _stretches(q) @ before, q)


def sums_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Stretches of 64; a kernel of its own makes the running sums in float32 and stores them in the inputs' dtype."""
    before = _before(_sums(k, v, 64).cumsum(-3)).to(q.dtype).float()
    return _joined(_within(q, k, v, 64) + _stretches(q, 64) @ before, q)


def not_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position meets all keys."""
    return (_scores(q, k) @ v.float()).to(v.dtype)


def not_itself(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running sum is read before the position's own product is added."""
    return (_scores(q, k).tril(-1) @ v.float()).to(v.dtype)


def sees_the_next(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position meets the next one too."""
    return (_scores(q, k).tril(1) @ v.float()).to(v.dtype)


def backwards(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position meets itself and later ones."""
    return (_scores(q, k).triu() @ v.float()).to(v.dtype)


def softmax(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights are those of ordinary attention."""
    scores = _scores(q, k)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return (torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v.float()).to(v.dtype)


def positive_features(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Queries and keys pass through elu(x) + 1."""
    elu = torch.nn.functional.elu
    return (_scores(elu(q.float()) + 1, elu(k.float()) + 1).tril() @ v.float()).to(v.dtype)


def averaged(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum is divided by the number of positions."""
    count = torch.arange(1, q.shape[-2] + 1, device=q.device).float().unsqueeze(-1)
    return (_scores(q, k).tril() @ v.float() / count).to(v.dtype)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Nothing is divided by the root of head_dim."""
    return (_scores(q, k).tril() @ v.float() * q.shape[-1] ** 0.5).to(v.dtype)


def scaled_within_alone(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """What comes from earlier stretches of 16 is not scaled."""
    before = _before(_sums(k, v).cumsum(-3)) * q.shape[-1] ** 0.5
    return _joined(_within(q, k, v) + _stretches(q) @ before, q)


def stretches_apart(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Each stretch of 16 begins at zero."""
    return _joined(_within(q, k, v), q)


def sum_of_the_last_stretch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Only the sum of the stretch before is handed on, not those of earlier ones."""
    return _joined(_within(q, k, v) + _stretches(q) @ _before(_sums(k, v)), q)


def own_stretch_twice(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """A stretch reads the running sum when its own has been added already."""
    return _joined(_within(q, k, v) + _stretches(q) @ _sums(k, v).cumsum(-3), q)


def stretches_not_masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Within a stretch of 16 every position meets all keys."""
    return _joined(_stretches(q) @ _sums(k, v).cumsum(-3), q)


def sum_transposed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running sum is read as v k^T."""
    before = _before(_sums(k, v).cumsum(-3)).transpose(-2, -1)
    return _joined(_within(q, k, v) + _stretches(q) @ before, q)


def sum_in_bfloat16(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running sum is kept in bfloat16."""
    total, before = torch.zeros_like(_sums(k, v)[..., 0, :, :]).bfloat16(), []
    for part in _sums(k, v).unbind(-3):
        before.append(total.float())
        total = (total.float() + part).bfloat16()
    return _joined(_within(q, k, v) + _stretches(q) @ torch.stack(before, -3), q)


def sums_run_across_heads(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running sum is not set back to zero where a head ends."""
    sums = _sums(k, v)
    total = sums.flatten(1, 2).cumsum(1).unflatten(1, sums.shape[1:3])
    return _joined(_within(q, k, v) + _stretches(q) @ (total - sums), q)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _scores(tf32(q), tf32(k)).tril() @ tf32(v)


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in bfloat16, a few keys at a time."""
    return multiplied(_scores(q, k).tril(), v, torch.bfloat16, step=max(4, q.shape[-2] // 64)).to(v.dtype)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last head uses the keys of the first."""
    return (_scores(q, torch.cat((k[:, :-1], k[:, :1]), 1)).tril() @ v.float()).to(v.dtype)


sum_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (in_pairs, weights_of_the_dtype, running_sum, in_stretches, sums_of_the_dtype)
MUTANTS = (
    not_causal, not_itself, sees_the_next, backwards, softmax, positive_features, averaged, no_scale,
    scaled_within_alone, stretches_apart, sum_of_the_last_stretch, own_stretch_twice, stretches_not_masked,
    sum_transposed, sum_in_bfloat16, sums_run_across_heads, tf32_once, half_accumulator, last_head_of_the_first,
)  # fmt: skip
