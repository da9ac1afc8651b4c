from __future__ import annotations

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.properties import relate
from robust_kbench.oracle.seeds import coincidence, reseeded
from robust_kbench.schema.task import Property

SEED = {"dtype": "int64", "role": "scalar", "choices": [1, 2, 3]}
P = {"dtype": "float64", "role": "scalar", "choices": [0.4]}
DROPOUT = load_made_task(
    inputs={"x": {"shape": ["rows", "cols"]}, "p": P, "seed": SEED},
    outputs={"y": {"shape": ["rows", "cols"], "compare": "random", "law": "dropout"}, "n": {"shape": []}},
).spec  # fmt: skip
CATEGORICAL = load_made_task(
    inputs={"logits": {"shape": ["rows", "cols"]}, "seed": SEED},
    outputs={"y": {"shape": ["rows"], "dtype": "int64", "compare": "random", "law": "categorical"}},
).spec


def _inputs(name: str, *shape: int) -> Inputs:
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    return Inputs({name: tensor, "p": 0.4, "seed": 7} if name == "x" else {name: tensor, "seed": 7})


def _dropped(inputs: Inputs, seed: int) -> torch.Tensor:
    x = inputs.tensors["x"]
    return x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= 0.4) / 0.6


def _drawn(inputs: Inputs, seed: int) -> torch.Tensor:
    logits = inputs.tensors["logits"]
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed)).clamp_(1e-7, 1 - 1e-7)
    return (logits - uniform.log().neg().log()).argmax(-1)


def test_another_seed_changes_nothing_but_the_seed() -> None:
    inputs = _inputs("x", 4, 4)
    moved = reseeded(inputs)
    assert moved.values["seed"] == 8
    assert moved.tensors["x"] is inputs.tensors["x"]


def test_independent_masks_are_accepted() -> None:
    inputs = _inputs("x", 64, 64)
    assert all(
        coincidence(DROPOUT, "y", inputs, _dropped(inputs, 0), _dropped(inputs, n)) is None for n in range(1, 50)
    )


def test_a_mask_that_ignores_the_seed_is_refused() -> None:
    inputs = _inputs("x", 64, 64)
    words = coincidence(DROPOUT, "y", inputs, _dropped(inputs, 1), _dropped(inputs, 1))
    assert words is not None
    assert words.startswith("y: 4,096 of 4,096 choices are the same with another seed; 2,130 are expected")


def test_a_mask_that_is_the_other_ones_complement_is_refused() -> None:
    inputs = _inputs("x", 64, 64)
    first = _dropped(inputs, 1)
    assert coincidence(DROPOUT, "y", inputs, first, torch.where(first == 0, inputs.tensors["x"], 0.0)) is not None


def test_a_mask_too_small_to_tell_is_accepted() -> None:
    inputs = _inputs("x", 4, 4)
    assert coincidence(DROPOUT, "y", inputs, _dropped(inputs, 1), _dropped(inputs, 1)) is None


def test_an_output_that_is_not_random_may_stay_the_same() -> None:
    assert coincidence(DROPOUT, "n", _inputs("x", 64, 64), torch.ones(()), torch.ones(())) is None


def test_independent_samples_are_accepted_and_repeated_ones_are_not() -> None:
    inputs = _inputs("logits", 500, 10)
    assert all(
        coincidence(CATEGORICAL, "y", inputs, _drawn(inputs, 0), _drawn(inputs, n)) is None for n in range(1, 50)
    )
    assert coincidence(CATEGORICAL, "y", inputs, _drawn(inputs, 1), _drawn(inputs, 1)) is not None


def test_a_hundred_samples_of_many_classes_that_ignore_the_seed_are_refused() -> None:
    inputs = _inputs("logits", 100, 200)
    assert all(coincidence(CATEGORICAL, "y", inputs, _drawn(inputs, 0), _drawn(inputs, n)) is None for n in range(1, 9))
    assert coincidence(CATEGORICAL, "y", inputs, _drawn(inputs, 1), _drawn(inputs, 1)) is not None


def test_a_task_can_declare_that_the_seed_matters() -> None:
    prop = Property(kind="reseeded")
    inputs = _inputs("x", 64, 64)
    relation = relate(DROPOUT, prop, make_case(axes={"rows": 64, "cols": 64}), inputs, Draw(1))
    assert relation is not None
    assert [call.values["seed"] for call in relation.calls] == [7, 8]
    outputs = [{"y": _dropped(inputs, seed), "n": torch.ones(())} for seed in (1, 2)]
    assert relation.violation(outputs, {}) is None
    words = relation.violation([outputs[0], outputs[0]], {})
    assert words is not None
    assert words.startswith("reseeded: y: 4,096 of 4,096 choices are the same")


def test_the_seed_cannot_matter_to_a_task_that_has_none() -> None:
    with pytest.raises(SpecError, match="properties.reseeded: unknown input 'seed'; known: x, weight"):
        load_made_task(properties=[{"kind": "reseeded"}])
