"""Facts about a call from the gate on a CUDA device, as far as they need no device."""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from robust_kbench.errors import HarnessError
from robust_kbench.isolation import gate
from robust_kbench.isolation.gate import Delays, Ends, Gate, Opened, Pair, Watched, refuse_mps
from robust_kbench.worker import wire


@dataclass
class Event:
    """An event that is over at a time, in ms, or not yet."""

    at_ms: float | None = None

    def query(self) -> bool:
        return self.at_ms is not None

    def elapsed_time(self, end: Event) -> float:
        assert self.at_ms is not None
        assert end.at_ms is not None
        return end.at_ms - self.at_ms


def opened(
    *events: Event, stamps: tuple[int, int] = (0, 0), watched: tuple[Watched, ...] = (), came: float | None = None
) -> Opened:
    ends: Ends = "word" if watched else "turn"
    times: dict[str, Any] = dict(
        zip(("started", "opened", "stopped", "taken"), (*events, *[Event()] * 4), strict=False)
    )
    times["came"] = Event(came)
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


def test_pieces_are_taken_from_the_end_word_on() -> None:
    events = Event(0.0), Event(0.0), Event(3.5), Event(3.25)
    piece = torch.zeros(3, dtype=torch.uint8)
    assert opened(*events, watched=(Watched(piece, piece, piece),), came=3.0).taking_ns() == 250_000
    assert opened(*events).taking_ns() == 0  # no word is waited for


