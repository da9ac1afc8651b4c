"""Inputs on which a kernel of the declared precision makes no error at all, or on which a common fault is glaring.

identity: one factor is an identity, so that the other comes back: shows rounded inputs. integers: every partial sum is
exact in whatever order, so that one missing term shows. stall: a large term, then ones that a half accumulator cannot
add to it, then its opposite. range: rows around a large and a small power of two, where internals of a smaller range
overflow or vanish; or slices at one end of the dtype, where a running maximum that begins with a low number is wrong.
blank: rows, channels or samples of zeros among usual ones, as padding leaves them. alike: slices along the first axis
are equal, but for one of usual values: a mean over some of them looks certain, and is wrong. apart: scores so far apart
that their exponentials overflow. magnitudes: rows or blocks from one end of the dtype to the other. ends: the first and
the last element are a third of a sum each, however long it is; the end of a long sum is else too little to miss.
masked: logits are -inf here and there, at the beginning or the end of a row, or in a stretch of it; or a whole row is
very low. A running maximum that begins with -inf makes NaN of a row whose first logit, or tile, is -inf. One that
begins with a low number makes NaN of a row that lies below it.
nonfinite: a NaN and infinities in a few places, which must not spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from robust_kbench.cases import apart, magnitudes
from robust_kbench.cases.contract import rounding
from robust_kbench.cases.draw import Draw
from robust_kbench.errors import SpecError
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Input, Precision, Probe, ProbeValues, Task, shape_of

VALUED: tuple[Probe, ...] = (
    "identity",
    "integers",
    "stall",
    "range",
    "blank",
    "alike",
    "apart",
    "magnitudes",
    "ends",
    "masked",
)
"""Probes whose values the task declares, input by input."""

_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_SCALED: tuple[ProbeValues, ...] = ("powers_of_two", "positive_powers", "squarable_powers")
_BLANK: Mapping[ProbeValues, int] = {"blank_rows": -2, "blank_channels": 1, "blank_samples": 0}
"""Axis along which slices are blanked; below zero: rows, which are one-dimensional slices along the last axis."""
_APART: Mapping[ProbeValues, Callable[[tuple[int, ...], torch.Generator], torch.Tensor]] = {
    "apart_queries": lambda shape, _: apart.queries(shape),
    "apart_keys": apart.keys,
    "apart_keys_by_position": apart.keys_by_position,
    "apart_codes": apart.key_codes,
    "apart_level_queries": lambda shape, _: apart.level_queries(shape),
    "apart_level_keys": apart.level_keys,
    "apart_positions": apart.positions,
    "apart_weight": apart.projection,
    "apart_bias": apart.projection_bias,
}
_BLANK_SHARE, _FIRST_SHARE = 1 / 3, 1 / 2
ALIKE = range(64, 129)
"""Numbers of slices that are alike. Fewer are not worth leaving out; errors of equal terms do not cancel in more."""
_LARGEST_USUAL = 5.25  # of a million normal values
_STRETCH = 32  # of columns that have one scale in microscaling formats
_SMALL = 2.0**-6  # squares and their sums stay finite in float16, and their mean is no subnormal number
_ROWS = 3  # one large, one small, one as usual
_MAGNITUDES = (8, 4, 2, 1)
_EXCUSED: Mapping[Precision, tuple[Probe, ...]] = {"any_halfacc": ("stall",), "fp8": ("identity", "stall", "range")}
"""Probes that a contract excuses. A half accumulator stalls; a tensor that is scaled to fit into E4M3 keeps neither
small rows nor exact values."""
_FLOAT32_EXACT = 2**24
_LARGEST_FLOAT16 = 65504
_STALL = {"float32": 2**20, "float64": 2**20, "float16": 2**12, "bfloat16": 2**12}
_EXPONENT = {"float32": 40, "float64": 40, "bfloat16": 40, "float16": 10}
"""Exponents of scaled rows. Squares, and products with another such row, stay finite in float32, but not in float16."""
_SQUARABLE = {"float16": 5}
"""Exponents for a norm, which PyTorch itself squares in the dtype. Squares of values times this stay below 65504."""
_FLOAT16_ROOM = 16.0 - 5.0  # binary orders from the largest float16 down to that of the largest product of two normals


def applies(task: Task, probe: Probe) -> bool:
    """Tell if a kernel that keeps the task's precision contract must pass `probe`."""
    return probe not in _EXCUSED.get(task.precision, ())


