"""Check of a backward op's reference against float64 automatic differentiation of its forward op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from robust_kbench.cases.distributions import draw_values
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask, read_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution

PREFIX = "grad_"
"""Prefix of gradients: grad_x is the gradient of x. Outputs name the forward op's inputs, inputs name its outputs."""
_COTANGENTS: tuple[Distribution, ...] = ("normal", "one_hot", "lognormal")
_CASES = 3
_TOLERANCE = 1e-9  # of float64: rounding of a long sum with cancellation, far from any mistake

Values = Mapping[str, Any]


def wrong_gradients(task: LoadedTask, cases: Sequence[Case]) -> Iterator[str]:
    """Report wrong gradients, each output by itself. Yield nothing for an op that is no backward op."""
    spec = task.spec
    cotangents = [name for name, tensor in spec.inputs.items() if tensor.role == "gradient"]
    if spec.forward is None:
        if cotangents:
            yield f"{cotangents[0]} is a gradient, but the task names no `forward` to differentiate"
        return
    forward = read_task(task.folder.parents[1] / spec.forward)
    wanted = {PREFIX + name for name in forward.spec.outputs}
    known = {PREFIX + name for name in forward.spec.inputs}
    if set(cotangents) != wanted or not set(spec.outputs) <= known:
        yield f"of {spec.forward}, expected inputs {sorted(wanted)} of role gradient and outputs among {sorted(known)}"
        return
    for case in [case for case in cases if case.probe is None][:_CASES]:
        for distribution in _COTANGENTS:
            yield from _compare(task, forward, case, distribution)


def _compare(task: LoadedTask, forward: LoadedTask, case: Case, distribution: Distribution) -> Iterator[str]:
    arguments = _forward_arguments(task, forward, case)
    leaves = {
        name: arguments[name].detach().requires_grad_()
        for name in forward.spec.inputs
        if PREFIX + name in task.spec.outputs
    }
    with torch.enable_grad():
        result = Reference(forward).function(*{**arguments, **leaves}.values())
    outputs = dict(zip(forward.spec.outputs, result if isinstance(result, tuple) else (result,), strict=True))
    cotangents = {PREFIX + name: _cotangent(tensor, name, case, distribution) for name, tensor in outputs.items()}
    right = torch.autograd.grad(list(outputs.values()), list(leaves.values()), list(cotangents.values()))
    given: dict[str, Any] = {**arguments, **{name: tensor.detach() for name, tensor in outputs.items()}, **cotangents}
    made = _wide(make_inputs(task.spec, case).values)
    with torch.no_grad():
        answer = Reference(task).function(*(given.get(name, value) for name, value in made.items()))
    tensors = answer if isinstance(answer, tuple) else (answer,)
    gradients = dict(zip(leaves, right, strict=True))
    for name, tensor in zip(task.spec.outputs, tensors, strict=True):
        expected = gradients[name.removeprefix(PREFIX)]
        error = float((tensor - expected).norm() / (expected.norm() + 1e-300))
        if not error <= _TOLERANCE:
            yield (
                f"{name} differs from automatic differentiation of {forward.spec.name} by {error:.2g} "
                f"(cotangent {distribution}, {case})"
            )


def _forward_arguments(task: LoadedTask, forward: LoadedTask, case: Case) -> dict[str, Any]:
    """Make float64 arguments of the forward op: the backward op's where it has them, else drawn for the forward op."""
    ours = _wide(make_inputs(task.spec, case).values)
    if set(forward.spec.inputs) <= set(ours):
        return {name: ours[name] for name in forward.spec.inputs}
    axes = {name: size for name, size in case.axes.items() if name in forward.spec.axes}
    if problem := forward.spec.misfit(axes):
        raise SpecError(f"{task.spec.name}: forward {forward.spec.name}: {problem}")
    drawn = _wide(make_inputs(forward.spec, case.model_copy(update={"axes": axes})).values)
    return {name: ours.get(name, value) for name, value in drawn.items()}


def _wide(values: Values) -> dict[str, Any]:
    return {
        name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for name, value in values.items()
    }


def _cotangent(tensor: torch.Tensor, name: str, case: Case, distribution: Distribution) -> torch.Tensor:
    generator = torch.Generator().manual_seed(Draw(case.seed, f"cotangent {name} {distribution}").bits())
    return draw_values(distribution, tuple(tensor.shape), generator, torch.float64).double()
