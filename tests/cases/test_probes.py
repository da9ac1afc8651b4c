from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import make_case, make_task

from robust_kbench.cases import probes
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.registry import load_task
from robust_kbench.schema.task import FloatDType, Probe, ProbeValues, Task

AXES = {"rows": {"low": 1, "high": 4096}, "cols": {"low": 1, "high": 65536}}
MATRIX = {"shape": ["rows", "cols"]}
DTYPES: list[FloatDType] = ["float32", "float16", "bfloat16"]


def _task(probe: str, kind: str, x: dict[str, Any] = MATRIX, **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "axes": AXES, "constraints": [], "dtypes": DTYPES, "inputs": {"x": x, "weight": {"shape": ["cols"]}},
        "reduction": "cols", "probes": {probe: {"x": kind}},
    }  # fmt: skip
    return make_task(**{**fields, **changes})


def _x(task: Task, probe: Probe, rows: int = 8, cols: int = 33, **changes: Any) -> torch.Tensor:
    case = make_case(axes={"rows": rows, "cols": cols}, probe=probe, **changes)
    return make_inputs(task, case).tensors["x"]


def test_a_probe_sets_the_inputs_that_the_task_names_and_no_other() -> None:
    task = _task("integers", "integers")
    probing = make_inputs(task, make_case(probe="integers")).tensors
    plain = make_inputs(task, make_case()).tensors
    assert not torch.equal(probing["x"], plain["x"])
    assert torch.equal(probing["weight"], plain["weight"])


def test_another_seed_gives_a_probe_other_values() -> None:
    task = _task("integers", "integers")
    assert not torch.equal(_x(task, "integers", seed=1), _x(task, "integers", seed=2))
    assert torch.equal(_x(task, "integers", seed=1), _x(task, "integers", seed=1))


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "pitched"])
def test_a_probe_has_the_same_values_in_every_layout(layout: str) -> None:
    task = _task("integers", "integers")
    assert torch.equal(_x(task, "integers", layout=layout), _x(task, "integers"))


def test_a_probed_parameter_is_neither_scaled_nor_shifted() -> None:
    x = {**MATRIX, "role": "parameter", "fan_in": "cols", "shift": 3.0}
    assert torch.equal(_x(_task("identity", "identity", x), "identity", 5, 5), torch.eye(5))


@settings(max_examples=40)
@given(dtype=st.sampled_from(DTYPES), cols=st.sampled_from([1, 7, 1000, 1500, 4000, 20000, 65503]))
def test_no_partial_sum_of_products_of_integers_can_be_rounded_or_overflow(dtype: FloatDType, cols: int) -> None:
    task = _task("integers", "integers")
    largest = int(_x(task, "integers", 64, cols, dtype=dtype).abs().max())
    assert cols * largest**2 < (65504 if dtype == "float16" else 2**24)


def test_integers_are_as_large_as_their_sums_allow() -> None:
    task = _task("integers", "integers")
    sizes = {cols: int(_x(task, "integers", 64, cols, dtype="float16").max()) for cols in (1000, 4000, 10000, 60000)}
    assert sizes == {1000: 8, 4000: 4, 10000: 2, 60000: 1}
    assert int(_x(task, "integers", 64, 60000).max()) == 8


@pytest.mark.parametrize(
    ("dtype", "cols"), [("bfloat16", 1725), ("bfloat16", 16), ("float16", 1725), ("float32", 8191)]
)
def test_running_sums_of_a_recurrence_stay_where_every_result_is_exact(dtype: FloatDType, cols: int) -> None:
    case = make_case(axes={"rows": 15, "cols": cols}, probe="integers", dtype=dtype)
    values = make_inputs(load_task("scan/linear_recurrence").spec, case).tensors
    assert bool((values["decay"] == 1).all())
    sums = values["x"].double().cumsum(-1)
    assert float(sums.abs().max()) < 1 / torch.finfo(getattr(torch, dtype)).eps
    assert float(values["x"].max()) == (1 if (dtype, cols) == ("bfloat16", 1725) else 8)