def longest(task: Task, probe: Probe, dtype: str) -> int:
    """Return the longest reduction on which every partial sum of `probe` is exact."""
    bound = _exact_below(task, dtype)
    if probe == "integers":
        return bound - 1
    return bound - 1 - _STALL[dtype] if probe == "stall" else 2**62


def length_of(task: Task, axes: Mapping[str, int]) -> int:
    """Return the longest reduction of any output."""
    lengths = [output.reduction for output in task.outputs.values() if output.reduction is not None]
    return max(1, *(arithmetic.evaluate(length, axes) for length in [task.reduction, *lengths]))


def is_telling(task: Task, probe: Probe, axes: Mapping[str, int]) -> bool:
    """Tell if the probe's values show all that they can. A scaled tensor needs a large, a small and a usual row."""
    if probe != "range":
        return True
    shapes = [shape_of(task.inputs[name], axes) for name, kind in task.probes[probe].items() if kind in _SCALED]
    return all(math.prod(shape[:-1]) >= _ROWS for shape in shapes if len(shape) > 1)


def make(task: Task, case: Case, name: str, shape: tuple[int, ...], draw: Draw) -> torch.Tensor | None:
    """Make the values of input `name` in a case of a probe, at least float32; None if it keeps its distribution's."""
    kind = task.probes.get(case.probe, {}).get(name) if case.probe in VALUED else None
    if kind is None:
        return None
    generator = torch.Generator().manual_seed(draw.bits())
    if kind == "alike":
        return _alike(task.inputs[name], case, shape, generator)
    length = length_of(task, case.axes)
    if kind == "integers" and (carried := _carried(task, case.axes)):
        return _walk(shape, carried, case.dtype, generator)
    return _values(kind, task, case.dtype, name, shape, length, generator)


def axis_of_alike(task: Task) -> str:
    """Return the axis along which slices are alike in the probe alike."""
    return next(str(task.inputs[name].shape[0]) for name, kind in task.probes["alike"].items() if kind == "alike")


