"""Contracts of tasks as rows of tables, read from the installed registry."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from robust_kbench.errors import KBenchError
from robust_kbench.folders import data_folder
from robust_kbench.leaderboard.site import paths
from robust_kbench.leaderboard.site.cases import bound
from robust_kbench.leaderboard.site.sources import highlighted
from robust_kbench.registry import LoadedTask, read_task
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import ITEMSIZE, Axis, Input, Task


@dataclass(frozen=True)
class Tensor:
    """Input or output of a task, in words."""

    name: str
    shape: str
    dtype: str
    role: str
    more: str


@dataclass(frozen=True)
class Contract:
    """Contract of a task that is installed here. Its `digest` may differ from that of the records."""

    spec: Task
    digest: str
    axes: tuple[tuple[str, str], ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    timed: tuple[tuple[str, str], ...]
    reference: Markup


def load(name: str) -> LoadedTask | None:
    """Load a task from the registry; None if it has no such task, or none that can be read."""
    if not paths.is_task_name(name):
        return None
    try:
        return read_task(data_folder("tasks") / name)
    except (KBenchError, OSError, ValueError):
        return None


def contract(task: LoadedTask) -> Contract:
    """Describe the contract of a task in words."""
    spec = task.spec
    return Contract(
        spec=spec,
        digest=task.digest,
        axes=tuple((name, _axis(axis)) for name, axis in spec.axes.items()),
        inputs=tuple(
            Tensor(name, _shape(each.shape), each.dtype, each.role, _more(each)) for name, each in spec.inputs.items()
        ),
        outputs=tuple(
            Tensor(name, _shape(each.shape), each.dtype, "output", f"compared by {spec.comparison_of(each)}")
            for name, each in spec.outputs.items()
        ),
        timed=tuple((kind, bound(axes)) for kind in sorted(spec.timed) for axes in spec.timed[kind]),
        reference=highlighted(task.reference, "reference.py"),
    )


def _axis(axis: Axis) -> str:
    if axis.values is not None:
        return ", ".join(map(str, axis.values))
    steps = f", multiples of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"{axis.low:,} to {axis.high:,}{steps}"


def _shape(shape: tuple[str | int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def _more(tensor: Input) -> str:
    if tensor.role == "scalar":
        return (
            f"= {tensor.value}" if tensor.value is not None else f"one of {', '.join(f'{c:g}' for c in tensor.choices)}"
        )
    below = f"below {tensor.below}; " if tensor.below is not None else ""
    return below + ", ".join(tensor.layouts)


def work(spec: Task, axes: dict[str, int], dtype: str) -> tuple[int, int] | None:
    """Return operations and bytes of one binding; None if the installed task does not know such axes."""
    try:
        known = {**axes, "itemsize": ITEMSIZE[dtype]}
        return arithmetic.evaluate(spec.cost.flops, known), arithmetic.evaluate(spec.cost.bytes, known)
    except (ValueError, ArithmeticError, KeyError):
        return None
