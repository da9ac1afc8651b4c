from __future__ import annotations

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.layouts import DENSE, strides
from robust_kbench.cases.memory_layout import laid_out
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.surroundings import glance, surround, survey
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.task import Layout

GELU = load_made_task(
    "import torch\ndef reference(x, weight):\n    return torch.nn.functional.gelu(x) * weight\n",
    outputs={"y": {"shape": ["rows", "cols"], "compare": "ulp"}},
)


def _inputs(rows: int, cols: int, dtype: torch.dtype) -> Inputs:
    x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(3)).to(dtype)
    return Inputs({"x": x, "weight": torch.ones(cols, dtype=dtype)})


def test_neighbours_are_judged_for_few_halves_only() -> None:
    reference = Reference(GELU)
    counts = []
    for rows, dtype in ((8, torch.float16), (8, torch.bfloat16), (8, torch.float32), (1024, torch.float16)):
        inputs = _inputs(rows, 8, dtype)
        found = glance(reference, inputs, reference.native(inputs))
        counts.append(len(found.pairs) if found else 0)
    assert counts == [6, 6, 0, 0]


def test_the_survey_of_halves_knows_what_float32_is_off_by_before_the_store() -> None:
    inputs = _inputs(32, 8, torch.float16)
    reference = Reference(GELU)
    pairs = survey(reference, inputs, reference.exact(inputs)).pairs
    native, wide = pairs[0][1]["y"], pairs[1][1]["y"]
    assert pairs[0][0] is pairs[1][0]
    assert (native.dtype, wide.dtype) == (torch.float16, torch.float32)
    exact = pairs[0][0]["y"]
    assert float((wide.double() - exact).abs().max()) < 1e-6


def test_neighbours_are_the_same_every_time() -> None:
    inputs = _inputs(8, 8, torch.float16)
    reference = Reference(GELU)
    native = reference.native(inputs)
    first, second = (glance(reference, inputs, native) for _ in range(2))
    assert first is not None
    assert second is not None
    assert all(torch.equal(a["y"], b["y"]) for (a, _), (b, _) in zip(first.pairs, second.pairs, strict=True))


@pytest.mark.parametrize("compare", ["rule", "ulp", "exact"])
@pytest.mark.parametrize(("precision", "digits"), [("ieee", None), ("tf32_ok", 11), ("half_fp32acc", 8)])
def test_a_case_of_the_rule_knows_what_rounding_its_factors_costs(
    compare: str, precision: str, digits: int | None
) -> None:
    source = "def reference(x, weight):\n    return x * weight\n"
    outputs = {"y": {"shape": ["rows", "cols"], "compare": compare}}
    task = load_made_task(source, outputs=outputs, precision=precision)
    reference, inputs = Reference(task), _inputs(16, 8, torch.float32)
    exact, native = reference.exact(inputs), reference.native(inputs)
    found = surround(task.spec, make_case(), reference, inputs, exact, native)
    if digits is None or compare != "rule":
        assert found is None or found.allowed == ()
        return
    assert found is not None
    ((right, coarse),) = found.of("y")
    assert torch.equal(right, exact["y"])
    assert torch.equal(coarse, rounded(inputs.tensors["x"], digits))


ERRING = """
import torch

def reference(x, weight):
    is_other_code = x.dtype == torch.float32 and not x.is_contiguous()
    return x * weight * (1 + 2.0**-18 * is_other_code)
"""


@pytest.mark.parametrize(
    ("compare", "layout", "is_accepted"),
    [
        *(("rule", layout, layout == "pitched") for layout in ("contiguous", "offset", "pitched")),
        *(("ulp", layout, True) for layout in ("contiguous", "offset", "pitched")),
    ],
)
def test_pytorch_errs_as_it_does_on_the_layout_of_the_case(compare: str, layout: Layout, is_accepted: bool) -> None:
    """PyTorch has other code for rows that do not follow each other, and a kernel that calls it is right, too.

    In ulps this holds for every layout, as torch.compile has the same code for all of them.
    """
    outputs = {"y": {"shape": ["rows", "cols"], "compare": compare}}
    inputs = {"x": {"shape": ["rows", "cols"]}, "weight": {"shape": ["cols"]}}
    task = load_made_task(ERRING, outputs=outputs, inputs=inputs)
    case = make_case(axes={"rows": 16, "cols": 8}, layout=layout)
    given = _inputs(16, 8, torch.float32)
    answer = Reference(task).exact(given)["y"].mul(1 + 2.0**-18).float()
    judged = Judge(task.spec, Reference(task)).expect(case, given).judge({"y": answer})
    assert judged["y"].is_accepted == is_accepted


def test_the_library_is_right_about_gelu_wherever_rows_lie() -> None:
    task = load_task("activation/gelu")
    judge = Judge(task.spec, Reference(task))
    suite = draw_suite(task.spec, 3, budget=BUDGETS["quick"], dtypes=("float32",), device="cpu", dense=False)
    cases = [case for case in suite.checked if case.probe is None and case.layout != "contiguous"]
    assert {case.layout for case in cases} >= {"pitched", "transposed", "strided"}
    for case in cases:
        given = make_inputs(task.spec, case)
        answer = {"y": torch.nn.functional.gelu(laid_out(task.spec, case.layout, given).tensors["x"])}
        assert judge.expect(case, given).judge(answer)["y"].is_accepted, case


