"""On a real CUDA device: red zones around every buffer, poison in outputs, and inputs that must stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.evaluate import Evaluator

if TYPE_CHECKING:
    from conftest import Submit

pytestmark = pytest.mark.skipif(not CudaDevice.is_present(), reason="no CUDA device is visible here")

SEED = 11
SOURCE = r"""
#include <cstdint>

__global__ void rows_of(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const int64_t row = blockIdx.x;
    double sum = 0;
    for (int64_t col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
    const double scale = 1 / sqrt(sum / cols + 1e-6);
    for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) {
        const float value = float(x[row * cols + col] * scale * weight[col]);
        STORE
    }
    if (row == 0 && threadIdx.x == 0) { EXTRA }
}

__global__ void spoil(float* input) { input[0] += 1; }

extern "C" void rmsnorm(
    const float* x, const float* weight, float* y, int64_t rows, int64_t cols, cudaStream_t stream
) {
    rows_of<<<rows, 128, 0, stream>>>(x, weight, y, rows, cols);
    SECOND
}
"""
PLAIN = "y[row * cols + col] = value;"


@pytest.fixture(scope="module")
def on_device() -> Iterator[Evaluator]:
    with Evaluator("cuda") as shared:
        yield shared


def end(
    on_device: Evaluator, submit: Submit, *, store: str = PLAIN, extra: str = "", second: str = ""
) -> tuple[str, str]:
    """Status and reason of a kernel with these lines."""
    source = SOURCE.replace("STORE", store).replace("EXTRA", extra).replace("SECOND", second)
    record = on_device.evaluate(submit(source, language="cuda", abi="c"), tier="quick", seed=SEED, case=0)
    return record.status.value, record.reason


def test_an_honest_kernel_passes(on_device: Evaluator, submit: Submit) -> None:
    assert end(on_device, submit) == ("passed", "")


@pytest.mark.parametrize(
    ("extra", "where"),
    [
        pytest.param("y[rows * cols] = 1;", "1 bytes behind the end of y", id="behind the output"),
        pytest.param("y[-1] = 1;", "1 bytes before the start of y", id="before the output"),
        pytest.param("y[rows * cols + 999] = 1;", "3997 bytes behind the end of y", id="at the end of the zone"),
        pytest.param("const_cast<float*>(x)[-1] = 1;", "1 bytes before the start of x", id="before an input"),
        pytest.param("const_cast<float*>(weight)[cols] = 1;", "1 bytes behind the end of weight", id="behind weight"),
    ],
)
def test_a_write_outside_a_buffer_is_rejected(on_device: Evaluator, submit: Submit, extra: str, where: str) -> None:
    reason = f"bounds: the call wrote {where}; check the bounds of the last block"
    assert end(on_device, submit, extra=extra) == ("rejected", reason)


@pytest.mark.parametrize(
    "store",
    [
        pytest.param("if (row * cols + col + 1 < rows * cols) y[row * cols + col] = value;", id="one element missing"),
        pytest.param("y[row * cols + col] += value;", id="added to what was there"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_not_written_is_not_a_number(on_device: Evaluator, submit: Submit, store: str) -> None:
    status, reason = end(on_device, submit, store=store)
    assert status == "incorrect"
    assert "got nan" in reason


@pytest.mark.parametrize("name", ["x", "weight"])
def test_a_changed_input_is_rejected(on_device: Evaluator, submit: Submit, name: str) -> None:
    # By a launch of its own, so that no row that is still to come reads what was changed.
    second = f"spoil<<<1, 1, 0, stream>>>(const_cast<float*>({name}));"
    reason = f"mutation: the call changed its input {name}; copy it before working in place"
    assert end(on_device, submit, second=second) == ("rejected", reason)
