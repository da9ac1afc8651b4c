"""Inline PTX in CUDA files: what lanes do together, memory in all its forms, and copies that happen late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, zeros

pytestmark = needs_compiler

POISON = 0x7FA5A5A5


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def warp(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("ptx_warp", tmp_path_factory.mktemp("warp"), checked=request.param)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("ptx_memory", tmp_path_factory.mktemp("memory"), checked=request.param)


@pytest.fixture
def checked(memory: Program) -> Program:
    if not memory.checked:
        pytest.skip("only the checked build finds it")
    return memory


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def shuffled(mode: str, lane: int, operand: int, width: int) -> tuple[int, bool]:
    """The manual's pseudocode: the lane that is read, and the predicate."""
    clamp = 0 if mode == "up" else 31
    mask, b = 32 - width, operand & 31
    last, first = lane & mask | clamp & ~mask, lane & mask
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": first | b & ~mask & 31}[mode]
    valid = source >= last if mode == "up" else source <= last
    return (source if valid else lane), valid


def expected_shuffles() -> Iterator[tuple[int, bool]]:
    for mode in ("up", "down", "bfly", "idx"):
        for bits in range(6):
            for operand in range(34):
                for lane in range(32):
                    yield shuffled(mode, lane, operand, 1 << bits)


def test_shuffles_follow_the_manual_and_tell_whether_the_lane_was_inside(warp: Program, schedule: int) -> None:
    values, valid = (zeros(4 * 6 * 34 * 32, np.uint32) for _ in range(2))
    assert warp("run_shuffles", values, valid, schedule=schedule) == []
    expected = list(expected_shuffles())
    assert values.tolist() == [100 + lane for lane, _ in expected]
    assert valid.tolist() == [inside for _, inside in expected]


@pytest.mark.parametrize("holding", [0, 1, 15, 16])
def test_votes_count_the_lanes_of_their_mask_only(warp: Program, schedule: int, holding: int) -> None:
    predicates = (np.arange(32) < holding).astype(np.uint32)
    out = zeros(64, np.uint32)
    assert warp("run_votes", predicates, out, schedule=schedule) == []
    everybody = holding == 16
    expected = [everybody, not everybody, holding in (0, 16), (1 << holding) - 1]
    assert out.reshape(16, 4).tolist() == [expected] * 16


def test_reductions_and_matches_agree_with_numpy(warp: Program, schedule: int) -> None:
    numbers = np.random.default_rng(7).integers(0, 2**32, 32, dtype=np.uint32)
    out = zeros(12 * 32, np.uint32)
    assert warp("run_reductions", numbers, out, schedule=schedule) == []
    table = out.reshape(32, 12)
    reduced = [
        np.add.reduce(numbers), numbers.min(), numbers.view(np.int32).max().astype(np.uint32),
        np.bitwise_and.reduce(numbers), np.bitwise_or.reduce(numbers), np.bitwise_xor.reduce(numbers),
    ]  # fmt: skip
    assert (table[:, :6] == np.array(reduced, dtype=np.uint32)).all()
    same = numbers[:, None] % 3 == numbers[None, :] % 3
    assert (table[:, 6] == (same * (1 << np.arange(32, dtype=np.uint64))).sum(axis=1)).all()
    assert set(table[:, 7]) == {0xFFFFFFFF}
    assert set(table[:, 8]) == {1}
    assert set(table[:, 9]) == {0}
    assert set(table[:, 10]) == {0xFFFFFFFF}


def test_special_registers_say_where_a_thread_is(warp: Program, schedule: int) -> None:
    out = zeros(2 * 96 * 16, np.uint32)
    assert warp("run_registers", out, schedule=schedule) == []
    for number, row in enumerate(out.reshape(192, 16)):
        block, thread = divmod(number, 96)
        lane = thread % 32
        below = (1 << lane) - 1
        full = 0xFFFFFFFF
        assert row.tolist() == [
            thread % 8, thread // 8 % 4, thread // 32, 8, block, 2, lane, thread // 32,
            1 << lane, below, below | 1 << lane, full & ~(below | 1 << lane), full & ~below, 1, 1, 256,
        ]  # fmt: skip


def test_named_barriers_hand_over_and_barriers_reduce(warp: Program, schedule: int) -> None:
    out, counts = zeros(64, np.uint32), zeros(128, np.uint32)
    assert warp("run_hand_over", out, counts, schedule=schedule) == []
    assert out.tolist() == [3 * (63 - i) for i in range(64)]
    assert set(counts) == {100 + 10000}


def test_one_lane_is_elected(warp: Program, schedule: int) -> None:
    out = zeros(32, np.uint32)
    assert warp("run_election", out, schedule=schedule) == []
    assert out.tolist() == [0] * 5 + [501] + [500] * 26


def test_loads_and_stores_of_every_width_extend_as_their_type_says(memory: Program) -> None:
    data = np.random.default_rng(7).integers(-128, 128, 64, dtype=np.int8)
    data[:4] = [1, -2, -3, -4]
    out = zeros(15, np.int64)
    assert memory("run_widths", data, out) == []
    half, word, quad = data.view(np.int16), data.view(np.int32), data.view(np.int64)
    expected = [-2, 254, half[1], half.view(np.uint16)[1], word[1], int(word[2]) * int(word[3]), quad[1]]
    assert out.tolist() == [*map(int, expected), int(quad[2]), int(quad[3]), int(quad[1]), 1, 101, 0x34, 4, 17]


