"""Whatever a submission does, the next one is judged as if it were alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from conftest import NO_COMPILER

from robust_kbench.evaluate import Evaluator
from robust_kbench.redteam import corpus
from robust_kbench.redteam.corpus import Disturbance
from robust_kbench.redteam.soak import Belongings, soak

DISTURBANCES = corpus.disturbances()


def test_there_are_enough_of_them() -> None:
    assert len(DISTURBANCES) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("specimen", DISTURBANCES, ids=lambda specimen: specimen.name)
def test_a_disturbance_ends_as_it_says(specimen: Disturbance, evaluator: Evaluator) -> None:
    if specimen.path.suffix == ".cpp" and NO_COMPILER:
        pytest.skip("no g++ on the PATH; Debian: apt-get install g++")
    record = evaluator.evaluate(specimen.submission(), tier="quick")
    assert record.status in specimen.header.ends, record.reason


def test_what_is_left_behind_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = Belongings.now()
    assert Belongings.now().left_since(before) == {}
    (tmp_path / "left").touch()
    descriptor = os.open(os.devnull, os.O_RDONLY)
    try:
        assert Belongings.now().left_since(before) == {"temporary_files": 1, "descriptors": 1}
    finally:
        os.close(descriptor)


@pytest.mark.slow
def test_five_hundred_in_random_order_disturb_nobody_and_leave_nothing() -> None:
    soaked = soak(500, seed=6)
    assert (soaked.wrong, soaked.left) == ([], {})
