"""robust-kbench: verdicts on kernels that hold when their author tries to cheat.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robust_kbench.version import __version__

if TYPE_CHECKING:
    from robust_kbench.evaluate import Evaluator
    from robust_kbench.registry import load_task, read_submission
    from robust_kbench.schema.record import RunRecord, Status
    from robust_kbench.scoring import score

__all__ = [
    "Evaluator",
    "RunRecord",
    "Status",
    "__version__",
    "load_task",
    "read_submission",
    "score",
]

_HOMES = {
    "Evaluator": "evaluate",
    "RunRecord": "schema.record",
    "Status": "schema.record",
    "load_task": "registry",
    "read_submission": "registry",
    "score": "scoring",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"robust_kbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'robust_kbench' has no attribute {name!r}")
