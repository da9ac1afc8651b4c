"""A profile in a page for a person, or for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from robust_kbench.profiling.reports import (
    CompilerReport,
    CounterReport,
    InstructionMix,
    KernelResources,
    Profile,
    RunTimeReport,
    SanitizerReport,
    SassReport,
)

_MAX_OPERATORS = 12
_MAX_ACTIVITIES = 16
_MAX_CLASSES = 8
_CLAIM = "in the submission's own process: its claim, never part of a verdict"


def lines(profile: Profile) -> Iterator[str]:
    """Five sections, each with a heading at the left margin and indented lines; a listing comes last."""
    axes = " ".join(f"{name}={size}" for name, size in profile.axes.items())
    yield f"{profile.task}  {profile.submission} ({profile.language})  {profile.dtype} {axes} on {profile.device}"
    yield from _section("compiler", _compiler(profile.compiler), profile.compiler.notes)
    yield from _section("machine code", _sass(profile.sass), profile.sass.notes)
    yield from _section(f"run time   ({_CLAIM})", _run_time(profile.run_time), profile.run_time.notes)
    yield from _section("counters", _counters(profile.counters), profile.counters.notes)
    yield from _section("sanitizer", _sanitizer(profile.sanitizer), profile.sanitizer.notes)
    if profile.sass.listing:
        yield from ("", "listing", *_safe(profile.sass.listing))


def _safe(listing: str) -> Iterator[str]:
    for line in listing.splitlines():
        yield "".join(character if character.isprintable() or character == "\t" else " " for character in line)


def _section(title: str, body: Iterable[str], notes: Iterable[str]) -> Iterator[str]:
    yield title
    for line in body:
        yield f"  {line}"
    for note in notes:
        yield f"  note: {note}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need, the first one left-aligned."""
    if not rows:
        return
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    for row in (head, *rows):
        cells = [
            f"{row[0]:{widths[0]}}",
            *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        yield "  ".join(cells).rstrip()


def _compiler(report: CompilerReport) -> Iterator[str]:
    if report.failure:
        yield f"FAILED  {report.failure}"
    head = ("kernel", "dtype", "arch", "registers", "spilt", "stack", "shared", "occupancy")
    yield from _table(head, list(map(_resources, report.kernels)))
    for loop in report.loops:
        result = f"{loop.vector_bytes}-byte vectors" if loop.vector_bytes else f"not vectorised: {loop.reason}"
        yield f"{loop.file}:{loop.line}  {loop.dtype}  {result}"


def _resources(kernel: KernelResources) -> tuple[str, ...]:
    spilt = None if kernel.spill_store_bytes is None else kernel.spill_store_bytes + (kernel.spill_load_bytes or 0)
    return (
        kernel.kernel, kernel.dtype, kernel.architecture, str(kernel.registers), "?" if spilt is None else f"{spilt} B",
        f"{kernel.stack_bytes} B", f"{kernel.shared_bytes} B", _occupancy(kernel),
    )  # fmt: skip


def _occupancy(kernel: KernelResources) -> str:
    if not kernel.occupancy:
        return "?"
    fractions = "/".join(f"{100 * fit.fraction:.0f}" for fit in kernel.occupancy.values())
    limits = dict.fromkeys(fit.limit for fit in kernel.occupancy.values())
    return f"{fractions} % at {'/'.join(map(str, kernel.occupancy))} threads ({', '.join(limits)})"


def _sass(report: SassReport) -> Iterator[str]:
    for mix in report.kernels:
        yield f"{mix.kernel}  {mix.dtype} {mix.architecture}: {mix.instructions} instructions"
        shown = list(mix.classes.items())[:_MAX_CLASSES]
        yield f"  {', '.join(f'{name} {count}' for name, count in shown)}"
        if widths := _widths(mix):
            yield f"  {widths}"
        for hint in mix.hints:
            yield f"  hint: {hint}"


def _widths(mix: InstructionMix) -> str:
    parts = []
    for name, sizes in mix.widths.items():
        parts.append(f"{name} {' '.join(f'{count}x{bits}' for bits, count in sorted(sizes.items()))}")
    return f"bits a thread moves: {', '.join(parts)}" if parts else ""


def _run_time(report: RunTimeReport) -> Iterator[str]:
    head = ("operator", "calls", "self us/call", "total us/call", "device us/call")
    each = max(1, report.calls)
    rows = [
        (row.name, str(row.calls), *(f"{time / each:.1f}" for time in (row.self_us, row.total_us, row.device_us)))
        for row in report.operators[:_MAX_OPERATORS]
    ]
    yield from _table(head, rows)
    if report.activities:
        yield f"one call on the device: {report.busy_us:.1f} us busy, {report.gap_us:.1f} us between"
    for activity in report.activities[:_MAX_ACTIVITIES]:
        launch = f"  grid {activity.grid} block {activity.block}" if activity.kind == "kernel" else ""
        yield f"{activity.start_us:10.1f} us  {activity.duration_us:8.1f} us  {activity.kind:6} {activity.name}{launch}"


def _counters(report: CounterReport) -> Iterator[str]:
    for kernel in report.kernels:
        named = {
            "SM": kernel.multiprocessor_percent,
            "DRAM": kernel.memory_percent,
            "L2 hits": kernel.l2_hit_percent,
            "occupancy": kernel.occupancy_percent,
        }
        told = [f"{name} {value:.0f}%" for name, value in named.items() if value is not None]
        time = f"{kernel.duration_us:.1f} us" if kernel.duration_us is not None else "time unknown"
        yield f"{kernel.kernel}: {', '.join([time, *told])}"
        if kernel.stalls:
            yield f"  stalls: {', '.join(f'{reason} {value:.1f}' for reason, value in kernel.stalls.items())}"


def _sanitizer(report: SanitizerReport) -> Iterator[str]:
    for finding in report.findings:
        often = f" ({finding.count} times)" if finding.count > 1 else ""
        at = f" at {finding.case}" if finding.case else ""
        yield f"{finding.tool}: {finding.message}{often}{at}"
    if report.checked and not report.findings:
        yield f"nothing found by {' and '.join(report.checked)}"
