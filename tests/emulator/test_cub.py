"""CUB's warp, block and device primitives, and the barrier that two uses of one storage need between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, compile_source, zeros

pytestmark = needs_compiler

GENERATOR = np.random.default_rng(11)
FLOATS = GENERATOR.integers(-100, 100, 512).astype(np.float32) / 4
INTEGERS = GENERATOR.integers(-50, 50, 512).astype(np.int32)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def cub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("cub", tmp_path_factory.mktemp("cub"), checked=request.param)


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.rotating
def test_block_reductions_count_items_and_valid_threads(cub: Program, schedule: int) -> None:
    out = zeros(6, np.float32)
    assert cub("run_reduces", FLOATS, out, schedule=schedule) == []
    block = FLOATS[:128]
    expected = [block.sum(), block.max(), block[:70].sum(), FLOATS.sum(), block.argmax(), block.max()]
    assert out.tolist() == expected


def test_block_scans_take_items_initial_values_and_prefixes(cub: Program, schedule: int) -> None:
    out = zeros(1536, np.int32)
    assert cub("run_scans", INTEGERS, out, schedule=schedule) == []
    block = INTEGERS[:128]
    inclusive = np.cumsum(block)
    assert out[:128].tolist() == (inclusive - block).tolist()
    assert set(out[128:256]) == {block.sum()}
    assert out[256:768].tolist() == np.cumsum(INTEGERS).tolist()
    assert out[768:1280].tolist() == np.maximum.accumulate([-5, *INTEGERS[:-1]]).tolist()
    assert out[1280:1408].tolist() == (100 + inclusive).tolist()
    assert out[1408:].tolist() == (100 + block.sum() + inclusive - block).tolist()


def test_warp_primitives_work_on_logical_warps(cub: Program, schedule: int) -> None:
    out = zeros(512, np.int32)
    assert cub("run_warps", INTEGERS, out, schedule=schedule) == []
    warps, halves = INTEGERS[:128].reshape(4, 32), INTEGERS[:128].reshape(8, 16)
    shifted = np.hstack([np.full((8, 1), -3), halves[:, :-1]])
    assert out[:8].tolist() == [*warps.sum(1), *warps[:, :17].sum(1)]
    assert out[128:256].tolist() == np.cumsum(halves, axis=1).ravel().tolist()
    assert out[256:384].tolist() == np.maximum.accumulate(shifted, axis=1).ravel().tolist()
    assert out[384:].tolist() == warps[:, 5].repeat(32).tolist()


def test_loads_and_stores_stop_at_the_valid_items(cub: Program, schedule: int) -> None:
    out = zeros(512, np.int32)
    assert cub("run_loads", INTEGERS, out, schedule=schedule) == []
    loaded = np.where(np.arange(512) < 500, INTEGERS, -7) + 1000 * (np.arange(512) // 4)
    assert out.tolist() == [*loaded[:510], 0, 0]


def test_block_sorts_are_stable_and_carry_values(cub: Program, schedule: int) -> None:
    keys, values = zeros(1024, np.float32), zeros(512, np.int32)
    assert cub("run_sorts", FLOATS, keys, values, schedule=schedule) == []
    order = np.argsort(-FLOATS, kind="stable")
    assert keys[:512].tolist() == FLOATS[order].tolist()
    assert values.tolist() == order.tolist()
    assert keys[512:].tolist() == np.sort(FLOATS).tolist()


def test_histograms_and_discontinuities_see_the_whole_block(cub: Program, schedule: int) -> None:
    bins, heads = zeros(16, np.uint32), zeros(512, np.int32)
    assert cub("run_counts", INTEGERS, bins, heads, schedule=schedule) == []
    assert bins.tolist() == np.bincount(INTEGERS & 15, minlength=16).tolist()
    assert heads.tolist() == [int(i % 3 == 0) for i in range(512)]


def test_device_wide_functions_ask_for_storage_and_then_run(cub: Program) -> None:
    out, ordered, scanned = zeros(2, np.float32), zeros(512, np.int32), zeros(512, np.int32)
    assert cub("run_device", FLOATS, INTEGERS, out, ordered, scanned, written=(2, 3, 4)) == []
    assert out.tolist() == [FLOATS.sum(), FLOATS.min()]
    assert ordered.tolist() == np.sort(INTEGERS).tolist()
    assert scanned.tolist() == (np.cumsum(INTEGERS) - INTEGERS).tolist()


def test_operators_of_earlier_releases_compile_too(tmp_path: Path) -> None:
    checks = "".join(
        f"const int of_{name} = cub::{name}()(2, 3);" for name in ("Sum", "Max", "Min", "Equality", "Inequality")
    )
    compile_source(f"#include <cub/cub.cuh>\n{checks}", tmp_path, checked=False)


@pytest.mark.parametrize("primitive", ["reduces", "scans", "sorts", "loads"])
def test_a_second_use_of_a_storage_without_a_barrier_is_a_race(cub: Program, primitive: str, schedule: int) -> None:
    found = cub(f"run_{primitive}_twice", FLOATS, zeros(128, np.float32), schedule=schedule)
    if not cub.checked:
        return
    assert {finding["kind"] for finding in found} == {"race_shared"}
    lines = {place["line"] for finding in found for place in (finding["place"], finding["other"]["place"])}
    second = cub.line(f"{primitive} twice")
    assert lines <= {second - 1, second}
    assert second in lines
