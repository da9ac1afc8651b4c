from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from products import Answer, coarse_inputs, one_term_short, rounded, term_by_term, truncated, zero_element
from specimens import make_task

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import freivalds
from robust_kbench.oracle.freivalds import COLUMNS, Freivalds, contract, linear_axes, projections, random_signs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.three_metrics import ThreeMetrics
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.case import Case

M, N, K = 160, 192, 96
AXES = {"m": M, "n": N, "k": K}
MATMUL: dict[str, Any] = {
    "axes": {name: {"low": 1, "high": 4096} for name in AXES},
    "constraints": [],
    "inputs": {"a": {"shape": ["m", "k"]}, "b": {"shape": ["k", "n"]}},
    "outputs": {"c": {"shape": ["m", "n"]}},
    "dtypes": ["float32", "float16", "bfloat16"],
    "reduction": "k",
    "timed": {"cpu": [AXES], "cuda": [AXES]},
    "cost": {"flops": "2 * m * n * k", "bytes": "itemsize"},
    "probes": {"integers": {"a": "integers", "b": "integers"}},
}
DTYPES = ["float32", "float16", "bfloat16"]
both_axes = pytest.mark.parametrize(("axis", "dim"), [("m", 0), ("n", 1)], ids=["columns", "rows"])
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def _task(source: str, **changes: Any) -> LoadedTask:
    return LoadedTask(make_task(**{**MATMUL, **changes}), Path("norm/scale"), source, "sha256:0")


PRODUCT = "def reference(a, b):\n    return a @ b\n"


def _inputs(dtype: str = "float32", *, seed: int = 1, **changes: Any) -> tuple[Case, Inputs]:
    fields: dict[str, Any] = {"axes": AXES, "dtype": dtype, "seed": seed, **changes}
    case = Case(**fields)
    return case, make_inputs(make_task(**MATMUL), case)


def _standard(case: Case, inputs: Inputs, axis: str, dim: int, seed: int = 7) -> Freivalds:
    """Make a standard as the sampled standards do, with the limits of the rule for the dtype alone."""
    task, reference = make_task(**MATMUL), Reference(_task(PRODUCT))
    signs = random_signs(case.axes[axis], Draw(seed))
    expected = projections(task, reference, inputs, axis, signs)["c"]
    near = inputs.tensors["a"].float() @ inputs.tensors["b"].float()
    dtype = inputs.tensors["a"].dtype
    limits = ThreeMetrics(near, None, dtype=dtype, reduction=K).limits
    is_exact = case.probe == "integers" and bool((near.to(dtype) == near).all())
    return Freivalds(expected, signs, dim, near, limits, is_exact)


def _exact(inputs: Inputs) -> torch.Tensor:
    return inputs.tensors["a"].double() @ inputs.tensors["b"].double()


def _zero_tile(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = exact.to(a.dtype)
    answer[16:32, 48:64] = 0
    return answer


def _short(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (exact - a[:, -8:].double() @ b[-8:].double()).to(a.dtype)


@every_dtype
@both_axes
@pytest.mark.parametrize("honest", [rounded, truncated, term_by_term])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "lognormal", "sparse"])
def test_an_honest_product_is_accepted(dtype: str, axis: str, dim: int, honest: Answer, distribution: Any) -> None:
    for seed in range(3):
        case, inputs = _inputs(dtype, seed=seed, distribution=distribution)
        answer = honest(_exact(inputs), *inputs.tensors.values())
        judgement = _standard(case, inputs, axis, dim).judge(answer)
        assert judgement.is_accepted, judgement.demand
        assert judgement.ratio < 0.9


@every_dtype
@both_axes
@pytest.mark.parametrize("wrong", [_zero_tile, zero_element, _short, coarse_inputs])
def test_a_wrong_product_is_refused(dtype: str, axis: str, dim: int, wrong: Answer) -> None:
    case, inputs = _inputs(dtype)
    answer = wrong(_exact(inputs), *inputs.tensors.values())
    judgement = _standard(case, inputs, axis, dim).judge(answer)
    assert not judgement.is_accepted
    assert "random combinations" in judgement.demand


