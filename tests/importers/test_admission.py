"""The audit of an imported task, and the outcome for a task that cannot be audited."""

from __future__ import annotations

from specimens import load_made_task

from robust_kbench.importers import admission
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.admission import Admission
from robust_kbench.version import __version__

LARGE = 70_000_000


def test_a_gradient_is_differentiated_by_its_own_reference() -> None:
    """The imported task names no `forward`, which a gradient in the registry has to name."""
    source = "import torch\n\n\ndef reference(grad_y, x):\n    return grad_y * torch.cos(x)\n"
    matrix = {"shape": ["rows", "cols"], "layouts": ["contiguous"]}
    made = load_made_task(
        source, inputs={"grad_y": {**matrix, "role": "gradient"}, "x": matrix},
        outputs={"grad_x": {"shape": ["rows", "cols"]}}, dtypes=["float32"],
        cost={"flops": "2 * rows * cols", "bytes": "3 * rows * cols * itemsize"},
    )  # fmt: skip
    (told,) = admission.audited(made, seconds=60)
    assert told.faults == ()
    assert told.killed[0] == told.killed[1] > 5


def large_task() -> LoadedTask:
    """Return a task whose smallest case is more than a thousand times as large as an audit's draws."""
    return load_made_task(
        "def reference(x):\n    return x.abs()\n",
        axes={"cols": {"low": LARGE, "high": LARGE + 1}}, constraints=[], dtypes=["float32"],
        inputs={"x": {"shape": ["cols"], "layouts": ["contiguous"]}}, outputs={"y": {"shape": ["cols"]}},
        timed={"cpu": [{"cols": LARGE}], "cuda": [{"cols": LARGE}]},
        cost={"flops": "cols", "bytes": "2 * cols * itemsize"},
    )  # fmt: skip


def test_a_task_without_a_small_case_is_refused_once_and_for_all() -> None:
    (told,) = admission.audited(large_task(), seconds=10)
    assert (told.cases, told.killed, told.mutants) == (0, (0, 0), (0, 0))
    assert told.faults == ("cannot be audited: norm/scale: found no sizes within the constraints and 65,536 elements",)
    recorded = Admission(status="not admitted", reasons=told.faults, digest="sha256:0", kbench=__version__)
    assert admission.is_final(recorded)
