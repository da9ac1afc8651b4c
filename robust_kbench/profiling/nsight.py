"""Hardware counters by Nsight Compute: four sections of one call's launches, read from its raw CSV page.

Format: Nsight Compute CLI documentation, "Console Output", `--csv --page raw`: a line of column names, a line of units,
and one line for each launch. Written to that description and tried on no device yet.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from robust_kbench.languages.built import Built
from robust_kbench.profiling import device_tools, tools
from robust_kbench.profiling.device_tools import Outcome
from robust_kbench.profiling.reports import CounterReport, KernelCounters
from robust_kbench.profiling.text import shown
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task

_SECTIONS = ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "WarpStateStats")
_MAX_LAUNCHES = 16
_FILE = "counters.csv"
_KERNEL = "Kernel Name"
_DURATION = "gpu__time_duration.sum"
_PERCENT = {
    "multiprocessor_percent": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
_OLDER = {"memory_percent": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"}
_STALL_PREFIX, _STALL_SUFFIX = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
_MAX_STALLS = 5
_MICROSECONDS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3, "s": 1e6}
_REMEDIES = {
    "ERR_NVGPUCTRPERM": "this user may not read the counters; see developer.nvidia.com/ERR_NVGPUCTRPERM",
    "LibraryNotLoaded": "the driver of this machine offers no counters",
}


def counters(task: Task, built: Built, case: Case, folder: Path) -> CounterReport:
    """Measure one call on the CUDA device; the submission runs without the judge's values and clock."""
    if (ncu := tools.find("ncu")) is None:
        return CounterReport(notes=(tools.absence("ncu"),))
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    command = [
        ncu, "--csv", "--page", "raw", "--log-file", _FILE, "--clock-control", "none", "--profile-from-start", "off",
        "--launch-count", str(_MAX_LAUNCHES), *sections, *device_tools.prepare(task, built, case, folder),
    ]  # fmt: skip
    return report(device_tools.run(command, folder, _FILE))


def report(outcome: Outcome) -> CounterReport:
    """Return the counters that came back, or the reason why there are none."""
    kernels = parse(outcome.written)
    if kernels:
        return CounterReport(tuple(kernels))
    for word, remedy in _REMEDIES.items():
        if word in outcome.written or word in outcome.printed:
            return CounterReport(notes=(f"ncu: {remedy}",))
    words = (outcome.written.strip() or outcome.printed.strip()).splitlines()[-1:] or ["it said nothing"]
    return CounterReport(notes=(f"ncu ended with code {outcome.code} and no counters: {shown(words[0])}",))


def parse(text: str) -> list[KernelCounters]:
    """Return every launch of a raw page; lines before the column names are ncu's messages."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"') and _KERNEL in line), None)
    if start is None:
        return []
    rows = csv.DictReader(io.StringIO("\n".join(lines[start:])))
    try:
        units = next(rows, {})
        return [_counters(row, units) for _, row in zip(range(_MAX_LAUNCHES), rows, strict=False) if row.get(_KERNEL)]
    except csv.Error:
        return []


def _counters(row: Mapping[str, str], units: Mapping[str, str]) -> KernelCounters:
    percent = {name: _number(row.get(column)) for name, column in _PERCENT.items()}
    for name, column in _OLDER.items():
        percent[name] = _number(row.get(column)) if percent[name] is None else percent[name]
    duration = _number(row.get(_DURATION))
    scale = _MICROSECONDS.get(units.get(_DURATION) or "")
    return KernelCounters(
        kernel=shown(row[_KERNEL]),
        duration_us=duration * scale if duration is not None and scale is not None else None,
        stalls=_stalls(row),
        **percent,
    )


def _stalls(row: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for column, text in row.items():
        if isinstance(column, str) and column.startswith(_STALL_PREFIX) and column.endswith(_STALL_SUFFIX):
            reason = column.removeprefix(_STALL_PREFIX).removesuffix(_STALL_SUFFIX).replace("_", " ")
            if (value := _number(text)) is not None and reason != "selected":
                found[shown(reason, 40)] = value
    return dict(sorted(found.items(), key=lambda item: -item[1])[:_MAX_STALLS])


def _number(text: object) -> float | None:
    """Return a finite number that is not negative, else None; ncu writes thousands with commas."""
    try:
        value = float(str(text).replace(",", ""))
    except ValueError:
        return None
    return value if 0 <= value < 1e15 else None
