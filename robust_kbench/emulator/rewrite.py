"""CUDA C++ → C++ that runs on a processor, line by line where it was.

    kernel<T><<<grid, block>>>(x);   ::kbemu::launch("kernel", ::kbemu::Config(grid, block), [=](auto&...) {...}, x);
    __shared__ float tile[32][33];   a reference into the block's memory, of the type `float[32][33]`
    asm("..." : "=r"(x));            calls of functions that do what the PTX does

Everything else is valid C++ already, given the headers in `include/`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from robust_kbench.emulator import device_variables, features, inline_assembly, kernels, launches, shared_memory
from robust_kbench.emulator.source import Source

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".cxx", ".inl")


@dataclass(frozen=True)
class Rewritten:
    """A source that g++ compiles."""

    text: str
    spins: bool  # it has volatile memory, which a thread may poll without calling anything


def rewrite(text: str, name: str, files: Collection[str] = ()) -> Rewritten:
    """Rewrite one file; `files` are all of the submission. Raises Unsupported, with feature and place."""
    source = Source(text.removeprefix("\ufeff"), name)  # a byte order mark is one at the beginning only
    features.check(source, files)
    spins = _spins(source)
    has_assembly = inline_assembly.rewrite(source)
    launches.rewrite(source)
    kernels.rewrite_keywords(source)
    kernels.rewrite_launch_bounds(source)
    kernels.rewrite_references(source)
    shared_memory.rewrite(source)
    device_variables.rewrite(source)
    prelude = '#include "kbemu/ptx.h"\n' if has_assembly else ""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return Rewritten(f'{prelude}#line 1 "{escaped}"\n{source.text()}', spins)


def rewrite_tree(sources: Mapping[str, str]) -> dict[str, Rewritten]:
    """Rewrite the C++ and CUDA files of a submission, given by path; others stay as they are."""
    return {
        path: rewrite(text, path, sources) if path.endswith(SUFFIXES) else Rewritten(text, spins=False)
        for path, text in sources.items()
    }


def _spins(source: Source) -> bool:
    for stream in source.streams:
        for index in stream.find("volatile", "__volatile__"):
            if stream.text(index - 1) not in inline_assembly.KEYWORDS:
                return True
    return False
