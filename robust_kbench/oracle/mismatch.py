"""Explain a wrong output in words: the worst element, the number of wrong ones, and the pattern they form."""

from __future__ import annotations

import torch

from robust_kbench.oracle.judgement import Judgement


def explain(
    name: str, answer: torch.Tensor, exact: torch.Tensor | None, wrong: torch.Tensor, judgement: Judgement
) -> str:
    """Describe an output that `judgement` refused in one or two sentences; `wrong` marks its wrong elements.

    `exact` is None where there is no single right answer, as for a random op.
    """
    count = int(wrong.sum())
    if count == 0:
        return f"{name}: {judgement.demand}; every element is near, so the error is spread over many"
    worst = _worst_index(answer, exact, wrong)
    got, expected = _show(answer[worst], answer[worst] if exact is None else exact[worst])
    if _is_poison(answer[worst]):
        got += " (never written)"
    place = f"{name}[{', '.join(map(str, worst))}]" if worst else name
    share = f"{count:,} of {wrong.numel():,} wrong, {pattern(wrong)}"
    due = "" if exact is None else f", expected {expected}"
    return f"{place}: got {got}{due}; {share}; {judgement.demand}"


def pattern(wrong: torch.Tensor) -> str:
    """Describe where the wrong elements lie: everything, most of it, some rows, the last columns, or scattered."""
    if bool(wrong.all()):
        return "everything"
    if int(wrong.sum()) * 2 > wrong.numel():
        return "most of it"
    grid = wrong.reshape(-1, wrong.shape[-1]) if wrong.dim() else wrong.reshape(1, 1)
    rows, columns = grid.any(1).nonzero()[:, 0], grid.any(0).nonzero()[:, 0]
    if grid.shape[0] > 1 and bool(grid[rows].all()):
        return f"all of {_range('row', rows, grid.shape[0])}"
    if grid.shape[1] > 1 and bool(grid[:, columns].all()):
        return f"all of {_range('column', columns, grid.shape[1])}"
    if len(columns) < grid.shape[1]:
        return f"all in {_range('column', columns, grid.shape[1])}"
    if len(rows) < grid.shape[0]:
        return f"all in {_range('row', rows, grid.shape[0])}"
    return "scattered"


def _range(what: str, indices: torch.Tensor, size: int) -> str:
    first, last = int(indices[0]), int(indices[-1])
    if len(indices) == 1:
        return f"the last {what}" if first == size - 1 and size > 1 else f"{what} {first}"
    contiguous = last - first + 1 == len(indices)
    if contiguous and last == size - 1 and first > 0:
        return f"the last {len(indices)} {what}s"
    return f"{what}s {first} to {last}" if contiguous else f"{len(indices)} {what}s between {first} and {last}"


def _worst_index(answer: torch.Tensor, exact: torch.Tensor | None, wrong: torch.Tensor) -> tuple[int, ...]:
    distance = torch.ones(wrong.shape) if exact is None else (answer.double() - exact.double()).abs()
    flat = int(torch.where(wrong, distance.nan_to_num(nan=torch.inf), -1.0).reshape(-1).argmax())
    return tuple(int(index) for index in torch.unravel_index(torch.tensor(flat), answer.shape)) if answer.dim() else ()


def _show(got: torch.Tensor, expected: torch.Tensor) -> tuple[str, str]:
    """Format both numbers with as many digits as it takes to tell them apart."""
    if not got.dtype.is_floating_point:
        return str(int(got)), str(int(expected))
    for digits in (6, 9, 17):
        shown = f"{got.item():.{digits}g}", f"{expected.item():.{digits}g}"
        if shown[0] != shown[1]:
            break
    return shown


def _is_poison(value: torch.Tensor) -> bool:
    """Tell if the element still has the bits that outputs are filled with before a call."""
    return bool((value.reshape(1).contiguous().view(torch.uint8) == 0xFF).all())
