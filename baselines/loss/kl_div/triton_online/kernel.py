"""Mean Kullback-Leibler divergence of softmaxes (Kullback and Leibler 1951, eq. 2.4) in one pass over both tensors.

With the logits shifted by their maxima, t and s, and w = exp(t), a row's divergence is
sum(w (t - s)) / sum(w) - log(sum(w)) + log(sum(exp(s))). As in the online softmax of Milakov and Gimelshein (2018), the
three sums are brought up to date when a maximum rises: t falls by the rise, so that sum(w (t - s)) changes twice.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _row_losses(
    student, teacher, share, rows, classes, student_row, student_col, teacher_row, teacher_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    # Rows past the end repeat the last one; a row of padding only would compute inf - inf.
    source = tl.minimum(row, rows - 1)
    teachers = teacher + source * teacher_row
    students = student + source * student_row
    teacher_top = tl.load(teachers).to(tl.float32)
    student_top = tl.load(students).to(tl.float32)
    weights = tl.zeros([TILE_ROWS, 1], tl.float32)
    others = tl.zeros([TILE_ROWS, 1], tl.float32)
    apart = tl.zeros([TILE_ROWS, 1], tl.float32)
    for start in range(0, classes, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = col < classes
        t = tl.load(teachers + col * teacher_col, mask=inside, other=-float("inf")).to(tl.float32)
        s = tl.load(students + col * student_col, mask=inside, other=-float("inf")).to(tl.float32)
        teacher_high = tl.maximum(teacher_top, tl.max(t, axis=1, keep_dims=True))
        student_high = tl.maximum(student_top, tl.max(s, axis=1, keep_dims=True))
        teacher_rise = teacher_high - teacher_top
        student_rise = student_high - student_top
        shrink = tl.exp(-teacher_rise)
        t -= teacher_high
        s -= student_high
        weight = tl.exp(t)
        term = tl.where(inside, weight * (t - s), 0.0)
        apart = shrink * (apart + weights * (student_rise - teacher_rise)) + tl.sum(term, axis=1, keep_dims=True)
        weights = shrink * weights + tl.sum(weight, axis=1, keep_dims=True)
        others = tl.exp(-student_rise) * others + tl.sum(tl.exp(s), axis=1, keep_dims=True)
        teacher_top = teacher_high
        student_top = student_high
    loss = apart / weights - tl.log(weights) + tl.log(others)
    tl.store(share + tl.program_id(0), tl.sum(tl.where(row < rows, loss, 0.0)))


@triton.jit
def _mean(share, loss, shares, rows, TILE_SHARES: tl.constexpr):
    index = tl.arange(0, TILE_SHARES)
    total = tl.zeros([TILE_SHARES], tl.float32)
    for start in range(0, shares, TILE_SHARES):
        total += tl.load(share + start + index, mask=start + index < shares, other=0.0)
    tl.store(loss, (tl.sum(total) / rows).to(loss.dtype.element_ty))


def kl_div(student: torch.Tensor, teacher: torch.Tensor, loss: torch.Tensor) -> None:
    rows, classes = student.shape
    tile_cols = min(triton.next_power_of_2(classes), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    programs = triton.cdiv(rows, tile_rows)
    share = torch.empty(programs, dtype=torch.float32, device=loss.device)
    _row_losses[(programs,)](
        student,
        teacher,
        share,
        rows,
        classes,
        *student.stride(),
        *teacher.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
    _mean[(1,)](share, loss, programs, rows, TILE_SHARES=min(triton.next_power_of_2(programs), 1024))
