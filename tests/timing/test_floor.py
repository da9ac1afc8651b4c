"""The floor of a task's declared cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specimens import make_task

from robust_kbench.devices.datasheets import find
from robust_kbench.devices.peaks import Floor, Peaks
from robust_kbench.registry import load_task, task_names
from robust_kbench.timing.floor import floor_of, task_floor

PEAKS = Peaks("made", 1e12, {"float32": 1e12, "float16": 2e12}, cache_bytes=1000)
AXES = {"rows": 64, "cols": 64}
SIZE = 64 * 64 * 4


@pytest.mark.parametrize(
    ("output_bytes", "moved"),
    [(0, 5000), (400, 4600), (1000, 4000), (3000, 4000), (5000, 4000), (90_000, 4000)],
    ids=["no results", "all in the cache", "just in it", "partly", "nothing else", "more than the cost"],
)
def test_results_count_as_far_as_the_cache_cannot_hold_them(output_bytes: int, moved: int) -> None:
    assert floor_of(1, 5000, output_bytes, peaks=PEAKS, dtype="float32") == Floor(moved / 1000, "bytes")


def test_a_task_is_held_to_the_bytes_of_its_inputs_and_to_what_exceeds_the_cache() -> None:
    floor = task_floor(make_task(), AXES, "float32", PEAKS)
    assert floor is not None
    # x and weight are read, y is written but for 1000 bytes.
    assert floor.ns == pytest.approx((2 * SIZE + 64 * 4 - 1000) / 1000)
    assert floor.by == "bytes"


def test_halves_are_half_the_bytes() -> None:
    floor = task_floor(make_task(), AXES, "float16", PEAKS)
    assert floor is not None
    assert floor.ns == pytest.approx((SIZE + 64 * 2 - 1000) * 1e-3)


def test_a_task_of_many_operations_is_held_to_them_within_its_contract() -> None:
    cost = {"flops": "1000000 * rows * cols", "bytes": "rows"}
    strict = task_floor(make_task(cost=cost), AXES, "float32", PEAKS)
    loose = task_floor(make_task(cost=cost, precision="tf32_ok"), AXES, "float32", PEAKS)
    assert strict == Floor(4096.0 * 1e3, "flops")
    assert loose == Floor(2048.0 * 1e3, "flops")


def test_a_device_without_known_peaks_has_no_floor() -> None:
    assert task_floor(make_task(), AXES, "float32", None) is None


@given(
    flops=st.integers(0, 10**15), bytes_=st.integers(0, 10**12), output=st.integers(0, 10**12), more=st.integers(0, 9)
)
def test_less_work_never_takes_longer(flops: int, bytes_: int, output: int, more: int) -> None:
    def ns(flops: int, bytes_: int, output: int) -> float:
        return floor_of(flops, bytes_, output, peaks=PEAKS, dtype="float32").ns

    assert ns(flops, bytes_, output) <= ns(flops + more, bytes_ + more, output)
    assert ns(flops, bytes_, output + more) <= ns(flops, bytes_, output)


@pytest.mark.parametrize("name", task_names())
def test_every_task_has_a_floor_on_every_size_that_is_timed(name: str) -> None:
    task = load_task(name).spec
    peaks = find("NVIDIA H200", 1980)
    for axes in task.timed["cuda"]:
        for dtype in task.dtypes:
            floor = task_floor(task, axes, dtype, peaks)
            assert floor is not None
            assert 0 <= floor.ns < 1e9


def test_operations_that_some_algorithm_leaves_out_are_not_held_against_a_kernel() -> None:
    cost = {"flops": "1000000 * rows * cols", "least_flops": "250000 * rows * cols", "bytes": "rows"}
    assert task_floor(make_task(cost=cost), AXES, "float32", PEAKS) == Floor(1024.0 * 1e3, "flops")


def test_winograds_algorithm_may_convolve() -> None:
    """F(4x4, 3x3), which takes a quarter of the multiplications, at the full rate of the device."""
    task, axes = load_task("conv/conv2d").spec, load_task("conv/conv2d").spec.timed["cuda"][0]
    peaks = Peaks("made", 1e15, {"float32": 1e12}, cache_bytes=1000)
    floor = task_floor(task, axes, "float32", peaks)
    direct = task_floor(
        task.model_copy(update={"cost": task.cost.model_copy(update={"least_flops": None})}), axes, "float32", peaks
    )
    assert floor is not None
    assert direct is not None
    assert floor.ns <= direct.ns / 4
