"""Expected numbers are those of NVIDIA's occupancy calculator."""

from __future__ import annotations

import pytest

from robust_kbench.profiling.occupancy import occupancy


@pytest.mark.parametrize(
    ("architecture", "registers", "shared_bytes", "threads", "warps", "limit"),
    [
        ("sm_80", 32, 0, 256, 64, "warps"),
        ("sm_80", 33, 0, 256, 48, "registers"),  # 40 a thread are given out: 12 warps to each part
        ("sm_80", 64, 0, 1024, 32, "registers"),
        ("sm_80", 65, 0, 1024, 0, "registers"),  # 28 warps fit, a block has 32
        ("sm_80", 255, 0, 128, 8, "registers"),
        ("sm_80", 16, 48 << 10, 256, 24, "shared memory"),  # three blocks of 49 KiB in 164
        ("sm_90", 16, 48 << 10, 256, 32, "shared memory"),  # four of them in 228
        ("sm_86", 16, 0, 1024, 32, "warps"),  # 48 warps hold one block and a half
        ("sm_86", 16, 0, 32, 16, "blocks"),
        ("sm_89", 16, 0, 32, 24, "blocks"),
    ],
)
def test_warps_on_a_multiprocessor_and_what_limits_them(
    architecture: str, registers: int, shared_bytes: int, threads: int, warps: int, limit: str
) -> None:
    found = occupancy(architecture, registers, shared_bytes, (threads,))[threads]
    assert (found.warps, found.limit) == (warps, limit)


def test_the_fraction_is_of_the_warps_that_the_architecture_holds() -> None:
    assert occupancy("sm_86", 40, 0, (256,))[256].fraction == 1.0
    assert occupancy("sm_80", 40, 0, (256,))[256].fraction == 0.75


def test_nothing_is_said_of_an_architecture_that_is_not_known() -> None:
    assert occupancy("sm_199", 32, 0) == {}
