"""Translation of the runtime's reports to defects with file and line."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from robust_kbench.schema.defect import Defect

KINDS = {
    "race_shared": "two threads access the same shared memory without order, and one of them writes",
    "race_global": "the same in global memory",
    "uninitialised_shared": "shared memory is read that no thread has written",
    "uninitialised_global": "an output or an allocation is read before anything was written there",
    "out_of_bounds_shared": "an access outside a shared variable",
    "out_of_bounds_global": "an access outside every tensor, allocation and variable, or to freed memory",
    "misaligned_access": "an address that is not a multiple of the access's size",
    "divergent_barrier": "threads of one block wait at different barriers",
    "warp_mask": "a lane calls a warp intrinsic whose mask does not name it",
    "warp_divergence": "a mask names lanes that never arrive",
    "inactive_lane": "a shuffle reads from a lane that takes no part",
    "launch_limit": "a grid, a block or its shared memory that no device accepts",
    "deadlock": "threads wait for each other, or for nobody",
    "shift_width": "a shift by the width of the type or more",
    "float_conversion": "a conversion to an integer type that cannot hold the value",
    "integer_division": "an integer division by zero, or one that overflows",
    "invalid_free": "cudaFree of something that is no live allocation",
    "local_memory": "a thread's stack is exhausted",
    "trap": "an assertion failed or the kernel trapped",
    "work_limit": "the kernel did not end",
    "unsupported": "the emulator cannot run this; a device can",
}
"""Kinds of defects, each with its meaning."""

RunCommand = Callable[[list[str]], str]
_FRAME = re.compile(r"(?P<file>.*):(?P<line>[0-9]{1,9})(?: \(discriminator \d+\))?")
_ADDRESS_BITS = 62


def resolve(
    raw: Sequence[Mapping[str, Any]], artefact: Path, sources: Collection[str], run: RunCommand
) -> tuple[Defect, ...]:
    """Turn the reports of one call into defects, and look up their lines.

    `artefact` is the shared object that ran, `sources` are the names of the submission's files. `run` executes a
    command and returns its output. The debugger's tool runs on a file that a hostile source made.
    """
    offsets = sorted({place["offset"] for entry in raw for place in _places(entry) if "offset" in place})
    lines = _lines(offsets, artefact, sources, run) if offsets else {}
    return tuple(_defect(entry, lines) for entry in raw)


def _places(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield entry["place"]
    if entry.get("other"):
        yield entry["other"]["place"]


def _lines(
    offsets: Sequence[int], artefact: Path, sources: Collection[str], run: RunCommand
) -> dict[int, tuple[str, int]]:
    if (tool := shutil.which("addr2line")) is None:
        return {}
    # The file that a source names by `#line` may have any name, with line breaks and what looks like an address. So the
    # tool is asked before each offset for an address that no source can know, of which there is nothing to tell.
    secret = secrets.randbits(_ADDRESS_BITS)
    asked = [hex(address) for offset in offsets for address in (secret, offset)]
    printed = run([tool, "-a", "-i", "-e", str(artefact), *asked])
    answers = re.split(rf"^0x0*{secret:x}\n", printed, flags=re.MULTILINE)[1:]
    found: dict[int, tuple[str, int]] = {}
    for offset, answer in zip(offsets, answers, strict=False):  # what is printed may have been cut
        for line in answer.split("\n"):
            if (match := _FRAME.fullmatch(line)) and _is_source(match["file"], sources):
                # The innermost frame in the submission: inside it are only our headers.
                found[offset] = match["file"], int(match["line"])
                break
    return found


def _is_source(file: str, sources: Collection[str]) -> bool:
    return any(file == name or file.endswith(f"/{name}") for name in sources)


def _defect(entry: Mapping[str, Any], lines: Mapping[int, tuple[str, int]]) -> Defect:
    file, line = _resolved(entry["place"], lines)
    other = ""
    if entry.get("other"):
        far_file, far_line = _resolved(entry["other"]["place"], lines)
        block, thread = entry["other"]["block"], entry["other"]["thread"]
        at = f" at {Path(far_file).name}:{far_line}" if far_line else ""
        other = f"{at} by block {tuple(block)}, thread {tuple(thread)}"
    return Defect(
        kind=entry["kind"],
        message=entry["message"],
        kernel=entry["kernel"],
        file=Path(file).name,
        line=line,
        block=_position(entry.get("block")),
        thread=_position(entry.get("thread")),
        other=other,
        count=entry["count"],
    )


def _resolved(place: Mapping[str, Any], lines: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
    if place.get("line"):
        return place["file"], place["line"]
    return lines.get(place.get("offset", -1), ("", 0))


def _position(value: Sequence[int] | None) -> tuple[int, int, int] | None:
    return (value[0], value[1], value[2]) if value else None
