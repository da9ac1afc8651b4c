from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from specimens import make_task

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle import slices
from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.slices import InChunks, OfSlices, inputs_at, severity

INPUTS: dict[str, Any] = {"x": {"shape": ["cols", "rows"]}, "weight": {"shape": ["cols"], "role": "parameter"}}
X = torch.arange(35.0).reshape(5, 7)


def _first_two(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    return tensor.narrow(dim, 0, 2)


def test_only_inputs_with_the_independent_axis_are_sliced() -> None:
    task = make_task(inputs=INPUTS, independent="rows")
    taken = inputs_at(task, Inputs({"x": X, "weight": torch.ones(5)}), _first_two)
    assert torch.equal(taken.tensors["x"], X[:, :2])
    assert taken.tensors["weight"].shape == (5,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": {"shape": ["rows", "rows"]}}, "x must have that axis once"),
        ({"x": {"shape": ["2 * rows", "cols"]}}, "x must have that axis once, and by itself"),
        ({"i": {"shape": ["cols"], "dtype": "int64", "role": "index", "below": "rows"}}, "i points along it"),
    ],
    ids=["twice", "part of a size", "pointed at"],
)
def test_an_axis_that_is_not_independent_after_all_is_refused(changes: dict[str, Any], words: str) -> None:
    task = make_task(inputs={**INPUTS, **changes}, independent="rows")
    given = {"x": X, "weight": torch.ones(5), "i": torch.zeros(5, dtype=torch.int64)}
    with pytest.raises(SpecError, match=words):
        inputs_at(task, Inputs({name: given[name] for name in task.inputs}), _first_two)


def test_an_output_without_the_independent_axis_is_refused() -> None:
    task = make_task(outputs={"y": {"shape": ["cols"]}}, independent="rows")
    with pytest.raises(SpecError, match="y must have that axis once"):
        slices.output_dimension(task, "y")


@pytest.mark.parametrize("width", [1, 2, 3, 7, 100])
def test_what_is_run_in_chunks_is_put_together_again(width: int) -> None:
    task = make_task(inputs=INPUTS, independent="rows")
    seen: list[int] = []

    def double(chunk: Inputs) -> dict[str, torch.Tensor]:
        seen.append(chunk.tensors["x"].shape[1])
        return {"y": 2 * chunk.tensors["x"].T}

    found = slices.in_chunks(task, Inputs({"x": X, "weight": torch.ones(5)}), 7, width, double)
    assert torch.equal(found["y"], 2 * X.T)
    assert max(seen) == min(width, 7)
    assert sum(seen) == 7


def test_slices_are_held_to_their_standard_and_the_rest_to_nothing() -> None:
    chosen = torch.tensor([1, 4])
    standard = OfSlices(Exact(X[:, chosen]), 1, chosen)
    answer = X.clone()
    answer[:, 2] = 0
    assert standard.judge(answer).is_accepted
    answer[3, 4] = 0
    assert not standard.judge(answer).is_accepted
    assert standard.is_wrong(answer).nonzero().tolist() == [[3, 4]]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("width", [1, 2, 100])
def test_every_chunk_is_held_to_a_standard_of_its_own(dim: int, width: int) -> None:
    alive: list[int] = []

    def make(start: int, count: int) -> Standard:
        alive.append(start)
        return Exact(X.narrow(dim, start, count))

    standard = InChunks(make, dim, X.shape[dim], width)
    assert alive == []
    assert standard.judge(X).is_accepted
    assert alive == list(range(0, X.shape[dim], width))
    answer = X.clone()
    answer[4, 6] += 1
    assert not standard.judge(answer).is_accepted
    assert standard.is_wrong(answer).nonzero().tolist() == [[4, 6]]


def test_a_refusal_is_worse_than_anything_that_is_accepted() -> None:
    accepted, refused = Judgement((0.9,), (1.0,)), Judgement((1.1,), (1.0,))
    unknown, infinite = Judgement((math.nan,), (1.0,)), Judgement((0.1,), (1.0,), nonfinite=1)
    assert max((accepted, refused), key=severity) is refused
    assert max((refused, accepted, unknown), key=severity) is unknown
    assert max((accepted, infinite, refused), key=severity) is infinite
