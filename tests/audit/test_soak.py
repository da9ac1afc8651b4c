"""Honest variants on fresh seeds: false rejections and close ones are told, and can be repeated."""

from __future__ import annotations

from pathlib import Path

from written_task import BANK, write_task

from robust_kbench.audit.bank import load_bank
from robust_kbench.audit.setting import Setting
from robust_kbench.audit.soak import Judged, Soaked, _judge, report, soak
from robust_kbench.audit.variants import own_variants
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.case import Case

STRICT = BANK.replace("return weight * x", "return weight * x * 1.01")


def soaked(task: LoadedTask, seed: int | None = 7) -> Soaked:
    return soak([(task, "float32")], 100, 1, seed)


def test_honest_variants_alone_are_judged_as_often_as_asked(tmp_path: Path) -> None:
    found = soaked(write_task(tmp_path))
    assert len(found.judged) >= 100
    assert {one.variant for one in found.judged} == {"other_order", "in_float64", "pytorch", "rounded_once"}
    assert found.is_clean


def test_no_task_is_left_out_however_few_judgements_are_asked_for(tmp_path: Path) -> None:
    tasks = [write_task(tmp_path, name=f"norm/{name}") for name in ("one", "two")]
    found = soak([(task, "float32") for task in tasks], 1, 1, 7)
    assert {one.task for one in found.judged} == {"norm/one", "norm/two"}


def test_the_seed_repeats_them_and_without_one_they_are_fresh(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert soaked(task) == soaked(task)
    assert soaked(task, None).judged != soaked(task, None).judged


def test_a_false_rejection_is_told_with_its_case(tmp_path: Path) -> None:
    found = soaked(write_task(tmp_path, bank=STRICT))
    lines = list(report(found))
    assert not found.is_clean
    assert lines[0].startswith(f"{len(found.judged):,} judgements of honest variants of 1 tasks (seed 7): ")
    assert "of its limit: other_order of norm/scale at rows=" in lines[1]
    assert " seed " in lines[1]


def test_what_a_second_look_accepts_is_not_rejected() -> None:
    """An element of 6,141, in which 1 + erf cancels, is accepted: PyTorch itself may be off by as much there."""
    task = load_task("activation/geglu")
    case = Case(
        axes={"rows": 2047, "cols": 3}, dtype="float32", layout="pitched", distribution="uneven",
        seed=8593320050290460788,
    )  # fmt: skip
    setting = Setting.of(task, Reference(task), case)
    variant = next(each for each in own_variants(load_bank(task), "float32") if each.name == "error_function")
    answer = variant.answer(setting)
    assert answer is not None
    assert not any(judgement.is_accepted for judgement in setting.judge(answer).values())
    judged = _judge(setting, variant, "here")
    assert judged is not None
    assert judged.is_accepted
    assert 0.5 < judged.ratio < 0.9


def test_an_error_close_to_its_limit_is_told_and_no_rejection() -> None:
    near, far = (Judged("norm/scale", "it", "here", ratio, True) for ratio in (0.95, 0.5))
    assert Soaked(1, (far, near)).is_clean
    assert list(report(Soaked(1, (far, near))))[1:] == [
        "  close 0.950 of its limit: it of norm/scale at here",
        "largest error 0.950 of its limit: it of norm/scale at here; close from 0.9 on",
    ]
