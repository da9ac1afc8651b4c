from __future__ import annotations

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle import seeds
from robust_kbench.oracle.properties import relate
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.seeds import Run, coincidence, reseeded
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.observation import Observation
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


def _dropped(inputs: Inputs, seed: int) -> Run:
    x, p = inputs.tensors["x"], float(inputs.values["p"])
    return Run(inputs, x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= p) / (1 - p))


def _drawn(inputs: Inputs, seed: int) -> Run:
    logits = inputs.tensors["logits"]
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed)).clamp_(1e-7, 1 - 1e-7)
    return Run(inputs, (logits - uniform.log().neg().log()).argmax(-1))


def test_another_seed_changes_nothing_but_the_seed() -> None:
    inputs = _inputs("x", 4, 4)
    moved = reseeded(inputs)
    assert moved.values["seed"] == 8
    assert moved.tensors["x"] is inputs.tensors["x"]


def test_independent_masks_are_accepted() -> None:
    inputs = _inputs("x", 64, 64)
    assert all(coincidence(DROPOUT, "y", _dropped(inputs, 0), _dropped(inputs, n)) is None for n in range(1, 50))


def test_a_mask_that_ignores_the_seed_is_refused() -> None:
    inputs = _inputs("x", 64, 64)
    words = coincidence(DROPOUT, "y", _dropped(inputs, 1), _dropped(inputs, 1))
    assert words is not None
    assert words.startswith("y: 4,096 of 4,096 choices are the same with another seed; 2,130 are expected")


def test_a_mask_that_is_the_other_ones_complement_is_refused() -> None:
    inputs = _inputs("x", 64, 64)
    first = _dropped(inputs, 1)
    second = Run(inputs, torch.where(first.output == 0, inputs.tensors["x"], 0.0))
    assert coincidence(DROPOUT, "y", first, second) is not None


def test_a_mask_too_small_to_tell_is_accepted() -> None:
    inputs = _inputs("x", 4, 4)
    assert coincidence(DROPOUT, "y", _dropped(inputs, 1), _dropped(inputs, 1)) is None


def test_an_output_that_is_not_random_may_stay_the_same() -> None:
    assert coincidence(DROPOUT, "n", *[Run(_inputs("x", 64, 64), torch.ones(()))] * 2) is None


def test_independent_samples_are_accepted_and_repeated_ones_are_not() -> None:
    inputs = _inputs("logits", 500, 10)
    assert all(coincidence(CATEGORICAL, "y", _drawn(inputs, 0), _drawn(inputs, n)) is None for n in range(1, 50))
    assert coincidence(CATEGORICAL, "y", _drawn(inputs, 1), _drawn(inputs, 1)) is not None


def test_a_hundred_samples_of_many_classes_that_ignore_the_seed_are_refused() -> None:
    inputs = _inputs("logits", 100, 200)
    assert all(coincidence(CATEGORICAL, "y", _drawn(inputs, 0), _drawn(inputs, n)) is None for n in range(1, 9))
    assert coincidence(CATEGORICAL, "y", _drawn(inputs, 1), _drawn(inputs, 1)) is not None


@pytest.mark.parametrize("p", [0.1, 0.8])
def test_masks_of_other_inputs_and_another_probability_are_compared_too(p: float) -> None:
    one, other = _inputs("x", 64, 64), Inputs({**_inputs("x", 64, 64).values, "p": p})
    assert all(coincidence(DROPOUT, "y", _dropped(one, 0), _dropped(other, n)) is None for n in range(1, 50))
    assert coincidence(DROPOUT, "y", _dropped(one, 1), _dropped(other, 1)) is not None


@pytest.mark.parametrize("distance", [1, -700, 3000])
def test_a_mask_that_is_another_one_moved_is_refused(distance: int) -> None:
    inputs = _inputs("x", 64, 64)
    row = torch.rand(3 * 4096, generator=torch.Generator().manual_seed(3))
    masks = [row[start : start + 4096].view(64, 64) >= 0.4 for start in (4096, 4096 + distance)]
    first, second = (Run(inputs, inputs.tensors["x"] * mask / 0.6) for mask in masks)
    assert f"moved by {-distance:,} places" in str(coincidence(DROPOUT, "y", first, second))


def _sparse(share: float) -> Inputs:
    x = torch.randn(200, 200, generator=torch.Generator().manual_seed(6))
    return Inputs(
        {"x": x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(1004)) < share), "p": 0.4, "seed": 7}
    )


