"""Audit of an imported task, and the admission that follows from it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from robust_kbench.audit.examine import Examination, Plan, examine
from robust_kbench.audit.tally import Tally
from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.importers.description import Audited, Report, Surveyed
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import ADMISSION_FILE, LoadedTask, read_task
from robust_kbench.schema.admission import Admission
from robust_kbench.schema.case import Case
from robust_kbench.version import __version__

_UNAUDITED, _UNFINISHED = "it was imported without an audit", "the audit did not finish"
_CALLS_OF_A_CASE = 60
"""Calls of the reference for a case: for variants that call it, and in float64, which takes as long as two calls."""
_MOST_INPUTS, _FEW_INPUTS = 24, 6
_MOST_FAULTS = 20
_LINE = 900
_NO_FORWARD = "names no `forward` to differentiate"
_LOWER = re.compile(r"mutant (\w+\.)?lower_\w+ passes")


def audited(task: LoadedTask, seconds: float) -> list[Audited]:
    """Audit the task in every dtype, as thoroughly as the time allows. Runs the task's code: in the sandbox alone."""
    found = []
    for dtype in task.spec.dtypes:
        started = time.monotonic()
        try:
            plan = _plan(task, seconds / len(task.spec.dtypes))
            found.append(_told(examine(task, dtype, plan=plan), time.monotonic() - started))
        except SpecError as error:  # such as: its smallest case is larger than any that an audit draws
            found.append(Audited(dtype=dtype, cases=0, faults=(f"cannot be audited: {error}"[:_LINE],)))
    return found


def _plan(task: LoadedTask, seconds: float) -> Plan:
    """Return the usual plan, or a smaller one where a call of the reference takes long or the inputs are many."""
    call_s = _seconds_of_a_call(task)
    cases = int(seconds / 2 / (call_s * _CALLS_OF_A_CASE))
    if cases >= 10 and len(task.spec.inputs) <= _MOST_INPUTS:
        return Plan(needs_bank=False, rounds=10)
    few = max(2, min(10, cases))
    return Plan(
        per_layout=few, rounds=2 if cases < 10 else 6, needs_bank=False,
        most_inputs=_FEW_INPUTS if cases < 10 else _MOST_INPUTS,
    )  # fmt: skip


def _seconds_of_a_call(task: LoadedTask) -> float:
    """Measure the seconds of one call of the reference on the smallest case."""
    axes = {name: next(size for size in axis.sizes() if size) for name, axis in task.spec.axes.items()}
    inputs = make_inputs(task.spec, Case(axes=axes, dtype=task.spec.dtypes[0], seed=1))
    reference = Reference(task)
    reference.native(inputs)
    started = time.monotonic()
    reference.native(inputs)
    return time.monotonic() - started + 1e-4


def _told(examination: Examination, seconds: float) -> Audited:
    trial = examination.trial
    wrong = trial.of("non-answer")
    mutants = trial.of("mutant")
    idle = [t for t in trial.tallies if t.kind == "non-answer" and trial.is_idle(t)]
    passing = [t.name for t in [*idle, *(t for t in wrong if not t.refused and t not in idle)]]
    faults, notes = _sorted(examination.faults)
    return Audited(
        dtype=trial.dtype,
        cases=len(trial.cases),
        faults=tuple(fault[:_LINE] for fault in faults[:_MOST_FAULTS]),
        notes=tuple(note[:_LINE] for note in notes[:_MOST_FAULTS]),
        non_answers=tuple(passing),
        killed=_killed([*wrong, *idle]),
        mutants=_killed(mutants),
        seconds=seconds,
    )


def _sorted(faults: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate faults that refuse a task from notes. A note: lower precision is not told from PyTorch's errors.

    A task of the registry has to tell them apart, or to say why that is impossible. A foreign network, whose sums are
    long, cannot. Nor does a gradient need another task for comparison: its reference differentiates the function
    itself.
    """
    notes = [fault for fault in faults if _LOWER.match(fault)]
    return [fault for fault in faults if fault not in notes and not fault.endswith(_NO_FORWARD)], notes


def _killed(tallies: Sequence[Tally]) -> tuple[int, int]:
    return sum(bool(tally.refused) for tally in tallies), len(tallies)


def record(folder: Path, surveyed: Surveyed, report: Report | None) -> Admission:
    """Write the `admission.yaml` of an imported task; `report` is None where no audit was asked for."""
    task = read_task(folder)
    reasons = list(surveyed.faults)
    if report is None and not reasons:
        reasons.append(_UNAUDITED)
    elif report is not None and report.error:
        reasons.append(f"{_UNFINISHED}: {report.error}")
    audits = report.audited if report is not None else ()
    reasons += [f"{each.dtype}: {fault}"[:_LINE] for each in audits for fault in each.faults]
    admission = Admission(
        status="not admitted" if reasons else "admitted",
        reasons=tuple(reasons),
        non_answers=tuple(f"{each.dtype} {name}" for each in audits for name in each.non_answers),
        notes=(*surveyed.notes, *(f"{each.dtype}: {note}"[:_LINE] for each in audits for note in each.notes)),
        audit="; ".join(_figures(each) for each in audits),
        digest=task.digest,
        kbench=__version__,
    )
    text = yaml.safe_dump(admission.model_dump(mode="json"), sort_keys=False, width=116, allow_unicode=True)
    (folder / ADMISSION_FILE).write_text(text, encoding="utf-8")
    return admission


def is_final(admission: Admission) -> bool:
    """Tell if another import by this version would come to the same result."""
    is_open = any(reason.startswith((_UNAUDITED, _UNFINISHED)) for reason in admission.reasons)
    return admission.kbench == __version__ and not is_open


def _figures(audit: Audited) -> str:
    killed, mutants = ("/".join(map(str, pair)) for pair in (audit.killed, audit.mutants))
    return f"{audit.dtype}: {audit.cases} cases; killed: non-answers {killed}, mutants {mutants}"
