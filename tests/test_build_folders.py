"""Builds of an evaluation do not take the room of the next one."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Submit, needs_compiler

from robust_kbench import contestant
from robust_kbench.devices import open_device
from robust_kbench.errors import BuildError
from robust_kbench.evaluate import Evaluator
from robust_kbench.registry import load_task
from robust_kbench.schema.record import CANDIDATE, Status

pytestmark = needs_compiler
KERNEL = """#include <cmath>
#include <cstdint>
extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
        for (int64_t col = 0; col < cols; ++col)
            y[row * cols + col] = float(x[row * cols + col] / std::sqrt(sum / double(cols) + 1e-6) * weight[col]);
    }
}
"""


def test_a_build_is_deleted_when_its_record_is_written(submit: Submit) -> None:
    with Evaluator("cpu") as evaluator:
        record = evaluator.evaluate(submit(KERNEL, language="cpp", abi="c"), tier="quick", seed=1, case=0)
        left = [path for path in evaluator._pool._folder.rglob("*") if CANDIDATE in path.parts]
    assert record.status is Status.PASSED, record.reason
    assert left == []


def test_a_build_that_fails_leaves_nothing(submit: Submit, tmp_path: Path) -> None:
    folder = tmp_path / "build"
    with pytest.raises(BuildError):
        contestant.build(
            CANDIDATE,
            submit("int x = ;", language="cpp", abi="c"),
            load_task("norm/rmsnorm").spec,
            ["float32"],
            open_device("cpu"),
            folder,
        )
    assert not folder.exists()
