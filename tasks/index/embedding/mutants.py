"""Variants of the embedding: honest ones that must pass and wrong ones that must fail."""

import torch


def by_rows(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """One row of the table after the other is copied."""
    y = weight.new_empty(len(token), weight.shape[1])
    for row, index in enumerate(token.tolist()):
        y[row] = weight[index]
    return y


def by_flat_gather(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Each element computes its own place in the flat table."""
    place = token[:, None] * weight.shape[1] + torch.arange(weight.shape[1])
    return weight.reshape(-1)[place]


def sorted_first(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Tokens are sorted, so that a row of the table is read once, and the results put back in order."""
    order = token.argsort()
    y = weight.new_empty(len(token), weight.shape[1])
    y[order] = weight.index_select(0, token[order])
    return y


def next_row(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Rows are counted from one."""
    return weight[(token + 1) % len(weight)]


def last_row_unreachable(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Tokens are kept below the last row of the table."""
    return weight[token.clamp(max=max(0, len(weight) - 2))]


def low_byte(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a token is read."""
    return weight[token & 255]


def words_of_the_wrong_size(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Tokens are read as 32-bit words, every second of which is zero."""
    words = token.contiguous().view(torch.int32)[: len(token)]
    return weight[words.long()]


def padding_row(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Token 0 gives zeros, as with padding_idx=0."""
    return torch.where(token[:, None] == 0, torch.zeros_like(weight[:1]), weight[token])


def scaled(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The rows are scaled by the root of the width, as in a transformer."""
    return (weight[token].float() * weight.shape[1] ** 0.5).to(weight.dtype)


def tail_lost(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole vector of four stay zero."""
    y = weight[token]
    y[:, weight.shape[1] // 4 * 4 :] = 0
    return y


def last_token_repeated(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last token is taken for the one before it."""
    return weight[torch.cat((token[:-1], token[-2:-1])) if len(token) > 1 else token * 0]


def transposed_table(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The table is read column by column."""
    return weight.T.reshape(weight.shape)[token]


def half_table(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The table is kept in bfloat16."""
    return weight.bfloat16()[token].to(weight.dtype)


def first_token_for_all(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Every token is taken for the first of its group of four."""
    return weight[token[torch.arange(len(token)) // 4 * 4]]


half_table.dtypes = ("float32", "float16")

HONEST = (by_rows, by_flat_gather, sorted_first)
MUTANTS = (
    next_row,
    last_row_unreachable,
    low_byte,
    words_of_the_wrong_size,
    padding_row,
    scaled,
    tail_lost,
    last_token_repeated,
    transposed_table,
    half_table,
    first_token_for_all,
)