def test_the_longest_reduction_of_any_output_counts() -> None:
    outputs = {"y": MATRIX, "z": {"shape": ["cols"], "reduction": "rows + cols"}}
    assert probes.length_of(_task("integers", "integers", outputs=outputs), {"rows": 5, "cols": 7}) == 12


def test_an_identity_is_one_in_every_matrix_of_a_batch() -> None:
    x = {"shape": [3, "rows", "cols"]}
    assert torch.equal(_x(_task("identity", "identity", x), "identity", 4, 6), torch.eye(4, 6).expand(3, 4, 6))


def test_an_identity_filter_hands_each_channel_on() -> None:
    x = {"shape": ["rows", "cols", 3, 5], "role": "parameter"}
    weight = _x(_task("identity", "identity", x), "identity", 4, 4)
    image = torch.randn(2, 4, 9, 9)
    assert torch.equal(torch.nn.functional.conv2d(image, weight, padding=(1, 2)), image)


def test_an_identity_of_one_axis_is_refused() -> None:
    with pytest.raises(SpecError, match="norm/scale: probes: x has 1 axes; identity needs two"):
        _x(_task("identity", "identity", {"shape": ["cols"]}), "identity")


def test_ones_and_zeros_are_that() -> None:
    assert torch.equal(_x(_task("stall", "ones"), "stall"), torch.ones(8, 33))
    assert torch.equal(_x(_task("stall", "zeros"), "stall"), torch.zeros(8, 33))


@pytest.mark.parametrize(("dtype", "large"), [("float32", 2**20), ("float16", 2**12), ("bfloat16", 2**12)])
def test_a_stall_hides_ones_between_a_large_number_and_its_opposite(dtype: FloatDType, large: int) -> None:
    values = _x(_task("stall", "stall"), "stall", dtype=dtype)
    assert values[:, 0].tolist() == [large] * 8
    assert values[:, -1].tolist() == [-large] * 8
    assert torch.equal(values[:, 1:-1].float(), torch.ones(8, 31))
    assert values.float().sum(1).tolist() == [31.0] * 8


@pytest.mark.parametrize(("cols", "row"), [(1, [2**20]), (2, [2**20, 1]), (3, [2**20, 1, -(2**20)])])
def test_a_short_stall_keeps_what_it_has_room_for(cols: int, row: list[float]) -> None:
    assert _x(_task("stall", "stall"), "stall", 1, cols).tolist() == [row]


def test_a_half_accumulator_loses_every_one_of_a_stall() -> None:
    total = torch.zeros(8, dtype=torch.float16)
    for column in _x(_task("stall", "stall"), "stall", dtype="float16").T:
        total += column
    assert total.tolist() == [0.0] * 8


def test_a_stalled_filter_begins_with_the_large_term() -> None:
    x = {"shape": ["rows", "cols", 3, 3], "role": "parameter"}
    values = _x(_task("stall", "stall", x), "stall", 2, 2)
    assert values[:, 0, 0, 0].tolist() == [2**20] * 2
    assert float(values.sum()) == 2 * 16


@pytest.mark.parametrize(("dtype", "exponent"), [("float32", 40), ("bfloat16", 40)])
def test_of_the_rows_of_a_range_one_is_large_and_one_small(dtype: FloatDType, exponent: int) -> None:
    sizes = _x(_task("range", "powers_of_two"), "range", 8, 1000, dtype=dtype).double().square().mean(1).sqrt().log2()
    assert [round(size) for size in sorted(sizes.tolist())] == [-exponent, *[0] * 6, exponent]


def test_the_terms_of_a_large_and_of_a_small_row_are_all_different() -> None:
    """Equal terms round alike at every step of a plain loop, which would be refused for that."""
    x = _x(_task("range", "powers_of_two"), "range", 8, 1000)
    assert min(len(row.unique()) for row in x) > 990


