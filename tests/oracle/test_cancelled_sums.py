"""Honest roundings of large terms that cancel are not refused; nothing else is excused by them."""

from __future__ import annotations

import pytest
import torch
from specimens import make_case

from robust_kbench.audit.emulated import tf32
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.cancelled_sums import MOST_ELEMENTS
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult

BATCH, LENGTH, WINDOW = 64, 16, 16
LARGE = 300.0


def _signals(cancelling: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """[64, 1, 16] of usual values; in the first `cancelling` signals two are large, of opposite sign."""
    x = torch.randn(BATCH, 1, LENGTH, generator=torch.Generator().manual_seed(5)).to(dtype)
    x[:cancelling, 0, 3], x[:cancelling, 0, 11] = LARGE, -LARGE
    return x


def _judged(x: torch.Tensor, y: torch.Tensor, probe: str | None = None) -> CaseResult:
    """The verdict on a mean over each whole signal, as one column that is a row of its own."""
    task = load_task("pool/avg_pool1d")
    axes = {"batch": BATCH, "channels": 1, "length": LENGTH, "window": WINDOW, "step": 1, "margin": 0}
    dtype = str(x.dtype).removeprefix("torch.")
    case = make_case(axes=axes, dtype=dtype, probe=probe)
    inputs = Inputs({"x": x, "kernel_size": WINDOW, "stride": 1, "padding": 0})
    return Judge(task.spec, Reference(task)).verdict(Observation(case, "returned", outputs={"y": y}), inputs).result


def _in_turn(x: torch.Tensor) -> torch.Tensor:
    """The mean by one accumulator of the dtype."""
    total = torch.zeros_like(x[..., :1])
    for term in x.unbind(-1):
        total = total + term.unsqueeze(-1)
    return total / x.shape[-1]


@pytest.mark.parametrize("cancelling", [0, 1, MOST_ELEMENTS])
def test_few_sums_may_be_off_by_roundings_of_terms_that_cancel(cancelling: int) -> None:
    x = _signals(cancelling)
    found = _judged(x, _in_turn(x))
    assert found.status == "passed", found.reason


def test_the_same_is_refused_where_they_are_many() -> None:
    x = _signals(3 * MOST_ELEMENTS)
    assert _judged(x, _in_turn(x)).status == "incorrect"


@pytest.mark.parametrize("off", [1, 8, 64])
def test_an_element_whose_terms_do_not_cancel_is_not_excused(off: int) -> None:
    x = _signals(2)
    y = _in_turn(x)
    y[40] += off * 3e-6
    assert _judged(x, y).status == "incorrect"


def test_a_term_that_is_left_out_of_a_cancelled_sum_is_refused() -> None:
    x = _signals(1)
    y = _in_turn(x)
    y[0] -= x[0, :, 5] / WINDOW
    assert _judged(x, y).status == "incorrect"


def test_rounded_terms_are_refused() -> None:
    x = _signals(1)
    y = _in_turn(x)
    y[0] = _in_turn(tf32(x + 7.0))[0] - 7.0
    assert _judged(x, y).status == "incorrect"


def test_a_probe_is_held_to_what_it_asks_for() -> None:
    x = _signals(2)
    assert _judged(x, _in_turn(x), probe="range").status == "incorrect"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["scan/cumprod", "scan/linear_recurrence"])
def test_a_factor_that_is_left_out_of_a_long_product_is_refused(name: str, seed: int) -> None:
    task = load_task(name)
    case = make_case(axes={"rows": 2, "cols": 4097}, distribution="cancelling", seed=seed)
    reference, inputs = Reference(task), make_inputs(task.spec, case)
    (output, y), *_ = reference.native(inputs).items()
    y = y.clone()
    y[:, -1] = y[:, -2]
    seen = Observation(case, "returned", outputs={output: y})
    assert Judge(task.spec, reference).verdict(seen, inputs).result.status == "incorrect"


def test_a_scalar_in_which_an_op_is_linear_has_no_terms() -> None:
    task = load_task("fused/matmul_swish_scale")
    case = make_case(axes={"batch": 8, "in_features": 64, "out_features": 32})
    reference, inputs = Reference(task), make_inputs(task.spec, case)
    y = reference.native(inputs)["y"].clone()
    y[-1, -1] += 2e-5 * float(y.abs().max())
    found = Judge(task.spec, reference).verdict(Observation(case, "returned", outputs={"y": y}), inputs).result
    assert found.status == "incorrect"


def test_nan_is_never_a_rounding() -> None:
    x = _signals(1)
    y = _in_turn(x)
    y[0] = torch.nan
    assert _judged(x, y).status == "incorrect"
