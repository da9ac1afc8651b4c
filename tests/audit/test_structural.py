"""Variants that are right on uniform values: what they change, and that every task with structures tells them."""

from __future__ import annotations

import pytest
import torch
from specimens import make_task

from robust_kbench.audit import structural
from robust_kbench.audit.examine import audit_cases
from robust_kbench.audit.structural import structural_variants
from robust_kbench.audit.trial import try_variants
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.task import Task

WITH_STRUCTURES = [name for name in task_names() if list(structural_variants(load_task(name).spec))]


def with_input(**spec: object) -> Task:
    """A task with one more input, of `rows` elements or a scalar."""
    shape = {} if spec["role"] == "scalar" else {"shape": ["rows"]}
    return make_task(
        inputs={"x": {"shape": ["rows", "cols"]}, "more": {**shape, **spec}},
        constraints=[],
    )


def names(task: Task) -> list[str]:
    return [variant.name for variant in structural_variants(task)]


def test_many_tasks_have_structures() -> None:
    assert len(WITH_STRUCTURES) >= 40
    assert sum(len(names(load_task(name).spec)) for name in WITH_STRUCTURES) >= 50


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"role": "index", "dtype": "int64", "below": "cols"}, ["more_crowded"]),
        ({"role": "index", "dtype": "int64", "below": "cols", "structures": ["ascending"]}, []),
        ({"role": "mask", "dtype": "uint8"}, ["more_full_rows_lost", "more_empty_rows_filled"]),
        ({"role": "mask", "dtype": "uint8", "structures": ["all"]}, ["more_full_rows_lost"]),
        ({"role": "parameter", "structures": ["near_one", "tiny"]}, ["more_not_quite_one", "more_not_tiny"]),
        ({"role": "parameter", "structures": ["negative"]}, ["more_without_sign"]),
        ({"role": "parameter"}, []),
        ({"role": "scalar", "dtype": "float64", "choices": [0.5], "between": [0.1, 0.9]}, ["more_usual"]),
        ({"role": "scalar", "dtype": "float64", "choices": [0.1, 0.9], "between": [0.1, 0.9]}, []),
    ],
)
def test_an_input_has_variants_for_the_structures_that_it_allows(spec: dict[str, object], expected: list[str]) -> None:
    assert names(with_input(**spec)) == expected


def test_more_than_four_times_the_average_of_a_value_are_taken_for_the_next() -> None:
    index = torch.tensor([3] * 20 + [0, 1, 2, 3])
    moved = structural._crowded(index, 4)
    assert moved.tolist() == index.tolist()  # of 24 in four bins, 24 have room
    hot = torch.tensor([31] * 20 + list(range(12)))
    assert structural._crowded(hot, 32).tolist() == [31] * 8 + [0] * 12 + list(range(12))


def test_a_long_segment_is_cut_and_the_rest_belongs_to_the_next() -> None:
    offsets = torch.tensor([0, 60, 61, 62, 63, 64, 64, 64, 64])
    moved = structural._cut(offsets, 65)
    assert moved.tolist() == [0, 32, 61, 62, 63, 64, 64, 64, 64]
    even = torch.arange(9) * 8
    assert torch.equal(structural._cut(even, 65), even)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (structural._without_full_rows, [[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
        (structural._without_empty_rows, [[1, 1, 1], [0, 1, 0], [1, 1, 1]]),
    ],
)
def test_rows_of_a_mask_that_are_all_alike(change: structural.Change, expected: list[list[int]]) -> None:
    mask = torch.tensor([[1, 1, 1], [0, 1, 0], [0, 0, 0]], dtype=torch.uint8)
    assert change(mask, 0).tolist() == expected


@pytest.mark.rotating
@pytest.mark.parametrize("name", WITH_STRUCTURES)
def test_every_task_tells_them(name: str) -> None:
    task = load_task(name)
    trial = try_variants(task, "float32", [audit_cases(task, "float32", 1)], list(structural_variants(task.spec)))
    assert [tally.name for tally in trial.tallies if not tally.refused] == []
