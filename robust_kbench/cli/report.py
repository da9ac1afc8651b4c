"""A record in a dozen lines for a person."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from functools import partial

from robust_kbench.cli.case_text import line_of
from robust_kbench.registry import PINNED_FILE
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import CaseResult, RunRecord, Status
from robust_kbench.scoring import CaseScore, noise_floor, score

Again = Callable[[int | None, CaseResult | None], str]
"""Words the command that runs a case again, given its number."""
_MAX_FAILURES = 3
_LOG_LINES = 12


def report(record: RunRecord, path: str, given: int | Case | None = None) -> str:
    """Tell what was found, where, what it means, and how to see it again.

    `given`: the only case that was asked for, by its number or as it is. A submission words its own name and failures:
    whatever it says stays in its line and steers no terminal.
    """
    again = partial(_command, record, path, given)
    return "\n".join(map(shown, [*_header(record), *_body(record, path, again), _verdict(record)]))


def _header(record: RunRecord) -> Iterator[str]:
    device = record.environment.get("device", record.device)
    yield f"{record.task}  {record.submission} ({record.language}, abi {record.abi})  seed {record.seed}"
    yield f"  on        {device} ({record.device}, {record.execution}), tier {record.tier}"
    if record.objection:
        yield f"  task      not admitted: {record.objection}"


def _body(record: RunRecord, path: str, again: Again) -> Iterator[str]:
    if record.status is Status.BUILD_FAILED:
        yield f"  build     FAILED  {record.reason}"
        yield from _log(record)
        return
    if record.seconds.build:
        yield f"  build     ok      {record.seconds.build:.1f} s"
    if record.cases:
        yield from _cases(record, again)
    yield from _searched(record, path)
    for finding in record.findings:
        place = f" at {finding.case}" if finding.case else ""
        yield f"  {'REJECT' if finding.severity == 'reject' else 'warning':9} {finding.guard}: {finding.message}{place}"
    yield from _reproduction(record, again)
    scores = score(record)
    for scored in scores.values():
        for case in scored.cases:
            yield from _speed(case)
    if scores:
        yield from _noise(record, max(scored.margin for scored in scores.values()))
    if record.is_discarded and record.disturbance:
        yield f"  no rank   {record.disturbance}"


def _cases(record: RunRecord, again: Again) -> Iterator[str]:
    passed = sum(case.status == "passed" for case in record.cases)
    judged = [case for case in record.cases if case.error_ratio is not None]
    worst = max(judged, key=lambda case: case.error_ratio or 0.0, default=None)
    detail = f"   largest error {worst.error_ratio:.2f} of its limit at {_describe(worst)}" if worst else ""
    yield f"  correct   {passed}/{len(record.cases)}{detail}"
    for dtype, reason in _unchecked(record).items():
        yield f"  not run   {dtype}: {reason}"
    failures = [(n, case) for n, case in enumerate(record.cases) if case.status not in ("passed", "not_checked")]
    for _, case in failures[:_MAX_FAILURES]:
        yield f"  {case.status.upper():9} {_describe(case)}"
        yield f"            {case.reason}"
    if record.status is Status.PASSED:
        yield from _coverage(record)
    if failures:
        if len(failures) > _MAX_FAILURES:
            yield f"            and {len(failures) - _MAX_FAILURES} more cases"
        yield from _log(record)
        yield f"  reproduce {again(_number(record, failures[0][1]), failures[0][1])}"
    elif record.status in (Status.INCORRECT, Status.CRASHED, Status.TIMED_OUT):
        yield f"  reproduce {again(None, None)}"


def _number(record: RunRecord, case: CaseResult) -> int:
    """The number of a case in its suite: what came of further calls of it is a further result."""
    return next(number for number, each in enumerate(record.cases) if each.seed == case.seed)


def _coverage(record: RunRecord) -> Iterator[str]:
    """Counts of cases by dtype, layout, distribution and probe: a pass rests on them."""
    labels = {"dtype": "dtypes", "layout": "layouts", "distribution": "values", "probe": "probes"}
    if len(record.cases) > 1:
        for key, counts in record.coverage.items():
            yield f"  {labels[key]:9} {', '.join(f'{name} {count}' for name, count in counts.items())}"


def _searched(record: RunRecord, path: str) -> Iterator[str]:
    """The smallest failing case, how to see it again, and the line that adds it to every later suite of the task."""
    if record.search is None:
        return
    calls = f"{record.search.examples} further call{'s' * (record.search.examples != 1)}"
    if (case := record.search.minimal) is None:
        yield f"  searched  {calls}: nothing failed"
        return
    line = line_of(case)
    yield f"  smallest  {_describe(case)}   ({case.status}; {calls})"
    yield f"            {case.reason}"
    yield f"  reproduce kbench evaluate {shlex.quote(path)} --device {record.device} --case {shlex.quote(line)}"
    yield f"  pin       - {line}"
    yield f"            under `cases:` in tasks/{record.task}/{PINNED_FILE}"


def _unchecked(record: RunRecord) -> dict[str, str]:
    # Undefined behaviour has lines of its own among the findings.
    return {
        case.dtype: case.reason.partition(":")[0] if case.reason.startswith("undefined behaviour") else case.reason
        for case in record.cases
        if case.status == "not_checked"
    }


def _reproduction(record: RunRecord, again: Again) -> Iterator[str]:
    """The command that shows a finding of the emulator's checker again."""
    seeds = {finding.evidence.get("case_seed") for finding in record.findings}
    for number, case in enumerate(record.cases):
        if case.seed in seeds:
            yield f"  reproduce {again(number, case)}"
            return


