"""`kbench evaluate --profile-harness` names the time of an evaluation."""

from __future__ import annotations

import pytest
from test_cli import BASELINES, kbench

from robust_kbench.cli.seconds import table
from robust_kbench.schema.record import Seconds

SECONDS = Seconds(
    start=0.5, build=2.0, check=8.0, timing=89.0, kernels=40.0, inputs=10.0, judging=20.0, workers=9.0, calls=15.0,
    total=100.0,
)  # fmt: skip


def _values(lines: list[str]) -> dict[str, tuple[float, str]]:
    found: dict[str, tuple[float, str]] = {}
    for line in lines:
        if "%" in line:
            *name, value, share = line.split()
            found.setdefault(" ".join(name), (float(value), share))
    return found


def test_each_stage_and_each_part_has_its_seconds_and_its_share() -> None:
    stages, parts = "\n".join(table(SECONDS)).split("of check and timing")
    assert _values(stages.splitlines()) == {
        "start": (0.5, "0.5%"), "build": (2.0, "2.0%"), "check": (8.0, "8.0%"), "timing": (89.0, "89.0%"),
        "the rest": (0.5, "0.5%"),
    }  # fmt: skip
    assert _values(parts.splitlines())["the rest"] == (3.0, "3.0%")


def test_parts_that_ran_side_by_side_leave_no_rest() -> None:
    lines = list(table(SECONDS.model_copy(update={"judging": 90.0})))
    assert lines[-1].split() == ["the", "rest", "0.0", "0.0%"]


def test_an_evaluation_without_any_time_has_no_shares() -> None:
    assert all(share == "0.0%" for _, share in _values(list(table(Seconds()))).values())


@pytest.mark.slow
def test_stages_and_parts_of_an_evaluation_leave_less_than_a_twentieth_unnamed() -> None:
    done = kbench(
        "evaluate", BASELINES / "norm/rmsnorm/python_two_pass", "--device", "cpu", "--tier", "full", "--profile-harness"
    )
    assert done.returncode == 0, done.stdout
    stages, parts = done.stdout.partition("  seconds\n")[2].split("of check and timing")
    named = _values(parts.splitlines())
    total = sum(value for value, _ in _values(stages.splitlines()).values())
    assert named["workers"][0] > 0
    assert named["calls"][0] > 0
    assert _values(stages.splitlines())["the rest"][0] < total / 20
    assert named["the rest"][0] < total / 20
