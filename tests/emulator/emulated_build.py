"""Builds a kernel of the suite for the emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from description import Kernel

from robust_kbench.emulator import toolchain, torch_headers
from robust_kbench.emulator.rewrite import rewrite


def build(kernel: Kernel, folder: Path, *, checked: bool) -> Path:
    """The shared object. Raises CalledProcessError, with the compiler's words, and Unsupported."""
    folder.mkdir(parents=True, exist_ok=True)
    text = kernel.source.read_text()
    rewritten = rewrite(text, "kernel.cu")
    source, target = folder / "kernel.cu", folder / f"{kernel.name.replace('/', '_')}_{checked:d}.so"
    source.write_text(rewritten.text)
    # A thread that polls volatile memory gives way to others only in instrumented code.
    instrumented = checked or rewritten.spins
    if kernel.abi == "torch":
        _build_extension(text, source, target, checked=instrumented)
    else:
        _run(toolchain.commands(source, target, toolchain.runtime_library(), checked=instrumented))
    return target


def _build_extension(text: str, source: Path, target: Path, *, checked: bool) -> None:
    runtime = toolchain.runtime_library()
    libraries = torch_headers.link_options(torch_headers.library(toolchain.cache_folder(), runtime))

    def attempt(*, whole: bool) -> None:
        options = torch_headers.compile_options(text, target.stem, whole=whole)
        _run(toolchain.commands(source, target, runtime, checked=checked, options=options, libraries=libraries))

    whole = torch_headers.needs_whole(text)
    try:
        attempt(whole=whole)
    except subprocess.CalledProcessError as error:
        if whole or not torch_headers.may_need_whole(error.stderr):
            raise
        attempt(whole=True)


def _run(commands: Sequence[Sequence[str]]) -> None:
    for command in commands:
        subprocess.run(command, capture_output=True, text=True, check=True)
