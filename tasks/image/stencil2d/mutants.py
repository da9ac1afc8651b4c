"""Variants of the five-point stencil: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _neighbours(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Above, below, to the left and to the right of each inner point."""
    return x[:, :-2, 1:-1], x[:, 2:, 1:-1], x[:, 1:-1, :-2], x[:, 1:-1, 2:]


def _inner(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The new values of inner points, in float32."""
    wide = x.float()
    up, down, left, right = _neighbours(wide)
    centre = wide[:, 1:-1, 1:-1]
    return centre + rate * (up + down + left + right - 4 * centre)


def _framed(inner: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Within the border of `x`."""
    y = x.contiguous().clone()
    y[:, 1:-1, 1:-1] = inner.to(x.dtype)
    return y


def in_float32(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Everything in float32, the neighbours one after the other."""
    return _framed(_inner(x, rate), x)


def weighted_centre(x: torch.Tensor, rate: float) -> torch.Tensor:
    """As (1 - 4 rate) x + rate * neighbours, their columns and rows added apart."""
    wide = x.float()
    up, down, left, right = _neighbours(wide)
    return _framed((1 - 4 * rate) * wide[:, 1:-1, 1:-1] + rate * ((left + right) + (up + down)), x)


def by_differences(x: torch.Tensor, rate: float) -> torch.Tensor:
    """By the flow from each neighbour."""
    centre = x.float()[:, 1:-1, 1:-1]
    up, down, left, right = (neighbour - centre for neighbour in _neighbours(x.float()))
    return _framed(centre + rate * ((down + up) + (right + left)), x)


def fused(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Every neighbour is multiplied and added at once, from the last to the first, without rounding the product."""
    single = float(torch.tensor(rate, dtype=torch.float32))
    total = ((1 - 4 * rate) * x.float()[:, 1:-1, 1:-1]).double()
    for neighbour in reversed(_neighbours(x.double())):
        total = (total + single * neighbour).float().double()
    return _framed(total, x)


def in_place(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Rows above are already new, as in Gauss and Seidel's method; of a single inner row, the left neighbours."""
    wide = x.float()
    up, down, left, right = _neighbours(wide)
    centre, inner = wide[:, 1:-1, 1:-1], _inner(x, rate)
    if inner.shape[1] > 1:
        up = torch.cat((up[:, :1], inner[:, :-1]), 1)
    else:
        left = torch.cat((left[..., :1], inner[..., :-1]), 2)
    return _framed(centre + rate * (up + down + left + right - 4 * centre), x)


def border_of_zeros(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The border becomes zero."""
    y = torch.zeros_like(x, memory_format=torch.contiguous_format)
    y[:, 1:-1, 1:-1] = _inner(x, rate).to(x.dtype)
    return y


def border_updated(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The border is updated, too, with zeros around it."""
    return _inner(torch.nn.functional.pad(x.float(), (1, 1, 1, 1)), rate).to(x.dtype)


def insulated_border(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The border is updated, too, and nothing flows over it."""
    padded = torch.nn.functional.pad(x.float(), (1, 1, 1, 1), mode="replicate")
    return _inner(padded, rate).to(x.dtype)


def around_the_edges(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Periodic: what leaves on one side comes in on the other."""
    wide = x.float()
    total = wide.roll(1, 1) + wide.roll(-1, 1) + wide.roll(1, 2) + wide.roll(-1, 2)
    return (wide + rate * (total - 4 * wide)).to(x.dtype)


def diagonal_neighbours(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The four corners in place of the four sides."""
    wide = x.float()
    corners = wide[:, :-2, :-2] + wide[:, :-2, 2:] + wide[:, 2:, :-2] + wide[:, 2:, 2:]
    centre = wide[:, 1:-1, 1:-1]
    return _framed(centre + rate * (corners - 4 * centre), x)


def nine_points(x: torch.Tensor, rate: float) -> torch.Tensor:
    """All eight neighbours."""
    wide = x.float()
    corners = wide[:, :-2, :-2] + wide[:, :-2, 2:] + wide[:, 2:, :-2] + wide[:, 2:, 2:]
    return _framed(_inner(x, rate) + rate * (corners - 4 * wide[:, 1:-1, 1:-1]), x)


def left_for_right(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The left neighbour counts twice and the right one not."""
    _, _, left, right = _neighbours(x.float())
    return _framed(_inner(x, rate) + rate * (left - right), x)


def halo_of_the_tile(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Right neighbours in the next tile of 32 columns are read as zero; in a narrow grid, those of the last column."""
    _, _, _, right = _neighbours(x.float())
    missing = torch.zeros(right.shape[-1])
    missing[30 if len(missing) > 30 else -1 :: 32] = 1
    return _framed(_inner(x, rate) - rate * right * missing, x)


def three_neighbours(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The centre is subtracted three times."""
    return _framed(_inner(x, rate) + rate * x.float()[:, 1:-1, 1:-1], x)


def sharpened(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The wrong sign: heat flows to where it is hot."""
    return _framed(_inner(x, -rate), x)


def two_steps(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Two steps in place of one."""
    return in_float32(in_float32(x, rate), rate)


def usual_rate(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The rate is a tenth, whatever was asked for."""
    return in_float32(x, 0.1)


def last_inner_row_kept(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The last row inside is taken for border."""
    y = in_float32(x, rate)
    y[:, -2:] = x[:, -2:]
    return y


def tail_kept(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Inner columns behind the last whole vector of four keep their values."""
    y = in_float32(x, rate)
    whole = x.shape[2] // 4 * 4
    y[..., whole:] = x[..., whole:]
    return y


def neighbouring_grid(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The row below comes from the next grid; of a single one, upside down."""
    other = x.roll(-1, 0) if len(x) > 1 else x.flip(1)
    change = _neighbours(other.float())[1] - _neighbours(x.float())[1]
    return _framed(_inner(x, rate) + rate * change, x)


def sums_in_bfloat16(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The sum of the neighbours is kept in bfloat16."""
    total = torch.stack(_neighbours(x.float())).sum(0)
    return _framed(_inner(x, rate) + rate * (total.bfloat16().float() - total), x)


def rate_in_bfloat16(x: torch.Tensor, rate: float) -> torch.Tensor:
    """The rate is rounded to bfloat16."""
    return in_float32(x, float(torch.tensor(rate).bfloat16()))


def tf32_grid(x: torch.Tensor, rate: float) -> torch.Tensor:
    """float32: the grid passes through a TF32 unit, as when the stencil is a convolution."""
    return _framed(_inner(tf32(x), rate), x)


sums_in_bfloat16.dtypes = ("float32", "float16")
rate_in_bfloat16.dtypes = tf32_grid.dtypes = ("float32",)

HONEST = (in_float32, weighted_centre, by_differences, fused)
MUTANTS = (
    in_place, border_of_zeros, border_updated, insulated_border, around_the_edges, diagonal_neighbours, nine_points,
    left_for_right, halo_of_the_tile, three_neighbours, sharpened, two_steps, usual_rate, last_inner_row_kept,
    tail_kept, neighbouring_grid, sums_in_bfloat16, rate_in_bfloat16, tf32_grid,
)  # fmt: skip
