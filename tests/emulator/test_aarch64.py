"""The fibre runtime on the other processor: cross-compiled and run by QEMU, where both are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from robust_kbench.emulator import rewrite, toolchain

COMPILER = shutil.which("aarch64-linux-gnu-g++")
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        COMPILER is None or QEMU is None,
        reason="needs a cross compiler and QEMU; Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static",
    ),
]

PROGRAM = """
#include <cstdio>
#include <vector>

__global__ void sums(const float* x, float* y, int n) {
    __shared__ float partial[4];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    BARRIER;
    if (threadIdx.x == 0) y[blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
}

int main() {
    std::vector<float> x(1000, 1.f), y(8, -1.f);
    kbemu::kbemu_begin(2, 1, 0x7fa5a5a5, CHECKED, 2, 0, 10);
    kbemu::kbemu_tensor("x", x.data(), 4000, 1);
    kbemu::kbemu_tensor("y", y.data(), 32, 0);
    sums<<<8, 128>>>(x.data(), y.data(), 1000);
    for (float value : y) std::printf("%g ", value);
    std::printf("%s", kbemu::kbemu_end());
}
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runtime")
    sources = [str(path) for path in sorted(toolchain.RUNTIME.glob("*.cpp"))]
    command = [str(COMPILER), "-std=gnu++20", "-w", "-O1", f"-I{toolchain.INCLUDE}", "-c", *sources]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return [str(path) for path in sorted(folder.glob("*.o"))]


def run(folder: Path, runtime: list[str], *, barrier: str, checked: bool) -> str:
    source, program = folder / "kernel.cu", folder / "program"
    source.write_text(rewrite.rewrite(PROGRAM.replace("BARRIER", barrier), "kernel.cu").text)
    flags = ["-std=gnu++20", "-w", "-O1", "-fno-strict-aliasing", f"-I{toolchain.INCLUDE}", f"-DCHECKED={int(checked)}"]
    instrumented = ["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"] if checked else []
    prelude = ["-include", "kbemu/cuda.h", "-x", "c++"]
    objects = folder / "kernel.o"
    command = [str(COMPILER), *flags, *instrumented, *prelude, "-c", str(source), "-o", str(objects)]
    subprocess.run(command, check=True, capture_output=True)
    link = [str(COMPILER), *flags, "-static", str(objects), *runtime, "-o", str(program)]
    subprocess.run(link, check=True, capture_output=True)
    done = subprocess.run([str(QEMU), str(program)], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
def test_barriers_and_shuffles_give_the_right_answer(tmp_path: Path, runtime: list[str], checked: bool) -> None:
    assert run(tmp_path, runtime, barrier="__syncthreads()", checked=checked) == "128 128 128 128 128 128 128 104 []"


def test_a_missing_barrier_is_found(tmp_path: Path, runtime: list[str]) -> None:
    assert '"kind":"race_shared"' in run(tmp_path, runtime, barrier="", checked=True)
