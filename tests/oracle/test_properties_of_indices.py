from __future__ import annotations

import pytest
import torch
from relations import MATMUL, violations
from specimens import make_task

from robust_kbench.schema.task import Property


def test_indices_follow_when_what_they_point_at_is_permuted() -> None:
    spec = {
        **MATMUL,
        "inputs": {
            "a": {"shape": ["m", "k"]},
            "row": {"shape": ["n"], "dtype": "int64", "role": "index", "below": "m"},
        },
        "outputs": {"c": {"shape": ["n", "k"], "compare": "exact"}},
    }
    task = make_task(**spec)
    for axis in ("n", "k"):
        assert violations(task, Property(kind="permutes", axis=axis), lambda a, row: a[row]) == []
    assert violations(task, Property(kind="permutes", axis="n"), lambda a, row: a[row.sort().values])


def test_a_gather_is_symmetric_in_the_rows_that_it_does_not_return() -> None:
    spec = {
        **MATMUL,
        "inputs": {
            "a": {"shape": ["m", "k"]},
            "row": {"shape": ["n"], "dtype": "int64", "role": "index", "below": "m"},
        },
        "outputs": {"c": {"shape": ["n", "k"], "compare": "exact"}},
    }
    prop = Property(kind="symmetric", axis="m")
    assert violations(make_task(**spec), prop, lambda a, row: a[row]) == []
    assert violations(make_task(**spec), prop, lambda a, row: a[(row + 1) % a.shape[0]])


@pytest.mark.parametrize("axis", ["m", "k"])
def test_an_index_may_be_that_of_any_equal_value(axis: str) -> None:
    spec = {
        **MATMUL,
        "inputs": {"a": {"shape": ["m", "k"]}},
        "outputs": {"c": {"shape": ["m"], "dtype": "int64", "compare": "indices", "indexes": "a"}},
        "distributions": ["integers", "normal"],
    }
    task = make_task(**spec)
    prop = Property(kind="permutes" if axis == "m" else "symmetric", axis=axis)

    def first(a: torch.Tensor) -> torch.Tensor:
        return a.argmax(-1)

    def last(a: torch.Tensor) -> torch.Tensor:
        return a.shape[1] - 1 - a.flip(1).argmax(-1)

    for kernel in (first, last):
        assert violations(task, prop, kernel, distribution="integers") == []
        assert violations(task, Property(kind="homogeneous", inputs=("a",), degree=0), kernel) == []
    assert violations(task, prop, lambda a: torch.arange(a.shape[0]) % a.shape[1], distribution="normal")
