"""Loops of C++ source that g++ has vectorised, and the reasons why it has not vectorised the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler, cpp
from robust_kbench.languages.built import write_sources
from robust_kbench.profiling import tools
from robust_kbench.profiling.reports import CompilerReport, Loop
from robust_kbench.profiling.text import shown
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType, Task

_TIMEOUT_S = 60
_TORCH_TIMEOUT_S = 300
_MEMORY_BYTES = 8 << 30
_LOG_CHARACTERS = 1 << 20
_MAX_LOOPS = 100
_REMARK = re.compile(r"^(?P<file>[^:\s][^:]*):(?P<line>\d{1,9}):\d+: (?P<kind>optimized|missed): +(?P<text>.*)$")
_VECTORS = re.compile(r"loop vectorized using (?:variable length|(\d{1,9}) byte) vectors")
_FAILED = "couldn't vectorize loop"
_REASON = "not vectorized: "
_UNEXPLAINED = "no reason given"

_Place = tuple[str, int]


def compile_loops(submission: Submission, task: Task, dtypes: Sequence[FloatDType], folder: Path) -> CompilerReport:
    """Return g++'s report on every loop, dtype by dtype. A failure to compile is part of the report."""
    if (found := tools.find("g++")) is None:
        return CompilerReport(notes=(tools.absence("g++"),))
    loops: list[Loop] = []
    for dtype in dtypes[:1] if submission.abi == "torch" else dtypes:
        try:
            printed = _compile(submission, task, dtype, folder / dtype, found)
        except BuildError as error:
            log = tuple(shown(line) for line in error.log.splitlines()[:12])
            return CompilerReport(failure=shown(str(error)), notes=log)
        loops += from_remarks(printed, dtype, submission.sources)
    notes = () if loops else ("the compiler says nothing about any loop of the submission",)
    return CompilerReport(loops=tuple(loops), notes=notes)


def _compile(submission: Submission, task: Task, dtype: FloatDType, folder: Path, found: str) -> str:
    folder.mkdir()
    entry = write_sources(submission, folder)
    command = [found, "-c", "-fPIC", "-std=c++17", *(submission.file.build or cpp.DEFAULT_FLAGS), f"-I{cpp.INCLUDE}"]
    command += ["-fopt-info-vec-optimized", "-fopt-info-vec-missed"]
    if submission.abi == "torch":
        command += cpp.torch_options("kernel")
    else:
        command += cpp.c_options(submission, task, dtype, folder)
    limit = _TORCH_TIMEOUT_S if submission.abi == "torch" else _TIMEOUT_S
    return compiler.run(
        [*command, str(entry), "-o", str(folder / "kernel.o")], folder,
        timeout_s=limit, memory_bytes=_MEMORY_BYTES, max_characters=_LOG_CHARACTERS,
    )  # fmt: skip


def from_remarks(printed: str, dtype: str, sources: Collection[str]) -> list[Loop]:
    """Return an entry for each line of `sources` that begins a loop, in order; other files' loops are left out.

    A loop that was vectorised several times, for a body and its remainder, has the widest of its vectors.
    """
    widest: dict[_Place, int] = {}
    missed: dict[_Place, str] = {}
    failed: _Place | None = None
    for match in filter(None, map(_REMARK.match, printed.splitlines())):
        place = match["file"], int(match["line"])
        if vectors := _VECTORS.match(match["text"]):
            widest[place] = max(widest.get(place, 0), int(vectors[1] or 0))
        elif match["text"].startswith(_FAILED):
            failed = place
            missed[place] = _UNEXPLAINED
        elif failed is not None and match["text"].startswith(_REASON):
            # The reason follows the loop, under the line of the statement that is to blame.
            missed[failed], failed = shown(match["text"].removeprefix(_REASON)), None
    places = sorted(place for place in widest.keys() | missed.keys() if place[0] in sources)[:_MAX_LOOPS]
    return [Loop(*place, dtype, widest.get(place, 0), "" if place in widest else missed[place]) for place in places]
