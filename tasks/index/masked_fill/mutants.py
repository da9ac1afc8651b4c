"""Variants of masked fill: honest ones that must pass and wrong ones that must fail."""

import torch


def in_float32(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Through float32, which holds all that is there."""
    return torch.where(mask.bool(), value, x.float()).to(x.dtype)


def by_places(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """A copy in which the marked places are overwritten."""
    y = x.clone()
    y[mask.nonzero(as_tuple=True)] = value
    return y


def by_rows_of_a_table(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """The mask chooses between two tensors."""
    both = torch.stack((x, torch.full_like(x, value)))
    return both.gather(0, mask.long().unsqueeze(0)).squeeze(0)


def other_way_round(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Fills what is not marked."""
    return torch.where(mask == 0, value, x)


def zero_for_the_value(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Multiplies by the mask's opposite."""
    return x * (1 - mask).to(x.dtype)


def added(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Adds the value where the mask is set."""
    return x + mask.to(x.dtype) * value


def usual_value(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Always -32768, as before a softmax."""
    return torch.where(mask != 0, -32768.0, x)


def whole_value(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """The value is taken for an integer."""
    return torch.where(mask != 0, float(int(value)), x)


def first_row_of_the_mask(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """The last row uses the first row's mask, a single row its own in reversed order."""
    moved = torch.cat((mask[:-1], mask[:1] if len(mask) > 1 else mask.flip(1)))
    return torch.where(moved != 0, value, x)


def mask_by_bits(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Every fourth byte of the mask decides about four elements."""
    wide = mask[:, ::4].repeat_interleave(4, 1)[:, : mask.shape[1]]
    return torch.where(wide != 0, value, x)


def tail_not_filled(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    y = torch.where(mask != 0, value, x)
    whole = x.shape[1] // 4 * 4
    y[:, whole:] = x[:, whole:]
    return y


def last_column_filled(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """The last column is filled whatever the mask says."""
    y = torch.where(mask != 0, value, x)
    y[:, -1] = value
    return y


def half_on_the_way(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """A buffer of bfloat16 lies on the way."""
    return torch.where(mask != 0, value, x.bfloat16().to(x.dtype))


def whole_rows_are_not_filled(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """A row that is masked from end to end is taken for one without a mask."""
    return torch.where((mask != 0) & ~(mask != 0).all(-1, keepdim=True), value, x.float()).to(x.dtype)


def empty_rows_are_zero(x: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Where no element at all is masked, nothing is written."""
    return torch.where(mask != 0, value, x.float() * bool((mask != 0).any())).to(x.dtype)


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (in_float32, by_places, by_rows_of_a_table)
MUTANTS = (
    other_way_round, zero_for_the_value, added, usual_value, whole_value, first_row_of_the_mask, mask_by_bits,
    tail_not_filled, last_column_filled, half_on_the_way,
    whole_rows_are_not_filled, empty_rows_are_zero,
)  # fmt: skip
