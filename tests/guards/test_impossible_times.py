"""Times that the device cannot reach, and honest ones that come close."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.devices.peaks import Floor
from robust_kbench.guards.floor import inspect_times
from robust_kbench.schema.finding import Finding

DATASHEET, MEASURED = Floor(100_000.0, "bytes"), Floor(120_000.0, "bytes")


def found(
    times_ns: Sequence[int], floor: Floor | None = DATASHEET, measured: Floor | None = MEASURED, error_ns: int = 0
) -> list[Finding]:
    return list(inspect_times("rows=4 float32", times_ns, floor, measured, error_ns))


def test_a_forged_time_is_rejected_with_the_bound_that_it_breaks() -> None:
    (finding,) = found([1_000] * 30)
    assert finding == Finding(
        guard="floor",
        severity="reject",
        message="IMPOSSIBLE: calls take 1 us, any device of this kind needs 100 us: "
        "the memory cannot deliver the inputs and take the outputs in that time",
        case="rows=4 float32",
        evidence={"low_us": 1.0, "floor_us": 100.0, "by": "bytes"},
    )


def test_a_time_of_nothing_is_rejected() -> None:
    (finding,) = found([0] * 12)
    assert finding.severity == "reject"


def test_a_time_below_what_was_measured_here_is_a_warning() -> None:
    (finding,) = found([113_000] * 30)
    assert (finding.severity, finding.evidence["floor_us"]) == ("warn", 120.0)
    assert finding.message.startswith("SUSPICIOUS: calls take 113 us, anything measured on this device needs 120 us")


def test_operations_are_named_as_the_reason_where_they_set_the_floor() -> None:
    (finding,) = found([1_000] * 30, Floor(50_000.0, "flops"), None)
    assert finding.message.endswith("the arithmetic units cannot do the operations in that time")


def test_a_kernel_at_97_percent_of_the_measured_ceiling_is_honest() -> None:
    draw = random.Random(0)
    times = [int(MEASURED.ns / 0.97 * draw.lognormvariate(0.0, 0.02)) for _ in range(72)]
    assert min(times) < MEASURED.ns  # noise carries single calls below the ceiling, which is a median itself
    assert found(times) == []


@given(st.floats(0.95, 100), st.lists(st.floats(1.0, 3.0), min_size=1, max_size=40))
def test_whatever_keeps_to_the_ceilings_is_honest(share: float, noise: list[float]) -> None:
    assert found([int(MEASURED.ns * share * factor) + 1 for factor in noise]) == []


@pytest.mark.parametrize(("share", "severity"), [(0.94, "reject"), (0.96, "warn")])
def test_the_datasheets_floor_has_five_percent_of_slack(share: float, severity: str) -> None:
    assert [finding.severity for finding in found([int(DATASHEET.ns * share)] * 9)] == [severity]


@pytest.mark.parametrize(
    ("time_ns", "error_ns", "severities"),
    [
        pytest.param(110_999, 3_000, ["warn"], id="below what was measured by more than the clock's error"),
        pytest.param(111_001, 3_000, [], id="and by less"),
        pytest.param(111_001, 0, ["warn"], id="by a clock without error"),
        pytest.param(93_000, 3_000, ["warn"], id="below the datasheet's by less"),
        pytest.param(91_999, 3_000, ["reject"], id="and by more"),
        pytest.param(93_000, 0, ["reject"], id="and by a clock without error"),
    ],
)
def test_by_as_much_as_the_clock_may_be_wrong_a_time_may_lie_below_the_floor(
    time_ns: int, error_ns: int, severities: list[str]
) -> None:
    assert [finding.severity for finding in found([time_ns] * 9, error_ns=error_ns)] == severities


def test_a_kernel_that_cannot_be_that_short_is_no_finding_where_the_clock_cannot_tell() -> None:
    floor = Floor(1_500.0, "bytes")
    assert found([300] * 30, floor, floor, error_ns=3_000) == []
    assert [finding.severity for finding in found([300] * 30, floor, floor)] == ["reject"]


@pytest.mark.parametrize(
    ("fast", "rejected"), [(0, False), (3, False), (4, True), (40, True)], ids=["none", "3 of 72", "4 of 72", "many"]
)
def test_a_few_glitches_of_a_clock_are_not_held_against_a_kernel(fast: int, rejected: bool) -> None:
    assert bool(found([10] * fast + [200_000] * (72 - fast))) is rejected


@pytest.mark.parametrize(
    ("floor", "measured", "severities"),
    [(None, None, []), (None, MEASURED, ["warn"]), (DATASHEET, None, ["reject"])],
)
def test_what_is_unknown_objects_to_nothing(floor: Floor | None, measured: Floor | None, severities: list[str]) -> None:
    assert [finding.severity for finding in found([5] * 9, floor, measured)] == severities


def test_no_samples_give_no_finding() -> None:
    assert found([]) == []
