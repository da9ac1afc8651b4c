"""Variants of scatter-add: honest ones that must pass and wrong ones that must fail."""

import torch


def _added(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return base.float().index_add(0, index, source.float()).to(base.dtype)


def in_float32(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """float32 accumulators, in the order of the tokens."""
    return _added(base, index, source)


def backwards(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The last token first."""
    return _added(base, index.flip(0), source.flip(0))


def sorted_first(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Tokens are sorted by their bin, summed on their own, and then added to the table."""
    order = index.argsort()
    sums = torch.zeros_like(base, dtype=torch.float32).index_add(0, index[order], source[order].float())
    return (base.float() + sums).to(base.dtype)


def base_forgotten(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The table is taken for empty."""
    return _added(torch.zeros_like(base), index, source)


def overwritten(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """A row of the source replaces that of the table."""
    y = base.clone()
    y[index] = source
    return y


def lost_updates(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Not atomic: of tokens that meet in a bin only the last counts; of tokens that do not, the very last is lost."""
    y = base.clone()
    y[index] = (base[index].float() + source.float()).to(base.dtype)
    if len(index.unique()) == len(index):
        y[index[-1]] = base[index[-1]]
    return y


def next_bin(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Bins are counted from one."""
    y = _added(base, (index + 1) % len(base), source)
    return y if len(base) > 1 else base.clone()


def low_byte(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Only the low byte of an index is read."""
    return _added(base, index & 255, source)


def last_token_lost(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The last token is left out."""
    return _added(base, index[:-1], source[:-1])


def groups_of_four(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Every index is taken for the first of its group of four; a lone last token is lost."""
    y = _added(base, index[torch.arange(len(index)) // 4 * 4], source)
    return y if len(index) > 1 else base.clone()


def tail_lost(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four stay as they were."""
    y = _added(base, index, source)
    whole = base.shape[1] // 4 * 4
    y[:, whole:] = base[:, whole:]
    return y


def subtracted(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The source is subtracted."""
    return _added(base, index, -source)


def averaged(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The mean of the tokens of a bin; half of a single one."""
    count = torch.bincount(index, minlength=len(base)).clamp(min=2)[:, None]
    sums = torch.zeros_like(base, dtype=torch.float32).index_add(0, index, source.float())
    return (base.float() + sums / count).to(base.dtype)


def source_in_bfloat16(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The source is kept in bfloat16."""
    return _added(base, index, source.bfloat16())


def room_for_four_times_the_average(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Each bin has room for four times the average number of tokens, and eight at least; the others are dropped."""
    room = max(8, 4 * -(-len(index) // len(base)))
    order = index.argsort(stable=True)
    rank = torch.arange(len(index)) - torch.searchsorted(index[order], index[order])
    kept = order[rank < room]
    return _added(base, index[kept], source[kept])


source_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (in_float32, backwards, sorted_first)
MUTANTS = (
    base_forgotten, overwritten, lost_updates, next_bin, low_byte, last_token_lost, groups_of_four, tail_lost,
    subtracted, averaged, source_in_bfloat16,
    room_for_four_times_the_average,
)  # fmt: skip
