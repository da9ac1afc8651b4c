"""The starts of the demonstration: right for every choice that they name."""

from __future__ import annotations

import pytest
from conftest import needs_compiler
from kernel_choices import choices, chosen, code_of

from robust_kbench.agents.starts import demonstration, demonstrations, form_of
from robust_kbench.errors import UsageError
from robust_kbench.evaluate import Evaluator
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission

_SETTINGS = 6


def setting(start: Submission, number: int) -> dict[str, str]:
    """Return setting `number`. Six settings give each choice each of its values at least once."""
    known = enumerate(choices(start).items())
    return {name: values[(number + place) % len(values)] for place, (name, (_, values)) in known}


def test_five_tasks_have_a_start() -> None:
    assert demonstrations() == [
        "activation/softmax", "index/transpose", "matmul/matmul", "norm/layernorm", "norm/rmsnorm",
    ]  # fmt: skip


@pytest.mark.parametrize("task", demonstrations())
def test_a_start_names_its_choices_and_one_value_of_each(task: str) -> None:
    start = demonstration(task)
    found = choices(start)
    assert start.file.task == task
    assert len(found) >= 3
    assert all(value in values and len(set(values)) == len(values) > 1 for value, values in found.values())
    assert code_of(start).count("choices: ") == len(found)


@pytest.mark.parametrize("task", demonstrations())
def test_the_settings_have_every_value(task: str) -> None:
    start = demonstration(task)
    tried = [setting(start, number) for number in range(_SETTINGS)]
    for name, (_, values) in choices(start).items():
        assert {each[name] for each in tried} == set(values)
        assert {choices(chosen(start, each))[name][0] for each in tried} == set(values)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("number", range(-1, _SETTINGS))
@pytest.mark.parametrize("task", demonstrations())
def test_a_start_is_right_as_it_stands_and_in_settings_that_have_every_value(
    task: str, number: int, evaluator: Evaluator
) -> None:
    start = demonstration(task)
    submission = start if number < 0 else chosen(start, setting(start, number))
    record = evaluator.evaluate(submission, tier="quick", seed=number + 100)
    assert (record.status, record.reason) == ("passed", "")


def test_a_task_without_a_start_is_told_which_have_one() -> None:
    with pytest.raises(UsageError, match=r"--start demo: loss/mse has no start .* starts of activation/softmax, "):
        demonstration("loss/mse")


def test_a_run_from_the_reference_declares_one_dtype() -> None:
    form = form_of(load_task("norm/rmsnorm"), "cuda")
    assert (form.file.entry_point, form.abi, form.file.dtypes) == ("kernel.cu::rmsnorm", "c", ("float32",))
    assert form_of(load_task("norm/rmsnorm"), "python").abi == "value"