@pytest.mark.parametrize(("place", "has_changed"), [(None, False), (0, True), (5, True)])
def test_outputs_have_changed_if_any_piece_is_another_than_when_the_word_came(
    place: int | None, has_changed: bool
) -> None:
    watched = tuple(Watched(*(torch.full((3,), 255, dtype=torch.uint8) for _ in range(3))) for _ in range(2))
    if place is not None:
        watched[place // 3].snapshot[place % 3] = 0
    assert opened(watched=watched).changed() is has_changed


def test_what_is_watched_is_compared_with_the_judges_copy_and_not_with_memory_that_others_write() -> None:
    place, then, snapshot = (torch.full((3,), value, dtype=torch.uint8) for value in (0, 255, 255))
    assert not opened(watched=(Watched(place, then, snapshot),)).changed()


def test_where_nothing_is_watched_nothing_has_changed() -> None:
    assert not opened().changed()


def test_where_contexts_take_no_turns_nothing_is_timed(tmp_path: Path) -> None:
    environment = {"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    refuse_mps(environment)
    (tmp_path / "control").touch()
    with pytest.raises(HarnessError, match="MPS runs on this machine.*; stop it"):
        refuse_mps(environment)


class Stream:
    """A stream of a device that notes its requests, in order."""

    cuda_stream = 5


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the device's parts by ones that note the gate's work, and return the notes."""
    log: list[str] = []

    class Noted:
        def __init__(self) -> None:
            self.name = next(names)

        def record(self, stream: object = None) -> None:
            log.append(self.name)

        def query(self) -> bool:
            return True

        def elapsed_time(self, end: object) -> float:
            return 0.125

    names = iter(["started", "opened", "came", "stopped", "taken", *["rest"] * 99])
    monkeypatch.setattr(Private, "noted", log)
    monkeypatch.setattr(torch.cuda, "Event", lambda **_: Noted())
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return log


class Asked:
    """Stand-in for the driver and the runtime. `places` are the words that streams wait for, by their addresses."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.places = log, dict[int, str]()

    def wait(self, stream: object, address: int, value: int) -> None:
        self.log.append(f"wait-{self.places.get(address, address)}")

    def write(self, stream: object, address: int, value: int) -> None:
        self.log.append(f"write-{self.places.get(address, address)}")

    def reset_persisting_cache(self) -> None:
        self.log.append("reset")


def gate_without_a_device(log: list[str]) -> Gate:
    made: Any = Gate.__new__(Gate)
    made._driver = made._runtime = asked = Asked(log)
    made._words, made._table = torch.zeros(4, 32, dtype=torch.int32), torch.zeros(4, 3, dtype=torch.int64)
    asked.places = {
        ARENA.end: "end",
        ARENA.gate: "gate",
        **{word.data_ptr(): name for word, name in zip(made._words, WORDS, strict=True)},
    }
    made._stamps, made._watching, made._rescuing = torch.zeros(2, dtype=torch.int64), Stream(), Stream()
    made._pieces, made._random = torch.zeros(1, 8, dtype=torch.uint8), random.SystemRandom()
    made._stream = Stream()
    made._open = lambda *passed: log.append(f"open-{passed[2].data_ptr() - ARENA.words.data_ptr()}")
    made._stamp = lambda *passed: log.append("stamp")
    made._flush = lambda: log.append("flush")
    gate_: Gate = made
    return gate_


WORDS = ("release", "start", "take", "known")
ARENA: Any = SimpleNamespace(words=torch.zeros(wire.SLOTS_OFFSET, dtype=torch.uint8), gate=1, end=2)


class Private(torch.Tensor):
    """Memory of the judge's that notes copies into it."""

    noted = list[str]()

    def copy_(self, *_: Any, **__: Any) -> Any:
        self.noted.append("copy")
        return self


def snapshot() -> list[Pair]:
    return [(torch.zeros(4).as_subclass(Private), torch.ones(4))]


def words_of(made: Gate) -> dict[str, bool]:
    """Tell for each word, by name, if it is written."""
    return {name: bool(word.eq(1).all()) for name, word in zip(WORDS, made._words, strict=True)}


def test_the_judge_stops_the_clock_in_its_turn_and_copies_the_outputs_in_the_same_one(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    call = made.open(ARENA, 7, lambda: noted.append("inputs"), [], "turn", snapshot())
    order = "reset wait-release started inputs flush opened open-0 wait-take stamp copy stopped taken"
    assert noted == order.split()
    assert words_of(made) == {"release": True, "start": True, "take": True, "known": True}
    assert call.kept_turn


def test_behind_an_end_word_pieces_are_taken_before_the_clock_stops(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    made._pieces = torch.zeros(1, 8, dtype=torch.uint8).as_subclass(Private)
    call = made.open(ARENA, 7, lambda: noted.append("inputs"), [], "word", snapshot(), is_watched=True)
    assert noted[noted.index("open-0") + 1 :] == [
        "wait-end", "came", "copy",  # on a stream of their own
        "wait-end", "stamp", "copy", "stopped", "taken",
    ]  # fmt: skip
    assert not words_of(made)["take"]
    assert call.taking_ns() == 125_000


def test_a_call_whose_host_takes_part_is_ready_before_the_clock_starts_and_ends_by_both(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    call = made.open(ARENA, 7, lambda: noted.append("inputs"), [], "host", place=640)
    order = "reset wait-release started inputs flush opened open-640 wait-take wait-end came wait-end stamp"
    assert noted == order.split()
    assert call.watched == []
    assert words_of(made) == {"release": True, "start": False, "take": False, "known": False}
    made.start()
    assert words_of(made) == {"release": True, "start": True, "take": False, "known": False}
    made.take(call)
    assert words_of(made) == {"release": True, "start": True, "take": True, "known": False}
    noted.clear()
    made.keep(call, snapshot())
    assert noted == ["copy", "stopped", "taken"]
    assert all(words_of(made).values())
    assert call.kept_turn


def test_the_stop_of_the_clock_waits_for_what_is_known_and_the_stamp_is_the_second(noted: list[str]) -> None:
    made: Any = gate_without_a_device(noted)
    stamped: list[Any] = []
    made._stamp = lambda *passed: stamped.extend(passed)
    made.open(ARENA, 7, lambda: None, [], "turn")
    stamp, known = stamped
    assert stamp.data_ptr() == made._stamps[1].data_ptr()
    assert known.data_ptr() == made._words[3].data_ptr()


@pytest.mark.parametrize(("held_ns", "is_kept"), [(999_999, True), (1_000_000, False)])
def test_outputs_that_are_found_too_late_are_not_copied_in_the_turn(
    noted: list[str], monkeypatch: pytest.MonkeyPatch, held_ns: int, is_kept: bool
) -> None:
    made = gate_without_a_device(noted)
    call = made.open(ARENA, 7, lambda: None, [], "host")
    times = iter([1_000, 1_000 + held_ns])
    monkeypatch.setattr(gate, "time", SimpleNamespace(perf_counter_ns=lambda: next(times)))
    made.take(call)
    made.keep(call, [])
    assert call.kept_turn is is_kept
    assert words_of(made)["known"]  # the device need not wait any longer


def test_words_of_gates_lie_anywhere_but_where_a_call_ends(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    places = {made.place() for _ in range(5_000)}
    assert len(places) > 300
    assert wire.END_OFFSET not in places
    assert all(0 <= place < wire.SLOTS_OFFSET and place % 128 == 0 for place in places)


def test_a_rehearsal_goes_through_an_opening_and_waits_for_no_worker(noted: list[str]) -> None:
    made = gate_without_a_device(noted)
    delays = made.rehearse(ARENA, lambda: noted.append("inputs"))
    assert delays.device_ns == 125_000
    assert noted[:7] == ["reset", "wait-release", "started", "inputs", "flush", "opened", "open-0"]
    assert "wait-end" not in noted


def test_inputs_that_cannot_be_written_leave_no_stream_waiting(noted: list[str]) -> None:
    made = gate_without_a_device(noted)

    def fail() -> None:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        made.open(ARENA, 7, fail, [], "turn")
    assert all(words_of(made).values())


def test_a_worker_that_takes_back_its_end_word_is_killed_and_the_word_is_written_until_it_is_seen(
    noted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = gate_without_a_device(noted)
    killed = list[bool]()
    monkeypatch.setattr(gate, "_PATIENCE_S", 0.002)
    monkeypatch.setattr(gate, "_event", lambda: SimpleNamespace(record=lambda *_: None, query=lambda: bool(killed)))
    made.give_up(ARENA, 7, lambda: killed.append(True))
    assert killed == [True]
    assert noted.count("write-end") > 1


def test_a_kill_that_takes_long_is_no_failure_of_ours(noted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A context with much memory is torn down for seconds."""
    made = gate_without_a_device(noted)
    killed = list[bool]()
    monkeypatch.setattr(gate, "_PATIENCE_S", 0.002)
    monkeypatch.setattr(gate, "_LONGEST_END_S", 0.05)
    looks = iter([False] * 200)
    monkeypatch.setattr(
        gate,
        "_event",
        lambda: SimpleNamespace(record=lambda *_: None, query=lambda: bool(killed) and next(looks, True)),
    )

    def kill() -> None:
        time.sleep(0.1)
        killed.append(True)

    monkeypatch.setattr(gate, "_POLL_S", 1e-5)
    made.give_up(ARENA, 7, kill)
    assert killed == [True]


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
