"""Load-balancing loss of a mixture of experts (Fedus et al. 2021, eq. 4).

A bounded number of programs takes tiles of tokens in turn, keeps sums of their softmax in registers and counts their
choices; further kernels add the shares of all programs in order.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
MAX_PROGRAMS = 512
GROUP = 32


@triton.jit
def _share(
    logits, expert, sums, counts, tokens, experts, chosen, logits_row, logits_col, expert_row, expert_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr, TILE_CHOICES: tl.constexpr,
):  # fmt: skip
    col = tl.arange(0, TILE_COLS)
    total = tl.zeros([TILE_COLS], tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(tokens, TILE_ROWS), tl.num_programs(0)):
        row = tile * TILE_ROWS + tl.arange(0, TILE_ROWS).to(tl.int64)[:, None]
        # Rows past the end repeat the last one; a row of padding only would compute inf - inf.
        source = tl.minimum(row, tokens - 1) * logits_row
        value = tl.load(logits + source + col.to(tl.int64) * logits_col, mask=col < experts, other=-float("inf"))
        value = value.to(tl.float32)
        power = tl.exp(value - tl.max(value, axis=1, keep_dims=True))
        share = power / tl.sum(power, axis=1, keep_dims=True)
        total += tl.sum(tl.where(row < tokens, share, 0.0), axis=0)

    count = tl.zeros([TILE_COLS], tl.int32)
    choices = tokens * chosen  # fits in 32 bits, unlike the number of elements
    for tile in range(tl.program_id(0), tl.cdiv(choices, TILE_CHOICES), tl.num_programs(0)):
        choice = tile * TILE_CHOICES + tl.arange(0, TILE_CHOICES)
        inside = choice < choices
        place = (choice // chosen).to(tl.int64) * expert_row + (choice % chosen).to(tl.int64) * expert_col
        count += tl.histogram(tl.load(expert + place, mask=inside, other=0).to(tl.int32), TILE_COLS, mask=inside)

    own = tl.program_id(0) * experts + col
    tl.store(sums + own, total, mask=col < experts)
    tl.store(counts + own, count, mask=col < experts)


@triton.jit
def _add_shares(
    sums, counts, probability, load, group_loss, tokens, experts, shares,
    GROUP: tl.constexpr, TILE_SHARES: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    share = tl.arange(0, TILE_SHARES)[:, None]
    inside = (share < shares) & (own < experts)[None, :]
    mean = tl.sum(tl.load(sums + share * experts + own[None, :], mask=inside, other=0.0), axis=0) / tokens
    count = tl.sum(tl.load(counts + share * experts + own[None, :], mask=inside, other=0), axis=0)
    tl.store(probability + own, mean.to(probability.dtype.element_ty), mask=own < experts)
    tl.store(load + own, count.to(tl.int64), mask=own < experts)
    tl.store(group_loss + tl.program_id(0), tl.sum(mean * count.to(tl.float32)))


@triton.jit
def _add_groups(group_loss, loss, groups, factor, TILE_GROUPS: tl.constexpr):
    group = tl.arange(0, TILE_GROUPS)
    total = tl.sum(tl.load(group_loss + group, mask=group < groups, other=0.0))
    tl.store(loss, (total * factor).to(loss.dtype.element_ty))


def load_balance_loss(
    logits: torch.Tensor, expert: torch.Tensor, loss: torch.Tensor, probability: torch.Tensor, load: torch.Tensor
) -> None:
    (tokens, experts), chosen = logits.shape, expert.shape[1]
    tile_cols = max(16, triton.next_power_of_2(experts))
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(tokens))
    programs = min(triton.cdiv(tokens, tile_rows), MAX_PROGRAMS)
    groups = triton.cdiv(experts, GROUP)
    sums = torch.empty((programs, experts), dtype=torch.float32, device=logits.device)
    counts = torch.empty((programs, experts), dtype=torch.int32, device=logits.device)
    group_loss = torch.empty(groups, dtype=torch.float32, device=logits.device)
    _share[(programs,)](
        logits,
        expert,
        sums,
        counts,
        tokens,
        experts,
        chosen,
        *logits.stride(),
        *expert.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        TILE_CHOICES=512,
        num_warps=8,
    )
    tile_shares = triton.next_power_of_2(programs)
    _add_shares[(groups,)](
        sums, counts, probability, load, group_loss, tokens, experts, programs,
        GROUP=GROUP, TILE_SHARES=tile_shares, num_warps=8,
    )  # fmt: skip
    factor = experts / (tokens * chosen)
    _add_groups[(1,)](group_loss, loss, groups, factor, TILE_GROUPS=triton.next_power_of_2(groups), num_warps=1)
