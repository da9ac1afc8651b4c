"""The table of the rules: right counts, both halves, survivors with their figures."""

from __future__ import annotations

import re
from pathlib import Path

from robust_kbench.audit.comparison import comparison_table
from robust_kbench.audit.examine import Examination
from robust_kbench.audit.halves import half_of
from robust_kbench.audit.peers import PEERS
from robust_kbench.audit.tally import Outcome, Tally, Trial
from robust_kbench.oracle.judgement import RULE
from robust_kbench.registry import task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Probe

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/rules.md"


def case(distribution: Distribution = "normal", probe: Probe | None = None) -> Case:
    return Case(axes={"n": 4}, dtype="float32", distribution=distribution, seed=1, probe=probe)


def outcome(number: int, ratio: float, *accepting: int) -> Outcome:
    """Accepted by us up to a ratio of 1, and by the peers of these numbers."""
    return Outcome(number, ratio, ratio <= 1.0, False, tuple(peer in accepting for peer in range(len(PEERS))))


EVERYBODY = tuple(range(len(PEERS)))
CASES = (case(), case("large"), case(probe="nonfinite"))
HONEST = Tally("good", "honest", "", False, [outcome(0, 0.4, *EVERYBODY), outcome(1, 0.5, 0), outcome(2, 0.1)])
WRONG = Tally("wrong", "mutant", "", False, [outcome(0, 0.3, *EVERYBODY), outcome(1, 4.0, 1), outcome(2, 0.1)])
HIDDEN = Tally("hidden", "mutant", "", True, [outcome(0, 0.6, *EVERYBODY), outcome(1, 0.7, *EVERYBODY)])
EXAMINED = [
    Examination(Trial(task, "float32", CASES, 3, (HONEST, WRONG, HIDDEN)), (), {"hidden": "rounding hides it"})
    for task in ("norm/rmsnorm", "some/newcomer")
]


def rows(title: str) -> dict[str, list[str]]:
    """The cells of the table below a heading, by the rule."""
    section = "\n".join(comparison_table(EXAMINED)).partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_each_rule_is_counted_on_both_halves() -> None:
    found = rows("On every case")
    assert found[f"**robust-kbench, {RULE}**"] == ["1/1 (100.0 %)", "1/2 (50.0 %)", "1/2 (50.0 %)"] * 2
    assert found["KernelBench"] == ["1/1 (100.0 %)", "1/2 (50.0 %)", "1/2 (50.0 %)"] * 2
    assert found["robust-kbench (original)"] == ["0/1 (0.0 %)", "0/2 (0.0 %)", "0/2 (0.0 %)"] * 2


def test_the_tasks_own_variants_are_counted_without_the_generic_ones() -> None:
    assert rows("The tasks' own variants alone")["KernelBench"] == ["1/1 (100.0 %)"] * 6


def test_on_normal_inputs_less_is_killed() -> None:
    assert rows("On standard normal inputs alone")["KernelBench"][:2] == ["1/1 (100.0 %)", "0/2 (0.0 %)"]


def test_a_property_counts_among_all_cases_and_not_among_plain_ones() -> None:
    caught = Outcome(0, 0.0, False, False, tuple(True for _ in PEERS), prop="causal")
    tally = Tally("hidden", "mutant", "", False, [outcome(0, 0.6, *EVERYBODY), caught])
    found = Examination(Trial("norm/rmsnorm", "float32", CASES, 3, (HONEST, tally)), (), {})
    ours = [line for line in comparison_table([found]) if line.startswith("| **robust-kbench") and "/1" in line]
    assert ["| 1/1 (100.0 %) |" in line for line in ours] == [True, True, True]
    assert [line.split("|")[3].strip() for line in ours] == ["1/1 (100.0 %)", "1/1 (100.0 %)", "0/1 (0.0 %)"]


def test_survivors_are_listed_with_their_figures_and_the_reason() -> None:
    text = "\n".join(comparison_table(EXAMINED))
    assert "| norm/rmsnorm | float32 | hidden | 0.65, 0.70 | 0.45, 0.50 | rounding hides it |" in text
    assert "| wrong |" not in text


def test_every_rule_is_described() -> None:
    text = "\n".join(comparison_table(EXAMINED))
    assert all(f"| {peer.name} | {peer.rule} |" in text for peer in PEERS)


def test_tasks_that_the_constants_have_not_seen_are_in_half_b() -> None:
    assert (half_of("norm/rmsnorm"), half_of("some/newcomer")) == ("A", "B")
    assert {half_of(name) for name in task_names()} == {"A", "B"}


def test_the_published_table_is_of_this_rule_and_of_tasks_that_there_are() -> None:
    # Not of all: making it takes most of an hour, which is more than a new task should cost its author.
    text, method = DOCUMENT.read_text(), (DOCUMENT.parent / "methodology.md").read_text()
    (published,) = set(re.findall(r"three-metric-v\d+", text))
    assert RULE in (published, *re.findall(rf"`(three-metric-v\d+)` differs from `{published}`", method))
    halves = dict(re.findall(r"^- ([AB]): (.*)$", text, re.MULTILINE))
    named = {half: names.split(", ") for half, names in halves.items()}
    assert set(named["A"]) == {name for name in task_names() if half_of(name) == "A"}
    assert {name for name in named["B"] if half_of(name) == "B"} <= set(task_names())
    assert len(named["B"]) >= 2 * len(named["A"])
    assert [peer.name for peer in PEERS if f"| {peer.name} | {peer.rule} |" not in text] == []
