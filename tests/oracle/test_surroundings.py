from __future__ import annotations

import pytest
import torch
from specimens import load_made_task

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.surroundings import glance, surround, survey

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
    found = surround(task.spec, "float32", reference, inputs, exact, native)
    if digits is None or compare != "rule":
        assert found is None or found.allowed == ()
        return
    assert found is not None
    ((right, coarse),) = found.of("y")
    assert torch.equal(right, exact["y"])
    assert torch.equal(coarse, rounded(inputs.tensors["x"], digits))
