"""Every group of defences names parts that the harness has: else its ablation breaks, hours later."""

from __future__ import annotations

import pytest

from robust_kbench.redteam import defences
from robust_kbench.redteam.corpus import GROUPS


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_can_be_switched_off_and_is_on_again_afterwards(group: str) -> None:
    for _ in range(2):
        with defences.without([group]):  # type: ignore[list-item]
            pass
