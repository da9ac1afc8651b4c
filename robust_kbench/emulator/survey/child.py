"""Handle one kernel of the survey inside the sandbox: build it, run it if it is a model, write the result.

Called as `python -I -m robust_kbench.emulator.survey.child REQUEST.json`. It writes result.json beside the request.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import sys
from pathlib import Path
from typing import Any

from robust_kbench.emulator.survey.builder import Builder
from robust_kbench.emulator.survey.extension import Libraries


def main() -> None:
    """Work through the request; an exception becomes the reason in the result."""
    place = Path(sys.argv[1])
    request = json.loads(place.read_text())
    faulthandler.dump_traceback_later(request["seconds"])  # shortly before the end, to tell where the time went
    libraries = Libraries(Path(request["runtime"]), Path(request["torch"]))
    builder = Builder(place.parent, libraries, checked=request["checked"])
    result: dict[str, Any] = {"ran": False}
    try:
        _work(request, builder, result, place)
    except Exception as error:
        result["reason"] = _told(error)
    _write(result, builder, place)


def _write(result: dict[str, Any], builder: Builder, place: Path) -> None:
    if not builder.tried:
        result.setdefault("reason", "nothing was compiled")
    if builder.error is not None:
        result["reason"] = _told(builder.error)
    result |= {"built": builder.built, "build_seconds": builder.seconds}
    place.with_name("result.json").write_text(json.dumps(result))


def _work(request: dict[str, Any], builder: Builder, result: dict[str, Any], place: Path) -> None:
    import torch

    sys.path[:0] = request["packages"]
    torch.set_num_threads(1)
    ctypes.CDLL(request["torch"])  # from here on tensors are in the emulator's memory
    path = Path(request["path"])
    if request["kind"] == "extension":
        headers = {file.name: file.read_text() for file in path.parent.glob("*.cuh")}
        builder.build("extension", {path.name: path.read_text(), **headers})
        return
    from robust_kbench.emulator.survey import model

    reference = Path(request["reference"]) if request["reference"] else None
    for _ in model.run(path, reference, builder, request, result):
        _write(result, builder, place)  # should the process die in the kernel, this remains


def _told(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


if __name__ == "__main__":
    main()
