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
