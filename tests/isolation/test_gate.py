"""What the gate on a CUDA device tells of a call, as far as that needs no device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from robust_kbench.errors import HarnessError
from robust_kbench.isolation import gate
from robust_kbench.isolation.gate import Delays, Ends, Gate, Opened, Pair, refuse_mps


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


class Stream:
    """A stream of a device that notes what it is asked for, in order."""

    cuda_stream = 5


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a gate without a device has it do."""
    log: list[str] = []

    class Noted:
        def __init__(self) -> None:
            self.name = next(names)

        def record(self, stream: object = None) -> None:
            log.append(self.name)

        def query(self) -> bool:
            return True

    names = iter(["started", "opened", "stopped", "taken", *["rest"] * 99])
    monkeypatch.setattr(torch.cuda, "Event", lambda **_: Noted())
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    return log


class Asked:
    """Stands in for the driver and the runtime."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def wait(self, stream: object, address: int, value: int) -> None:
        self.log.append("wait")

    def write(self, stream: object, address: int, value: int) -> None:
        self.log.append("write")

    def reset_persisting_cache(self) -> None:
        self.log.append("reset")


def gate_without_a_device(log: list[str]) -> Gate:
    made: Any = Gate.__new__(Gate)
    made._driver = made._runtime = Asked(log)
    made._words, made._table = torch.zeros(2, 32, dtype=torch.int32), torch.zeros(4, 3, dtype=torch.int64)
    made._stamps, made._watching, made._rescuing = torch.zeros(2, dtype=torch.int64), Stream(), Stream()
    made._open, made._stamp = lambda **_: log.append("open"), lambda **_: log.append("stamp")
    made._flush = lambda: log.append("flush")
    gate_: Gate = made
    return gate_


ARENA: Any = SimpleNamespace(words=torch.zeros(8, dtype=torch.uint8), gate=1, end=2)


def test_the_judge_copies_the_outputs_in_its_turn_and_only_then_stops_the_clock(noted: list[str]) -> None:
    private, place = torch.zeros(4), torch.ones(4)

    class Private(torch.Tensor):
        def copy_(self, *_: Any, **__: Any) -> Any:
            noted.append("copy")
            return self

    made = gate_without_a_device(noted)
    made.open(ARENA, 7, lambda: noted.append("inputs"), [], [], "turn", [(private.as_subclass(Private), place)])
    order = "reset wait started inputs flush opened open wait copy stamp stopped taken"
    assert noted == order.split()


def test_inputs_that_cannot_be_written_leave_no_stream_waiting(noted: list[str]) -> None:
    made = gate_without_a_device(noted)

    def fail() -> None:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        made.open(ARENA, 7, fail, [], [], "turn")
    assert made._words.eq(1).all()


def test_a_worker_that_takes_back_its_end_word_is_killed_and_the_word_is_written_until_it_is_seen(
    noted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = gate_without_a_device(noted)
    killed = list[bool]()
    monkeypatch.setattr(gate, "_PATIENCE_S", 0.002)
    monkeypatch.setattr(gate, "_event", lambda: SimpleNamespace(record=lambda *_: None, query=lambda: bool(killed)))
    made.give_up(ARENA, 7, lambda: killed.append(True))
    assert killed == [True]
    assert noted.count("write") > 1


def test_a_stream_that_goes_on_costs_no_worker_its_life(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    made.give_up(ARENA, 7, lambda: noted.append("kill"))
    assert "kill" not in noted


def test_a_stream_that_never_goes_on_is_our_own_failure(noted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = gate_without_a_device(noted)
    monkeypatch.setattr(gate, "_LONGEST_END_S", 0.002)
    monkeypatch.setattr(gate, "_event", lambda: SimpleNamespace(record=lambda *_: None, query=lambda: False))
    with pytest.raises(HarnessError, match="does not let the judge's stream go on"):
        made.give_up(ARENA, 7, lambda: None)
