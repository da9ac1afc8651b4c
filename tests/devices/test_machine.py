from __future__ import annotations

import os
from pathlib import Path

import pytest

from robust_kbench.devices import machine
from robust_kbench.devices.machine import busy_seconds, facts, harness_digest


def _package(folder: Path, name: str = "judge.py", text: str = "LIMIT = 1\n") -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / name).write_text(text)
    (folder / "notes.txt").write_text("of no consequence")
    return folder


def test_the_digest_of_the_harness_tells_every_edit_and_every_name(tmp_path: Path) -> None:
    same = [harness_digest(_package(tmp_path / name)) for name in ("one", "two")]
    edited = harness_digest(_package(tmp_path / "edited", text="LIMIT = 2\n"))
    renamed = harness_digest(_package(tmp_path / "renamed", name="other.py"))
    assert same[0] == same[1]
    assert len({same[0], edited, renamed}) == 3


def test_a_record_says_which_harness_judged() -> None:
    assert facts()["harness"] == harness_digest()


_EPYC = "processor : 0\ncpu family\t: 25\nmodel\t\t: {}\nmodel name\t: AMD EPYC\nstepping\t: 1\n\n"
_BOARD = "processor\t: 0\nCPU part\t: 0xd08\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (_EPYC.format(1), "AMD EPYC (25-1-1)"),
        (_EPYC.format(17) + _EPYC.format(1), "AMD EPYC (25-17-1)"),
        (_BOARD, "Raspberry Pi 4 Model B Rev 1.4"),
    ],
    ids=["one", "the next generation", "a board"],
)
def test_a_processors_name_tells_its_generation(told: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_read", lambda _: told)
    assert machine.processor_name() == name


_STAT = """cpu  600 0 300 9000 50 20 30 0 0 0
cpu0 100 0 100 3000 10 10 10 0 0 0
cpu1 200 0 100 3000 20 10 10 0 0 0
cpu10 300 0 100 3000 20 0 10 0 0 0
intr 1 2 3
"""


@pytest.mark.parametrize(
    ("cores", "ticks"), [(None, 950), ({0}, 220), ({1}, 320), ({0, 10}, 630)], ids=["all", "0", "1", "0 and 10"]
)
def test_time_is_busy_on_the_cores_that_are_asked_for(
    cores: set[int] | None, ticks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_read", lambda _: _STAT)
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert busy_seconds(cores) == pytest.approx(ticks / 100)
