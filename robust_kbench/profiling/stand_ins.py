"""Description of a call for readers that need no values: shapes, dtypes, axes and scalars."""

from __future__ import annotations

from typing import Any

from robust_kbench.cases.values import make_inputs
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task, shape_of


def stand_ins(task: Task, case: Case) -> dict[str, Any]:
    """Return the part of a request that `robust_kbench.worker.stand_in` makes arguments from."""
    scalars = {name: spec for name, spec in task.inputs.items() if spec.role == "scalar"}
    values = make_inputs(task.model_copy(update={"inputs": scalars}), case).values

    def describe(name: str) -> dict[str, Any]:
        if name in values:
            return {"value": values[name]}
        spec = task.tensors[name]
        return {"shape": list(shape_of(spec, case.axes)), "dtype": task.dtype_of(spec, case.dtype)}

    return {
        "inputs": list(map(describe, task.inputs)),
        "outputs": list(map(describe, task.outputs)),
        "axes": list(case.axes.values()),
    }