def test_a_single_row_of_a_range_is_large_for_some_seeds_and_small_for_others() -> None:
    task = _task("range", "powers_of_two")
    sizes = {round(math.log2(float(_x(task, "range", 1, 500, seed=seed).std()))) for seed in range(20)}
    assert sizes == {-40, 40}


@pytest.mark.parametrize(("dtype", "exponent"), [("float32", 40), ("bfloat16", 40), ("float16", 5)])
def test_a_range_whose_squares_matter_is_smaller_in_float16(dtype: FloatDType, exponent: int) -> None:
    x = _x(_task("range", "squarable_powers"), "range", 64, 1000, dtype=dtype).double()
    sizes = sorted(x.square().mean(1).sqrt().log2().round().tolist())
    assert (sizes[0], sizes[1], sizes[-2], sizes[-1]) == (-exponent, 0, 0, exponent)
    assert dtype != "float16" or float(x.square().max()) < 65504


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("cols", [1, 16, 1000, 16384])
def test_sums_of_a_positive_range_neither_cancel_nor_overflow(dtype: FloatDType, cols: int) -> None:
    x = _x(_task("range", "positive_powers"), "range", 64, cols, dtype=dtype).double()
    assert float(x.min()) >= 0
    sums = sorted(x.mean(1).tolist())
    assert sums[0] < 0.7 * sums[1]
    assert sums[-1] > 1.7 * sums[-2]
    assert dtype != "float16" or float(x.sum(1).max()) < 65504


@pytest.mark.parametrize("cols", [1, 32, 1000, 20000])
def test_products_with_a_range_of_float16_stay_finite_but_sums_of_its_squares_do_not(cols: int) -> None:
    x = _x(_task("range", "powers_of_two"), "range", 64, cols, dtype="float16").double()
    weight = torch.randn(cols, 64, dtype=torch.float64)
    assert float((x @ weight).abs().max()) < 65504
    assert float(x.square().sum(1).max()) > 65504


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("cols", [1, 2, 3, 7, 15])
def test_a_short_row_of_a_range_is_large_or_small_and_never_by_luck_neither(dtype: FloatDType, cols: int) -> None:
    task = _task("range", "powers_of_two")
    exponent = 40 if dtype != "float16" else int(11 - math.log2(cols) / 2) if cols > 4 else 10
    for seed in range(40):
        x = _x(task, "range", 8, cols, dtype=dtype, seed=seed).double().abs()
        large, small = x[x.amax(1).argmax()], x[x.amax(1).argmin()]
        assert float(large.min()) >= 2.0 ** (exponent - 1)
        assert float(small.min()) >= 0.49 * 2.0**-exponent
        assert dtype != "float16" or float(large.square().sum()) > 65504


