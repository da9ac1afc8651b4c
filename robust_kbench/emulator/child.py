"""Rewrite the sources in a folder, each in its place, in a process that hostile ones can only end.

`python -m robust_kbench.emulator.child FOLDER SECONDS NAME...`, in the sandbox; SECONDS are the processor's. Prints one
line of JSON: `{"spins": BOOL}` when all is done, else `{"unsupported": MESSAGE}` or `{"error": MESSAGE, "log": TEXT}`.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robust_kbench.emulator.rewrite import SUFFIXES, rewrite
from robust_kbench.errors import BuildError, Unsupported

_LONGEST_MESSAGE = 500
_LONGEST_LOG = 4000


class _OutOfTime(Exception):
    """The time for the processor is over."""


def main() -> None:
    """Rewrite what the command line names."""
    warnings.simplefilter("ignore")  # such as those about escapes in the strings of a source
    folder, seconds, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    signal.signal(signal.SIGXCPU, _stop)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    spins = False
    for name in names:
        if name.endswith(SUFFIXES):
            answer = _rewrite(folder / name, name, names)
            if "spins" not in answer:
                break
            spins |= answer["spins"]
    else:
        answer = {"spins": spins}
    print(json.dumps(answer))


def _stop(*_: object) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)  # it comes again every second
    raise _OutOfTime


def _rewrite(path: Path, name: str, names: Sequence[str]) -> dict[str, Any]:
    try:
        rewritten = rewrite(path.read_bytes().decode(), name, names)
        path.write_bytes(rewritten.text.encode())
        return {"spins": rewritten.spins}
    except Unsupported as error:
        return {"unsupported": str(error)[:_LONGEST_MESSAGE]}
    except BuildError as error:
        return {"error": str(error)[:_LONGEST_MESSAGE], "log": error.log[:_LONGEST_LOG]}
    except _OutOfTime:
        problem, log = "takes too much time; write it shorter, or with less nesting", ""
    except MemoryError:
        problem, log = "takes too much memory; write it shorter, or with less nesting", ""
    except Exception as error:  # it may be a fault of ours after all
        words = f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE]
        problem, log = f"fails: {words}; the log tells where", _places(error)[-_LONGEST_LOG:]
    return {"error": f"{name}: rewriting it for the emulator {problem}", "log": log}


def _places(error: Exception) -> str:
    return "".join(traceback.format_tb(error.__traceback__))


if __name__ == "__main__":
    main()
