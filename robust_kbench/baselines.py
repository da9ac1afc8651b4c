"""Baselines of every task: eager PyTorch, torch.compile, and the further ones that the task names.

They are submissions like any other: built, loaded in a worker of their own, called and timed by the same code.
"""

from __future__ import annotations

from robust_kbench.registry import LoadedTask
from robust_kbench.schema.record import EAGER, OPERATOR, REFERENCE, WIDE, Tier
from robust_kbench.schema.submission import Submission, SubmissionFile

COMPILE = "compile"
# On a CUDA device a worker's calls have several shapes: each has code of its own, as if it were the only one. A second
# shape would else be compiled for all sizes. Scalars are fresh in each call, so that dynamic=False compiled every time.
_COMPILED = """import torch
from reference import reference

torch._dynamo.config.recompile_limit = 64
every_shape = torch.compile(reference)


def each_shape(*inputs):
    for tensor in inputs:
        if isinstance(tensor, torch.Tensor):
            torch._dynamo.mark_static(tensor)
    return every_shape(*inputs)


compiled = each_shape if torch.cuda.is_available() else every_shape
"""


def baselines_for(task: LoadedTask, tier: Tier) -> list[Submission]:
    """List the baselines that the candidate is measured against.

    Tier quick leaves out torch.compile and all further ones but `WIDE`. Eager PyTorch is the code that its users write:
    the library's operator where there is one, else the task's reference. Some operators are slower than the
    decomposition that they stand for, above all in halves on processors. So both are timed at any tier.
    """
    decomposed = "reference.py::reference"
    named = {name: _baseline(task, name, entry) for name, entry in task.spec.baselines.items() if name != OPERATOR}
    eager = _baseline(task, EAGER, task.spec.baselines.get(OPERATOR, decomposed))
    plain = [eager, *([_baseline(task, REFERENCE, decomposed)] if OPERATOR in task.spec.baselines else [])]
    if tier == "quick":
        return [*plain, *(each for name, each in named.items() if name == WIDE)]
    compiled = _baseline(task, COMPILE, "compiled.py::compiled", {"compiled.py": _COMPILED})
    return [*plain, compiled, *named.values()]


def _baseline(task: LoadedTask, name: str, entry_point: str, sources: dict[str, str] | None = None) -> Submission:
    file = SubmissionFile(
        task=task.spec.name, language="python", abi="value", entry_point=entry_point, author="PyTorch"
    )
    return Submission(name=name, file=file, sources={"reference.py": task.reference, **(sources or {})})
