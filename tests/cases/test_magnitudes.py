"""Rows and blocks of the probe `magnitudes` reach from one end of a dtype to the other."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.cases import magnitudes
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs
from robust_kbench.registry import load_task

ENDS = {"float32": 100, "bfloat16": 100, "float16": 10}
DTYPES = tuple(ENDS)


def _rows(dtype: str, rows: int = 64, cols: int = 200, stretch: int | None = None, seed: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return magnitudes.rows((rows, cols), dtype, generator, stretch).to(getattr(torch, dtype)).double()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_as_large_as_the_dtype_holds_and_subnormal_in_float16_alone(dtype: str) -> None:
    tops = _rows(dtype).abs().amax(1)
    least = torch.finfo(getattr(torch, dtype)).smallest_normal
    assert bool(tops.isfinite().all())
    assert float(tops.amax()) > 2.0 ** ENDS[dtype]
    is_half = dtype == "float16"
    assert bool(((tops > 0) & (tops < least)).any()) == is_half
    assert bool(((tops > least) & (tops < (2**8 if is_half else 2**34) * least)).any())
    assert is_half or float(tops.amin()) > 2**20 * least  # what a flush to zero takes of a row is nothing beside it
    assert bool(((tops > 1) & (tops < 8)).any())


@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes_between_the_ends_are_drawn_too(dtype: str) -> None:
    orders = {order for seed in range(4) for order in _rows(dtype, seed=seed).abs().amax(1).log2().round().tolist()}
    assert len(orders) > (30 if dtype != "float16" else 12)


def test_blocks_of_a_row_have_sizes_of_their_own_and_a_last_one_may_be_shorter() -> None:
    rows = _rows("float32", 16, 200, 32)
    tops = torch.stack([rows[:, start : start + 32].abs().amax(1) for start in range(0, 200, 32)], 1)
    assert tops.shape == (16, 7)
    ratios = (tops[:, 1:] / tops[:, :-1]).log2().abs()
    assert float((ratios > 5).double().mean()) > 0.7


@pytest.mark.parametrize("shape", [(0, 5), (3, 1), (1, 1)])
def test_tensors_without_values_and_with_one_are_drawn(shape: tuple[int, int]) -> None:
    assert magnitudes.rows(shape, "float32", torch.Generator().manual_seed(1), 32).shape == shape


def test_each_of_few_rows_is_once_the_largest_and_once_near_the_least() -> None:
    tops = {round(float(_rows("float32", 1, 500, seed=seed).abs().amax().log2())) for seed in range(60)}
    assert max(tops) > 100
    assert -105 < min(tops) < -98


@pytest.mark.parametrize("name", ["quant/fp8_per_block", "quant/int8_per_token"])
def test_ops_that_compute_scales_meet_all_magnitudes_in_every_dtype(name: str) -> None:
    task = load_task(name).spec
    suite = draw_suite(task, 4, budget=BUDGETS["quick"], dtypes=task.dtypes, device="cpu", dense=False)
    cases = [case for case in suite.checked if case.probe == "magnitudes"]
    assert {case.dtype for case in cases} == set(task.dtypes)
    assert all(bool(make_inputs(task, case).tensors["x"].isfinite().all()) for case in cases)
