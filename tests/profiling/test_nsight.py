from __future__ import annotations

import pytest
from samples import COLUMNS, LAUNCH, NOISE, page

from robust_kbench.profiling import nsight
from robust_kbench.profiling.device_tools import Outcome


def changed(**cells: str) -> list[str]:
    return [cells.get(name.replace(" ", "_"), cell) for name, cell in zip(COLUMNS, LAUNCH, strict=True)]


def test_every_launch_has_its_counters() -> None:
    first, second = nsight.parse(page(LAUNCH, changed(Kernel_Name="copy")))
    assert first.kernel == "void softmax<float, 4>(const float *, float *)"
    assert (first.duration_us, first.memory_percent, first.l2_hit_percent) == (1234.5, 81.25, 33.3)
    assert (first.multiprocessor_percent, first.occupancy_percent) == (12.5, 75.5)
    assert second.kernel == "copy"


def test_stall_reasons_come_with_the_longest_first_and_without_being_selected() -> None:
    (kernel,) = nsight.parse(page(LAUNCH))
    assert list(kernel.stalls.items()) == [("long scoreboard", 9.5), ("barrier", 2.25)]


@pytest.mark.parametrize(("unit", "duration_us"), [("ns", 1.2345), ("ms", 1234500.0), ("weeks", None)])
def test_durations_are_turned_into_microseconds(unit: str, duration_us: float | None) -> None:
    (kernel,) = nsight.parse(page(LAUNCH, units={**COLUMNS, "gpu__time_duration.sum": unit}))
    assert kernel.duration_us == pytest.approx(duration_us)


@pytest.mark.parametrize("cell", ["", "n/a", "nan", "inf", "-1", "1e300"])
def test_a_counter_that_is_no_number_is_unknown(cell: str) -> None:
    (kernel,) = nsight.parse(page([cell if text == "33.3" else text for text in LAUNCH]))
    assert kernel.l2_hit_percent is None


def test_names_cannot_move_the_cursor() -> None:
    (kernel,) = nsight.parse(page(changed(Kernel_Name="\x1b[2Jf")))
    assert kernel.kernel == " [2Jf"


@pytest.mark.parametrize("text", ["", NOISE, '"ID","Kernel Name"\n', '"ID"\n"0"\n', "\0" * 100])
def test_what_is_no_page_has_no_launches(text: str) -> None:
    assert nsight.parse(text) == []


def test_a_thousand_launches_are_cut() -> None:
    assert len(nsight.parse(page(*[LAUNCH] * 1000))) == 16


@pytest.mark.parametrize(
    ("written", "note"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
            "ncu: this user may not read the counters; see developer.nvidia.com/ERR_NVGPUCTRPERM",
        ),
        (
            "==ERROR== Failed to initialize the profiler: LibraryNotLoaded",
            "ncu: the driver of this machine offers no counters",
        ),
        ("==ERROR== Something\nelse", "ncu ended with code 1 and no counters: else"),
        ("", "ncu ended with code 1 and no counters: it said nothing"),
    ],
)
def test_no_counters_cost_one_line_with_the_reason(written: str, note: str) -> None:
    assert nsight.report(Outcome(1, "", written)).notes == (note,)
