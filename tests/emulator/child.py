"""A process that runs built kernels, one after another, and says what came of each.

Reads one request per line from standard input, as JSON, and answers each with a line:
{"name", "artefact", "device", "modes", "keep"} -> {"inputs", "runs": [{"complaints", "findings", "digest", ...}, ...]},
or {"error"}. An emulated kernel runs in a fork, which it may kill, and whose libraries no other kernel sees; a process
that uses a GPU cannot fork.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import suite
import torch
from comparison import Difference, digest
from description import Kernel
from torch import Tensor

_TIMEOUT_S = 90

Run = Callable[[list[Tensor], Any], tuple[list[Tensor], list[dict[str, Any]]]]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one kernel in each mode and judge what it wrote."""
    kernel = suite.named(request["name"])
    inputs = kernel.draw()
    expected = kernel.expected(inputs)
    run = _runner(kernel, Path(request["artefact"]), request["device"])
    runs = []
    for mode in request["modes"]:
        start = time.perf_counter()
        outputs, findings = run(inputs, mode)
        seconds = time.perf_counter() - start
        runs.append({"findings": findings, "seconds": seconds, **_judged(kernel, outputs, expected)})
        if request.get("keep"):
            torch.save([output.clone() for output in outputs], request["keep"])
    return {"inputs": digest(inputs), "runs": runs}


def _runner(kernel: Kernel, artefact: Path, device: str) -> Run:
    if device == "cuda":
        import native

        return lambda inputs, mode: (native.run(kernel, artefact, inputs), [])
    import emulated

    return lambda inputs, mode: emulated.run(kernel, artefact, inputs, mode)


def _judged(kernel: Kernel, outputs: list[Tensor], expected: list[Tensor]) -> dict[str, Any]:
    pairs = zip(outputs, expected, kernel.outputs, strict=True)
    differences = [Difference(actual, wanted, output) for actual, wanted, output in pairs]
    return {
        "complaints": [difference.complaint for difference in differences if difference.complaint],
        "absolute": max(difference.absolute for difference in differences),
        "relative": max(difference.relative for difference in differences),
        "digest": digest(outputs),
    }


def _reply(request: dict[str, Any], answers: TextIO) -> None:
    try:
        reply = answer(request)
    except Exception as error:  # a kernel that fails must not stop the others
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), file=answers, flush=True)


def _reply_from_a_fork(request: dict[str, Any], answers: TextIO) -> None:
    if (child := os.fork()) == 0:
        signal.alarm(_TIMEOUT_S)
        _reply(request, answers)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        what = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        print(json.dumps({"error": f"the process {what}"}), file=answers, flush=True)


def main() -> None:
    """Answer until the input ends. Whatever else is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    for line in sys.stdin:
        request = json.loads(line)
        reply = _reply if request["device"] == "cuda" else _reply_from_a_fork
        reply(request, answers)


if __name__ == "__main__":
    main()
