"""Compile CUDA sources to a Python module, as torch.utils.cpp_extension would; used inside the sandbox."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from robust_kbench.emulator import rewrite, toolchain, torch_headers
from robust_kbench.errors import BuildError

_ERROR = re.compile(r"^.*\b(?:error|undefined reference)\b.*$", re.MULTILINE)
_DEFINITIONS = ("-D", "-U")


@dataclass(frozen=True)
class Libraries:
    """Libraries that every kernel is linked to."""

    runtime: Path
    torch: Path


def libraries() -> Libraries:
    """Build both libraries where they are missing; needs a cache that can be written."""
    runtime = toolchain.runtime_library()
    return Libraries(runtime, torch_headers.library(toolchain.cache_folder(), runtime))


def compile_module(
    name: str,
    sources: Mapping[str, str],
    folder: Path,
    linked: Libraries,
    *,
    flags: Sequence[str] = (),
    checked: bool = False,
) -> ModuleType:
    """Rewrite, compile, link and import the sources. Raises BuildError and Unsupported."""
    folder.mkdir(parents=True, exist_ok=True)
    rewritten = rewrite.rewrite_tree(sources)
    for path, file in rewritten.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(file.text)
    units = [path for path in sources if path.endswith((".cu", ".cpp", ".cc"))]
    objects = [_compile(folder / unit, sources[unit], name, linked, flags, checked) for unit in units]
    target = folder / f"{name}.so"
    link = [*torch_headers.link_options(linked.torch), str(linked.runtime), f"-Wl,-rpath,{linked.runtime.parent}"]
    _run([toolchain.compiler(), "-shared", *map(str, objects), "-o", str(target), *link])
    return _load(name, target)


def _compile(path: Path, text: str, name: str, linked: Libraries, flags: Sequence[str], checked: bool) -> Path:
    target = path.with_suffix(".so")
    kept = [f"-I{path.parent}", *(flag for flag in flags if flag.startswith(_DEFINITIONS))]
    if any("use_fast_math" in flag for flag in flags):
        kept.append("-DKBEMU_FAST_MATH")

    def attempt(whole: bool) -> None:
        options = [*kept, *torch_headers.compile_options(text, name, whole=whole)]
        _run(toolchain.commands(path, target, linked.runtime, checked=checked, options=options)[0])

    whole = torch_headers.needs_whole(text)
    try:
        attempt(whole)
    except BuildError as error:
        if whole or not torch_headers.may_need_whole(error.log):
            raise
        attempt(whole=True)
    return target.with_suffix(".o")


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = _ERROR.search(done.stderr)
        raise BuildError(first.group().strip() if first else done.stderr[-500:], done.stderr)


def _load(name: str, path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise BuildError(str(error), str(error)) from None
    return module
