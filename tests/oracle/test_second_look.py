"""An honest answer whose largest error is at an element at which PyTorch was lucky is not refused."""

from __future__ import annotations

import math

import pytest
import torch
from specimens import make_case

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.second_look import MOST_ELEMENTS, SecondLook
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.observation import Observation

QUANTUM = 2.0**-24
"""Distance of neighbouring float32 numbers below one: 1 + erf(x) is a multiple of it where erf(x) is nearly -1."""
ROWS, COLS = 64, 256
LARGE = 50.0


def lucky_gate() -> float:
    """A gate at which 1 + erf(gate / sqrt(2)) is hardly rounded in float32, and a few quanta large."""
    gates = torch.linspace(-5.2, -5.0, 4001).float()
    exact = torch.special.erfc(gates.double() * -math.sqrt(0.5)) / QUANTUM
    native = torch.nn.functional.gelu(gates).double() / (0.5 * gates.double()) / QUANTUM
    return float(gates[(native - exact).abs().argmin()])


def answered(quanta: float, elements: int = 1) -> tuple[Judge, Observation, Inputs]:
    """PyTorch's answer, but for elements with a large factor whose 1 + erf is so many quanta off.

    The judge has seen another call of the same shape, from which it knows PyTorch's errors.
    """
    task = load_task("activation/geglu")
    case = make_case(axes={"rows": ROWS, "cols": COLS}, role="timed")
    source = torch.Generator().manual_seed(3)
    gate, up = (torch.randn(ROWS, COLS, generator=source) for _ in range(2))
    judge = Judge(task.spec, Reference(task))
    usual = Observation(case, "returned", outputs={"y": torch.nn.functional.gelu(gate) * up})
    assert judge.verdict(usual, Inputs({"gate": gate.clone(), "up": up.clone()})).result.status == "passed"
    gate[7, :elements], up[7, :elements] = lucky_gate(), LARGE
    answer = torch.nn.functional.gelu(gate) * up
    answer[7, :elements] += 0.5 * gate[7, 0] * LARGE * quanta * QUANTUM
    return judge, Observation(case, "returned", outputs={"y": answer}), Inputs({"gate": gate, "up": up})


@pytest.mark.parametrize("quanta", [0.8, -0.8, 2.2])
def test_an_element_may_be_off_by_what_pytorch_is_off_by_next_to_it(quanta: float) -> None:
    judge, seen, inputs = answered(quanta)
    found = judge.verdict(seen, inputs).result
    assert found.status == "passed", found.reason
    assert found.error_ratio is not None
    assert 0.2 < found.error_ratio <= 1.0


@pytest.mark.parametrize("quanta", [3.0, -3.0])
def test_it_may_not_be_off_by_more(quanta: float) -> None:
    judge, seen, inputs = answered(quanta)
    found = judge.verdict(seen, inputs).result
    assert found.status == "incorrect"
    assert "y[7, 0]" in found.reason


@pytest.mark.parametrize(("elements", "is_looked_at"), [(0, False), (MOST_ELEMENTS, True), (MOST_ELEMENTS + 1, False)])
def test_only_few_elements_are_looked_at_twice(elements: int, is_looked_at: bool) -> None:
    _, seen, inputs = answered(0.8)
    task = load_task("activation/geglu")
    wrong = torch.zeros(ROWS, COLS, dtype=torch.bool)
    wrong.view(-1)[:elements] = True
    found = SecondLook(task.spec, Reference(task)).judge("y", inputs, seen.outputs["y"], wrong)
    assert (found is not None) == is_looked_at


def test_nan_is_never_luck() -> None:
    judge, seen, inputs = answered(0.8)
    seen.outputs["y"][7, 0] = math.nan
    assert judge.verdict(seen, inputs).result.status == "incorrect"


def test_a_result_that_is_hardly_rounded_is_held_to_its_limit() -> None:
    """A wrong element where PyTorch errs by nothing of the kind, however it is looked at."""
    judge, seen, inputs = answered(0.0)
    inputs.tensors["gate"][9, 9] = 3.0
    due = torch.nn.functional.gelu(inputs.tensors["gate"][9, 9]) * inputs.tensors["up"][9, 9]
    seen.outputs["y"][9, 9] = due * (1 + 2.0**-12)
    found = judge.verdict(seen, inputs).result
    assert (found.status, "y[9, 9]" in found.reason) == ("incorrect", True)


def test_pytorchs_code_for_what_is_not_dense_excuses_a_single_row() -> None:
    """A library serves dense rows, and errs by less than the code that torch.compile has."""
    task = load_task("activation/gelu")
    x = torch.linspace(0.01, 0.1, 4096).unsqueeze(0)
    own = torch.nn.functional.gelu(x.repeat(2, 1).t().contiguous().t())[:1]
    exact = Reference(task).exact(Inputs({"x": x}))["y"]
    unit = exact.float().nextafter(torch.tensor(math.inf)).double() - exact.float().double()
    worst = ((own.double() - exact).abs() / unit).argmax()
    wrong = torch.zeros(x.shape, dtype=torch.bool)
    wrong.view(-1)[worst] = True
    found = SecondLook(task.spec, Reference(task)).judge("y", Inputs({"x": x}), own, wrong)
    assert found is not None
    assert found.is_accepted
