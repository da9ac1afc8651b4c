"""Is a task's reference what the task says, and does no obvious non-answer pass? The full audit is stricter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import Task, shape_of

_SEED = 20260101
_Tensors = Mapping[str, torch.Tensor]


def ailments(task: LoadedTask, dtype: str) -> Iterator[str]:
    """What is wrong with the reference in `dtype`, in words; nothing when it is sound."""
    reference = Reference(task)
    judge = Judge(task.spec, reference)
    declared = next(known for known in task.spec.dtypes if known == dtype)
    suite = draw_suite(task.spec, _SEED, budget=BUDGETS["quick"], dtypes=[declared], device="cpu", dense=False)
    outcomes: dict[str, bool] = {}
    for case in suite.checked:
        inputs = make_inputs(task.spec, case)
        exact, native = reference.exact(inputs), reference.native(inputs)
        yield from _contradictions(task.spec, case, exact, native)
        honest = judge.verdict(Observation(case, "returned", outputs=native), inputs).result
        if honest.status != "passed":
            yield f"{case}: PyTorch's own answer is refused: {honest.reason}"
        for name, answer in _non_answers(native, inputs).items():
            verdict = judge.verdict(Observation(case, "returned", outputs=answer), inputs)
            outcomes[name] = outcomes.get(name, True) and verdict.result.status == "passed"
    for name, passes in outcomes.items():
        if passes:
            yield f"{name} passes every case, so the task measures nothing"


def _contradictions(task: Task, case: Case, exact: _Tensors, native: _Tensors) -> Iterator[str]:
    for name, spec in task.outputs.items():
        shape, dtype = shape_of(spec, case.axes), task.dtype_of(spec, case.dtype)
        wide = "float64" if spec.dtype == "T" else spec.dtype
        for what, tensor, expected in (("in float64", exact[name], wide), ("natively", native[name], dtype)):
            if tuple(tensor.shape) != shape:
                yield f"{case}: {name} has shape {list(tensor.shape)} {what}; declared: {list(shape)}"
            if tensor.dtype != getattr(torch, expected):
                yield f"{case}: {name} is {tensor.dtype} {what}; declared: {expected}"
        if not bool(torch.isfinite(exact[name]).all()):
            yield f"{case}: {name} is not finite in float64"


def _non_answers(native: _Tensors, inputs: Inputs) -> dict[str, _Tensors]:
    answers: dict[str, _Tensors] = {
        "zeros": {name: torch.zeros_like(tensor) for name, tensor in native.items()},
        "ones": {name: torch.ones_like(tensor) for name, tensor in native.items()},
    }
    if copied := _copied(native, inputs):
        answers["a copy of an input"] = copied
    return answers


def _copied(native: _Tensors, inputs: Inputs) -> _Tensors | None:
    found = {}
    for name, tensor in native.items():
        same = [
            other for other in inputs.tensors.values() if other.shape == tensor.shape and other.dtype == tensor.dtype
        ]
        if not same:
            return None
        found[name] = same[0]
    return found
