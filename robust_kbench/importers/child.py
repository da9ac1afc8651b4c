"""Program in the sandbox: `robust_kbench.importers.child FOLDER`, where request and result lie."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

from robust_kbench.importers.description import Audited, Report, Request
from robust_kbench.importers.sandbox import REQUEST, RESULT, TASK
from robust_kbench.schema.documents import parse

_SHARE = 0.5
"""Share of the survey's time, for trying values."""


def main() -> None:
    """Answer the request; an exception becomes the reason in the answer."""
    folder = Path(sys.argv[1])
    request = parse(Request, json.loads((folder / REQUEST).read_text()), REQUEST)
    torch.set_num_threads(1)
    try:
        _insist_on_the_sandbox(request.forbidden)
        report = _audit(folder / TASK, request) if request.what == "audit" else _survey(request)
    except Exception as error:
        report = Report(error=_told(error))
    (folder / RESULT).write_text(report.model_dump_json())


def _insist_on_the_sandbox(path: str) -> None:
    """Raise OSError where the system confines nothing: foreign Python is not run there."""
    try:
        open(path).close()
    except OSError:
        return
    raise OSError("no sandbox on this machine: neither landlock nor user namespaces; see `kbench doctor`")


def _survey(request: Request) -> Report:
    from robust_kbench.importers.surveys import surveyed

    return Report(surveyed=surveyed(request, time.monotonic() + _SHARE * request.seconds))


def _audit(folder: Path, request: Request) -> Report:
    from robust_kbench.importers.admission import audited
    from robust_kbench.registry import read_task

    found: list[Audited] = audited(read_task(folder / request.name), request.seconds)
    return Report(audited=tuple(found))


def _told(error: Exception) -> str:
    from robust_kbench.importers.problem import Refused

    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    kind = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
    return f"{kind}{lines[0]}"[:500]


if __name__ == "__main__":
    main()
