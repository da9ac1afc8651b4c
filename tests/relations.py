"""A product of matrices and an op on rows, and their results when their inputs are related."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.properties import Relation, relate
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Property, Task

Kernel = Callable[..., torch.Tensor]
DTYPES = ("float32", "float16", "bfloat16")
AXES = {"m": 9, "n": 17, "k": 40}
MATMUL: dict[str, Any] = {
    "axes": {name: {"low": 0, "high": 4096} for name in AXES},
    "constraints": [],
    "inputs": {"a": {"shape": ["m", "k"]}, "b": {"shape": ["k", "n"]}},
    "outputs": {"c": {"shape": ["m", "n"]}},
    "dtypes": list(DTYPES),
    "reduction": "k",
    "timed": {"cpu": [AXES], "cuda": [AXES]},
    "cost": {"flops": "2 * m * n * k", "bytes": "itemsize"},
}
ROWS: dict[str, Any] = {
    **MATMUL,
    "inputs": {"a": {"shape": ["m", "k"]}},
    "outputs": {"c": {"shape": ["m", "k"]}},
}
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
"""Mark for a test that takes the name of a dtype."""


def case_of(dtype: str = "float32", seed: int = 3, **changes: Any) -> Case:
    """Make a case of such sizes."""
    fields: dict[str, Any] = {"axes": AXES, "dtype": dtype, "seed": seed, **changes}
    return Case(**fields)


def relation_of(task: Task, prop: Property, case: Case) -> Relation | None:
    """Return the relation that `prop` states for the inputs of `case`, if there is one."""
    return relate(task, prop, case, make_inputs(task, case), Draw(case.seed, "test"))


def run(task: Task, kernel: Kernel, inputs: Inputs) -> dict[str, torch.Tensor]:
    """Call the kernel for every output, and return the answers, which are the same."""
    return {name: kernel(*inputs.values.values()) for name in task.outputs}


def violations(task: Task, prop: Property, kernel: Kernel, **changes: Any) -> list[str]:
    """List the violations of a property over several seeds."""
    return [found for seed in range(8) if (found := violation(task, prop, kernel, seed=seed, **changes))]


def violation(task: Task, prop: Property, kernel: Kernel, **changes: Any) -> str | None:
    """Describe how the property is violated on the inputs of one case; None if it holds."""
    is_deterministic = changes.pop("is_deterministic", True)
    relation = relation_of(task, prop, case_of(**changes))
    assert relation is not None
    outputs = [run(task, kernel, inputs) for inputs in relation.calls]
    return relation.violation(outputs, {}, is_deterministic=is_deterministic)