def test_atomics_of_every_kind_add_up(memory: Program, schedule: int) -> None:
    layout = np.dtype(
        [("added", "u4"), ("smallest", "u4"), ("counted", "u4"), ("down", "u4"), ("largest", "i4"), ("and", "u4")]
        + [("or", "u4"), ("xor", "u4"), ("sum", "f4"), ("halves", "2f2"), ("wide", "f8"), ("exchanged", "u8")]
        + [("vector", "4f4")]
    )  # fmt: skip
    out = zeros(1, layout)
    assert memory("run_totals", out, schedule=schedule) == []
    total = sum(range(40))
    found = {name: out[0][name].tolist() for name in layout.names or ()}
    del found["vector"]
    assert found == {
        "added": total, "smallest": 0, "counted": 40 % 7, "down": (-40) % 7, "largest": -11, "and": 0xFFFFFFC0,
        "or": 63, "xor": 0, "sum": 0.5 * total, "halves": [80.0, 40.0], "wide": 0.25 * total, "exchanged": total,
    }  # fmt: skip


def test_copies_in_stages_arrive_in_order(memory: Program, schedule: int) -> None:
    data = np.arange(6 * 32 * 4, dtype=np.float32)
    out = zeros(len(data), np.float32)
    assert memory("run_stages", data, out, schedule=schedule) == []
    assert (out.reshape(6, 32, 4) == data.reshape(6, 32, 4)[:, ::-1]).all()


def test_copies_are_late_and_fill_up_with_zeros(memory: Program) -> None:
    data = np.arange(100, 108, dtype=np.uint32)
    out = zeros(17, np.uint32)
    assert memory("run_partial", data, out) == []
    assert (
        out.tolist()
        == [100, 101, 0, 0, 105, 77, 0, 0, 100, 101, 102, 103, 100, 101, 102, 103, 77][:8] + [0] * 4 + [77] * 5
    )


def test_a_wait_that_is_missing_shows_uninitialised_memory(memory: Program) -> None:
    data = np.ones(128, dtype=np.float32)
    out = zeros(32, np.float32)
    found = memory("run_no_wait", data, out)
    assert set(out.view(np.uint32)) == {POISON}
    if memory.checked:
        assert [finding["kind"] for finding in found] == ["uninitialised_shared"]


def test_a_barrier_that_is_missing_after_a_copy_is_a_race(checked: Program) -> None:
    found = checked("run_no_barrier", np.ones(256, dtype=np.float32), zeros(64, np.float32))
    assert "race_shared" in {finding["kind"] for finding in found}
    lines = {finding["place"].get("line") for finding in found} | {
        finding["other"]["place"].get("line") for finding in found if finding.get("other")
    }
    assert checked.line("copy") in lines


def test_a_copy_past_the_end_is_found_at_its_line(checked: Program) -> None:
    (finding,) = checked("run_too_far", np.ones(128, dtype=np.float32), zeros(64, np.float32))
    assert finding["kind"] == "out_of_bounds_global"
    assert finding["place"]["line"] == checked.line("copy")


def test_a_vector_that_is_not_aligned_as_a_whole_is_found(checked: Program) -> None:
    found = checked("run_misaligned", np.ones(64, dtype=np.float32), zeros(1, np.float32))
    assert {finding["kind"] for finding in found} == {"misaligned_access"}


def test_hints_and_fences_change_no_value(memory: Program) -> None:
    out = zeros(1, np.float32)
    assert memory("run_hints", np.arange(1, 65, dtype=np.float32), out) == []
    assert out.tolist() == [10.0]


def test_a_flag_that_is_released_and_acquired_orders_memory(memory: Program, schedule: int) -> None:
    out = zeros(1, np.uint32)
    assert memory("run_flag", out, schedule=schedule) == []
    assert out.tolist() == [42]


def test_exit_ends_a_thread_and_trap_the_launch(memory: Program) -> None:
    out = zeros(8, np.uint32)
    assert memory("run_leaves", out) == []
    assert out.tolist() == [1] * 4 + [0] * 4
    (finding,) = memory("run_traps")
    assert finding["kind"] == "trap"
    assert finding["place"]["line"] == memory.line("trap")


def test_copies_of_an_earlier_launch_are_forgotten(memory: Program) -> None:
    out = zeros(4, np.float32)
    assert memory("run_forgetful", np.ones(4, dtype=np.float32), out) == []
    assert out.tolist() == [5.0] * 4


def test_atomics_on_vectors_add_each_element(memory: Program, schedule: int) -> None:
    sums, halves = zeros(4, np.float32), zeros(4, np.float16)
    assert memory("run_vectors", sums, halves, schedule=schedule) == []
    assert sums.tolist() == [32.0, 64.0, 96.0, 128.0]
    assert halves.tolist() == [32.0, 32.0, 0.0, 32.0]
