"""compute-sanitizer on a CUDA device: its four tools, one call each, findings with kernel, line and thread.

Format: Compute Sanitizer documentation, "Memcheck Report"; every line of a report begins with nine equals signs, and
those that belong to a finding are indented. Written to that description and tried on no device yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from robust_kbench.languages.built import Built
from robust_kbench.profiling import device_tools, tools
from robust_kbench.profiling.device_tools import Outcome
from robust_kbench.profiling.reports import SanitizerFinding, SanitizerReport
from robust_kbench.profiling.text import shown
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_FILE = "sanitizer.log"
_MARK = "========= "
_INDENT = "    "
_SUMMARIES = ("ERROR SUMMARY", "RACECHECK SUMMARY")
_HEADINGS = ("COMPUTE-SANITIZER", "LEAK SUMMARY", "Target application", *_SUMMARIES)
_BACKTRACE = "Saved host backtrace"
_MAX_FINDINGS = 20
_DETAILS = 3


def check(task: Task, built: Built, case: Case, folder: Path) -> SanitizerReport:
    """Run every tool on one call of `case`."""
    if (found := tools.find("compute-sanitizer")) is None:
        return SanitizerReport(notes=(tools.absence("compute-sanitizer"),))
    checked: list[str] = []
    findings: list[SanitizerFinding] = []
    notes: list[str] = []
    for tool in TOOLS:
        home = folder / tool
        home.mkdir()
        command = [found, "--tool", tool, "--log-file", _FILE, "--print-limit", str(_MAX_FINDINGS)]
        outcome = device_tools.run([*command, *device_tools.prepare(task, built, case, home)], home, _FILE)
        if (reason := failure(outcome)) is None:
            checked.append(tool)
            findings += parse(outcome.written, tool)
        else:
            notes.append(f"{tool}: {reason}")
    return SanitizerReport(tuple(checked), tuple(findings), tuple(notes))


def failure(outcome: Outcome) -> str | None:
    """Return the reason why the tool came to no result, or None; a report without its summary was cut off."""
    lines = outcome.written.splitlines()
    if outcome.code == 124:
        return "did not finish in time; the binding may be too large for it"
    if any(_text(line).startswith(_SUMMARIES) for line in lines) and "Internal Sanitizer Error" not in outcome.written:
        return None
    words = [_text(line) for line in lines if not _text(line).startswith(_HEADINGS)] or outcome.printed.splitlines()
    return f"ended with code {outcome.code} and no summary: {shown(words[-1]) if words else 'it said nothing'}"


def parse(text: str, tool: str) -> list[SanitizerFinding]:
    """Return each finding as one line: error, place, thread. Equal findings are counted."""
    counts: dict[str, int] = {}
    for message in _messages(text):
        counts[message] = counts.get(message, 0) + 1
    return [SanitizerFinding(tool, message, count=count) for message, count in counts.items()][:_MAX_FINDINGS]


def _messages(text: str) -> Iterator[str]:
    parts: list[str] = []
    for line in text.splitlines():
        if not line.startswith(_MARK):
            continue
        content = line[len(_MARK) :]
        if content.startswith(_INDENT) and parts:
            parts.append(content.strip())
            continue
        yield from _joined(parts)
        parts = [] if not content.strip() or content.startswith(_HEADINGS) else [content.strip()]
    yield from _joined(parts)


def _joined(parts: list[str]) -> Iterator[str]:
    details = [part for part in parts[1:] if not part.startswith((_BACKTRACE, "Host Frame"))]
    if parts and details:  # a line of its own is a remark about the program
        yield shown("; ".join([parts[0], *details[:_DETAILS]]))


def _text(line: str) -> str:
    return line.removeprefix(_MARK).strip()