@every_dtype
@both_axes
@pytest.mark.parametrize("wrong", [one_term_short, zero_element])
def test_on_integers_that_the_dtype_holds_one_term_or_element_shows(
    dtype: str, axis: str, dim: int, wrong: Answer
) -> None:
    axes = {**AXES, "k": 3}  # at most 8 * 8 * 3, which bfloat16 holds exactly
    case, inputs = _inputs(dtype, axes=axes, probe="integers")
    standard, exact = _standard(case, inputs, axis, dim), _exact(inputs)
    assert standard.judge(exact.to(inputs.tensors["a"].dtype)).ratio == 0
    assert not standard.judge(wrong(exact, *inputs.tensors.values())).is_accepted


def test_on_integers_the_smallest_error_there_is_shows() -> None:
    case, inputs = _inputs("float32", probe="integers")
    answer = _exact(inputs).float()
    answer[3, 5] += 1
    for axis, dim in (("m", 0), ("n", 1)):
        assert not _standard(case, inputs, axis, dim).judge(answer).is_accepted


@both_axes
@pytest.mark.parametrize(("factor", "is_accepted"), [(1.0, True), (3.0, False)])
def test_one_bad_fibre_is_refused_though_the_whole_is_within_its_limit(
    axis: str, dim: int, factor: float, is_accepted: bool
) -> None:
    case, inputs = _inputs("bfloat16")
    answer = _exact(inputs)
    answer.select(1 - dim, 17).mul_(1 + factor * 1.7 * 2.0**-8)
    judgement = _standard(case, inputs, axis, dim).judge(answer)
    assert judgement.is_accepted == is_accepted
    assert judgement.errors[0] < judgement.limits[0] / 2


def test_results_that_half_precision_rounds_to_its_quantum_are_accepted() -> None:
    case, inputs = _inputs("float16")
    tiny = Inputs({**inputs.values, "a": (inputs.tensors["a"] * 2.0**-12).half(), "b": inputs.tensors["b"] * 2.0**-9})
    exact = _exact(tiny)
    assert float((exact.half().double() - exact).norm() / exact.norm()) > 4 * 2.0**-11
    assert _standard(case, tiny, "n", 1).judge(exact.half()).is_accepted


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), size=st.floats(-7, -1))
def test_what_it_estimates_is_the_relative_error_of_the_whole(seed: int, size: float) -> None:
    case, inputs = _inputs("float32", seed=seed % 17)
    exact = _exact(inputs)
    noise = torch.randn(exact.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    error = noise * 10**size * exact.norm() / noise.norm()
    whole, _ = _standard(case, inputs, "n", 1, seed).judge(exact + error).errors
    assert whole == pytest.approx(10**size, rel=0.15, abs=1e-6)


def test_the_elements_reported_as_wrong_are_those_of_the_bad_row() -> None:
    case, inputs = _inputs("float32")
    exact = _exact(inputs)
    answer = exact.float()
    answer[11, 100] = 0
    wrong_rows = _standard(case, inputs, "n", 1).is_wrong(answer)
    wrong_columns = _standard(case, inputs, "m", 0).is_wrong(answer)
    assert (wrong_rows & wrong_columns).nonzero().tolist() == [[11, 100]]
    assert int(wrong_rows.sum()) == N
    assert int(wrong_columns.sum()) == M


@pytest.mark.parametrize("number", [math.nan, math.inf], ids=str)
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    case, inputs = _inputs("float32")
    answer = _exact(inputs).float()
    answer[5, 6] = number
    judgement = _standard(case, inputs, "n", 1).judge(answer)
    assert (judgement.is_accepted, judgement.nonfinite) == (False, 1)


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("matmul/matmul", ["m", "n"]),
        ("matmul/linear", ["batch", "out_features"]),
        ("activation/softmax", []),
        ("norm/rmsnorm", []),
        ("fused/linear_relu", []),
        ("attention/causal", []),
        ("loss/cross_entropy", []),
    ],
)
def test_linear_axes_are_found_without_being_declared(name: str, axes: list[str]) -> None:
    task = load_task(name)
    small = {axis: sizes.sizes()[min(3, len(sizes.sizes()) - 1)] for axis, sizes in task.spec.axes.items()}
    case = Case(axes=small, dtype="float32", seed=3)
    assert linear_axes(task.spec, Reference(task), make_inputs(task.spec, case)) == axes


