"""Faults of one line in published kernels of twenty tasks: a tail, a stride, an epsilon, an axis, a sign, a bias.

Each is found in a quick evaluation, and is not reported as anything but wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import needs_compiler

from robust_kbench.evaluate import Evaluator
from robust_kbench.registry import read_submission
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import Submission

BASELINES = Path(__file__).resolve().parents[1] / "baselines"


class Fault(NamedTuple):
    """A fault in a kernel: `right` stands once in it, and is replaced by `wrong`."""

    what: str
    kernel: str
    right: str
    wrong: str


FAULTS = (
    Fault(
        "tail", "norm/rmsnorm/cpp_simd", "if (rest) store_part(y + i, rest,", "if (rest > 1) store_part(y + i, rest,"
    ),
    Fault("epsilon", "norm/layernorm/cpp_simd", "variance + 1e-5f", "variance + 1e-6f"),
    Fault("axis", "norm/layernorm_backward/cpp_rows", "bias_sums[col] += grad;", "bias_sums[row % cols] += grad;"),
    Fault("group", "norm/group_norm/cpp_two_pass", "group % num_groups * depth", "group / num_groups % 1 * depth"),
    Fault("sign", "norm/rmsnorm_backward/cpp_simd", "factor - value * slope", "factor + value * slope"),
    Fault("maximum", "activation/softmax/cpp_three_pass", "if (i < cols) tops[1] =", "if (i < cols - 1) tops[1] ="),
    Fault("constant", "activation/gelu/cpp_plain", "0.70710678f", "0.7071f"),
    Fault("derivative", "activation/swish/cpp_plain", "1.0f + std::exp(-value)", "1.0f + std::exp(-1.01f * value)"),
    Fault("first column", "activation/softmax_backward/cpp_three_pass", "dot += ", "dot += (col > 0) * "),
    Fault("mask", "attention/causal/cpp_flash", "row + r + 1 - start", "row + r + 2 - start"),
    Fault("border", "conv/conv2d/cpp_direct", "row < 0 || row >= height", "row < 0 || row >= height - 1"),
    Fault("bias", "matmul/linear/cpp_tiled", "static_cast<float>(bias[row + r])", "static_cast<float>(bias[r])"),
    Fault("terms", "matmul/matmul/cpp_tiled", "std::min(DEPTH, k - l)", "std::min(DEPTH, (k - l) / 2 * 2 + (k < 2))"),
    Fault("stride", "matmul/batched/cpp_rows", "right.data() + term * n", "right.data() + term * (n > 64 ? n - 1 : n)"),
    Fault("rectifier", "fused/linear_relu/cpp_tiled", "sum < 0.0f ? 0.0f", "sum < -1e-3f ? 0.0f"),
    Fault("window", "pool/max_pool2d/cpp_separable", "if (rest) {", "if (rest > 1) {"),
    Fault("ties and NaN", "reduction/argmax/cpp_plain", "!(value <= best)", "value > best"),
    Fault("average", "loss/mse/cpp_plain", "rows * cols));", "rows * cols - (rows * cols > 1)));"),
    Fault("target", "loss/cross_entropy/cpp_simd", "add(hit + LANES, whole);", "add(hit + LANES, whole - LANES);"),
    Fault("tile", "index/transpose/cpp_tiled", "std::min(cols, left + tile)", "std::min(cols - 1, left + tile)"),
)


def spoilt(fault: Fault) -> Submission:
    submission = read_submission(BASELINES / fault.kernel)
    source = submission.sources["kernel.cpp"]
    assert source.count(fault.right) == 1
    sources = {**submission.sources, "kernel.cpp": source.replace(fault.right, fault.wrong)}
    return submission.model_copy(update={"sources": sources})


def test_they_are_twenty_tasks() -> None:
    assert len({fault.kernel.rpartition("/")[0] for fault in FAULTS}) == len(FAULTS) == 20


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kernel}: {fault.what}")
def test_one_wrong_line_is_found(fault: Fault, evaluator: Evaluator) -> None:
    record = evaluator.evaluate(spoilt(fault), tier="quick")
    assert record.status is Status.INCORRECT, f"{record.status}: {record.reason}"
