"""Sources that our own code stumbles over before a compiler sees them: the submission's failure, unless the disk is."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from robust_kbench import languages
from robust_kbench.errors import BuildError
from robust_kbench.schema.submission import Submission, SubmissionFile

FILE = SubmissionFile(task="norm/rmsnorm", language="python", entry_point="kernel.py::f")
SUBMISSION = Submission(name="mine", file=FILE, sources={"kernel.py": "def f(x): ...\n"})


def _build(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setitem(languages.BUILDERS, "python", fail)
    unused: Any = None
    languages.build(SUBMISSION, unused, "float32", "cpu", Path("unused"))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("1 < 2 < 3"),
        RecursionError("maximum depth"),
        KeyError("grid"),
        OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)),
        OSError(errno.EISDIR, os.strerror(errno.EISDIR)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_sources_bring_about_is_a_failed_build(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="the sources") as told:
        _build(error, monkeypatch)
    assert isinstance(error, OSError) or "in fail" in told.value.log


def test_what_the_machine_lacks_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="No space left"):
        _build(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), monkeypatch)
