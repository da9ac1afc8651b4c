"""Registers, spills and memory of kernels, from what ptxas and cuobjdump print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler
from robust_kbench.profiling import tools
from robust_kbench.profiling.occupancy import occupancy
from robust_kbench.profiling.reports import KernelResources

TIMEOUT_S = 60
MAX_KERNELS = 64
_ENTRY = re.compile(r"Compiling entry function '([\w$.]+)' for '(sm_\w+)'")
# A compiler prints words of the source, too: numbers that are none of its own may have any length.
_COUNT = r"\b(\d{1,12})\b"
_FRAME = re.compile(rf"{_COUNT} bytes stack frame, {_COUNT} bytes spill stores, {_COUNT} bytes spill loads")
_USED = re.compile(rf"Used {_COUNT} registers")
_SHARED = re.compile(rf"{_COUNT} bytes smem")
_CONSTANT = re.compile(rf"{_COUNT} bytes cmem")
_USAGE = re.compile(
    rf"Function ([\w$.]+):\s+REG:{_COUNT} STACK:{_COUNT} SHARED:{_COUNT} LOCAL:{_COUNT}"
    r"((?: CONSTANT\[\d{1,3}\]:\d{1,12}\b)*)"
)
_PREFIX = "(anonymous namespace)::"


@dataclass
class _Entry:
    """State of one entry function while its lines are read."""

    symbol: str
    architecture: str
    registers: int = 0
    stack: int = 0
    stores: int = 0
    loads: int = 0
    shared: int = 0
    constant: int = 0


def from_ptxas(printed: str, dtype: str) -> list[KernelResources]:
    """Return every entry function in the output of `-Xptxas -v`, by mangled name; device functions are left out."""
    entries: list[_Entry] = []
    for line in printed.splitlines():
        if match := _ENTRY.search(line):
            entries.append(_Entry(match[1], match[2]))
        elif not entries:
            continue
        elif (match := _FRAME.search(line)) and not entries[-1].registers:
            # Functions that were not inlined come after the entry's own line and have frames of their own.
            entries[-1].stack, entries[-1].stores, entries[-1].loads = map(int, match.groups())
        elif match := _USED.search(line):
            entries[-1].registers = int(match[1])
            entries[-1].shared = _sum(_SHARED, line)
            entries[-1].constant = _sum(_CONSTANT, line)
    return [_resources(entry, dtype) for entry in entries[:MAX_KERNELS]]


def _sum(pattern: re.Pattern[str], line: str) -> int:
    return sum(map(int, pattern.findall(line)))


def _resources(entry: _Entry, dtype: str) -> KernelResources:
    return KernelResources(
        entry.symbol, dtype, entry.architecture, entry.registers, entry.stack, entry.shared,
        entry.stores, entry.loads, entry.constant, occupancy(entry.architecture, entry.registers, entry.shared),
    )  # fmt: skip


def from_usage(printed: str, dtype: str, architecture: str) -> list[KernelResources]:
    """List functions in the output of `cuobjdump -res-usage`, which does not tell spills from other local memory."""
    found = []
    for symbol, registers, stack, shared, _, constants in _USAGE.findall(printed)[:MAX_KERNELS]:
        size = sum(int(part.partition(":")[2]) for part in constants.split())
        fits = occupancy(architecture, int(registers), int(shared))
        found.append(
            KernelResources(
                symbol,
                dtype,
                architecture,
                int(registers),
                int(stack),
                int(shared),
                constant_bytes=size,
                occupancy=fits,
            )  # fmt: skip
        )
    return found


def demangled(symbols: Iterable[str], folder: Path) -> dict[str, str]:
    """Return names as the author wrote them, template arguments included; unchanged where no tool can tell."""
    names = list(dict.fromkeys(symbols))
    if not names or (tool := tools.find("c++filt")) is None:
        return {name: name for name in names}
    try:
        printed = compiler.run([tool, "--", *names], folder, timeout_s=TIMEOUT_S, max_characters=1 << 18).splitlines()
    except BuildError:
        printed = []
    if len(printed) != len(names):
        return {name: name for name in names}
    return {name: _without_parameters(text) for name, text in zip(names, printed, strict=True)}


def _without_parameters(text: str) -> str:
    """Remove return type and parameters: `void f<float, 1>(float const*)` -> `f<float, 1>`."""
    text = text.replace(_PREFIX, "")
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            text = text[:place]
            break
    return text.removeprefix("void ").strip()
