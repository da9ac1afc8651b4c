"""A kernel that adds each sum term by term, in one float32 accumulator, is honest: these tasks judge it right."""

from __future__ import annotations

import pytest
import torch
from summed_in_turn import SumsInTurn, in_turn

from robust_kbench.audit.examine import audit_cases
from robust_kbench.audit.trial import try_variants
from robust_kbench.audit.variants import Variant
from robust_kbench.cases.values import make_inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, FloatDType

BIG = float(1 << 24)  # the first number that does not change when one is added in float32
SUMMED_IN_TURN = Variant("summed_in_turn", "honest", "Every sum term by term in one float32 accumulator.", in_turn)


def test_each_term_is_added_to_the_sum_of_those_before_it() -> None:
    row = torch.tensor([[BIG, 1.0, 1.0, 1.0, 1.0]])
    ones = torch.ones(5, 1)
    others = torch.tensor([[1.0, 1.0, 1.0, 1.0, BIG]])
    with SumsInTurn():
        assert float(row.sum()) == float(row.sum(1)) == float(row @ ones) == float(row[0] @ ones[:, 0]) == BIG
        assert float(others.sum()) == float(others @ ones) == BIG + 4
        assert torch.equal(row.mean(1), torch.tensor([BIG]) / 5)
        assert row.cumsum(1).tolist() == [[BIG] * 5]
        assert float(torch.nn.functional.linear(row, ones.T, torch.ones(1))) == BIG


def test_what_contains_sums_is_taken_apart() -> None:
    values = torch.randn(3, 70_000, generator=torch.Generator().manual_seed(1))
    for whole in (
        lambda: torch.softmax(values, 1),
        lambda: torch.nn.functional.layer_norm(values, (70_000,)),
        lambda: values.var(1),
        lambda: values.norm(dim=1),
        lambda: torch.nn.functional.mse_loss(values, values + 1.1),
    ):
        plain = whole()
        with SumsInTurn():
            turned = whole()
        assert not torch.equal(plain, turned)
        torch.testing.assert_close(plain, turned, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("distribution", ["one_hot", "constant"])
@pytest.mark.parametrize(("factor", "is_accepted"), [(1.0, True), (1.002, False)])
def test_equal_terms_round_in_one_direction(distribution: Distribution, factor: float, is_accepted: bool) -> None:
    """All rows are alike, so that one accumulator was off by 1.4 times the limit."""
    task = load_task("loss/cross_entropy")
    axes = {"rows": 6144, "classes": 8}
    case = Case(axes=axes, dtype="float32", layout="contiguous", distribution=distribution, seed=3)
    inputs, reference = make_inputs(task.spec, case), Reference(task)
    with SumsInTurn():
        answer = {name: factor * tensor for name, tensor in reference.native(inputs).items()}
    judgements = Judge(task.spec, reference).expect(case, inputs).judge(answer)
    assert judgements["loss"].is_accepted == is_accepted


IN_HALVES = ("norm/rmsnorm", "norm/layernorm", "norm/l2_norm", "activation/softmax", "matmul/matmul")
EVERY_TASK: list[tuple[str, FloatDType]] = [
    *((name, "float32") for name in task_names()),
    *((name, "bfloat16") for name in IN_HALVES),
]


@pytest.mark.rotating
@pytest.mark.parametrize(("name", "dtype"), EVERY_TASK)
def test_one_accumulator_for_each_sum_is_judged_right(name: str, dtype: FloatDType) -> None:
    task = load_task(name)
    if task.spec.is_random or dtype not in task.spec.dtypes:
        pytest.skip("nothing is summed")
    trial = try_variants(task, dtype, [audit_cases(task, dtype, 1)], [SUMMED_IN_TURN])
    (tally,) = trial.tallies
    assert len(tally.outcomes) > 40
    assert [outcome.reason for outcome in tally.refused] == []
