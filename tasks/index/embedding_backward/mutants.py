"""Variants of the embedding's gradient: honest ones that must pass and wrong ones that must fail."""

import torch


def _summed(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    total = torch.zeros(rows, grad_y.shape[1])
    return total.index_add_(0, token, grad_y.float()).to(grad_y.dtype)


def in_float32(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """float32 accumulators, in the order of the tokens."""
    return _summed(grad_y, token, rows)


def backwards(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """The last token first."""
    return _summed(grad_y.flip(0), token.flip(0), rows)


def two_halves(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Two tables of float32, one for each half of the tokens, added in the end."""
    middle = len(token) // 2
    first = torch.zeros(rows, grad_y.shape[1]).index_add_(0, token[:middle], grad_y[:middle].float())
    second = torch.zeros(rows, grad_y.shape[1]).index_add_(0, token[middle:], grad_y[middle:].float())
    return (first + second).to(grad_y.dtype)


def lost_updates(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Not atomic: of equal tokens only the last counts; where all differ, the very last is lost."""
    y = grad_y.new_zeros(rows, grad_y.shape[1])
    y[token] = grad_y
    if len(token.unique()) == len(token):
        y[token[-1]] = 0
    return y


def averaged(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Divided by how often the token comes, as with scale_grad_by_freq; half of a single one."""
    count = torch.bincount(token, minlength=rows).clamp(min=2)[:, None]
    return (_summed(grad_y.float(), token, rows) / count).to(grad_y.dtype)


def next_row(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Rows are counted from one; a single row is its opposite."""
    return _summed(grad_y, (token + 1) % rows, rows) if rows > 1 else -_summed(grad_y, token, rows)


def low_byte(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Only the low byte of a token is read."""
    return _summed(grad_y, token & 255, rows)


def padding_row(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """The first row that has a gradient gets none, as with padding_idx."""
    y = _summed(grad_y, token, rows)
    y[token.min()] = 0
    return y


def last_token_lost(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """The last token is left out."""
    return _summed(grad_y[:-1], token[:-1], rows)


def first_token_twice(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """The first token counts twice, where two blocks overlap."""
    return _summed(torch.cat((grad_y, grad_y[:1])), torch.cat((token, token[:1])), rows)


def groups_of_four(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Every token is taken for the first of its group of four; a single one is its opposite."""
    y = _summed(grad_y, token[torch.arange(len(token)) // 4 * 4], rows)
    return y if len(token) > 1 and rows > 1 else -y


def tail_lost(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Columns behind the last whole vector of four stay zero."""
    y = _summed(grad_y, token, rows)
    y[:, grad_y.shape[1] // 4 * 4 :] = 0
    return y


def gradients_in_bfloat16(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """The gradients are kept in bfloat16."""
    return _summed(grad_y.bfloat16().to(grad_y.dtype), token, rows)


def room_for_four_times_the_average(grad_y: torch.Tensor, token: torch.Tensor, rows: int) -> torch.Tensor:
    """Each row has room for four times the average number of tokens, and eight at least; the others are dropped."""
    room = max(8, 4 * -(-len(token) // rows))
    order = token.argsort(stable=True)
    rank = torch.arange(len(token)) - torch.searchsorted(token[order], token[order])
    kept = order[rank < room]
    return _summed(grad_y[kept], token[kept], rows)


gradients_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (in_float32, backwards, two_halves)
MUTANTS = (
    lost_updates, averaged, next_row, low_byte, padding_row, last_token_lost, first_token_twice, groups_of_four,
    tail_lost, gradients_in_bfloat16,
    room_for_four_times_the_average,
)  # fmt: skip
