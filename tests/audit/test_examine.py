"""The audit of one task: a sound one is admitted, and each way to be unsound has its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_task import BANK, REFERENCE, write_task

from robust_kbench.audit.examine import Examination, audit_cases, examine
from robust_kbench.audit.report import line, summary, table
from robust_kbench.errors import SpecError
from robust_kbench.registry import LoadedTask, load_task


def faults(task: LoadedTask) -> str:
    return "\n".join(examine(task, "float32").faults)


def test_a_sound_task_is_admitted(tmp_path: Path) -> None:
    found = examine(write_task(tmp_path), "float32")
    assert found.faults == ()
    assert found.is_admitted
    assert all(not tally.refused for tally in found.trial.of("honest"))
    assert all(tally.refused for tally in found.trial.of("mutant", "non-answer"))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_examination(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert examine(task, "float16", seed=3) == examine(task, "float16", seed=3)
    assert examine(task, "float16", seed=3).trial.cases != examine(task, "float16", seed=4).trial.cases


def test_every_layout_meets_several_distributions(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    drawn = [case for case in audit_cases(task, "float32", 1) if case.probe is None]
    layouts = {case.layout for case in drawn}
    assert {"contiguous", "transposed", "strided", "offset"} <= layouts
    for layout in layouts:
        assert len({case.distribution for case in drawn if case.layout == layout}) >= 5


def test_a_bank_that_is_too_small_refuses_the_task(tmp_path: Path) -> None:
    assert "holds 0 honest variants and 0 mutants; it needs at least 2 and 6" in faults(write_task(tmp_path, bank=None))


def test_a_mutant_that_passes_refuses_the_task(tmp_path: Path) -> None:
    bank = BANK.replace("return x * weight + 1", "return weight * x * (1 + 2 ** -23)")
    assert "mutant plus_one passes: errors " in faults(write_task(tmp_path, bank=bank))


@pytest.mark.rotating
def test_an_honest_variant_that_fails_refuses_the_task(tmp_path: Path) -> None:
    bank = BANK.replace("return weight * x", "return weight * x * 1.001")
    message = faults(write_task(tmp_path, bank=bank))
    assert "honest other_order is refused at rows=" in message
    assert "relative error: " in message


def test_a_mutant_that_is_right_refuses_the_task(tmp_path: Path) -> None:
    bank = BANK.replace("return x * weight + 1", "return x * weight")
    assert "plus_one never differs from PyTorch's answer" in faults(write_task(tmp_path, bank=bank))


def test_an_input_without_influence_refuses_the_task(tmp_path: Path) -> None:
    message = faults(write_task(tmp_path, "def reference(x, weight):\n    return x * 1\n", None))
    assert "weight_ignored is always the right answer, so the task measures nothing" in message
    assert "copy_of_x is always the right answer" in message
    assert "x_ignored" not in message


def test_a_variant_that_raises_is_named_with_its_case(tmp_path: Path) -> None:
    bank = BANK.replace("return x * weight + 1", "return x @ weight[None]")
    with pytest.raises(SpecError, match=r"norm/scale: plus_one raises .*\(rows="):
        examine(write_task(tmp_path, bank=bank), "float32")


NEARLY = 'EXEMPT = {"plus_one": {"float32": "it is within the rounding of a product"}}\n'


def test_an_exempt_mutant_may_pass_if_it_is_as_near_as_honest_ones(tmp_path: Path) -> None:
    # The factor rounds twice, as the honest variant does that is in the bank for comparison.
    bank = BANK.replace("return x * weight + 1", "return x * 3 * weight / 3")
    bank = bank.replace("return weight * x", "return (weight * 3 * x) / 3")
    found = examine(write_task(tmp_path, bank=bank + NEARLY), "float32")
    assert found.faults == ()
    assert found.exempt == {"plus_one": "it is within the rounding of a product"}
    assert "exempt   plus_one: errors " in "\n".join(line(found))


def test_an_exempt_mutant_that_most_cases_refuse_refuses_the_task(tmp_path: Path) -> None:
    assert "EXEMPT names plus_one, but " in faults(write_task(tmp_path, bank=BANK + NEARLY))


def test_an_exempt_mutant_that_is_further_off_than_honest_ones_refuses_the_task(tmp_path: Path) -> None:
    bank = BANK.replace("return x * weight + 1", "return x * weight * (1 + 2 ** -23)") + NEARLY
    assert "EXEMPT names plus_one, but it can be told apart" in faults(write_task(tmp_path, bank=bank))


def test_an_exemption_of_nobody_is_an_error(tmp_path: Path) -> None:
    bank = BANK + NEARLY.replace("plus_one", "plus_two")
    with pytest.raises(SpecError, match="EXEMPT: no variant 'plus_two' in float32"):
        examine(write_task(tmp_path, bank=bank), "float32")


@pytest.mark.rotating
def test_a_registrys_task_is_admitted() -> None:
    assert examine(load_task("norm/rmsnorm"), "float32").faults == ()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Examination]:
    good = write_task(tmp_path_factory.mktemp("good"))
    bad = write_task(
        tmp_path_factory.mktemp("bad"), REFERENCE.replace("x * weight", "0 * x * weight"), name="norm/zero"
    )
    return [examine(task, "float32") for task in (good, bad)]


def test_a_line_says_who_is_admitted_and_why_not(found: list[Examination]) -> None:
    good, bad = ("\n".join(line(examination)) for examination in found)
    assert good.startswith("admitted  norm/scale float32: ")
    assert "honest 4/4 pass" in good
    assert bad.startswith("REFUSED  norm/zero float32: ")
    assert "  fault    zeros is always the right answer" in bad


@pytest.mark.rotating
@pytest.mark.parametrize(
    "change",
    ["", "return x * weight + 1=return weight * x * (1 + 2 ** -23)", "return weight * x=return weight * x * 1.001"],
)
def test_in_brief_the_same_is_said_with_less_work(tmp_path: Path, change: str) -> None:
    before, _, after = change.partition("=")
    task = write_task(tmp_path, bank=BANK.replace(before, after) if change else BANK)
    full, brief = (examine(task, "float32", in_full=in_full) for in_full in (True, False))
    assert (brief.is_admitted, full.is_admitted) == (not change, not change)
    for one, other in zip(full.trial.tallies, brief.trial.tallies, strict=True):
        assert bool(one.refused) == bool(other.refused), one.name
        if one.kind == "honest" and one.outcomes:
            assert {each.case for each in other.outcomes} == set(range(len(brief.trial.cases)))
    zeros = next(tally for tally in brief.trial.tallies if tally.name == "zeros")
    assert len(zeros.outcomes) <= len({case.layout for case in brief.trial.cases})


@pytest.mark.rotating
def test_in_brief_later_cases_are_those_to_which_what_is_left_applies() -> None:
    """A transposed result is one where rows and columns are as many."""
    full, brief = (examine(load_task("norm/rmsnorm"), "float32", in_full=in_full).trial for in_full in (True, False))
    assert full.cases[: full.first_round] == brief.cases[: brief.first_round]
    squares = [case.axes["rows"] == case.axes["cols"] for case in full.cases[full.first_round :]]
    assert 0 < len(brief.cases) - brief.first_round <= sum(squares) < len(squares)
    transposed = [next(tally for tally in each.tallies if tally.name == "transposed") for each in (full, brief)]
    assert len({bool(tally.refused) for tally in transposed}) == 1


def test_in_brief_what_a_probe_refuses_is_still_seen_to_differ_from_pytorch_elsewhere() -> None:
    assert examine(load_task("matmul/transposed_a"), "float32", in_full=False).faults == ()


def test_in_brief_nothing_is_said_about_how_near_mutants_are(tmp_path: Path) -> None:
    brief = examine(write_task(tmp_path), "float32", in_full=False)
    assert "near" not in "\n".join(line(brief))
    assert len(list(summary([brief]))) == 2


def test_the_table_names_every_variant_that_applies(found: list[Examination]) -> None:
    rows = list(table(found[0]))
    (row,) = [row for row in rows if " scaled " in row]
    assert row.startswith(" mutant     scaled")
    assert "near" in row
    assert row.endswith("Everything is too large, by six limits.")
    assert any(row.startswith("*mutant     plus_one") for row in rows)


def test_the_summary_counts_tasks_variants_and_kills(found: list[Examination]) -> None:
    lines = list(summary(found))
    assert lines[0] == "1/2 tasks admitted (1/2 in their dtypes)"
    assert "(6 of the tasks' own) mutants" in summary_of(found[:1])[2]
    assert "mutants 2" in summary_of(found[:1])[1]
    assert lines[3].startswith("of the mutants, one evaluation kills about ")


def summary_of(examinations: list[Examination]) -> list[str]:
    return list(summary(examinations))
