"""What a call is charged with, and which machine is too busy to rank on."""

from __future__ import annotations

import pytest
from specimens import make_observation

from robust_kbench.timing.session import sample_ns


def test_on_the_processor_the_judges_clock_counts() -> None:
    assert sample_ns(make_observation(elapsed_ns=5_000_000)) == 5_000_000


def test_on_a_gpu_an_event_time_within_the_judges_bound_counts() -> None:
    assert sample_ns(make_observation(elapsed_ns=1_040_000, event_ns=1_000_000), 60_000) == 1_000_000


@pytest.mark.parametrize("claimed", [0, 1, 500_000])
def test_a_forged_event_time_gains_no_more_than_a_launch(claimed: int) -> None:
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=claimed), 60_000) == 940_000


def test_an_event_time_above_the_judges_clock_is_believed() -> None:
    # A worker that claims to be slower than it was harms itself only.
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=1_200_000), 60_000) == 1_200_000


def test_a_baseline_is_charged_with_its_events_alone() -> None:
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=500_000)) == 500_000
