"""Builders, one module per language: they turn sources into an artefact. Loading the artefact is the worker's part.

The table is the registry: a language is a module with `build`, and a line here.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages import cpp, cuda, python, triton
from robust_kbench.languages.built import Built
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

Build = Callable[[Submission, Task, FloatDType, DeviceKind, Path], Built]

_OF_NAMES = {errno.ENAMETOOLONG, errno.EISDIR}
"""Errors that a name in the sources can bring about, and the state of the machine cannot."""
BUILDERS: dict[str, Build] = {
    "python": python.build,
    "triton": triton.build,
    "cpp": cpp.build,
    "cuda": cuda.build,
}


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Build `submission` for one element type in the empty `folder`.

    Raises BuildError with the compiler's first error, or with the error that our own code meets in the sources. Raises
    Unsupported when this machine cannot run the result.
    """
    try:
        return BUILDERS[submission.file.language](submission, task, dtype, device, folder)
    except (ValueError, LookupError, RecursionError) as error:
        # The log tells where: it may be a fault of ours after all.
        message = f"the sources cannot be understood: {type(error).__name__}: {error}"
        raise BuildError(message, traceback.format_exc()) from None
    except OSError as error:
        if error.errno in _OF_NAMES:
            raise BuildError(f"the sources name what no file can be called: {error}") from None
        raise
