"""What a submission is measured against."""

from __future__ import annotations

import pytest

from robust_kbench.baselines import baselines_for
from robust_kbench.registry import load_task
from robust_kbench.schema.record import Tier


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
