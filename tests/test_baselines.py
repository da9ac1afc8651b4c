"""What a submission is measured against."""

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
from robust_kbench.registry import load_task
from robust_kbench.schema.record import Tier

FACTOR = {"dtype": "float64", "role": "scalar", "choices": [0.5, 2.0], "between": [0.1, 3.0]}
COUNT = {"dtype": "int64", "role": "scalar", "choices": [2, 3], "between": [2, 20]}


@pytest.mark.parametrize(
    ("task", "tier", "names"),
    [
        ("activation/softmax", "quick", ["eager"]),
        ("activation/softmax", "full", ["eager", "compile", "functional"]),
        ("scan/cumsum", "quick", ["eager", "float32_inside"]),
        ("scan/cumsum", "full", ["eager", "compile", "float32_inside"]),
    ],
)
def test_tier_quick_is_content_with_eager_and_what_stands_in_for_it(task: str, tier: Tier, names: list[str]) -> None:
    assert [baseline.name for baseline in baselines_for(load_task(task), tier)] == names


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
