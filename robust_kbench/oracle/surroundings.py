"""PyTorch's answers next to a case, which tell its usual error there apart from its luck."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.cases.memory_layout import laid_out
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.ulps import RegionErrors
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import ITEMSIZE, Layout, Task, shape_of

Tensors = Mapping[str, torch.Tensor]
_SPREAD = 2.0**-4  # relative: about a binade of the result where its relative condition is 16
_STEP = 2.0**-20  # of a difference quotient in float64
_SAMPLES = 1 << 15  # elements that are worth evaluating for a small case
_MAX_COPIES = 24
_FEW, _SOME, _GLANCES = 1 << 12, 1 << 18, 6
_LARGE = 1 << 20  # elements that are neighbours enough for each other: one copy will do


@dataclass(frozen=True)
class Surroundings:
    """Exact and native outputs of inputs nearby as `pairs`; `errors`: facts of these that comparisons in ulps need.

    `condition`: |change| per relative change, of all inputs; `single`: inputs of which each element serves a single one
    of every output. `allowed`: pairs of the case's own inputs, the native ones in the layout of the case, after the
    contract's rounding of factors, and of an operator that rounds on the way. `operator`: pairs of the case itself,
    exact and from PyTorch's own operator.
    """

    pairs: tuple[tuple[Tensors, Tensors], ...] = ()
    errors: Mapping[str, RegionErrors] = field(default_factory=dict)
    condition: Tensors = field(default_factory=dict)
    single: frozenset[str] = frozenset()
    allowed: tuple[tuple[Tensors, Tensors], ...] = ()
    operator: tuple[tuple[Tensors, Tensors], ...] = ()

    def of(self, name: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the pairs of exact and native answers around the case for one output."""
        return [(exact[name], native[name]) for exact, native in (*self.pairs, *self.allowed)]

    def of_operator(self, name: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the pairs of exact answers and those of PyTorch's own operator in the case itself.

        Only few results of half precision have such pairs.
        """
        return [(exact[name], native[name]) for exact, native in self.operator]


def are_dear(task: Task, case: Case) -> bool:
    """Tell if `surround` evaluates the reference at neighbours of a case, which takes several times as long."""
    comparisons = set(map(task.comparison_of, task.outputs.values()))
    outputs = task.outputs.values()
    sizes = [math.prod(shape_of(spec, case.axes)) for spec in outputs]
    widths = [ITEMSIZE[task.dtype_of(spec, case.dtype)] for spec in outputs]
    if task.operator_rounds and min(widths) <= 2:
        return True
    return "ulp" in comparisons or ("rule" in comparisons and _are_few_halves(sizes, widths))


def surround(
    task: Task,
    case: Case,
    reference: Reference,
    inputs: Inputs,
    exact: Tensors,
    native: Tensors,
    known: Surroundings | None = None,
    *,
    is_conditioned: bool = True,
) -> Surroundings | None:
    """Gather the surroundings that the comparisons of the task need in `case`; None where they need none.

    `known`: the surroundings of a case that is alike, in which PyTorch errs alike. `is_conditioned`: True if the
    condition counts. PyTorch also errs as it does on the layout of the case, for which it may have other code. In ulps
    its own code for transposed inputs counts in every case: torch.compile has the same, where a library serves dense
    inputs.
    """
    comparisons = set(map(task.comparison_of, task.outputs.values()))
    found = None
    if "ulp" in comparisons:
        ways: tuple[Layout, ...] = tuple(dict.fromkeys([case.layout, "transposed"]))
        arrange = [partial(laid_out, task, way) for way in ways]
        found = survey(reference, inputs, exact, known, is_conditioned=is_conditioned, arrange=arrange)
        found = found if "rule" in comparisons else replace(found, pairs=())  # they are large
    elif "rule" in comparisons:
        found = known or glance(reference, inputs, native)
        if _is_any_of_few_halves(native.values()) and (answer := reference.of_operator(inputs)) is not None:
            found = replace(found or Surroundings(), operator=((exact, answer),))
    if "rule" not in comparisons:
        return found
    variants = []
    if (strided := laid_out(task, case.layout, inputs)) is not inputs:
        variants.append(strided)
    if (digits := rounding(task.precision, case.dtype).factor_digits) is not None:
        coarse = {name: rounded(tensor, digits) for name, tensor in _reals(inputs).items()}
        variants.append(Inputs({**inputs.values, **coarse}))
    pairs: list[tuple[Tensors, Tensors]] = [(exact, reference.native(variant)) for variant in variants]
    if task.operator_rounds:
        is_by_luck = ITEMSIZE[case.dtype] <= 2 and max(tensor.numel() for tensor in exact.values()) <= _SOME
        pairs += _of_rounding_operator(reference, inputs, exact, neighbours=_GLANCES if is_by_luck else 0)
    return replace(found or Surroundings(), allowed=tuple(pairs)) if pairs else found


def _of_rounding_operator(
    reference: Reference, inputs: Inputs, exact: Tensors, *, neighbours: int
) -> Iterator[tuple[Tensors, Tensors]]:
    """Yield exact answers and those of an operator that rounds on the way: in the case, and at some neighbours.

    In halves its error is luck where terms cancel, unless there are many results.
    """
    if (answer := reference.of_operator(inputs)) is not None:
        yield exact, answer
    for number in range(neighbours):
        nearby = scattered(inputs, torch.Generator().manual_seed(number))
        if (answer := reference.of_operator(nearby)) is not None:
            yield reference.exact(nearby), answer


def survey(
    reference: Reference,
    inputs: Inputs,
    exact: Tensors,
    known: Surroundings | None = None,
    *,
    is_conditioned: bool = True,
    arrange: Sequence[Callable[[Inputs], Inputs]] = (),
) -> Surroundings:
    """Evaluate the reference around `inputs`, whose exact outputs are known. Reproducible. See `surround`."""
    if known is None:
        pairs = _pairs(reference, inputs, exact, arrange)
        known = Surroundings(pairs, {name: _region_errors(name, pairs) for name in exact})
    if not is_conditioned:
        return known
    found, single = _condition(reference, inputs, exact, known.single)
    return replace(known, condition=found, single=single)


def _pairs(
    reference: Reference, inputs: Inputs, exact: Tensors, arrange: Sequence[Callable[[Inputs], Inputs]]
) -> tuple[tuple[Tensors, Tensors], ...]:
    largest = max((tensor.numel() for tensor in exact.values()), default=1)
    copies = 1 if largest > _LARGE else min(_MAX_COPIES, max(3, _SAMPLES // max(largest, 1)))
    pairs = []
    for number in range(copies):
        nearby = scattered(inputs, torch.Generator().manual_seed(number))
        answer = reference.exact(nearby)
        pairs += [(answer, native) for native in _natives(reference, nearby, arrange)]
    return tuple(pairs)


def _region_errors(name: str, pairs: Sequence[tuple[Tensors, Tensors]]) -> RegionErrors:
    return RegionErrors.of([(exact[name], native[name]) for exact, native in pairs], pairs[0][1][name].dtype)


def slopes(task: Task, reference: Reference, inputs: Inputs, exact: Tensors) -> Surroundings | None:
    """Compute the condition, which excuses without any error of PyTorch's; None where nothing is counted in ulps."""
    if "ulp" not in map(task.comparison_of, task.outputs.values()):
        return None
    return Surroundings(condition=condition(reference, inputs, exact))


def condition(
    reference: Reference, inputs: Inputs, exact: Tensors, names: Sequence[str] | None = None
) -> dict[str, torch.Tensor]:
    """Compute the largest change of each output element per relative change of the inputs `names`, or of all."""
    return _condition(reference, inputs, exact, names=names)[0]


def evaluations(inputs: Inputs, names: Sequence[str]) -> int:
    """Count the evaluations of the reference that `condition` makes, at most."""
    return sum(2 + sum((size - 1).bit_length() for size in inputs.tensors[name].shape) for name in names)


def glance(reference: Reference, inputs: Inputs, native: Tensors) -> Surroundings | None:
    """Evaluate a few neighbours of a case with few outputs in half precision.

    With more outputs rounded intermediates average out. None where there are enough outputs, and in wider dtypes, where
    PyTorch's own error hardly ever sets the limits.
    """
    outputs = native.values()
    if not _are_few_halves([tensor.numel() for tensor in outputs], [tensor.dtype.itemsize for tensor in outputs]):
        return None
    pairs = []
    for number in range(_GLANCES):
        nearby = scattered(inputs, torch.Generator().manual_seed(number))
        pairs.append((reference.exact(nearby), reference.native(nearby)))
    return Surroundings(tuple(pairs))


def _is_any_of_few_halves(outputs: Iterable[torch.Tensor]) -> bool:
    """Tell if one of several outputs may be held to one rounding, as new statistics beside a large result."""
    return any(tensor.numel() <= _FEW and tensor.dtype.itemsize <= 2 for tensor in outputs)


def _are_few_halves(sizes: Sequence[int], widths: Sequence[int]) -> bool:
    return max(sizes) <= _FEW and min(widths) <= 2


def _natives(reference: Reference, inputs: Inputs, arrange: Sequence[Callable[[Inputs], Inputs]]) -> Iterator[Tensors]:
    """Yield PyTorch's answer to dense inputs, and to inputs that lie as each of `arrange` has them.

    In half precision also yield the one in float32, as a kernel has it before the store.
    """
    yield reference.native(inputs)
    for strided in (each(inputs) for each in arrange):
        if strided is not inputs:
            yield reference.native(strided)
    if any(tensor.dtype.itemsize < 4 for tensor in _reals(inputs).values()):
        yield reference.native(Inputs({**inputs.values, **{n: t.float() for n, t in _reals(inputs).items()}}))


def scattered(inputs: Inputs, generator: torch.Generator) -> Inputs:
    """Multiply every real input by a random number next to one, and round it to its dtype."""
    moved = dict(inputs.values)
    for name, tensor in _reals(inputs).items():
        noise = torch.rand(tensor.shape, generator=generator).mul_(2 * _SPREAD).sub_(_SPREAD)
        moved[name] = (tensor.float() * (1 + noise)).to(tensor.dtype)
    return Inputs(moved)


def _condition(
    reference: Reference,
    inputs: Inputs,
    exact: Tensors,
    single: frozenset[str] = frozenset(),
    names: Sequence[str] | None = None,
) -> tuple[dict[str, torch.Tensor], frozenset[str]]:
    """Compute the condition and the single inputs, see Surroundings. `single`: inputs that are known to be single."""
    total = {name: torch.zeros_like(tensor, dtype=torch.float64) for name, tensor in exact.items()}
    found = set(single)
    for name in _reals(inputs) if names is None else names:
        largest, is_single = _largest_changes(reference, inputs, exact, name, is_single=name in single)
        found |= {name} if is_single else set()
        for output, change in largest.items():
            total[output] += change
    return total, frozenset(found)


def _largest_changes(
    reference: Reference, inputs: Inputs, exact: Tensors, name: str, *, is_single: bool
) -> tuple[dict[str, torch.Tensor], bool]:
    """Compute how far small changes of one input move the outputs, and if it is `single`.

    Each element is a little more or a little less. More everywhere is enough where an output takes a single element of
    the input. Where it takes several, their effects may cancel (the sum of three colours), so the signs are also dealt
    by the index: any two elements differ in one of its digits, and there they move apart.
    """
    tensor = inputs.tensors[name]

    def changes(signs: torch.Tensor) -> dict[str, torch.Tensor]:
        moved = reference.exact(Inputs({**inputs.values, name: tensor.double() * (1 + signs * _STEP)}))
        steps = {output: (moved[output] - before).abs().double() for output, before in exact.items()}
        return {output: step.div_(_STEP).nan_to_num_(0.0, 0.0, 0.0) for output, step in steps.items()}

    largest = changes(torch.ones((), dtype=torch.float64))
    if not is_single and tensor.numel() > _FEW:
        mixed = changes(_random_signs(tensor))
        is_single = not any(_often_differ(mixed[output], one) for output, one in largest.items())
    if is_single:
        return largest, True
    for signs in _signs_by_index(tensor.shape):
        moved = changes(signs.to(tensor.device))
        largest = {output: torch.maximum(largest[output], change) for output, change in moved.items()}
    return largest, False


def _random_signs(tensor: torch.Tensor) -> torch.Tensor:
    """Draw a sign for each element, on the device of the tensor."""
    place = tensor.device
    digits = torch.randint(2, tensor.shape, generator=torch.Generator(place).manual_seed(0), device=place)
    return digits.double().mul_(2).sub_(1)


def _often_differ(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Tell if more than one element in eight differs, as a kink here and there is no second element at work."""
    return bool(((left - right).abs() > right / 4).double().mean() > 1 / 8)


def _signs_by_index(shape: torch.Size) -> Iterator[torch.Tensor]:
    """Yield signs for every dimension and every binary digit of its index: minus where the digit is one."""
    for dimension, length in enumerate(shape):
        index = torch.arange(length).reshape(-1, *[1] * (len(shape) - dimension - 1))
        for digit in range((length - 1).bit_length()):
            yield 1.0 - 2.0 * (index >> digit & 1).double()


def _reals(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in inputs.tensors.items() if tensor.dtype.is_floating_point}