@pytest.mark.parametrize(
    ("source", "axes"),
    [
        (PRODUCT, ["m", "n"]),
        ("def reference(a, b):\n    return a @ b + 3\n", ["m", "n"]),
        ("def reference(a, b):\n    return a.square() @ b\n", ["n"]),
        ("def reference(a, b):\n    return (a @ b).cumsum(-1)\n", ["m"]),
        ("def reference(a, b):\n    return a @ b - (a @ b).mean(-1, keepdim=True)\n", ["m"]),
        ("def reference(a, b):\n    return (a @ b).abs()\n", []),
        ("def reference(a, b):\n    return (a @ b).reshape(-1, 5).relu().reshape(a.shape[0], b.shape[1])\n", []),
    ],
)
def test_an_axis_is_linear_only_if_every_slice_is_treated_alike_and_linearly(source: str, axes: list[str]) -> None:
    case, inputs = _inputs(axes={"m": 10, "n": 15, "k": 4})
    assert linear_axes(make_task(**MATMUL), Reference(_task(source)), inputs) == axes


def test_an_axis_that_indices_follow_is_not_combined() -> None:
    changes = {
        "inputs": {
            "a": {"shape": ["m", "k"]},
            "row": {"shape": ["n"], "dtype": "int64", "role": "index", "below": "m"},
        },
        "outputs": {"c": {"shape": ["n", "k"]}},
        "probes": {},
    }
    task = _task("def reference(a, row):\n    return a[row]\n", **changes)
    inputs = make_inputs(task.spec, Case(axes={"m": 5, "n": 6, "k": 4}, dtype="float32", seed=1))
    assert linear_axes(task.spec, Reference(task), inputs) == ["k"]


def test_combining_the_inputs_of_an_affine_op_combines_its_outputs() -> None:
    changes = {
        "inputs": {**MATMUL["inputs"], "bias": {"shape": ["n"]}},
    }
    task = _task("def reference(a, b, bias):\n    return a @ b + bias\n", **changes)
    inputs = make_inputs(task.spec, Case(axes={"m": 5, "n": 6, "k": 4}, dtype="float64", seed=1))
    outputs = Reference(task).exact(inputs)["c"]
    for axis, dim in (("m", 0), ("n", 1)):
        signs = random_signs(outputs.shape[dim], Draw(2))
        combined = projections(task.spec, Reference(task), inputs, axis, signs)["c"]
        torch.testing.assert_close(combined, contract(outputs, dim, signs))


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 9, 1), (4, 1, 3)], ids=str)
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_contracting_in_blocks_is_a_product_with_the_weights(
    shape: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freivalds, "_BLOCK_ELEMENTS", block)
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    for dim, size in enumerate(shape):
        weights = torch.randn(size, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        expected = (tensor.double().movedim(dim, -1) @ weights).movedim(-1, dim)
        torch.testing.assert_close(contract(tensor, dim, weights), expected)


def test_signs_are_as_often_one_as_minus_one_and_differ_between_draws() -> None:
    signs = random_signs(4096, Draw(5))
    assert signs.shape == (4096, COLUMNS)
    assert bool((signs.abs() == 1).all())
    assert abs(float(signs.sum())) < 5 * math.sqrt(signs.numel())
    assert torch.equal(signs, random_signs(4096, Draw(5)))
    assert not torch.equal(signs, random_signs(4096, Draw(6)))


def test_an_answer_that_cancels_the_error_in_one_combination_is_caught_by_another() -> None:
    case, inputs = _inputs("float32")
    answer = _exact(inputs).float()
    answer[4, 10], answer[4, 20] = answer[4, 10] + 5, answer[4, 20] - 5
    for seed in range(20):
        assert not _standard(case, inputs, "n", 1, seed).judge(answer).is_accepted
