"""cuda::barrier, cuda::pipeline and the pipeline primitives."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, zeros

pytestmark = needs_compiler


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("pipelines", tmp_path_factory.mktemp("pipelines"), checked=request.param)


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_barrier_separates_rounds(program: Program, schedule: int) -> None:
    out = zeros(64, np.uint32)
    assert program("run_rounds", out, schedule=schedule) == []
    assert out.tolist() == [20 + 5 * ((t + 1) % 64) for t in range(64)]


def test_threads_that_drop_are_not_waited_for(program: Program, schedule: int) -> None:
    out = zeros(32, np.uint32)
    assert program("run_dropping", out, schedule=schedule) == []
    assert set(out) == {32}


def test_copies_have_ended_when_the_phase_of_their_barrier_has(program: Program, schedule: int) -> None:
    out = zeros(100, np.int32)
    assert program("run_copies_of_a_barrier", np.arange(100, dtype=np.int32), out, schedule=schedule) == []
    assert out.tolist() == list(range(99, -1, -1))


@pytest.mark.parametrize("kind", ["unified", "partitioned"])
def test_a_pipeline_of_a_block_hands_stages_from_producers_to_consumers(
    program: Program, schedule: int, kind: str
) -> None:
    data = np.random.default_rng(7).integers(0, 1000, (5, 64)).astype(np.int32)
    out = zeros(64, np.int32)
    assert program(f"run_{kind}", data, out, schedule=schedule) == []
    expected = data.sum(axis=0)
    assert (out == (expected[::-1] if kind == "unified" else expected)).all()


def test_a_pipeline_of_one_thread_waits_for_its_oldest_stage(program: Program) -> None:
    data = np.random.default_rng(7).integers(0, 1000, (6, 32)).astype(np.int32)
    out = zeros(32, np.int32)
    assert program("run_alone", data, out) == []
    assert (out == data.sum(axis=0)).all()


def test_the_end_of_a_copy_can_be_zeros(program: Program) -> None:
    out = zeros(4, np.int32)
    assert program("run_zero_filled", np.array([1, 2, 3, 4], dtype=np.int32), out) == []
    assert out.tolist() == [1, 2, 0, 0]


def test_a_wait_that_is_missing_shows_old_memory(program: Program) -> None:
    out = zeros(32, np.int32)
    found = program("run_no_wait", np.arange(32, dtype=np.int32), out)
    assert set(out) == {0x7FA5A5A5}
    assert [finding["kind"] for finding in found] == (["uninitialised_shared"] if program.checked else [])
