"""The naive harness stays, and answers for one kernel after the other whatever those do to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from robust_kbench.redteam import naive_process
from robust_kbench.redteam.naive_process import NaiveProcess

HONEST = "import torch\n\ndef double(x):\n    return 2 * x\n"


@pytest.fixture(scope="module")
def harness() -> Iterator[NaiveProcess]:
    with NaiveProcess() as process:
        yield process


def request(folder: Path, source: str) -> Path:
    for name, text in (("reference", "def reference(x):\n    return 2 * x\n"), ("kernel", source)):
        (folder / f"{name}.py").write_text(text)
    path = folder / "request.json"
    path.write_text(json.dumps({
        "reference": str(folder / "reference.py"), "path": str(folder / "kernel.py"),
        "symbol": "double", "abi": "value", "shapes": [[4, 8]], "axes": [4, 8], "is_timed": False,
    }))  # fmt: skip
    return path


def test_a_right_kernel_passes_and_a_wrong_one_does_not(harness: NaiveProcess, tmp_path: Path) -> None:
    assert harness.judge(request(tmp_path, HONEST)) == {"passed": True, "reason": "", "speedup": 0.0}
    assert harness.judge(request(tmp_path, HONEST.replace("2", "3")))["reason"] == "output mismatch"


@pytest.mark.parametrize("deed", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.kill(os.getppid(), 9)"])
def test_a_kernel_that_stops_it_does_not_pass_and_the_next_one_is_judged(
    deed: str, harness: NaiveProcess, tmp_path: Path
) -> None:
    assert not harness.judge(request(tmp_path, f"import os\n\n{deed}\n"))["passed"]
    (tmp_path / "next").mkdir()
    assert harness.judge(request(tmp_path / "next", HONEST))["passed"]


def test_a_kernel_that_hangs_costs_its_time_and_nothing_else(
    harness: NaiveProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness.judge(request(tmp_path, HONEST))["passed"]
    monkeypatch.setattr(naive_process, "_TIMEOUT_S", 0.5)
    (tmp_path / "next").mkdir()
    hanging = harness.judge(request(tmp_path / "next", "import time\n\ntime.sleep(100)\n"))
    assert hanging == {"passed": False, "reason": "timed out", "speedup": 0.0}


@pytest.mark.rotating
def test_what_a_kernel_does_to_modules_is_gone_with_it(harness: NaiveProcess, tmp_path: Path) -> None:
    poisonous = "import torch\n\ntorch.allclose = lambda *a, **b: True\ndouble = abs\n"
    assert harness.judge(request(tmp_path, poisonous))["passed"]
    (tmp_path / "next").mkdir()
    assert not harness.judge(request(tmp_path / "next", "double = abs\n"))["passed"]
