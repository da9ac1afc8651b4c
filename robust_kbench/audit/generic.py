"""Variants that the registry makes for every task: honest ones, non-answers and mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from robust_kbench.audit.input_variants import Ignored, Rounded, Swapped, as_the_contract_allows, ignorable, swappable
from robust_kbench.audit.mutations import MUTATIONS
from robust_kbench.audit.non_answers import NON_ANSWERS, Copy
from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.structural import structural_variants
from robust_kbench.audit.variants import Kind, Variant
from robust_kbench.cases.contract import rounding
from robust_kbench.cases.values import Inputs
from robust_kbench.schema.task import Output, Task

Change = Callable[[Setting, str], torch.Tensor | None]
Item = TypeVar("Item")
_UNSEEN_IN_A_SAMPLE = {"one_element_zero", "last_element_missing", "one_element_off", "neighbours_swapped"}
"""Mutations left out for outputs that are compared by distribution: a sample with one other element is as likely."""


def generic_variants(task: Task, most_inputs: int | None = None) -> Iterator[Variant]:
    """Make all generic variants. If the task has several outputs, each is spoilt alone.

    `most_inputs`: of each kind of variants that are made from inputs, make no more than this, spread over all inputs.
    """
    yield Variant("pytorch", "honest", "PyTorch in the case's dtype.", _native)
    yield Variant("rounded_once", "honest", "Float64, rounded once.", _rounded_once)
    yield Variant("float32_inside", "honest", "Float32 from the inputs on, rounded once.", float32_inside)
    if any(rounding(task.precision, dtype).factor_digits for dtype in task.dtypes):
        description = "PyTorch on inputs rounded as far as the contract allows."
        yield Variant("inputs_of_the_contract", "honest", description, as_the_contract_allows)
    for name, output in task.outputs.items():
        yield from _spoilt(task, name, output, most_inputs)
    for name in _spread(list(ignorable(task)), most_inputs):
        yield Variant(f"{name}_ignored", "non-answer", f"The reference with a constant for {name}.", Ignored(name))
    yield from _spread(list(structural_variants(task)), most_inputs)
    for first, second in _spread(list(swappable(task)), most_inputs):
        description = f"The reference with {first} and {second} exchanged."
        yield Variant(f"{first}_and_{second}_swapped", "mutant", description, Swapped(first, second))
    if any(output.law == "categorical" for output in task.outputs.values()):
        return  # samples of rounded logits follow a law that no thousand of them tell from the right one
    yield Variant("lower_inputs", "mutant", "Inputs rounded to the next lower precision.", Rounded())
    reals = [name for name, spec in task.inputs.items() if spec.dtype == "T"]
    for name in _spread(reals, most_inputs) if len(reals) > 1 else []:
        description = f"Only {name} rounded to the next lower precision."
        yield Variant(f"lower_{name}", "mutant", description, Rounded(name))


def _spread(items: Sequence[Item], most: int | None) -> Sequence[Item]:
    """Select the first item, the last one and some between them: no more than `most`, or all if that is None."""
    if most is None or len(items) <= most:
        return items
    return [items[place * (len(items) - 1) // max(1, most - 1)] for place in range(most)]


def _spoilt(task: Task, name: str, output: Output, most_inputs: int | None) -> Iterator[Variant]:
    tensors = _spread([key for key, spec in task.inputs.items() if spec.role != "scalar"], most_inputs)
    changes: list[tuple[Kind, str, str, Change]] = [
        ("non-answer", change.__name__, change.__doc__ or "", change) for change in NON_ANSWERS
    ]
    changes += [("non-answer", f"copy_of_{key}", f"A copy of {key}, repeated or cut.", Copy(key)) for key in tensors]
    changes += [("mutant", change.__name__, change.__doc__ or "", change) for change in MUTATIONS]
    prefix = f"{name}." if len(task.outputs) > 1 else ""
    for kind, title, description, change in changes:
        if task.comparison_of(output) != "random" or title not in _UNSEEN_IN_A_SAMPLE:
            yield Variant(prefix + title, kind, description, _Spoil(name, change))


@dataclass(frozen=True)
class _Spoil:
    """PyTorch's answer with one output replaced."""

    output: str
    change: Change

    def __call__(self, setting: Setting) -> Tensors | None:
        changed = self.change(setting, self.output)
        return None if changed is None else {**setting.native, self.output: changed}


def _native(setting: Setting) -> Tensors:
    return setting.native


def _rounded_once(setting: Setting) -> Tensors:
    return {name: tensor.to(setting.native[name].dtype) for name, tensor in setting.exact.items()}


def float32_inside(setting: Setting) -> Tensors | None:
    """Run PyTorch on inputs widened to float32, and round the results; None if the case is not in half precision."""
    if setting.case.dtype not in ("float16", "bfloat16"):
        return None
    values = setting.inputs.values
    wide = {name: _to_float32(value) for name, value in values.items()}
    answer = setting.reference.native(Inputs(wide))
    return {name: tensor.to(setting.native[name].dtype) for name, tensor in answer.items()}


def _to_float32(value: torch.Tensor | int | float) -> torch.Tensor | int | float:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
