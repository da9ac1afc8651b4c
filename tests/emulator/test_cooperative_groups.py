"""Cooperative groups: ranks, collectives of tiles and coalesced groups, partitions, grids."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, zeros

pytestmark = needs_compiler

X = np.random.default_rng(3).integers(-100, 100, 128).astype(np.int32)
RANK = np.arange(128)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def groups(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("cooperative", tmp_path_factory.mktemp("cooperative"), checked=request.param)


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_function_of_any_group_works_for_blocks_and_tiles(groups: Program, schedule: int) -> None:
    out = zeros(49, np.int32)
    assert groups("run_forgotten_types", X, out, schedule=schedule) == []
    assert out.tolist() == [X.sum(), *X.reshape(16, 8).sum(1), *X.reshape(32, 4).sum(1)]


def test_tiles_exchange_by_rank_and_keep_within_their_bounds(groups: Program, schedule: int) -> None:
    out = zeros(8 * 128, np.int32)
    assert groups("run_tiles", X, out, schedule=schedule) == []
    first, rank = RANK // 8 * 8, RANK % 8
    odd, even = 0b10101010, 0b01010101
    expected = [
        X[first + 11 % 8],
        X[np.where(rank >= 3, RANK - 3, RANK)],
        X[np.where(rank + 3 < 8, RANK + 3, RANK)],
        X[first + (rank ^ 5)],
        [sum(1 << r for r in range(8) if (i // 8 * 8 + r) % 3 == 0) for i in RANK],
        (first == 8) + 2 * (RANK < 16),
        np.where(RANK % 2, odd, even) + 1000 * 0xFF,
        RANK // 8 % 4 + 10 * 4 + 100 * (RANK // 32) + 1000 * 32,
    ]
    assert out.reshape(8, 128).tolist() == [list(row) for row in expected]


def test_reductions_and_scans_go_over_the_ranks_of_a_group(groups: Program, schedule: int) -> None:
    out = zeros(6 * 128, np.int32)
    assert groups("run_reductions", X, out, schedule=schedule) == []
    warps, eights = X.reshape(4, 32), X.reshape(16, 8)
    before = np.minimum.accumulate(eights + 1000, axis=1)[:, :-1]
    expected = [
        warps.sum(1).repeat(32),
        eights.max(1).repeat(8),
        eights.min(1).repeat(8),
        (np.cumsum(warps, axis=1) - warps).ravel(),
        np.maximum.accumulate(eights, axis=1).ravel(),
        np.hstack([zeros(16, np.int32)[:, None], before]).ravel(),  # rank 0 was seen to get a zero on an H200
    ]
    assert out.reshape(6, 128).tolist() == [row.tolist() for row in expected]


def test_partitions_rank_their_members_by_lane(groups: Program, schedule: int) -> None:
    out = zeros(4 * 128, np.int32)
    assert groups("run_partitions", out, schedule=schedule) == []
    coalesced, fours, halves, labels = out.reshape(4, 128)
    for first in range(0, 128, 32):
        thirds = [i for i in range(first, first + 32) if i % 3 == 0]
        size = len(thirds)
        assert coalesced[thirds].tolist() == [1000 * size + 10 * r + thirds[1] % 10 for r in range(size)]
        sizes = [min(4, size - r // 4 * 4) for r in range(size)]
        assert fours[thirds].tolist() == [100 * (r // 4) + 10 * sizes[r] + r % 4 for r in range(size)]
        for chosen in (True, False):
            members = [i for i in range(first, first + 32) if (i % 5 == 0) == chosen]
            assert halves[members].tolist() == [100 * len(members) + r for r in range(len(members))]
    assert labels.tolist() == [4000 + 100 * (i % 4) + 10 * (i % 32 // 4) for i in RANK]


def test_tiles_of_several_warps_and_copies_of_a_block_meet(groups: Program, schedule: int) -> None:
    out = zeros(256, np.int32)
    assert groups("run_whole_warps", X, out, schedule=schedule) == []
    assert out.tolist() == [*X[RANK ^ 32], *X[::-1]]


def test_a_grid_meets(groups: Program, schedule: int) -> None:
    x, out = zeros(240, np.int32), zeros(240, np.int32)
    assert groups("run_whole_grid", x, out, schedule=schedule, written=(0, 1)) == []
    assert out.tolist() == [3 * 239] * 240


def test_reading_an_asynchronous_copy_without_waiting_is_found(groups: Program, schedule: int) -> None:
    found = groups("run_without_wait", X, zeros(128, np.int32), schedule=schedule)
    # The copy and the reader race; a reader who comes first sees what nobody has written.
    assert {finding["kind"] for finding in found} <= {"race_shared", "uninitialised_shared"}
    assert bool(found) == groups.checked
