"""How indices, offsets and masks are laid out in checked cases."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from pydantic import ValidationError

from robust_kbench.cases.structures import draw_structured, largest_group, structure_of, structures_of
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
    with pytest.raises(ValidationError, match="needs role index or mask"):
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