def spoil(values: torch.Tensor, draw: Draw) -> torch.Tensor:
    """Copy `values` with a NaN and both infinities in random places, fewer of them if there is little else.

    The NaN has either sign: 0 / 0 is a negative one on x86, and keys that are made of bits order them apart.
    """
    spoilt = values.clone(memory_format=torch.contiguous_format)
    flat = spoilt.view(-1)
    kinds = draw.shuffled([math.nan, math.inf, -math.inf])
    for kind in kinds[: max(1, flat.numel() // 4)]:
        if flat.numel():
            flat[draw.below(flat.numel())] = kind
    if draw.below(2):
        words = flat.view(_WORDS[flat.itemsize])  # PyTorch drops the sign of a NaN that it converts to bfloat16
        words[flat.isnan()] |= torch.iinfo(words.dtype).min
    return spoilt


def spoilt_input(task: Task, case: Case) -> str | None:
    """Choose the input that gets NaN and infinities in a case of the probe nonfinite; None in other cases.

    There is only one such input, so that some results stay.
    """
    if case.probe != "nonfinite":
        return None
    return Draw(case.seed, "nonfinite").choice(spoilable(task))


def spoilable(task: Task) -> list[str]:
    """List the inputs that may hold NaN and infinities.

    By default they are activations and gradients, not parameters or single numbers.
    """
    if task.nonfinite == "none":
        return []
    if "nonfinite" in task.probes:
        return list(task.probes["nonfinite"])
    return [name for name, spec in task.inputs.items() if spec.shape and _flows(spec)]


def _values(
    kind: ProbeValues,
    task: Task,
    dtype: str,
    name: str,
    shape: tuple[int, ...],
    length: int,
    generator: torch.Generator,
) -> torch.Tensor:
    is_filter = task.inputs[name].role == "parameter" and len(shape) > 2
    match kind:
        case "normal":
            return torch.randn(shape, generator=generator)
        case "integers":
            largest = _magnitude(length, _exact_below(task, dtype))
            return torch.randint(-largest, largest + 1, shape, generator=generator).float()
        case "identity":
            if len(shape) < 2:
                raise SpecError(f"{task.name}: probes: {name} has {len(shape)} axes; identity needs two")
            return _dirac(shape) if is_filter else torch.eye(*shape[-2:]).expand(shape).contiguous()
        case "ones":
            return torch.ones(shape)
        case "zeros":
            return torch.zeros(shape)
        case "stall":
            return _stall(shape, _STALL[dtype], 1 if is_filter else len(shape) - 1)
        case "powers_of_two":
            return _scaled_rows(shape, _exponent(dtype, length), generator)
        case "positive_powers":
            return _scaled_rows(shape, _exponent(dtype, length, is_positive=True), generator).abs()
        case "squarable_powers":
            return _scaled_rows(shape, _SQUARABLE.get(dtype, _EXPONENT[dtype]), generator)
        case "blank_rows" | "blank_channels" | "blank_samples":
            return _blank(shape, _BLANK[kind], generator)
        case "ends":
            return _ends(shape, generator)
        case "masked_rows":
            return _masked(shape, dtype, generator)
        case "one_sided":
            return _one_sided(shape, dtype, generator)
        case "magnitude_rows":
            return magnitudes.rows(shape, dtype, generator)
        case "magnitude_blocks":
            return magnitudes.rows(shape, dtype, generator, _STRETCH)
        case _:
            return _APART[kind](shape, generator)


def _dirac(shape: tuple[int, ...]) -> torch.Tensor:
    """Make filters [out, in, window...] whose middle hands input channel i on to output channel i."""
    filters = torch.zeros(shape)
    middle = tuple(size // 2 for size in shape[2:])
    for channel in range(min(shape[:2])):
        filters[(channel, channel, *middle)] = 1.0
    return filters


def _stall(shape: tuple[int, ...], large: int, first_axis: int) -> torch.Tensor:
    """Make ones, but the first of each group of terms is `large` and, from three terms on, the last its opposite."""
    values = torch.ones(shape)
    groups = values.view(*shape[: max(first_axis, 0)], -1)
    if groups.numel():
        groups[..., 0] = large
        if groups.shape[-1] > 2:
            groups[..., -1] = -large
    return values


def _scaled_rows(shape: tuple[int, ...], exponent: int, generator: torch.Generator) -> torch.Tensor:
    """Draw normal values; one row is larger by 2**exponent and another one as much smaller. A single row is either.

    In these two no value is below a half of that, or luck would make a short row neither large nor small. Small ones
    are moved up and not cut off: equal terms round alike, and a plain loop over them loses more than its share.
    """
    values = torch.randn(shape, generator=generator)
    rows = values.view(-1, shape[-1]) if len(shape) > 1 else values.view(1, -1)
    if not values.numel():
        return values
    large, small = torch.randperm(max(2, len(rows)), generator=generator)[:2].tolist()
    for row, sign in ((large, 1), (small, -1)):
        if row < len(rows):
            sizes = rows[row].abs()
            rows[row] = torch.where(sizes < 0.5, sizes + 0.5, sizes).copysign(rows[row]) * 2.0 ** (sign * exponent)
    return values


def _blank(shape: tuple[int, ...], axis: int, generator: torch.Generator) -> torch.Tensor:
    """Draw normal values and blank a third of the slices, at least one: rows, or slices along the axis `axis`."""
    values = torch.randn(shape, generator=generator)
    sizes = (*shape[:-1], 1) if axis < 0 else tuple(size if dim == axis else 1 for dim, size in enumerate(shape))
    chosen = torch.rand(sizes, generator=generator) < _BLANK_SHARE
    if chosen.numel():
        chosen.view(-1)[torch.randint(0, chosen.numel(), (1,), generator=generator)] = True
    return values.masked_fill(chosen, 0.0)


def _ends(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw small normal values, but the first and the last are as large as the root of the sum of all squares."""
    values = torch.randn(shape, generator=generator) * _SMALL
    flat = values.view(-1)
    if len(flat):
        flat[[0, -1]] = flat[[0, -1]].sign() * _SMALL * math.sqrt(len(flat))
    return values


def _masked(shape: tuple[int, ...], dtype: str, generator: torch.Generator) -> torch.Tensor:
    """Draw normal values masked in one of five ways, drawn for each row. Every row keeps a finite value.

    -inf takes a third of the elements, half of the first ones and no last one; all before a place; all behind a place;
    or a stretch. In the fifth way all are finite and near the dtype's lowest number, as finite masks leave them.
    """
    values = torch.randn(shape, generator=generator)
    rows = values.view(-1, shape[-1])
    count, length = rows.shape
    scattered = torch.rand(rows.shape, generator=generator) < _BLANK_SHARE
    scattered[:, :1] = torch.rand(scattered[:, :1].shape, generator=generator) < _FIRST_SHARE
    scattered[:, -1:] = False
    places = (torch.rand((count, 2), generator=generator) * length).long().sort().values
    first, last, place = places[:, :1], places[:, 1:], torch.arange(length)
    ways = (scattered, place < first, place > last, (first < place) & (place < last))
    way = torch.randint(0, len(ways) + 1, (count, 1), generator=generator)
    for number, masked in enumerate(ways):
        rows[(way == number) & masked] = -math.inf
    lowest = -(0.25 + 0.74 * torch.rand(rows.shape, generator=generator)) * torch.finfo(getattr(torch, dtype)).max
    return torch.where(way == len(ways), lowest, rows).reshape(shape)


def _one_sided(shape: tuple[int, ...], dtype: str, generator: torch.Generator) -> torch.Tensor:
    """Draw magnitudes above a quarter of the dtype's largest number; each slice of the first axis has a random sign.

    A running maximum that begins with a low number is wrong for a negative slice, a running minimum for a positive one.
    """
    sizes = 0.25 + 0.74 * torch.rand(shape, generator=generator)
    signs = 1.0 - 2.0 * torch.randint(0, 2, (*shape[:1], *[1] * (len(shape) - 1)), generator=generator)
    return sizes * signs * torch.finfo(getattr(torch, dtype)).max


def _alike(spec: Input, case: Case, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Repeat one slice, but put another one at a single place, the same in all inputs.

    The largest value of the other slice is as large as usual values become.
    """
    place = Draw(case.seed, "alike").below(max(1, shape[0]))
    if spec.role in ("index", "mask"):
        bound = max(arithmetic.evaluate(spec.below or 1, case.axes), 1) if spec.role == "index" else 2
        two = torch.randint(0, bound, (2, *shape[1:]), generator=generator)
    else:
        two = torch.randn((2, *shape[1:]), generator=generator)
        if two.numel():
            two[1] *= _LARGEST_USUAL / float(two[1].abs().amax())
    values = two[:1].expand(shape).clone()
    values[place : place + 1] = two[1:]
    return values


def _exponent(dtype: str, length: int, *, is_positive: bool = False) -> int:
    """Compute the exponent of scaled rows.

    In float16, a sum of `length` products with normal values must stay below the largest number. The exponent is large
    enough for any length, one included, to take the sum of squares of a row beyond that number. Terms that are all
    positive add up to more.
    """
    orders = math.log2(length) * (1.0 if is_positive else 0.5)
    room = _FLOAT16_ROOM - orders if dtype == "float16" else math.inf
    return max(1, int(min(_EXPONENT[dtype], room)))


def carries(task: Task) -> bool:
    """Tell if the op hands on results, times factors that it is given: PyTorch rounds each of them to the dtype."""
    return any(spec.carried_along for spec in task.inputs.values())


def _carried(task: Task, axes: Mapping[str, int]) -> int:
    """Count the terms that a recurrence adds up if its factors are one; none in other ops."""
    return max((axes[spec.carried_along] for spec in task.inputs.values() if spec.carried_along), default=0)


def _walk(shape: tuple[int, ...], length: int, dtype: str, generator: torch.Generator) -> torch.Tensor:
    """Draw integers whose running sums over `length` terms hardly ever leave the range that the dtype holds exactly.

    Running sums of N terms lie within 4 sqrt(N) standard deviations of a term, but for one row in thousands.
    """
    room = 1 / (torch.finfo(getattr(torch, dtype)).eps * 4 * math.sqrt(length))
    largest = next((m for m in _MAGNITUDES if math.sqrt(m * (m + 1) / 3) < room), 1)
    return torch.randint(-largest, largest + 1, shape, generator=generator).float()


def _magnitude(length: int, bound: int) -> int:
    return next((m for m in _MAGNITUDES if length * m * m < bound), 1)


def _exact_below(task: Task, dtype: str) -> int:
    """Return the bound below which integers are exact in every allowed accumulator, and finite in the result."""
    bound = min(1 << rounding(task.precision, dtype).sum_digits, _FLOAT32_EXACT)
    return min(bound, _LARGEST_FLOAT16) if dtype == "float16" else bound


def _flows(spec: Input) -> bool:
    is_real = spec.dtype == "T" or spec.dtype.startswith(("float", "bfloat"))
    return is_real and spec.role in ("activation", "gradient")
