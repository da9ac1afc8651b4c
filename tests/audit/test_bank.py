"""Reading `mutants.py`: what is found, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_task import BANK, write_task

from robust_kbench.audit.bank import load_bank
from robust_kbench.errors import SpecError


def test_a_task_without_a_bank_has_an_empty_one(tmp_path: Path) -> None:
    assert load_bank(write_task(tmp_path, bank=None)).members == ()


def test_every_function_becomes_a_member_with_its_docstring_and_its_kind(tmp_path: Path) -> None:
    members = {member.name: member for member in load_bank(write_task(tmp_path)).members}
    assert [name for name, member in members.items() if member.is_honest] == ["other_order", "in_float64"]
    assert members["plus_one"].description == "One too large."
    assert members["plus_one"].dtypes == ("float32", "float16")
    assert len(members) == 8


def test_an_attribute_keeps_a_variant_to_some_dtypes(tmp_path: Path) -> None:
    bank = load_bank(write_task(tmp_path, bank=BANK + 'squared.dtypes = ("float16",)\n'))
    assert next(member.dtypes for member in bank.members if member.name == "squared") == ("float16",)


@pytest.mark.parametrize(
    ("bank", "message"),
    [
        ("def f(:", "SyntaxError"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("HONEST = ()", "MUTANTS: expected a tuple of functions"),
        ("HONEST = []\nMUTANTS = ()", "HONEST: expected a tuple of functions"),
        ("def f(x, weight): pass\nHONEST = (f,)\nMUTANTS = ()", "f: no docstring; say what it computes"),
        ("def f(x): 'y'\nHONEST = (f,)\nMUTANTS = ()", "f: too many positional arguments; it takes x, weight"),
        ("def f(x, weight): 'y'\nHONEST = (f,)\nMUTANTS = (f,)", "f stands twice in the bank"),
        (BANK + "squared.dtypes = ('float64',)", "squared.dtypes: 'float64' is no dtype of the task"),
        (BANK + "EXEMPT = {'squared': {'float64': 'it is not of this task'}}", "'float64' is no dtype of the task"),
        (
            BANK + "EXEMPT = {'squared': {'float16 in spirals': 'it is lost there'}}",
            "'spirals' is no layout of the task",
        ),
        (BANK + "EXEMPT = {'squared': {'float16': 'because'}}", "squared: float16: say why it is indistinguishable"),
    ],
)
def test_a_malformed_bank_is_refused_with_its_place(tmp_path: Path, bank: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_bank(write_task(tmp_path, bank=bank))
    assert str(caught.value).startswith(f"{tmp_path / 'norm/scale/mutants.py'}: ")
    assert message in str(caught.value)
