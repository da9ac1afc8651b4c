from __future__ import annotations

import torch
from specimens import load_made_task

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.surroundings import glance, survey

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


def test_the_survey_of_halves_knows_what_float32_inside_is_off_by() -> None:
    inputs = _inputs(32, 8, torch.float16)
    reference = Reference(GELU)
    pairs = survey(reference, inputs, reference.exact(inputs)).pairs
    native, wide = pairs[0][1]["y"], pairs[1][1]["y"]
    assert pairs[0][0] is pairs[1][0]
    assert wide.dtype == torch.float16
    exact = pairs[0][0]["y"]
    assert not torch.equal(native, wide)
    assert float((wide.double() - exact).abs().max()) < 2e-3


def test_neighbours_are_the_same_every_time() -> None:
    inputs = _inputs(8, 8, torch.float16)
    reference = Reference(GELU)
    native = reference.native(inputs)
    first, second = (glance(reference, inputs, native) for _ in range(2))
    assert first is not None
    assert second is not None
    assert all(torch.equal(a["y"], b["y"]) for (a, _), (b, _) in zip(first.pairs, second.pairs, strict=True))