@pytest.mark.parametrize("layout", ["contiguous", "offset", "transposed", "strided", "expanded", "pitched"])
def test_values_stay_the_same_wherever_they_lie(layout: Layout) -> None:
    inputs = {
        "x": {"shape": ["rows", "cols"], "layouts": list(dict.fromkeys(["contiguous", layout]))},
        "weight": {"shape": ["cols"]},
    }
    task = load_made_task(ERRING, inputs=inputs)
    given = _inputs(5, 7, torch.float32)
    given = Inputs({**given.values, "x": given.tensors["x"][:1].repeat(5, 1)})  # as it is drawn for `expanded`
    moved = laid_out(task.spec, layout, given)
    assert torch.equal(moved.tensors["x"], given.tensors["x"])
    assert moved.tensors["x"].stride() == strides((5, 7), layout)
    assert (moved is given) == (layout in DENSE)


@pytest.mark.parametrize("layout", ["contiguous", "offset", "transposed", "strided", "expanded", "pitched"])
def test_no_layout_makes_other_values_of_rows_that_differ(layout: Layout) -> None:
    """Values near those of an expanded case differ from row to row: PyTorch was said to err by ten per cent there."""
    inputs = {"x": {"shape": ["rows", "cols"], "layouts": list(dict.fromkeys(["contiguous", layout]))}}
    task = load_made_task(ERRING, inputs={**inputs, "weight": {"shape": ["cols"]}})
    given = _inputs(5, 7, torch.float32)
    assert torch.equal(laid_out(task.spec, layout, given).tensors["x"], given.tensors["x"])


def _condition(source: str, x: torch.Tensor) -> torch.Tensor:
    """Compute the condition per row of `x`: [rows, cols] -> y: [rows], or [rows, cols] where the op is elementwise."""
    task = load_made_task(source, outputs={"y": {"shape": ["rows"], "compare": "ulp"}})
    reference = Reference(task)
    inputs = Inputs({"x": x, "weight": torch.ones(x.shape[1])})
    return survey(reference, inputs, reference.exact(inputs)).condition["y"]


@pytest.mark.parametrize("rows", [1, 5, 20000])
def test_what_cancels_in_the_result_counts_in_its_condition(rows: int) -> None:
    x = torch.tensor([3.0, -5.0, 2.125]).repeat(rows, 1)
    found = _condition("def reference(x, weight):\n    return x[:, 0] + x[:, 1] + x[:, 2]\n", x)
    # Half the sum of the magnitudes at least; plus `weight`, which has no effect.
    assert float(found.min()) >= 10.125 / 2
    assert float(found.max()) <= 10.125 * 1.001


@pytest.mark.parametrize("rows", [4, 20000])
def test_the_condition_of_an_elementwise_op_is_its_slope(rows: int) -> None:
    x = torch.linspace(-4, 4, rows * 3).reshape(rows, 3)
    found = _condition("def reference(x, weight):\n    return x[:, 0].tanh()\n", x)
    first = x[:, 0].double()
    assert torch.allclose(found, (first * (1 - first.tanh() ** 2)).abs(), rtol=1e-4, atol=1e-6)


def _evaluations(source: str, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> int:
    calls = []
    exact = Reference.exact

    def counted(self: Reference, inputs: Inputs) -> dict[str, torch.Tensor]:
        calls.append(inputs)
        return exact(self, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(Reference, "exact", counted)
        _condition(source, x)
    return len(calls)


@pytest.mark.rotating
def test_a_large_elementwise_op_is_known_by_one_more_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(1 << 20, 3)
    alone = _evaluations("def reference(x, weight):\n    return (x * weight)[:, 0].exp()\n", x, monkeypatch)
    summed = _evaluations("def reference(x, weight):\n    return (x * weight).sum(1)\n", x, monkeypatch)
    assert summed - alone == 20 + 2  # binary digits of a row's and of a column's index


def test_small_statistics_beside_a_large_result_are_excused_as_the_operator_errs() -> None:
    """PyTorch's own batch normalisation was refused in bfloat16 where its result had more than 4,096 elements."""
    task = load_task("norm/batch_norm_training")
    reference = Reference(task)
    axes = {"batch": 2, "channels": 32, "height": 1, "width": 65}
    case = make_case(axes=axes, dtype="bfloat16", seed=11)
    inputs = make_inputs(task.spec, case)
    answer = reference.of_operator(inputs)
    assert answer is not None
    found = surround(task.spec, case, reference, inputs, reference.exact(inputs), reference.native(inputs))
    assert found is not None
    assert (len(found.pairs), len(found.operator)) == (0, 1)
    judgements = Judge(task.spec, reference).expect(case, inputs).judge(answer)
    assert all(judgement.is_accepted for judgement in judgements.values())


def test_an_operator_that_rounds_on_the_way_widens_the_limits_of_tasks_that_say_so() -> None:
    task = load_task("attention/causal_backward")
    reference = Reference(task)
    case = make_case(axes={"batch": 2, "heads": 2, "length": 23, "head_dim": 17}, dtype="float16", seed=11)
    inputs = make_inputs(task.spec, case)
    exact, native = reference.exact(inputs), reference.native(inputs)
    counts = []
    for rounds in (True, False):
        spec = task.spec.model_copy(update={"operator_rounds": rounds})
        found = surround(spec, case, reference, inputs, exact, native)
        counts.append(len(found.allowed) if found else 0)
    assert counts[0] == counts[1] + 1 + 6  # its neighbours, too: in halves it errs by luck