@settings(max_examples=30)
@given(rows=st.integers(1, 9), cols=st.integers(1, 9), seed=st.integers(0, 2**63 - 1))
def test_a_nonfinite_case_holds_a_few_of_them_in_one_input(rows: int, cols: int, seed: int) -> None:
    task = _task("range", "powers_of_two", inputs={"x": MATRIX, "z": MATRIX, "weight": {**MATRIX, "role": "parameter"}})
    case = make_case(axes={"rows": rows, "cols": cols}, probe="nonfinite", seed=seed)
    counts = {name: int((~tensor.isfinite()).sum()) for name, tensor in make_inputs(task, case).tensors.items()}
    assert counts["weight"] == 0
    assert min(counts["x"], counts["z"]) == 0
    assert 1 <= max(counts["x"], counts["z"]) <= max(1, min(3, rows * cols // 4))


def test_a_nonfinite_case_holds_each_kind_and_leaves_every_other_value() -> None:
    task = _task("range", "powers_of_two", inputs={"x": MATRIX})
    case = make_case(axes={"rows": 64, "cols": 64})
    plain, spoilt = make_inputs(task, case).tensors["x"], _x(task, "nonfinite", 64, 64)
    assert sorted(map(str, spoilt[~spoilt.isfinite()].tolist())) == ["-inf", "inf", "nan"]
    assert torch.equal(spoilt[spoilt.isfinite()], plain[spoilt.isfinite()])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_nan_has_either_sign(dtype: FloatDType) -> None:
    task = _task("range", "powers_of_two", inputs={"x": MATRIX})
    values = [
        make_inputs(task, make_case(axes={"rows": 8, "cols": 8}, dtype=dtype, seed=seed, probe="nonfinite")).tensors[
            "x"
        ]
        for seed in range(40)
    ]
    negative = sum(bool(each[each.isnan()].signbit().any()) for each in values)
    assert 10 < negative < 30


def test_each_input_that_may_be_nonfinite_is_so_for_some_seed() -> None:
    task = _task("range", "powers_of_two", inputs={"x": MATRIX, "g": {**MATRIX, "role": "gradient"}})
    assert {probes.spoilt_input(task, make_case(probe="nonfinite", seed=seed)) for seed in range(20)} == {"x", "g"}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["x"]),
        ({"nonfinite": "none"}, []),
        ({"probes": {"nonfinite": {"weight": "normal"}}}, ["weight"]),
        ({"inputs": {"x": {**MATRIX, "dtype": "uint8", "role": "mask"}}, "probes": {}}, []),
        ({"inputs": {"g": {"role": "gradient"}, "x": MATRIX}}, ["x"]),
    ],
    ids=["activations", "none", "as declared", "integers cannot", "a single number is everywhere"],
)
def test_which_inputs_may_be_nonfinite(changes: dict[str, Any], names: list[str]) -> None:
    weight = {"shape": ["cols"], "role": "parameter"}
    assert (
        probes.spoilable(_task("range", "powers_of_two", **{"inputs": {"x": MATRIX, "weight": weight}, **changes}))
        == names
    )


@pytest.mark.parametrize(
    ("precision", "applying"),
    [
        ("ieee", ["identity", "integers", "stall", "range", "blank", "alike", "apart", "magnitudes", "ends", "masked"]),
        (
            "tf32_ok",
            ["identity", "integers", "stall", "range", "blank", "alike", "apart", "magnitudes", "ends", "masked"],
        ),
        (
            "half_fp32acc",
            ["identity", "integers", "stall", "range", "blank", "alike", "apart", "magnitudes", "ends", "masked"],
        ),
        ("any_halfacc", ["identity", "integers", "range", "blank", "alike", "apart", "magnitudes", "ends", "masked"]),
        ("fp8", ["integers", "blank", "alike", "apart", "magnitudes", "ends", "masked"]),
    ],
)
def test_the_precision_contract_decides_which_probes_apply(precision: str, applying: list[Probe]) -> None:
    task = _task("range", "powers_of_two", precision=precision)
    assert [probe for probe in probes.VALUED if probes.applies(task, probe)] == applying


def test_where_halves_may_accumulate_sums_of_integers_stay_exact_in_them() -> None:
    task = _task("integers", "integers", precision="any_halfacc")
    assert probes.longest(task, "integers", "float32") == 255
    assert int(_x(task, "integers", 64, 200).abs().max()) == 1


@pytest.mark.parametrize(
    ("kind", "dims"), [("blank_rows", (3,)), ("blank_channels", (0, 2, 3)), ("blank_samples", (1, 2, 3))]
)
def test_a_third_of_rows_channels_or_samples_are_blank_and_the_others_usual(
    kind: ProbeValues, dims: tuple[int, ...]
) -> None:
    shape = ["cols", "rows", 5, 7]
    task = _task("blank", kind, x={"shape": shape})
    is_blank = (_x(task, "blank", 64, 200) == 0).all(dim=dims)
    others = (_x(task, "blank", 64, 200) != 0).double().mean(dim=dims)[~is_blank]
    assert 0.15 < float(is_blank.double().mean()) < 0.55
    assert float(others.min()) == 1.0


