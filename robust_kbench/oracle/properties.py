"""Reference-free checks: what an op does to related inputs, held against the submission's own outputs.

A float64 reference costs as much as the op; these cost another call or two. They also stop an answer that was looked up
instead of computed, because the related inputs are drawn after the first answer is known.

    relation = relate(task.spec, prop, case, inputs, draw)      # None: says nothing about this case
    outputs = [call(these) for these in relation.calls]         # calls[0] is `inputs` where its answer can be reused
    problem = relation.violation(outputs, limits)               # None: holds

Relations that must hold bit for bit do so on any honest kernel: scaling by a power of two and later positions change no
rounding at all, sums of small integers round nowhere. A permutation moves elements to other tiles or into the scalar
tail of a vector loop, where the order of summation is another (PyTorch's own float32 matmul of 3 x 64 by 64 x 511
differs), so that it holds within twice the limits of the rule: both answers err. The same goes for scaling in float16,
or where the contract allows float16 inside: its range is so small that intermediate values become subnormal. It goes
for all relations under fp8, where the largest element of a tensor decides how the others are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from robust_kbench.cases.contract import keeps_range, keeps_values, rounding
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle import agreement, related
from robust_kbench.oracle.agreement import DIGITS, Limits, Tensors
from robust_kbench.oracle.seeds import Run, coincidence, reseeded
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Property, Task

_EXACT_SUM = 2**24  # integers below are exact in float32, whatever the order of summation
_FACTOR = 4  # integers of additivity: two addends of at most 2, and at most 4 elsewhere
_COARSEST = 8  # digits; with fewer, values of order one and a constant of order 100 do not fit into one number


@dataclass(frozen=True)
class Answers:
    """Outputs of the calls of a relation, and the limits that they are held to."""

    outputs: Sequence[Tensors]
    limits: Limits
    is_deterministic: bool


@dataclass(frozen=True)
class Relation:
    """Calls to make in order, and the condition that must hold between their outputs."""

    prop: Property
    calls: tuple[Inputs, ...]
    compare: Callable[[Answers], str | None]

    def violation(self, outputs: Sequence[Tensors], limits: Limits, *, is_deterministic: bool = True) -> str | None:
        """Describe a violation of the relation by the outputs of `calls`; None if there is none.

        A kernel whose answers to equal inputs differ, because it adds atomically, is held to twice the limits wherever
        another one must be equal bit for bit.
        """
        found = self.compare(Answers(outputs, limits, is_deterministic))
        return None if found is None else f"{_title(self.prop)}: {found}"


def relations(task: Task, case: Case, inputs: Inputs, draw: Draw) -> Iterator[Relation]:
    """Make a relation for every declared property that says something about `case`."""
    for prop in task.properties:
        if (relation := relate(task, prop, case, inputs, draw)) is not None:
            yield relation


def relate(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    """Make the relation of `prop` from `inputs`, which are those of `case`.

    Return None where it says nothing: probes, empty tensors, an axis of size one, a slice repeated by stride 0. Raises
    SpecError when the property does not fit the task's shapes.
    """
    is_special = case.probe is not None or any(tensor.numel() == 0 for tensor in inputs.tensors.values())
    if is_special or (case.layout == "expanded" and prop.kind != "sums_to"):
        return None
    return _KINDS[prop.kind](task, prop, case, inputs, draw)


def _homogeneous(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    reach = 3 if case.dtype == "float16" else 8
    powers = draw.shuffled([power for power in range(-reach, reach + 1) if power])
    chosen = [inputs.values[name] for name in prop.inputs]
    fitting = (power for power in powers if all(related.scales(value, power, prop.degree) for value in chosen))
    if (power := next(fitting, None)) is None:
        return None
    scaled = Inputs({**inputs.values, **{name: inputs.values[name] * 2.0**power for name in prop.inputs}})

    def compare(answers: Answers) -> str | None:
        first, second = answers.outputs
        scale = power * prop.degree
        expected = {name: agreement.times(first[name], scale) for name in task.outputs}
        targets, got = agreement.hushed(second, expected, first, scale)
        if not (answers.is_deterministic and keeps_range(task.precision, case.dtype)):
            return agreement.differs_within(task, case, targets, got, answers.limits)
        found = agreement.differs(targets, got)
        return f"times 2**{power}: {found}" if found else None

    return Relation(prop, (inputs, scaled), compare)


def _additive(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    length = max(agreement.reduction_of(task, output, case, inputs) for output in task.outputs.values())
    if length * _FACTOR**2 >= _EXACT_SUM or rounding(task.precision, case.dtype).sum > 1 / _EXACT_SUM:
        return None
    digits = min(DIGITS[tensor.dtype] for tensor in inputs.tensors.values() if tensor.dtype.is_floating_point)
    density = min(1.0, 4.0 ** (min(digits, 20) - 5) / length)  # sums within 2**(digits - 2): most round nowhere
    generator = torch.Generator().manual_seed(draw.bits())
    others = {name: related.integers(value, _FACTOR, 1.0, generator) for name, value in inputs.tensors.items()}
    addends = [
        {name: related.integers(inputs.tensors[name], _FACTOR // 2, density, generator) for name in prop.inputs}
        for _ in range(2)
    ]
    total = {name: addends[0][name] + addends[1][name] for name in prop.inputs}

    def compare(answers: Answers) -> str | None:
        for name in task.outputs:
            one, two, both = (output[name].double() for output in answers.outputs)
            wrong = ~agreement.adds_up(one, two, both, answers.outputs[0][name].dtype)
            if found := agreement.report(name, both, one + two, wrong):
                return f"on integers: {found}"
        return None

    return Relation(prop, tuple(Inputs({**inputs.values, **others, **values}) for values in (*addends, total)), compare)


def _shift_invariant(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    digits = rounding(task.precision, case.dtype).factor_digits or DIGITS[torch.float64]
    if digits < _COARSEST:
        return None
    generator = torch.Generator().manual_seed(draw.bits())
    pairs = {name: related.shifted_pair(inputs.tensors[name], generator, digits) for name in prop.inputs}
    base, shifted = (Inputs({**inputs.values, **{name: pair[side] for name, pair in pairs.items()}}) for side in (0, 1))

    def compare(answers: Answers) -> str | None:
        first, second = answers.outputs
        return agreement.differs_within(task, case, first, second, answers.limits)

    return Relation(prop, (base, shifted), compare)


def _permutes(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    axis = related.axis_of(task, prop, [*task.inputs.values(), *task.outputs.values()])
    if (order := related.random_order(case.axes[axis], draw)) is None:
        return None
    moved = related.permuted_inputs(task, axis, inputs, order)

    def compare(answers: Answers) -> str | None:
        first, second = _values(task, (inputs, moved), answers)
        expected = {name: related.permuted(first[name], spec, axis, order) for name, spec in task.outputs.items()}
        return agreement.differs_within(task, case, expected, second, answers.limits)

    return Relation(prop, (inputs, moved), compare)


def _symmetric(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    axis = related.axis_of(task, prop, list(task.inputs.values()))
    if carried := [name for name, output in task.outputs.items() if axis in output.shape]:
        raise SpecError(f"{task.name}: symmetric along {axis}: the output {carried[0]!r} has that axis; say permutes")
    if (order := related.random_order(case.axes[axis], draw)) is None:
        return None
    moved = related.permuted_inputs(task, axis, inputs, order)

    def compare(answers: Answers) -> str | None:
        first, second = _values(task, (inputs, moved), answers)
        return agreement.differs_within(task, case, first, second, answers.limits)

    return Relation(prop, (inputs, moved), compare)


def _causal(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    axis = related.axis_of(task, prop, [*task.inputs.values(), *task.outputs.values()])
    if case.axes[axis] < 2:
        return None
    cut = 1 + draw.below(case.axes[axis] - 1)
    fresh = make_inputs(task, case.model_copy(update={"seed": draw.bits(), "distribution": _dense(task, case)}))

    def compare(answers: Answers) -> str | None:
        first, second = (related.before(task, axis, cut, outputs) for outputs in answers.outputs)
        if answers.is_deterministic and keeps_values(task.precision):
            found = agreement.differs(first, second)
        else:
            found = agreement.differs_within(task, case, first, second, answers.limits)
        return f"with other values from {axis}={cut} on: {found}" if found else None

    return Relation(prop, (inputs, related.spliced(task, axis, cut, inputs, fresh)), compare)


def _sums_to(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    def compare(answers: Answers) -> str | None:
        for name in task.outputs:
            if found := agreement.differs_in_sum(
                task, name, case, answers.outputs[0][name], prop.value, answers.limits
            ):
                return found
        return None

    return Relation(prop, (inputs,), compare)


def _reseeded(task: Task, prop: Property, case: Case, inputs: Inputs, draw: Draw) -> Relation | None:
    again = reseeded(inputs)

    def compare(answers: Answers) -> str | None:
        first, second = answers.outputs
        found = (coincidence(task, name, Run(inputs, first[name]), Run(again, second[name])) for name in task.outputs)
        return next((words for words in found if words), None)

    return Relation(prop, (inputs, again), compare)


_Make = Callable[[Task, Property, Case, Inputs, Draw], "Relation | None"]
_KINDS: Mapping[str, _Make] = {
    "homogeneous": _homogeneous,
    "additive": _additive,
    "shift_invariant": _shift_invariant,
    "permutes": _permutes,
    "symmetric": _symmetric,
    "causal": _causal,
    "sums_to": _sums_to,
    "reseeded": _reseeded,
}


def _values(task: Task, calls: Sequence[Inputs], answers: Answers) -> Iterator[Tensors]:
    return (related.pointed_at(task, *call) for call in zip(calls, answers.outputs, strict=True))


def _dense(task: Task, case: Case) -> Distribution:
    return "normal" if "normal" in task.distributions else case.distribution


def _title(prop: Property) -> str:
    where = f" in {', '.join(prop.inputs)}" if prop.inputs else f" along {prop.axis}" if prop.axis else ""
    return prop.kind + (where or (" along rows" if prop.kind == "sums_to" else ""))
