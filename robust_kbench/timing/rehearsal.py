"""A call of a baseline with zeros, before anything is timed: what it compiles and loads is there after that."""

from __future__ import annotations

from typing import Any

from robust_kbench.cases import layouts
from robust_kbench.cases.values import make_inputs
from robust_kbench.isolation.arena import Slot, span_of
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import ITEMSIZE, Task, shape_of


def rehearsal_of(task: Task, case: Case) -> dict[str, Any]:
    """Describe the call to a worker: tensors of the shapes of `case`, in its layout, and the scalars that it has."""
    scalars = {name for name, spec in task.inputs.items() if spec.role == "scalar"}
    drawn = make_inputs(task, case, only=scalars).values
    return {
        "dtype": case.dtype,
        "inputs": [
            {"scalar": spec.dtype} if name in scalars else _tensor(task, case, name)
            for name, spec in task.inputs.items()
        ],
        "outputs": [_tensor(task, case, name) for name in task.outputs],
        "scalars": {place: drawn[name] for place, name in enumerate(task.inputs) if name in scalars},
        "axes": list(case.axes.values()),
    }


def _tensor(task: Task, case: Case, name: str) -> dict[str, Any]:
    spec = task.tensors[name]
    dtype, shape = task.dtype_of(spec, case.dtype), shape_of(spec, case.axes)
    stride = layouts.strides(shape, "contiguous")
    return Slot(dtype, shape, stride, 0, span_of(shape, stride), ITEMSIZE[dtype]).describe()
