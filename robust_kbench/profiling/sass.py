"""Composition of a kernel's machine code: classes of instructions, widths of memory accesses, and hints.

The opcodes are those of NVIDIA's CUDA Binary Utilities, "Instruction Set Reference", compute capability 8.0 to 12.0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from robust_kbench.profiling.reports import InstructionMix

_FUNCTION = re.compile(r"^\.text\.([\w$.]+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)(.*)")
# Compilers load constants by a multiplication of zero by zero in half precision.
_MOVE = re.compile(r"\s*U?R\d+, -RZ, RZ,")
_MAX_KERNELS = 64
# The first pattern that fits the beginning of an opcode names its class. HADD2.F32 turns float16 into float32.
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("tensor core", r"(?:[HIBDQO]G?|UTC[A-Z]*|OM)MMA"),
        ("bulk copy", r"UTMA|UBLKCP|UBLKRED"),
        ("asynchronous copy", r"LDGSTS"),
        ("global load", r"LDG|LD\b"),
        ("global store", r"STG|ST\b"),
        ("shared load", r"LDS"),
        ("shared store", r"STS"),
        ("local memory", r"LDL|STL"),
        ("constant load", r"U?LDC"),
        ("atomic", r"ATOM|RED\b|REDG|REDAS"),
        ("barrier", r"BAR|WARPSYNC|SYNCS|DEPBAR|MEMBAR"),
        ("shuffle", r"SHFL|U?REDUX|VOTE|MATCH"),
        ("conversion", r"[FI]2[FIP]|FRND|HADD2\.F32|F2"),
        ("float64", r"D(?:FMA|ADD|MUL|SETP|MNMX)"),
        ("float16", r"H(?:FMA2|ADD2|MUL2|SET2|SETP2|MNMX2)"),
        ("fused multiply-add", r"FFMA"),
        ("float32", r"F(?:ADD|MUL|SETP|SET|MNMX|SEL|CHK|SWZ)"),
        ("special function", r"MUFU"),
        ("control", r"BRA|BSYNC|BSSY|BREAK|EXIT|CALL|RET|BRX|JMP|NANOSLEEP|YIELD|BMOV"),
    )
)
_WIDTHS = re.compile(r"\.(?:U8|S8)|\.(?:U16|S16)|\.(?:256|128|64|32)\b")
_SIZED = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LDGSTS")
_MANY_LOADS = 2


def kernels(listing: str, dtype: str, architecture: str) -> list[InstructionMix]:
    """Return the mix of each function of an `nvdisasm -c` listing, by its mangled name."""
    functions: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in listing.splitlines():
        if match := _FUNCTION.match(line):
            current = functions.setdefault(match[1], []) if len(functions) < _MAX_KERNELS else None
        elif current is not None and (found := _INSTRUCTION.match(line)):
            is_move = found[1].startswith("HFMA2") and _MOVE.match(found[2])
            current.append("MOV" if is_move else found[1])
    return [_mix(name, opcodes, dtype, architecture) for name, opcodes in functions.items()]


def _mix(name: str, opcodes: Sequence[str], dtype: str, architecture: str) -> InstructionMix:
    useful = [opcode for opcode in opcodes if opcode != "NOP"]  # padding behind the last branch
    classes = Counter(_class(opcode) for opcode in useful)
    widths: dict[str, dict[int, int]] = {}
    for opcode in useful:
        if (base := opcode.partition(".")[0]) in _SIZED:
            sizes = widths.setdefault(base, {})
            sizes[_bits(opcode)] = sizes.get(_bits(opcode), 0) + 1
    ordered = dict(classes.most_common())
    return InstructionMix(
        name, dtype, architecture, len(useful), ordered, widths, tuple(_hints(ordered, widths, dtype))
    )


def _class(opcode: str) -> str:
    return next((name for name, pattern in _CLASSES if pattern.match(opcode)), "integer and move")


def _bits(opcode: str) -> int:
    """Return the bits that one thread moves; an access without a size in its name moves 32 bits."""
    size = match.group(0) if (match := _WIDTHS.search(opcode)) else ".32"
    return int(re.sub(r"[^0-9]", "", size))


def _hints(classes: Mapping[str, int], widths: Mapping[str, Mapping[int, int]], dtype: str) -> Iterator[str]:
    if classes.get("local memory"):
        yield f"local memory accesses ({classes['local memory']}): spilt registers, or an array with a computed index"
    for base, what in (("LDG", "loads"), ("STG", "stores")):
        sizes = widths.get(base, {})
        if sum(sizes.values()) >= _MANY_LOADS and max(sizes) < 128:
            yield f"no 128-bit global {what}: the widest moves {max(sizes)} bits a thread"
    if classes.get("float64") and dtype != "float64":
        yield f"float64 instructions in a {dtype} build ({classes['float64']}): a literal without f, or a double"
    if classes.get("atomic"):
        yield f"atomic instructions ({classes['atomic']}): sums whose order changes from run to run"
