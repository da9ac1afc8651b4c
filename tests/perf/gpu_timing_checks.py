"""Five checks of the method's assumptions about a CUDA device, on this one.

    python tests/perf/gpu_timing_checks.py --out DIR [--only NAME…]

The script writes timing_checks.json and timing_checks.md, in less than ten minutes. Each check runs in a process of its
own with a time limit: one that fails costs the others nothing, and its error is in the report.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
CHECKS: Mapping[str, tuple[str, int]] = {
    "clock": ("the judge's clock around an empty kernel", 40),
    "equals": ("an operator against itself in other workers", 190),
    "planted": ("a slow-down of 3 % that was planted", 110),
    "power": ("a product of zeros and of random numbers", 30),
    "profiler": ("published kernels by our clock and by a profiler's", 230),
}
"""Checks by name: the subject, and the limit in seconds."""
Row = dict[str, Any]


def run_check(name: str, limit_s: int) -> dict[str, Any]:
    """Return the rows of one check, or the reason why there are none."""
    started = time.monotonic()
    command = [sys.executable, str(HERE), "--run", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        told = parse_rows(done.stdout, done.returncode, done.stderr)
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        told = {**parse_rows(output, 0, ""), "error": f"took more than {limit_s} s"}
    return {**told, "seconds": round(time.monotonic() - started, 1)}


def parse_rows(output: str, code: int, errors: str) -> dict[str, Any]:
    """Parse the rows that a check has printed, one JSON object a line; a failed check has printed its first ones."""
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if code == 0:
        return {"rows": rows}
    last = errors.strip().splitlines()[-8:] or ["it said nothing"]
    return {"rows": rows, "error": f"exit code {code}: " + "\n".join(last)}


def markdown(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return all checks as tables in Markdown."""
    parts = ["# Timing checks\n"]
    for name, result in results.items():
        parts.append(f"## {name}: {CHECKS[name][0]} ({result['seconds']} s)\n")
        if result["rows"]:
            parts.append(table(result["rows"]))
        if "error" in result:
            parts.append(f"```\n{result['error']}\n```\n")
    return "\n".join(parts)


def table(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table; a column for every key, in the order of their first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([_cell(row.get(key)) for key in columns] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks, and return 1 if a check gave no answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--only", nargs="+", choices=list(CHECKS), default=list(CHECKS))
    parser.add_argument("--run", choices=list(CHECKS), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.run:
        import gpu_checks

        for row in gpu_checks.CHECKS[chosen.run]():
            print(json.dumps(row), flush=True)
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Mapping[str, Any]] = {}
    for name in chosen.only:
        results[name] = run_check(name, CHECKS[name][1])
        print(f"{name}: {results[name]['seconds']} s {results[name].get('error', '')}", flush=True)
        (chosen.out / "timing_checks.json").write_text(json.dumps(results, indent=1))
        (chosen.out / "timing_checks.md").write_text(markdown(results))
    return int(any("error" in result for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
