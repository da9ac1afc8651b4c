"""Variants that the registry makes for every task: each is true to its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from written_task import write_task

from robust_kbench.audit.bank import load_bank
from robust_kbench.audit.generic import generic_variants
from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.variants import Variant, own_variants
from robust_kbench.errors import SpecError
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType

INPUTS = {
    "x": {"shape": ["rows", "cols"]},
    "w": {"shape": ["rows", "cols"]},
    "power": {"dtype": "float64", "role": "scalar", "choices": [2.0, 3.0]},
}
TWO = "def reference(x, w, power):\n    return x * w, x ** power\n"
OUTPUTS = {"y": {"shape": ["rows", "cols"]}, "z": {"shape": ["rows", "cols"]}}


def setting_of(task: LoadedTask, rows: int = 6, cols: int = 6, dtype: FloatDType = "float32") -> Setting:
    return Setting.of(task, Reference(task), Case(axes={"rows": rows, "cols": cols}, dtype=dtype, seed=5))


def answers(setting: Setting) -> dict[str, Tensors | None]:
    return {variant.name: variant.answer(setting) for variant in generic_variants(setting.task.spec)}


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return setting_of(write_task(tmp_path))


def test_the_non_answers_compute_nothing(setting: Setting) -> None:
    got, y, x = answers(setting), setting.native["y"], setting.inputs.tensors["x"]
    expected = {
        "zeros": torch.zeros(6, 6),
        "ones": torch.ones(6, 6),
        "mean": torch.full((6, 6), float(setting.exact["y"].mean())),
        "first_slice": y[:1].repeat(6, 1),
        "first_column": y[:, :1].repeat(1, 6),
        "reversed_slices": y.flip(0),
        "copy_of_x": x,
        "copy_of_weight": setting.inputs.tensors["weight"].repeat(6, 1),
        "x_ignored": torch.zeros(6, 6),
        "weight_ignored": x,
    }
    for name, tensor in expected.items():
        answer = got[name]
        assert answer is not None
        assert torch.equal(answer["y"], tensor), name


def test_the_previous_answer_is_right_for_other_values_of_the_same_sizes(setting: Setting) -> None:
    previous = answers(setting)["previous"]
    assert previous is not None
    assert previous["y"].shape == setting.native["y"].shape
    assert not torch.isclose(previous["y"], setting.native["y"]).any()


def test_the_mutants_differ_where_their_names_say(setting: Setting) -> None:
    got, y = answers(setting), setting.native["y"]
    changed = {name: answer["y"] != y for name, answer in got.items() if answer is not None}
    assert int(changed["one_element_zero"].sum()) == 1
    assert int(changed["one_element_off"].sum()) == 1
    assert int(changed["neighbours_swapped"].sum()) == 2
    assert changed["one_row_off"].any(1).sum() == 1
    assert changed["last_element_missing"].nonzero().tolist() == [[5, 5]]
    assert changed["last_column_missing"].any(0).tolist() == [False] * 5 + [True]
    assert changed["last_slice_missing"].any(1).tolist() == [False] * 5 + [True]
    assert changed["second_half_missing"].any(1).tolist() == [False] * 3 + [True] * 3
    transposed, rolled = got["transposed"], got["off_by_one_column"]
    assert transposed is not None
    assert rolled is not None
    assert torch.equal(transposed["y"], y.T)
    assert torch.equal(rolled["y"], torch.cat((y[:, -1:], y[:, :-1]), 1))


@pytest.mark.parametrize("name", ["scaled", "one_element_off", "one_row_off", "noise"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_near_mutants_are_off_by_six_limits(tmp_path: Path, name: str, dtype: FloatDType) -> None:
    setting = setting_of(write_task(tmp_path), 40, 60, dtype)
    answer = answers(setting)[name]
    assert answer is not None
    assert 4.8 < setting.judge(answer)["y"].ratio < 7.5


def test_lower_inputs_are_the_reference_of_rounded_inputs(tmp_path: Path) -> None:
    setting = setting_of(write_task(tmp_path), dtype="float16")
    got, (x, weight) = answers(setting), setting.inputs.tensors.values()
    for name, expected in {
        "lower_inputs": x.bfloat16().half() * weight.bfloat16().half(),
        "lower_x": x.bfloat16().half() * weight,
        "lower_weight": x * weight.bfloat16().half(),
        "lower_output": (x * weight).bfloat16().half(),
    }.items():
        answer = got[name]
        assert answer is not None
        assert torch.equal(answer["y"], expected), name


@pytest.mark.parametrize(
    ("precision", "dtype", "allowed", "lower"),
    [
        ("tf32_ok", "float32", 11, 8), ("half_fp32acc", "float32", 8, 4), ("any_halfacc", "float32", 8, 4),
        ("fp8", "float32", 4, 2), ("fp8", "bfloat16", 4, 2), ("tf32_ok", "float16", None, 8),
        ("half_fp32acc", "bfloat16", None, 4),
    ],
)  # fmt: skip
def test_what_the_contract_allows_is_honest_and_the_next_lower_format_is_not(
    tmp_path: Path, precision: str, dtype: FloatDType, allowed: int | None, lower: int
) -> None:
    dtypes = ["float32", "float16", "bfloat16"]
    setting = setting_of(write_task(tmp_path, precision=precision, dtypes=dtypes), dtype=dtype)
    variants = {variant.name: variant for variant in generic_variants(setting.task.spec)}
    x, weight = setting.inputs.tensors.values()
    assert variants["inputs_of_the_contract"].kind == "honest"
    honest, mutant = (variants[name].answer(setting) for name in ("inputs_of_the_contract", "lower_inputs"))
    assert (honest is None) == (allowed is None)
    if honest is not None and allowed is not None:
        assert torch.equal(honest["y"], rounded(x, allowed) * rounded(weight, allowed))
    assert mutant is not None
    assert torch.equal(mutant["y"], rounded(x, lower) * rounded(weight, lower))
    output = variants["lower_output"].answer(setting)
    assert output is not None
    assert torch.equal(output["y"], rounded(setting.native["y"], lower))


def test_where_nothing_may_be_rounded_no_rounded_inputs_are_honest(setting: Setting) -> None:
    assert "inputs_of_the_contract" not in answers(setting)


def test_with_several_outputs_each_is_spoilt_alone(tmp_path: Path) -> None:
    setting = setting_of(write_task(tmp_path, TWO, None, inputs=INPUTS, outputs=OUTPUTS))
    got = answers(setting)
    spoilt = got["z.zeros"]
    assert spoilt is not None
    assert torch.equal(spoilt["y"], setting.native["y"])
    assert not spoilt["z"].any()


def test_inputs_of_one_shape_are_exchanged_and_drawn_scalars_are_held_constant(tmp_path: Path) -> None:
    setting = setting_of(write_task(tmp_path, TWO, None, inputs=INPUTS, outputs=OUTPUTS))
    got, w, power = answers(setting), setting.inputs.tensors["w"], setting.inputs.values["power"]
    swapped, ignored = got["x_and_w_swapped"], got["power_ignored"]
    assert swapped is not None
    assert ignored is not None
    assert torch.equal(swapped["z"], w**power)
    assert torch.equal(ignored["z"], setting.inputs.tensors["x"] ** 2.0)


def test_what_does_not_apply_gives_no_answer(tmp_path: Path) -> None:
    got = answers(setting_of(write_task(tmp_path), 1, 1))
    for name in ("mean", "first_slice", "first_column", "transposed", "last_column_missing", "neighbours_swapped"):
        assert got[name] is None, name


def test_an_empty_case_breaks_no_variant(tmp_path: Path) -> None:
    axes = {"rows": {"low": 0, "high": 512}, "cols": {"low": 0, "high": 512}}
    task = write_task(tmp_path, axes=axes)
    for rows, cols in ((0, 5), (5, 0), (0, 0)):
        setting = setting_of(task, rows, cols)
        for answer in answers(setting).values():
            assert answer is None or answer["y"].shape == (rows, cols)


def test_single_elements_of_a_random_output_are_not_spoilt(tmp_path: Path) -> None:
    names = [variant.name for variant in generic_variants(random_task(tmp_path).spec)]
    assert "zeros" in names
    assert "one_element_zero" not in names


def random_task(folder: Path) -> LoadedTask:
    inputs = {
        "x": {"shape": ["rows", "cols"]},
        "p": {"dtype": "float64", "role": "scalar", "choices": [0.1, 0.5]},
        "seed": {"dtype": "int64", "role": "scalar", "choices": [1, 2]},
    }
    outputs = {"y": {"shape": ["rows", "cols"], "compare": "random", "law": "dropout"}}
    return write_task(folder, "def reference(x, p, seed):\n    return x\n", None, inputs=inputs, outputs=outputs)


def test_a_drawn_integer_that_is_held_constant_stays_one(tmp_path: Path) -> None:
    source = "def reference(x, p, seed):\n    return x * [0, 3, 5][seed]\n"
    setting = setting_of(replace(random_task(tmp_path), reference=source))
    ignored = answers(setting)["seed_ignored"]
    assert ignored is not None
    assert torch.equal(ignored["y"], 3 * setting.inputs.tensors["x"])


def own(task: LoadedTask) -> Mapping[str, Variant]:
    return {variant.name: variant for variant in own_variants(load_bank(task), "float32")}


def test_a_member_that_writes_into_its_arguments_spoils_nobody_elses(tmp_path: Path) -> None:
    bank = "def f(x, weight):\n    'y'\n    return x.mul_(weight)\nHONEST = (f,)\nMUTANTS = ()"
    setting = setting_of(write_task(tmp_path, bank=bank))
    before = setting.inputs.tensors["x"].clone()
    answer = own(setting.task)["f"].answer(setting)
    assert answer is not None
    assert torch.equal(answer["y"], setting.native["y"])
    assert torch.equal(setting.inputs.tensors["x"], before)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("x.double()", "f returns y as torch.float64 [6, 6], not torch.float32 [6, 6]"),
        ("x[0]", "f returns y as torch.float32 [6], not torch.float32 [6, 6]"),
        ("(x, x)", "f returns 2 tensors, not 1"),
    ],
)
def test_a_member_that_returns_something_else_is_refused(tmp_path: Path, result: str, message: str) -> None:
    bank = f"def f(x, weight):\n    'y'\n    return {result}\nHONEST = (f,)\nMUTANTS = ()"
    setting = setting_of(write_task(tmp_path, bank=bank))
    with pytest.raises(SpecError) as caught:
        own(setting.task)["f"].answer(setting)
    assert message in str(caught.value)


def test_samples_of_rounded_logits_are_no_mutant() -> None:
    names = {variant.name for variant in generic_variants(load_task("random/gumbel_argmax").spec)}
    assert "logits_ignored" in names
    assert "lower_inputs" not in names
