"""docs/tasks.md: right rows, and as the registry is now."""

from __future__ import annotations

import re
from pathlib import Path

from robust_kbench.audit.examine import Examination
from robust_kbench.audit.registry_page import contract_row, page
from robust_kbench.audit.tally import Outcome, Tally, Trial
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/tasks.md"
CASES = (Case(axes={"n": 4}, dtype="float32", distribution="normal", seed=1),)


def outcome(is_accepted: bool) -> Outcome:
    return Outcome(0, 0.5 if is_accepted else 2.0, is_accepted, False)


def examined(task: str, *faults: str, survives: bool = False) -> Examination:
    tallies = (
        Tally("good", "honest", "", False, [outcome(True)]),
        Tally("zeros", "non-answer", "", True, [outcome(False)]),
        Tally("wrong", "mutant", "", False, [outcome(survives)]),
    )
    return Examination(Trial(task, "float32", CASES, 1, tallies), faults, {})


def document(*examinations: Examination) -> list[str]:
    tasks = {each.trial.task: load_task(each.trial.task) for each in examinations}
    return "\n".join(page(examinations, tasks)).splitlines()


def test_what_is_killed_is_counted_over_dtypes() -> None:
    found = document(examined("norm/rmsnorm"), examined("norm/rmsnorm"), examined("activation/gelu"))
    assert "2 tasks." in found
    row = next(line for line in found if line.startswith("| rmsnorm |"))
    assert row.endswith("| 4/4 |")
    assert "| `4 * rows * cols` |" in row
    assert re.search(r"\| cpp \d+, cuda \d+, python \d+, triton \d+ \|", row)
    assert found.index("## activation") < found.index("## norm")


def test_a_task_that_is_not_admitted_says_so() -> None:
    found = document(examined("norm/rmsnorm", "wrong passes", survives=True))
    assert any(line.endswith("| 1/2, *not admitted* in float32 |") for line in found)


def test_the_document_has_a_current_row_for_every_task() -> None:
    rows = DOCUMENT.read_text().splitlines()
    for name in task_names():
        wanted = contract_row(load_task(name))
        assert any(row.startswith(wanted) for row in rows), f"{name} is not in docs/tasks.md as it is now: make page"
