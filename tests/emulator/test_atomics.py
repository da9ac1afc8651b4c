"""Atomic functions: results under contention, and which calls compile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, compile_source, zeros

pytestmark = needs_compiler

THREADS = np.arange(512)

# As nvcc 13 decides for compute capability 9.0.
ACCEPTED = (
    "atomicAdd((int*)p, 1u)", "atomicAdd((float*)p, 1)", "atomicAdd((unsigned long long*)p, 1)",
    "atomicAdd((float2*)p, float2{})", "atomicAdd((float4*)p, float4{})", "atomicExch((float*)p, 1.0)",
    "atomicCAS((unsigned short*)p, (unsigned short)1, (unsigned short)2)", "atomicMin((long long*)p, 1)",
    "atomicAdd_block((double*)p, 1.0)", "atomicCAS_system((int*)p, 1, 2)", "atomicDec((unsigned*)p, 1)",
)  # fmt: skip
REFUSED = (
    "atomicAdd((long long*)p, 1ll)", "atomicAdd((volatile int*)p, 1)", "atomicAdd((short*)p, (short)1)",
    "atomicAdd((unsigned long*)p, 1ul)", "atomicSub((float*)p, 1.0f)", "atomicSub((unsigned long long*)p, 1)",
    "atomicMax((float*)p, 1.0f)", "atomicExch((double*)p, 1.0)", "atomicExch((long long*)p, 1)",
    "atomicCAS((float*)p, 1.0f, 2.0f)", "atomicCAS((long long*)p, 1ll, 2ll)", "atomicInc((int*)p, 1)",
    "atomicAnd((float*)p, 1)",
)  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def atomics(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("atomics", tmp_path_factory.mktemp("atomics"), checked=request.param)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_integers_are_updated_by_every_thread_once(atomics: Program, schedule: int) -> None:
    x, u, wide = zeros(8, np.int32), zeros(5, np.uint32), zeros(3, np.uint64)
    x[4], x[7] = -1, -1
    assert atomics("run_integers", x, u, wide, schedule=schedule) == []
    assert x[:7].tolist() == [THREADS.sum(), -1024, -211, 211, -(2**31), 2**31 - 1, np.bitwise_xor.reduce(THREADS)]
    assert x[7] in THREADS
    assert u.tolist() == [512 % 11, (11 - 512 % 11) % 11, 2**32 - 1, 512, 512]
    assert wide.view(np.int64).tolist() == [512 << 33, -511, 511]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_of_every_floating_type_are_complete(atomics: Program, schedule: int) -> None:
    single, double = zeros(2, np.float32), zeros(1, np.float64)
    half, halves = zeros(1, np.float16), zeros(2, np.float16)
    bfloat, bfloats = zeros(1, np.uint16), zeros(2, np.uint16)
    found = atomics("run_floats", single, double, half, halves, bfloat, bfloats, schedule=schedule)
    assert found == []
    assert (*single, *double, *half, *halves) == (128, 1536, 128, 128, 128, 256)
    # 8 bits of mantissa: a sum of quarters ends at 64, one of eighths at 32.
    assert [np.uint32(int(bits) << 16).view(np.float32) for bits in (*bfloat, *bfloats)] == [64, 64, 32]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_compare_and_swap_builds_other_operations(atomics: Program, schedule: int) -> None:
    maximum, total = zeros(1, np.uint32), zeros(1, np.uint16)
    assert atomics("run_loops", maximum, total, schedule=schedule) == []
    assert maximum.view(np.float32)[0] == 255.5
    assert total[0] == 1536


def test_float_sums_flush_subnormals_in_global_memory_and_keep_them_in_shared(atomics: Program) -> None:
    total, shared = zeros(1, np.float32), zeros(1, np.float32)
    assert atomics("run_subnormals", total, shared) == []
    assert total[0] == 0
    assert shared[0] == pytest.approx(3e-40, rel=1e-4)


def test_a_misaligned_atomic_is_found(atomics: Program) -> None:
    if not atomics.checked:
        return
    (found,) = atomics("run_misaligned", zeros(16, np.uint8))
    assert (found["kind"], found["place"]["line"]) == ("misaligned_access", atomics.line("misaligned"))


def test_exactly_the_calls_that_nvcc_accepts_compile(tmp_path: Path) -> None:
    # Only where a call depends on the template's argument does `requires` ask instead of failing.
    lines = ["template <class T, class> struct Of { using Pointer = T*; };", "template <class T> void check(T* p) {"]
    for call in (*ACCEPTED, *REFUSED):
        dependent = re.sub(r"\(([\w: ]+)\*\)p", r"(typename Of<\1, T>::Pointer)p", call)
        lines.append(f'static_assert({"!" * (call in REFUSED)}requires {{ {dependent}; }}, "{call}");')
    try:
        compile_source("\n".join([*lines, "}", "template void check(char*);"]), tmp_path, checked=False)
    except subprocess.CalledProcessError as failed:
        pytest.fail(failed.stderr)
