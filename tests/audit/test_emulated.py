from __future__ import annotations

import pytest
import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32, truncated

HALVES = (torch.float16, torch.bfloat16)


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_tf32_keeps_ten_bits_of_the_mantissa_and_rounds_ties_to_even() -> None:
    ulp = 2.0**-10
    given = torch.tensor([1 + ulp, 1 + ulp / 2, 1 + 3 * ulp / 2, -(1 + 0.51 * ulp), 3e38, 1e-30])
    rounded = tf32(given)
    assert rounded[:4].tolist() == [1 + ulp, 1.0, 1 + 2 * ulp, -(1 + ulp)]
    assert bool(((rounded - given).abs() <= given.abs() * ulp / 2).all())
    assert rounded.dtype == torch.float32


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_are_widened_before_they_pass_through_a_tf32_unit_which_changes_nothing(dtype: torch.dtype) -> None:
    values = _normal(100).to(dtype)
    assert torch.equal(tf32(values), values.float())


@pytest.mark.parametrize(("dtype", "ulp"), [(torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)], ids=str)
def test_a_truncating_store_rounds_towards_zero(dtype: torch.dtype, ulp: float) -> None:
    given = torch.tensor([1 + 0.99 * ulp, -(1 + 0.99 * ulp), 1 + ulp, 0.0, float("inf"), float("nan")])
    stored = truncated(given, dtype)
    assert stored.dtype == dtype
    assert stored[:5].tolist() == [1.0, -1.0, 1 + ulp, 0.0, float("inf")]
    assert bool(stored[5].isnan())


def test_a_truncating_store_of_float32_drops_nothing() -> None:
    assert torch.equal(truncated(_normal(100), torch.float32), _normal(100))


@pytest.mark.parametrize("lanes", [1, 2, 32])
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100])
def test_a_sum_in_float32_is_the_sum_for_any_number_of_lanes(lanes: int, length: int) -> None:
    values = torch.arange(3 * length, dtype=torch.float32).reshape(3, length)
    total = summed(values, lanes=lanes)
    assert (total.dtype, total.tolist()) == (torch.float32, values.sum(-1).tolist())


@pytest.mark.parametrize(("dtype", "last"), [(torch.float16, 2048.0), (torch.bfloat16, 256.0)], ids=str)
def test_a_single_lane_of_halves_stalls_at_its_last_exact_integer(dtype: torch.dtype, last: float) -> None:
    assert summed(torch.ones(5000), dtype, lanes=1).item() == last
    assert summed(torch.ones(5000), dtype, lanes=1).dtype == dtype


def test_more_lanes_make_shorter_chains_which_stall_later() -> None:
    assert summed(torch.ones(1024), torch.bfloat16, lanes=8).item() == 1024.0


@pytest.mark.parametrize("step", [1, 4, 16, 100])
def test_a_product_of_integers_is_exact_with_float32_accumulators(step: int) -> None:
    a, b = (_normal(2, 5, 33) * 4).round(), (_normal(2, 33, 7, seed=1) * 4).round()
    assert torch.equal(multiplied(a, b, step=step), a @ b)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_an_accumulator_of_halves_is_rounded_after_every_step_and_in_none(dtype: torch.dtype) -> None:
    large = {torch.float16: 2048.0, torch.bfloat16: 256.0}[dtype]
    a = torch.tensor([[large, *[1.0] * 7]])
    b = torch.ones(8, 1)
    assert multiplied(a, b, dtype, step=1).item() == large
    assert multiplied(a, b, dtype, step=8).item() == float(torch.tensor(large + 7).to(dtype))
    assert multiplied(a, b, dtype, step=1).dtype == dtype


def test_one_accumulator_rounds_after_every_term() -> None:
    terms = torch.tensor([[1.0, *[2.0**-24] * 64], [*[2.0**-24] * 64, 1.0]])
    assert summed_in_turn(terms).tolist() == [1.0, 1 + 2.0**-18]
    equal = torch.full((1, 3000), 0.1)
    assert torch.equal(summed_in_turn(equal), summed(equal, lanes=1))