def _command(
    record: RunRecord, path: str, given: int | Case | None, number: int | None, case: CaseResult | None
) -> str:
    """Word the command that runs one case again, or all of them.

    A timed case is in no suite, and so has no number. Where only one case was asked for, the command is the same: its
    number here is not that in the suite.
    """
    command = f"kbench evaluate {shlex.quote(path)} --device {record.device} --tier {record.tier}"
    if isinstance(given, Case):
        return f"{command} --case {shlex.quote(line_of(given))}"
    if given is None and case is not None and case.role == "timed":
        return f"{command} --case {shlex.quote(line_of(case))}"
    which = number if given is None else given
    return f"{command} --seed {record.seed}" + ("" if which is None else f" --case {which}")


def _speed(case: CaseScore) -> Iterator[str]:
    axes = " ".join(f"{name}={size}" for name, size in case.axes.items())
    others = [f"{ratio.value:.2f}x {name}" for name, ratio in case.speedups.items() if name != case.fastest]
    beside = f"   ({', '.join(others)})" if others else ""
    time = f"{case.medians_us['candidate']:.1f} us"
    floor = f"   {case.floor_share:.0%} of the floor's speed" if case.floor_share is not None else ""
    hot = f"   {case.hot_us:.1f} us hot" if case.hot_us is not None else ""
    against = f"{case.speedup} {case.fastest}, {case.verdict}{beside}"
    short = "" if case.is_resolved else f"   too short to be ranked: the clock tells {case.resolution_us:.2g} us apart"
    charged = f"   multiplied by {case.charge:.2f}, as a few calls take far longer" if case.charge > 1 else ""
    yield f"  speed     {case.dtype} {axes}   {time}   {against}{floor}{hot}{short}{charged}"


def _noise(record: RunRecord, margin: float) -> Iterator[str]:
    """Noise floor: differences that count as none, and where it comes from."""
    noise = noise_floor(record.timings)
    if noise is None:
        yield f"  noise     not measured at this tier: {margin:.1%} counts as no difference"
    else:
        yield f"  noise     two equal workers differ by up to {noise:.1%}: {margin:.1%} counts as no difference"


def _log(record: RunRecord) -> Iterator[str]:
    for line in record.log.strip().splitlines()[:_LOG_LINES]:
        yield f"            | {line.expandtabs()[:160]}"


def _describe(case: CaseResult) -> str:
    axes = " ".join(f"{name}={size}" for name, size in case.axes.items())
    return f"{axes} {case.dtype} {case.layout} {case.probe or case.distribution}"


def _verdict(record: RunRecord) -> str:
    word = record.status.value.upper().replace("_", " ")
    if record.status is not Status.PASSED:
        return f"{word}  {record.reason.splitlines()[0] if record.reason else ''}".rstrip()
    speeds = [
        f"{scored.verdict}, {scored.speedup} {scored.fastest} in {dtype}" for dtype, scored in score(record).items()
    ]
    return f"{word}  {'; '.join(speeds)}" if speeds else f"{word}  (not timed: {_why_untimed(record)})"


def _why_untimed(record: RunRecord) -> str:
    if record.execution != "native":
        return f"{record.execution} execution says nothing about speed"
    return "a single case was replayed"
