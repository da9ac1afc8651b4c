"""Layout of indices, offsets and masks in checked cases."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from pydantic import ValidationError

from robust_kbench.cases.structures import (
    draw_structured,
    largest_group,
    remembered,
    restructured,
    structure_of,
    structures_of,
)
from robust_kbench.cases.values import make_inputs
from robust_kbench.oracle.agreement import reduction_of
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import INDEX_STRUCTURES, MASK_STRUCTURES, OFFSET_STRUCTURES, Input, Structure

INDEX = Input(shape=("n",), dtype="int64", role="index", below="n")
OFFSETS = Input(shape=("n",), dtype="int64", role="index", below="n", offsets=True)
MASK = Input(shape=("n",), dtype="uint8", role="mask")


def drawn(structure: Structure, spec: Input, bound: int, *shape: int, seed: int = 0) -> torch.Tensor:
    return draw_structured(structure, spec, bound, shape, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("spec", [INDEX, OFFSETS, MASK], ids=["index", "offsets", "mask"])
@pytest.mark.parametrize("bound", [1, 2, 7, 50_257])
def test_every_structure_stays_within_its_bound_at_any_size(spec: Input, bound: int) -> None:
    bound = 2 if spec.role == "mask" else bound
    for structure in structures_of(spec):
        for shape in ((0,), (1,), (2,), (300,), (4, 33), (4, 0)):
            values = drawn(structure, spec, bound, *shape)
            assert (values.shape, values.dtype) == (shape, torch.int64), structure
            assert bool(((values >= 0) & (values < bound)).all()), structure


def test_indices_are_as_their_name_says() -> None:
    def distinct(structure: Structure) -> int:
        return len(set(drawn(structure, INDEX, 1000, 600).tolist()))

    assert distinct("one") == 1
    assert 1 <= distinct("two") <= 2
    assert distinct("uniform") > 400
    assert distinct("pairs") <= 300
    assert set(drawn("ends", INDEX, 1000, 600).tolist()) == {0, 999}
    assert bool((drawn("ascending", INDEX, 1000, 600).diff() >= 0).all())
    assert float((drawn("runs", INDEX, 1000, 600).diff() == 1).float().mean()) > 0.4
    strided = drawn("strided", INDEX, 1000, 600).tolist()
    assert 1 < math.gcd(*strided) == sorted(set(strided))[1]
    counts = drawn("zipf", INDEX, 1000, 60_000).bincount().sort(descending=True).values
    assert counts[0] > 50 * 60  # the commonest expert has a tenth of all, and not one in a thousand


def test_offsets_ascend_over_all_and_have_the_segments_of_their_name() -> None:
    for structure in OFFSET_STRUCTURES:
        offsets = drawn(structure, OFFSETS, 1001, 9)
        assert (int(offsets[0]), int(offsets[-1])) == (0, 1000), structure
        assert bool((offsets.diff() >= 0).all()), structure
    assert set(drawn("equal", OFFSETS, 1001, 9).diff().tolist()) == {125}
    assert sorted(drawn("lone", OFFSETS, 1001, 9).diff().tolist())[-2:] == [0, 1000]
    assert 937 <= int(drawn("dominated", OFFSETS, 1001, 9).diff().amax()) < 1000


def test_masks_have_the_density_of_their_name() -> None:
    density = {structure: float(drawn(structure, MASK, 2, 40, 500).float().mean()) for structure in MASK_STRUCTURES}
    assert (density["none"], density["all"]) == (0.0, 1.0)
    assert density["single"] == pytest.approx(1 / 20_000)
    assert density["rare"] == pytest.approx(1 / 16, abs=0.01)
    assert density["frequent"] == pytest.approx(15 / 16, abs=0.01)
    changes = drawn("runs", MASK, 2, 20_000, seed=3).diff().ne(0).float().mean()
    assert float(changes) < 0.4


def test_half_of_the_checked_cases_have_a_structure_and_timed_ones_and_probes_none() -> None:
    def found(**more: object) -> Counter[Structure]:
        cases = (Case.model_validate({"axes": {}, "dtype": "float32", "seed": seed} | more) for seed in range(800))
        return Counter(structure_of(case, "index", INDEX) for case in cases)

    assert set(found()) == {"uniform", *INDEX_STRUCTURES}
    assert 330 < found()["uniform"] < 470
    assert set(found(role="timed")) == set(found(probe="integers")) == {"uniform"}


def test_a_task_says_which_structures_its_contract_excludes() -> None:
    lengths = load_task("attention/gqa_decode").spec.inputs["lengths"]
    assert structures_of(lengths) == ("one", "ascending", "ends")
    assert structures_of(load_task("quant/int8_gemm").spec.inputs["x"]) == ()
    assert structures_of(load_task("norm/rmsnorm").spec.inputs["x"]) == ()
    with pytest.raises(ValidationError, match="'rare' is none of this input"):
        Input(shape=("n",), dtype="int64", role="index", below="n", structures=("rare",))
    with pytest.raises(ValidationError, match="needs role index, mask or parameter"):
        Input(shape=("n",), structures=("one",))


@pytest.mark.parametrize(
    "name", [name for name in task_names() if any(i.summed for i in load_task(name).spec.inputs.values())]
)
def test_the_error_bound_takes_the_fullest_bin_that_is_drawn(name: str) -> None:
    spec = load_task(name).spec
    (index,) = (each for each, held in spec.inputs.items() if held.summed)
    (output,) = spec.outputs.values()
    axes = min(spec.timed["cpu"], key=lambda axes: sum(axes.values()))
    seeds = [
        seed
        for seed in range(200)
        if structure_of(Case(axes=axes, dtype="float32", seed=seed), index, spec.inputs[index]) in ("one", "lone")
    ]
    case = Case(axes=axes, dtype="float32", seed=seeds[0])
    inputs = make_inputs(spec, case)
    fullest = largest_group(spec.inputs[index], inputs.tensors[index])
    assert reduction_of(spec, output, case, inputs) == fullest > reduction_of(spec, output, case)


def restructured_as(structure: Structure) -> torch.Tensor:
    """Return the usual decays, 0.9 + N / 20, or the values that this structure puts in their place."""
    source = torch.Generator().manual_seed(2)
    return restructured(structure, 0.9 + torch.randn(40, 500, generator=source) / 20, source)


def test_parameters_have_the_values_of_their_structure_s_name() -> None:
    assert sorted(set(restructured_as("ones").flatten().tolist())) == [1.0]
    near = restructured_as("near_one")
    assert 1 - 2.0**-12 <= float(near.min()) < float(near.max()) <= 1.0
    assert float((restructured_as("zeros") == 0).float().mean()) == pytest.approx(1 / 16, abs=0.01)
    assert float((restructured_as("negative") < 0).float().mean()) == pytest.approx(1 / 2, abs=0.02)
    assert sorted(set(restructured_as("tiny").flatten().tolist())) == pytest.approx([0.0, 1e-8, 1e-5])
    usual = torch.rand(3, 5)
    assert restructured("uniform", usual, torch.Generator()) is usual


def test_zeros_are_there_even_in_a_single_element_and_none_in_none() -> None:
    assert restructured("zeros", torch.ones(1), torch.Generator().manual_seed(1)).tolist() == [0.0]
    assert restructured("zeros", torch.ones(0, 3), torch.Generator().manual_seed(1)).shape == (0, 3)


def test_parameters_are_as_usual_unless_their_task_says_otherwise() -> None:
    decay = load_task("scan/linear_recurrence").spec.inputs["decay"]
    assert structures_of(decay) == ("ones", "near_one", "zeros", "negative")
    assert structures_of(load_task("norm/rmsnorm").spec.inputs["weight"]) == ()
    with pytest.raises(ValidationError, match="'one' is none of this input"):
        Input(shape=("n",), role="parameter", structures=("one",))
    with pytest.raises(ValidationError, match="`carried_along` needs role parameter, and an axis of its shape"):
        Input(shape=("n",), role="parameter", carried_along="m")


@pytest.mark.parametrize(("structure", "terms"), [("uniform", 60), ("ones", 500), ("near_one", 500), ("zeros", 40)])
def test_a_recurrence_remembers_as_many_terms_as_its_factors_leave(structure: Structure, terms: int) -> None:
    spec = Input(shape=("rows", "cols"), role="parameter", carried_along="cols")
    assert remembered(spec, restructured_as(structure)) == pytest.approx(terms, rel=0.15)
    assert remembered(spec, torch.ones(0, 500)) == 0


def test_the_error_bound_of_a_recurrence_grows_with_its_memory() -> None:
    spec = load_task("scan/linear_recurrence").spec
    axes = {"rows": 3, "cols": 4096}
    (output,) = spec.outputs.values()
    bounds: dict[Structure, int] = {}
    for seed in range(40):
        case = Case(axes=axes, dtype="float32", seed=seed)
        inputs = make_inputs(spec, case)
        structure = structure_of(case, "decay", spec.inputs["decay"])
        bounds[structure] = reduction_of(spec, output, case, inputs)
    assert bounds["ones"] == bounds["near_one"] == 4096
    assert bounds["uniform"] == bounds["zeros"] == 64
