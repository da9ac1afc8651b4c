"""Warp intrinsics against PTX's definitions, which an H200 was seen to follow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Array, Program, compile_source, zeros

pytestmark = needs_compiler

LANES = range(32)
FULL = 0xFFFFFFFF


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def warp(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("warp", tmp_path_factory.mktemp("warp"), checked=request.param)


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def source_lane(mode: str, lane: int, operand: int, width: int) -> int:
    """shfl.sync of the PTX manual: the lane that is read, or the caller's own."""
    operand &= 31
    first = lane & (32 - width)
    last = first | (width - 1)
    if mode == "idx":
        return first | (operand & (width - 1))
    if mode == "up":
        return lane - operand if lane - operand >= first else lane
    source = lane + operand if mode == "down" else lane ^ operand
    return source if source <= last else lane


def expected_sources() -> Iterator[int]:
    for bits in range(6):
        for operand in range(64):
            for mode in ("idx", "up", "down", "xor"):
                for lane in LANES:
                    yield source_lane(mode, lane, operand, 1 << bits)


def test_shuffles_read_the_lane_that_ptx_says_for_every_width_and_operand(warp: Program, schedule: int) -> None:
    sources = zeros(6 * 64 * 4 * 32, np.int32)
    assert warp("run_shuffles", sources, schedule=schedule) == []
    assert sources.tolist() == list(expected_sources())


def test_shuffles_keep_every_bit_of_wide_types_and_promote_narrow_ones(warp: Program) -> None:
    out = zeros(160, np.float64)
    assert warp("run_shuffled_types", out) == []
    assert set(out[:32]) == {3.1}
    assert set(out[32:64]) == {2.0**40 + 3}
    assert set(out[64:96]) == {1.5}
    assert out[96:128].tolist() == [(lane ^ 1) - 100 * (lane ^ 1) for lane in LANES]
    assert set(out[128:]) == {4}


def test_a_lane_that_takes_no_part_sends_a_nan_and_a_finding(warp: Program) -> None:
    out = zeros(16, np.float32)
    (found,) = warp("run_inactive", out)
    assert (found["kind"], found["place"]["line"], found["count"]) == ("inactive_lane", warp.line("inactive"), 8)
    assert out[:8].tolist() == list(range(8, 16))
    assert np.isnan(out[8:]).all()


@pytest.mark.parametrize("mask", [FULL, 0x0000FFFF, 0x80000001, 0x12345678, 1 << 7])
@pytest.mark.parametrize("chosen", [FULL, 0, 0x0F0F0F0F, 0xFFFFFFFE])
def test_votes_count_the_lanes_of_the_mask(warp: Program, mask: int, chosen: int) -> None:
    predicate = np.array([7 * (chosen >> lane & 1) for lane in LANES], np.int32)
    out = zeros(128, np.uint32)
    assert warp("run_votes", predicate, np.array([mask], np.uint32), out) == []
    mine = [lane for lane in LANES if mask >> lane & 1]
    assert set(out[:32][mine]) == {chosen & mask}
    assert set(out[32:64][mine]) == {int(chosen & mask != 0)}
    assert set(out[64:96][mine]) == {int(chosen & mask == mask)}
    assert set(out[96:][mine]) == {int(chosen & mask in (0, mask))}


@pytest.mark.parametrize("values", [np.arange(32) // 5, np.zeros(32), np.arange(32) % 3 - 1])
def test_matches_name_the_lanes_of_equal_value(warp: Program, values: Array) -> None:
    out = zeros(128, np.uint32)
    assert warp("run_matches", values.astype(np.int32), out) == []
    peers = [sum(1 << other for other in LANES if values[other] == values[lane]) for lane in LANES]
    uniform = len(set(values)) == 1
    assert out[:32].tolist() == peers
    assert set(out[32:64]) == {FULL if uniform else 0}
    assert set(out[64:96]) == {int(uniform)}
    assert out[96:].tolist() == peers


def test_reductions_are_those_of_signed_and_unsigned_integers(warp: Program, schedule: int) -> None:
    values = np.random.default_rng(1).integers(-(2**31), 2**31, 32).astype(np.int32)
    out = zeros(256, np.int32)
    assert warp("run_reductions", values, out, schedule=schedule) == []
    bits = values.view(np.uint32)
    wanted = [
        values.sum(dtype=np.int32), values.min(), values.max(), bits.min(), bits.max(),
        np.bitwise_and.reduce(bits), np.bitwise_or.reduce(bits), np.bitwise_xor.reduce(bits),
    ]  # fmt: skip
    assert out.view(np.uint32).reshape(8, 32).tolist() == [[int(value) & FULL] * 32 for value in wanted]


@pytest.mark.parametrize("ones", [0, 1, 69, 70])
def test_barriers_count_the_threads_of_a_block(warp: Program, schedule: int, ones: int) -> None:
    predicate = np.array([9] * ones + [0] * (70 - ones), np.int32)
    out = zeros(210, np.int32)
    assert warp("run_counted_barriers", predicate, out, schedule=schedule) == []
    assert out.tolist() == [ones] * 70 + [int(ones == 70)] * 70 + [int(ones > 0)] * 70


def test_a_shared_address_leads_back_to_its_variable(warp: Program) -> None:
    out = zeros(64, np.int32)
    assert warp("run_shared_addresses", out) == []
    assert out.tolist() == [3 * (63 - i) + 11000 for i in range(64)]


def test_a_failed_assertion_ends_the_launch_and_names_its_line(warp: Program) -> None:
    out = zeros(32, np.int32)
    (found,) = warp("run_asserts", out)
    assert (found["kind"], found["place"]["line"]) == ("trap", warp.line("assert"))
    assert "threadIdx.x != 5" in found["message"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("int x = __shfl_down(1, 2);", "use __shfl_down_sync"),
        ("int x = __ballot(1);", "use __ballot_sync"),
        ("float4 v{}; __shfl_sync(~0u, v, 0);", "no matching function"),
        ("float x = __reduce_max_sync(~0u, 1.0f);", "ambiguous"),
        ("bool b = __ldg((bool*)nullptr);", "no matching function"),
    ],
)
def test_what_nvcc_refuses_does_not_compile(statement: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compile_source(f"__global__ void kernel() {{ {statement} }}", tmp_path, checked=False)
    assert message in refused.value.stderr
