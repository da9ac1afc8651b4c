"""Description of bursts, and separation of their answers."""

from __future__ import annotations

import pytest
import torch
from specimens import make_observation

from robust_kbench.cases.values import Inputs
from robust_kbench.isolation.arena import PAGE_BYTES, Arena
from robust_kbench.isolation.protocol import Claim
from robust_kbench.isolation.use import PLAIN, Use, answers, label, name_of, reused

BURST = Use(others=(Inputs({"x": torch.ones(2), "scale": 3.0}),), order=(1, 0, 1))


def claim(pointer: int | None, shape: tuple[int, ...] = (2,)) -> Claim:
    return Claim(type="Tensor", dtype="float32", device="cpu", shape=shape, stride=(1,), pointer=pointer)


@pytest.mark.parametrize(("use", "is_plain"), [(PLAIN, True), (Use(same_place=True), True), (BURST, False)])
def test_a_worker_is_told_of_what_concerns_it(use: Use, is_plain: bool) -> None:
    assert use.is_plain == is_plain
    assert ("use" not in use.request()) == is_plain


def test_a_burst_has_room_for_all_sets_and_all_answers() -> None:
    assert (PLAIN.room, BURST.room, Use(others=BURST.others * 4).room) == (1, 3, 5)


def test_scalars_are_told_by_their_place_among_the_inputs_of_all_sets() -> None:
    assert BURST.scalars(Inputs({"x": torch.ones(2), "scale": 2.0})) == {1: 2.0, 3: 3.0}


def test_labels_tell_name_and_call() -> None:
    assert list(BURST.labels(["y"])) == [("y", "y"), ("y", "y#1"), ("y", "y#2")]
    assert [name_of(label("y", number)) for number in (0, 1, 12)] == ["y"] * 3


def test_an_answer_that_lies_where_a_later_one_does_is_overwritten() -> None:
    claims = {"y": claim(64), "z": claim(128), "y#1": claim(64), "z#1": claim(256), "y#2": claim(64)}
    assert reused(claims, (0, 1, 0)) == ("y", "y#1")


def test_it_may_be_another_output_that_lies_there_later() -> None:
    swapped = {"y": claim(64), "z": claim(128), "y#1": claim(128), "z#1": claim(64)}
    assert reused(swapped, (0, 1)) == ("y", "z")


def test_an_answer_is_overwritten_where_it_was_before_it_was_copied() -> None:
    copied = claim(64).model_copy(update={"source": 1 << 40})
    assert reused({"y": copied, "y#1": copied.model_copy(update={"pointer": 128})}, (0, 1)) == ("y",)


def test_answers_to_equal_inputs_may_lie_at_one_address() -> None:
    """Views of the inputs lie at one address."""
    assert reused({"y": claim(64), "y#1": claim(64), "y#2": claim(128)}, (0, 0, 1)) == ()
    assert reused({"y": claim(64), "y#1": claim(64), "y#2": claim(64)}, (0, 0, 1)) == ("y", "y#1")


def test_outputs_of_one_call_may_lie_at_one_address() -> None:
    assert reused({"y": claim(64), "z": claim(64), "y#1": claim(128), "z#1": claim(128)}, (0, 1)) == ()


def test_answers_without_memory_are_none_that_is_used_again() -> None:
    assert reused({"y": claim(None), "y#1": claim(None)}, (0, 1)) == ()
    assert reused({"y": claim(64, (0,)), "y#1": claim(64, (0,))}, (0, 1)) == ()


def test_a_burst_is_taken_apart_but_for_answers_that_are_gone() -> None:
    outputs = {label("y", number): torch.full((2,), float(number)) for number in range(3)}
    outputs |= {label("z", number): torch.zeros(1) for number in range(3)}
    first, second, third = answers(make_observation(outputs=outputs, reused=("y#1",)), ["y", "z"], 3)
    assert set(second.outputs) == {"z"}
    assert (first.outputs["y"].tolist(), third.outputs["y"].tolist()) == ([0.0, 0.0], [2.0, 2.0])


def test_a_call_begins_where_the_last_one_did_if_that_is_asked_for() -> None:
    arena = Arena(64 * PAGE_BYTES)
    starts = set()
    for _ in range(20):
        arena.begin(PAGE_BYTES)
        first = arena.place("float32", (4,), (1,)).offset
        arena.begin(PAGE_BYTES, same_place=True)
        assert arena.place("float32", (4,), (1,)).offset == first
        starts.add(first)
    assert len(starts) > 1
    arena.begin(64 * PAGE_BYTES, same_place=True)  # which needs all there is
    assert arena.place("float32", (4,), (1,)).offset <= PAGE_BYTES
