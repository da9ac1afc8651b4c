"""Build, and where possible run, the kernels below a folder on the emulator, and print a table.

Torch extensions (`.cu` with PYBIND11_MODULE) are built and imported. Models in KernelBench's form, which compile CUDA
with load_inline, are also run against their reference, from the same seed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robust_kbench.emulator.survey import extension, sandbox, sources


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the survey as a command, and return the exit code."""
    options = _parser().parse_args(arguments)
    settings = sandbox.Settings(
        options.seconds, options.memory << 30, options.batch, options.checked, _absolute(options.packages)
    )
    libraries = extension.libraries()
    results = []
    for found in sources.find(options.folder):
        if not re.search(options.only, str(found.path)):
            continue
        result = sandbox.run(found, settings, libraries)
        result["file"] = str(found.path.relative_to(options.folder))
        results.append(result)
        if not options.json:
            print(row(result), flush=True)
    print(json.dumps(results, indent=1) if options.json else totals(results))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m robust_kbench.emulator.survey", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="only files whose path matches this regular expression")
    parser.add_argument("--seconds", type=int, default=180, help="time for one file, build included")
    parser.add_argument("--memory", type=int, default=12, help="address space for one file, in GiB")
    parser.add_argument("--batch", type=int, default=0, help="lower the models' batch_size to this; 0 leaves it")
    parser.add_argument("--packages", type=Path, nargs="*", default=(), help="folders with what the models import")
    parser.add_argument("--checked", action="store_true", help="build for the checker: slower")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    return parser


def _absolute(folders: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(folder.resolve()) for folder in folders)


def row(result: dict[str, Any]) -> str:
    """Return the result as a line of the table."""
    error = f"{result['max_error']:.1e}" if "max_error" in result else "-"
    times = "  ".join(f"{result.get(name, 0.0):6.1f} s" for name in ("build_seconds", "run_seconds"))
    reason = result.get("reason") or ", ".join(sorted({finding["kind"] for finding in result.get("findings", ())}))
    return f"{result['file']:<60}  {_verdict(result):<9}  {error:>8}  {times}  {reason[:160]}".rstrip()


def _verdict(result: dict[str, Any]) -> str:
    if not result["built"]:
        return "not built"
    if not result["ran"]:
        return "built"
    if "right" not in result:
        return "ran"
    return "right" if result["right"] else "differs"


def totals(results: Sequence[dict[str, Any]]) -> str:
    """Count the kernels of each kind, and how many were built, ran, and were right."""
    lines = []
    for kind in ("extension", "model"):
        chosen = [result for result in results if result["kind"] == kind]
        built_ones = [result for result in chosen if result["built"]]
        ran, right = (sum(bool(result.get(key)) for result in built_ones) for key in ("ran", "right"))
        if chosen:
            ran_text = f", {ran} ran, {right} within the tolerance" if kind == "model" else ""
            lines.append(f"{len(chosen)} {kind}s: {len(built_ones)} built{ran_text}")
    return "\n".join(lines) or "nothing found"


if __name__ == "__main__":
    sys.exit(main())