def test_slices_are_alike_but_for_one_which_is_the_same_in_all_inputs() -> None:
    inputs = {"x": MATRIX, "group": {"shape": ["rows"], "role": "index", "dtype": "int64", "below": 50}}
    task = _task("alike", "alike", inputs=inputs, probes={"alike": {"x": "alike", "group": "alike"}})
    for seed in range(20):
        case = make_case(axes={"rows": 100, "cols": 40}, probe="alike", seed=seed)
        x, group = make_inputs(task, case).tensors.values()
        odd = (x != x.median(0).values).any(-1).nonzero().flatten().tolist()
        assert len(odd) == 1
        assert set((group != group.median()).nonzero().flatten().tolist()) <= set(odd)
        assert 5.2 < float(x.abs().max()) < 5.3


def test_as_many_slices_are_alike_as_are_worth_leaving_out() -> None:
    task = _task("alike", "alike", axes={"rows": {"low": 1, "high": 4096}, "cols": {"low": 1, "high": 4096}})
    for tier, count in (("quick", 2 * 3), ("full", 3 * 2 * 3)):
        suite = draw_suite(task, 1, budget=BUDGETS[tier], dtypes=DTYPES, device="cpu", dense=False)  # type: ignore[index]
        sizes = [case.axes["rows"] for case in suite.checked if case.probe == "alike"]
        assert len(sizes) == count
        assert all(size in probes.ALIKE for size in sizes)


def test_at_least_one_row_is_blank() -> None:
    task = _task("blank", "blank_rows")
    assert not bool(_x(task, "blank", 1, 8).any())


def test_rows_are_masked_here_and_there_at_the_beginning_at_the_end_in_a_stretch_or_by_low_numbers() -> None:
    case = make_case(axes={"rows": 2048, "cols": 64}, dtype="float32", seed=3, probe="masked")
    x = make_inputs(load_task("activation/softmax").spec, case).tensors["x"]
    masked = x.isneginf()
    assert x[~masked].isfinite().all()
    assert not masked.all(1).any()
    changes = (masked[:, 1:] != masked[:, :-1]).sum(1)
    begins, ends = masked[:, 0], masked[:, -1]
    scattered = changes > 2
    kinds = {
        "here and there": scattered,
        "before a place": begins & (changes == 1),
        "behind a place": ends & (changes == 1),
        "a stretch": ~begins & ~ends & (changes == 2),
        "low numbers": (x < -0.24 * torch.finfo(torch.float32).max).all(1) & (changes == 0),
    }
    assert all(0.16 < chosen.float().mean() < 0.24 for chosen in kinds.values()), kinds
    assert 0.3 < masked[scattered][:, 1:-1].float().mean() < 0.37
    assert 0.4 < masked[scattered][:, 0].float().mean() < 0.6
    assert not masked[scattered][:, -1].any()
    assert masked[kinds["before a place"]].sum(1).float().std() > 10


@pytest.mark.parametrize("cols", [1, 2])
def test_of_a_masked_row_something_is_left(cols: int) -> None:
    case = make_case(axes={"rows": 64, "cols": cols}, dtype="float32", seed=3, probe="masked")
    x = make_inputs(load_task("activation/softmax").spec, case).tensors["x"]
    assert x.isfinite().any(1).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_one_sided_slices_lie_at_either_end_of_the_dtype(dtype: FloatDType) -> None:
    case = make_case(axes={"outer": 64, "length": 5, "inner": 7}, dtype=dtype, seed=3, probe="range")
    x = make_inputs(load_task("reduction/max").spec, case).tensors["x"].double()
    largest = torch.finfo(getattr(torch, dtype)).max
    assert x.isfinite().all()
    assert x.abs().min() >= 0.249 * largest
    negative = (x < 0).flatten(1)
    assert (negative.all(1) | ~negative.any(1)).all()
    assert 0.25 < negative[:, 0].float().mean() < 0.75