@pytest.mark.parametrize("share", [0.003, 0.03, 0.1])
def test_masks_that_show_at_few_places_do_not_go_along_because_these_are_the_same(share: float) -> None:
    inputs = _sparse(share)
    assert all(coincidence(DROPOUT, "y", _dropped(inputs, 0), _dropped(inputs, n)) is None for n in range(1, 50))


def test_a_mask_that_moved_shows_between_the_zeros_of_the_input_too() -> None:
    inputs = _sparse(0.3)
    row = torch.rand(50_000, generator=torch.Generator().manual_seed(3))
    masks = [row[start : start + 40_000].view(200, 200) >= 0.4 for start in (0, 900)]
    first, second = (Run(inputs, inputs.tensors["x"] * mask / 0.6) for mask in masks)
    assert "moved by -900 places" in str(coincidence(DROPOUT, "y", first, second))


@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_pairs_of_places_that_all_show_are_counted_without_a_transform(count: int) -> None:
    shown = torch.ones(count, dtype=torch.bool)
    counted = seeds._correlation(shown.float(), shown.float())
    assert torch.allclose(seeds._pairs(shown, shown), counted, atol=1e-3)
    hidden = shown.clone()
    hidden[0] = False
    assert float(seeds._pairs(shown, hidden)[0]) == pytest.approx(count - 1, abs=1e-3)


def test_samples_of_other_logits_are_compared_too() -> None:
    one, other = (Inputs({"logits": torch.randn(300, 9), "seed": 7}) for _ in range(2))
    assert all(coincidence(CATEGORICAL, "y", _drawn(one, 0), _drawn(other, n)) is None for n in range(1, 50))
    assert coincidence(CATEGORICAL, "y", _drawn(one, 1), _drawn(other, 1)) is not None


def test_a_judge_remembers_the_choices_of_the_call_before() -> None:
    judge = Judge(DROPOUT, Reference(load_made_task()))
    case = make_case(axes={"rows": 64, "cols": 64})
    first, second = (Inputs({**_inputs("x", 64, 64).values, "seed": seed}) for seed in (1, 2))

    def seen(inputs: Inputs, seed: int) -> Observation:
        return Observation(case, "returned", outputs={"y": _dropped(inputs, seed).output, "n": torch.ones(())})

    assert judge.goes_along(seen(first, 1), first) is None
    assert judge.goes_along(seen(first, 1), first) is None, "equal seeds give equal masks"
    assert judge.goes_along(seen(second, 2), second) is None
    assert judge.goes_along(seen(first, 2), first) is not None


def test_a_judge_remembers_how_often_rows_drew_the_same_class() -> None:
    judge, case = Judge(CATEGORICAL, Reference(load_made_task())), make_case(axes={"rows": 64, "cols": 8192})
    found = []
    for seed in range(20):
        logits = torch.randn(64, 8192, generator=torch.Generator().manual_seed(1000 + seed))
        inputs = Inputs({"logits": logits, "seed": seed})
        few = _drawn(Inputs({"logits": logits[:, ::8]}), seed)
        found.append(judge.goes_along(Observation(case, "returned", outputs={"y": 8 * few.output}), inputs))
    assert found[0] is None
    assert found[-1] is not None
    assert "rows draw the same classes too often" in found[-1]


def test_a_task_can_declare_that_the_seed_matters() -> None:
    prop = Property(kind="reseeded")
    inputs = _inputs("x", 64, 64)
    relation = relate(DROPOUT, prop, make_case(axes={"rows": 64, "cols": 64}), inputs, Draw(1))
    assert relation is not None
    assert [call.values["seed"] for call in relation.calls] == [7, 8]
    outputs = [{"y": _dropped(inputs, seed).output, "n": torch.ones(())} for seed in (1, 2)]
    assert relation.violation(outputs, {}) is None
    words = relation.violation([outputs[0], outputs[0]], {})
    assert words is not None
    assert words.startswith("reseeded: y: 4,096 of 4,096 choices are the same")


def test_the_seed_cannot_matter_to_a_task_that_has_none() -> None:
    with pytest.raises(SpecError, match="properties.reseeded: unknown input 'seed'; known: x, weight"):
        load_made_task(properties=[{"kind": "reseeded"}])
