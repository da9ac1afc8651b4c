"""Submissions that cheat the clock, and honest look-alikes: each ends as its first lines say.

Those for a CUDA device are tried by tests/perf/gpu_timing_checks.py, on one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.evaluate import Evaluator
from robust_kbench.scoring import score

FILES = sorted((Path(__file__).parent / "timing").glob("*.py"))
KEYS = {"device", "abi", "honest", "catalogue", "ends", "reason", "gains", "stopped by", "trips"}


def header(path: Path) -> dict[str, str]:
    """The `key: value` lines of a specimen's docstring."""
    docstring = path.read_text().split('"""')[1]
    return dict(re.findall(r"^([a-z ]+): (.+)$", docstring, re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_says_what_it_is_and_how_it_ends(path: Path) -> None:
    told = header(path)
    assert {"device", "ends"} <= set(told) <= KEYS
    assert (told.get("honest") == "yes") == path.stem.startswith("honest_")
    assert ("trips" in told) == (told["device"] == "cuda" and "honest" not in told)


@pytest.mark.parametrize(
    "path", [path for path in FILES if header(path)["device"] == "cpu"], ids=lambda path: path.stem
)
def test_each_ends_as_it_says(path: Path, evaluator: Evaluator, submit: Submit) -> None:
    told = header(path)
    record = evaluator.evaluate(submit(path.read_text(), abi=told.get("abi", "value")), tier="quick")
    assert record.status == told["ends"], record.reason
    assert record.reason.startswith(told.get("reason", ""))
    if told.get("gains") == "nothing":
        assert score(record)["float32"].speedup.low < 1.0
    if told.get("honest") == "yes":
        assert [finding for finding in record.findings if finding.severity == "reject"] == []
