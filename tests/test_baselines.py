"""Baselines that a submission is measured against."""

from __future__ import annotations

import sys
import types
from functools import partial
from typing import Any

import pytest
import torch
from specimens import load_made_task
from torch._dynamo.testing import CompileCounter

from robust_kbench.baselines import COMPILE, baselines_for
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.record import OPERATOR, Tier

FACTOR = {"dtype": "float64", "role": "scalar", "choices": [0.5, 2.0], "between": [0.1, 3.0]}
COUNT = {"dtype": "int64", "role": "scalar", "choices": [2, 3], "between": [2, 20]}


@pytest.mark.parametrize(
    ("task", "tier", "names"),
    [
        ("activation/softmax", "quick", ["eager", "reference"]),
        ("activation/swiglu", "quick", ["eager"]),
        ("activation/softmax", "full", ["eager", "reference", "compile"]),
        ("activation/swiglu", "full", ["eager", "compile"]),
        ("scan/cumsum", "quick", ["eager", "float32_inside"]),
        ("scan/cumsum", "full", ["eager", "compile", "float32_inside"]),
    ],
)
def test_tier_quick_is_content_with_eager_and_what_stands_in_for_it(task: str, tier: Tier, names: list[str]) -> None:
    assert [baseline.name for baseline in baselines_for(load_task(task), tier)] == names


def test_eager_is_the_operator_of_the_library_where_there_is_one() -> None:
    def entries(task: str) -> dict[str, str]:
        return {each.name: each.symbol for each in baselines_for(load_task(task), "full")}

    assert entries("activation/softmax") == {"eager": "functional", "reference": "reference", "compile": "compiled"}
    assert entries("activation/swiglu")["eager"] == "reference"


@pytest.mark.rotating
@pytest.mark.parametrize("task", [name for name in task_names() if OPERATOR in load_task(name).spec.baselines])
def test_an_operator_answers_in_every_dtype_as_the_reference_does(task: str) -> None:
    """An operator whose call fails in one dtype would leave the submission without a baseline there."""
    loaded = load_task(task)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module: dict[str, Any] = {}
    exec(loaded.reference, module)
    spec = loaded.spec
    suite = draw_suite(spec, 1, budget=BUDGETS["quick"], dtypes=spec.dtypes[:1], device="cpu", dense=True)
    case = next(case for case in suite.checked if case.probe is None)
    for dtype in spec.dtypes:
        values = make_inputs(spec, case.model_copy(update={"dtype": dtype})).values
        due, answer = (
            module[name](*(each.to(device) if isinstance(each, torch.Tensor) else each for each in values.values()))
            for name in ("reference", spec.baselines[OPERATOR].partition("::")[2])
        )
        pairs = zip(*((each if isinstance(each, tuple) else (each,)) for each in (due, answer)), strict=True)
        for one, other in pairs:
            assert (one.shape, one.dtype) == (other.shape, other.dtype), dtype
            assert float((one.double() - other.double()).norm()) <= 0.1 * float(one.double().norm()), dtype


@pytest.mark.parametrize("name", ["eager", "reference", "compile", "control", "candidate"])
def test_a_task_gives_no_baseline_a_name_that_is_taken(name: str) -> None:
    with pytest.raises(SpecError, match=f"'{name}' is there already"):
        load_made_task(SCALED, inputs={"x": {"shape": ["rows"]}}, baselines={name: "reference.py::reference"})


SCALED = """
def reference(x, factor, count):
    return x * factor + count
"""


def test_a_compiled_baseline_is_not_compiled_anew_for_fresh_scalars(monkeypatch: pytest.MonkeyPatch) -> None:
    made = load_made_task(SCALED, inputs={"x": {"shape": ["rows"]}, "factor": FACTOR, "count": COUNT})
    baseline = next(each for each in baselines_for(made, "full") if each.name == COMPILE)
    reference = types.ModuleType("reference")
    exec(baseline.sources["reference.py"], reference.__dict__)
    monkeypatch.setitem(sys.modules, "reference", reference)
    graphs = CompileCounter()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=graphs))
    namespace: dict[str, Any] = {}
    exec(baseline.sources["compiled.py"], namespace)
    for number in range(2, 12):
        answer = namespace["compiled"](torch.ones(3), 0.1 * number, number)
        assert answer.tolist() == pytest.approx([1.1 * number] * 3)
    assert graphs.frame_count == 2  # for the first call, and for scalars that are not always the same


@pytest.mark.parametrize("has_cuda", [True, False])
def test_on_a_cuda_device_each_shape_is_compiled_for_itself_whatever_the_scalars(
    monkeypatch: pytest.MonkeyPatch, has_cuda: bool
) -> None:
    task = load_made_task(SCALED, inputs={"x": {"shape": ["rows", "cols"]}, "factor": FACTOR, "count": COUNT})
    compiled = next(each for each in baselines_for(task, "full") if each.name == COMPILE)
    sizes = list[list[object]]()

    def note(graph: Any, example: Any) -> Any:
        taken = [node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder"]
        sizes.append([size for each in taken if isinstance(each, torch.Tensor) for size in each.shape])
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=note))
    reference = types.ModuleType("reference")
    exec(compiled.sources["reference.py"], reference.__dict__)
    monkeypatch.setitem(sys.modules, "reference", reference)
    module: dict[str, Any] = {}
    torch._dynamo.reset()
    with monkeypatch.context() as patch, torch._dynamo.config.patch(recompile_limit=8):
        patch.setattr(torch.cuda, "is_available", lambda: has_cuda)
        exec(compiled.sources["compiled.py"], module)
    for cols in (64, 128, 256):
        for factor in (0.5, 0.7, 0.9):
            x = torch.randn(4, cols)
            assert torch.equal(module["compiled"](x, factor, 2), x * factor + 2)
    are_all_static = all(isinstance(size, int) for each in sizes for size in each)
    assert are_all_static is has_cuda
    assert len(sizes) <= 4
