"""What the gate on a CUDA device tells of a call, as far as that needs no device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from robust_kbench.errors import HarnessError
from robust_kbench.isolation.gate import Delays, Ends, Opened, Pair, refuse_mps


@dataclass
class Event:
    """One that is over at a time, in ms, or not yet."""

    at_ms: float | None = None

    def query(self) -> bool:
        return self.at_ms is not None

    def elapsed_time(self, end: Event) -> float:
        assert self.at_ms is not None
        assert end.at_ms is not None
        return end.at_ms - self.at_ms


def opened(*events: Event, stamps: tuple[int, int] = (0, 0), watched: tuple[Pair, ...] = ()) -> Opened:
    ends: Ends = "word" if watched else "turn"
    times: dict[str, Any] = dict(
        zip(("started", "opened", "stopped", "taken"), (*events, *[Event()] * 4), strict=False)
    )
    return Opened(torch.tensor(stamps), list(watched), ends, **times, host_ns=345_000)


@pytest.mark.parametrize(("stamps", "elapsed_ns"), [((1_000, 321_500), 320_500), ((5, 5), 0), ((9, 3), 0)])
def test_a_call_takes_from_the_start_of_the_clock_to_its_stop(stamps: tuple[int, int], elapsed_ns: int) -> None:
    assert opened(stamps=stamps).elapsed_ns() == elapsed_ns


@pytest.mark.parametrize(
    ("stopped", "taken", "is_over"),
    [(None, None, False), (1.0, None, False), (None, 1.0, False), (1.0, 1.0, True)],
)
def test_a_call_is_over_when_the_clock_has_stopped_and_the_pieces_are_taken(
    stopped: float | None, taken: float | None, is_over: bool
) -> None:
    assert opened(Event(0.0), Event(0.0), Event(stopped), Event(taken)).is_over() is is_over


def test_delays_are_those_of_the_work_before_the_gate_opens() -> None:
    assert opened(Event(2.0), Event(2.25), Event(9.0)).delays() == Delays(device_ns=250_000, host_ns=345_000)


@pytest.mark.parametrize(("place", "has_changed"), [(None, False), (0, True), (5, True)])
def test_outputs_have_changed_if_any_piece_is_another_than_when_the_word_came(
    place: int | None, has_changed: bool
) -> None:
    pieces = tuple((torch.full((3,), 255, dtype=torch.uint8),) * 2 for _ in range(2))
    watched = tuple((now.clone(), then) for now, then in pieces)
    if place is not None:
        watched[place // 3][0][place % 3] = 0
    assert opened(watched=watched).changed() is has_changed


def test_where_nothing_is_watched_nothing_has_changed() -> None:
    assert not opened().changed()


def test_where_contexts_take_no_turns_nothing_is_timed(tmp_path: Path) -> None:
    environment = {"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    refuse_mps(environment)
    (tmp_path / "control").touch()
    with pytest.raises(HarnessError, match="MPS runs on this machine.*; stop it"):
        refuse_mps(environment)
