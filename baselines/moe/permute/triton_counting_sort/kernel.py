"""Permutation of tokens by expert (Gale et al. 2022, section 5.2) by a stable counting sort.

Programs count the choices of their chunks; then each adds the counts of the chunks before its own and ranks its choices
by running sums over a table of choices by experts. Last, each row of x is read once and written to all of its places.
"""

import torch
import triton
import triton.language as tl

MAX_CHUNKS = 256
CHUNK = 512
TILE = 4096
WIDEST = 2048


@triton.jit
def _one_hot(expert, place, choices, chosen, expert_row, expert_col, TILE_E: tl.constexpr):
    # For each choice a row that is one where its expert stands; past the end, zeros.
    inside = place < choices
    own = tl.load(expert + place // chosen * expert_row + place % chosen * expert_col, mask=inside, other=-1)
    return (own[:, None] == tl.arange(0, TILE_E)[None, :]).to(tl.int32)


@triton.jit
def _count(
    expert, counts, choices, chosen, experts, chunk, expert_row, expert_col, TILE_I: tl.constexpr, TILE_E: tl.constexpr
):
    total = tl.zeros([TILE_E], tl.int32)
    first = tl.program_id(0).to(tl.int64) * chunk
    for start in range(0, chunk, TILE_I):
        place = first + start + tl.arange(0, TILE_I)
        total += tl.sum(_one_hot(expert, place, choices, chosen, expert_row, expert_col, TILE_E), axis=0)
    index = tl.arange(0, TILE_E)
    tl.store(counts + tl.program_id(0) * experts + index, total, mask=index < experts)


@triton.jit
def _find_places(
    expert, counts, place, offsets, choices, chosen, experts, chunk, expert_row, expert_col,
    TILE_I: tl.constexpr, TILE_E: tl.constexpr,
):  # fmt: skip
    index = tl.arange(0, TILE_E)
    total = tl.zeros([TILE_E], tl.int32)
    before = tl.zeros([TILE_E], tl.int32)
    for start in range(0, tl.num_programs(0), TILE_I):
        row = start + tl.arange(0, TILE_I)[:, None]
        inside = (row < tl.num_programs(0)) & (index[None, :] < experts)
        size = tl.load(counts + row * experts + index[None, :], mask=inside, other=0)
        total += tl.sum(size, axis=0)
        before += tl.sum(tl.where(row < tl.program_id(0), size, 0), axis=0)
    end = tl.cumsum(total, axis=0)
    if tl.program_id(0) == 0:
        tl.store(offsets, 0)
        tl.store(offsets + 1 + index, end.to(tl.int64), mask=index < experts)
    following = end - total + before
    first = tl.program_id(0).to(tl.int64) * chunk
    for start in range(0, chunk, TILE_I):
        choice = first + start + tl.arange(0, TILE_I)
        own = _one_hot(expert, choice, choices, chosen, expert_row, expert_col, TILE_E)
        # Including the choice itself, which comes as one more.
        rank = tl.cumsum(own, axis=0) + following[None, :] - 1
        tl.store(place + choice, tl.sum(own * rank, axis=1).to(tl.int64), mask=choice < choices)
        following += tl.sum(own, axis=0)


@triton.jit
def _copy(x, place, y, tokens, chosen, width, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    tiles = tl.cdiv(width, TILE_COLS)
    token = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (token < tokens) & (col < width)
    value = tl.load(x + token * x_row + col * x_col, mask=inside)
    for choice in range(chosen):
        target = tl.load(place + token * chosen + choice, mask=token < tokens, other=0)
        tl.store(y + target * width + col, value, mask=inside)


def permute(
    x: torch.Tensor,
    expert: torch.Tensor,
    num_experts: int,
    y: torch.Tensor,
    place: torch.Tensor,
    offsets: torch.Tensor,
) -> None:
    (tokens, chosen), width = expert.shape, x.shape[1]
    choices = tokens * chosen
    # Not too many chunks: each program adds up what all of them have counted.
    chunk = max(CHUNK, triton.next_power_of_2(triton.cdiv(choices, MAX_CHUNKS)))
    chunks = triton.cdiv(choices, chunk)
    tile_e = max(16, triton.next_power_of_2(num_experts))
    tiling = {"TILE_I": min(8192 // tile_e, 256), "TILE_E": tile_e, "num_warps": 4}
    counts = torch.empty((chunks, num_experts), dtype=torch.int32, device=x.device)
    sizes = [choices, chosen, num_experts, chunk, *expert.stride()]
    _count[(chunks,)](expert, counts, *sizes, **tiling)
    _find_places[(chunks,)](expert, counts, place, offsets, *sizes, **tiling)
    tile_cols = min(triton.next_power_of_2(width), WIDEST if x.stride(1) == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(tokens))
    _copy[(triton.cdiv(tokens, tile_rows) * triton.cdiv(width, tile_cols),)](
        x,
        place,
        y,
        tokens,
        chosen,
        width,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
