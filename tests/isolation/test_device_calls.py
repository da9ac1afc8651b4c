"""A call on a CUDA device as the judge makes it: no device is here, and a made-up worker does all of it at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.errors import HarnessError, WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.device_arena import DeviceArena
from robust_kbench.isolation.device_calls import DeviceCaller
from robust_kbench.isolation.gate import MOST_WITHHELD, WITHHELD_BYTES, Delays
from robust_kbench.isolation.protocol import Claim, Raised, Returned
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.worker import wire

TASK = make_task()
CASE = make_case(axes={"rows": 64, "cols": 64}, role="timed")
RESULTS_BYTES, POISON = 1 << 20, 0xFF
TURN, PLACE, GATE_NS = 4711, 640, 321_000
SEEDED = make_task(inputs={
    "x": {"shape": ["rows", "cols"]},
    "weight": {"shape": ["cols"]},
    "seed": {"role": "scalar", "dtype": "int64", "choices": [41, 42], "between": [0, 99]},
})  # fmt: skip
CLAIM: Mapping[str, Any] = {"type": "Tensor", "dtype": "float32", "device": "cuda"}


class HostArena(DeviceArena):
    """Memory of a worker on a device, in the memory of the host."""

    def __init__(self, slots_bytes: int) -> None:
        self.results_at = wire.SLOTS_OFFSET + slots_bytes
        self.size_bytes = self.results_at + RESULTS_BYTES
        Slots.__init__(self, torch.zeros(self.size_bytes, dtype=torch.uint8), wire.SLOTS_OFFSET, self.results_at)

    def floats(self, spec: Mapping[str, Any]) -> torch.Tensor:
        """View the worker's memory at `spec` as float32."""
        flat = self._bytes[spec["offset"] : spec["offset"] + 4 * spec["span"]].view(torch.float32)
        return flat.as_strided(spec["shape"], spec["stride"])


@dataclass
class Opened:
    ends: str
    is_changed: bool
    kept_turn: bool = True
    took_ns: int = 0

    def taking_ns(self) -> int:
        return self.took_ns

    def changed(self) -> bool:
        return self.is_changed

    def elapsed_ns(self) -> int:
        return GATE_NS

    def delays(self) -> Delays:
        return Delays(device_ns=12, host_ns=34)


@dataclass
class World:
    """A gate, and the worker behind it, which computes as soon as it opens. `log` holds the requests in their order."""

    arena: HostArena
    log: list[str] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)
    scalars: bytes = b""
    told: bytes = b""
    """Bytes that told the worker its turn."""
    before: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    """Memory when everything is written except the withheld pieces."""
    withheld: list[tuple[int, int]] = field(default_factory=list)
    """Offset and bytes of each withheld piece."""
    watched: int = 0
    """Number of outputs that are looked at when an end word comes."""
    pieces: int = 0
    """Number of withheld pieces that belong to outputs, which get poison."""
    snapshots: Any = ()
    pid: int = 1

    # How they behave.
    kernel: Callable[[World], None] = lambda world: world.scale()
    claims: Sequence[Mapping[str, Any]] = ()
    raises: str = ""
    waits_for_device: bool = False
    is_changed: bool = False
    keeps_turn: bool = True
    took_ns: int = 0
    is_ahead: bool = False
    """True if the worker computes before the clock has started, and not after that."""
    delays: Sequence[Delays] = ()
    """Delays of the rehearsals, one after the other."""
    waited_s: float = 0.0
    at_finish: Callable[[World], None] = lambda world: None
    fails: tuple[str, Exception] | None = None
    event_ns: int = 0

    # What a kernel does on the device.

    def input(self, place: int) -> torch.Tensor:
        return self.arena.floats(self.request["inputs"][place])

    def output(self) -> torch.Tensor:
        return self.arena.floats(self.request["outputs"][0])

    def scale(self) -> None:
        self.output().copy_(self.input(0) * self.input(1))

    # The gate.

    def turn(self) -> int:
        return TURN

    def place(self) -> int:
        return PLACE

    def open(
        self,
        arena: HostArena,
        turn: int,
        write: Callable[[], None],
        withheld: Any,
        ends: str,
        snapshots: Any,
        place: int,
        *,
        is_watched: bool,
    ) -> Opened:
        self.log.append(f"open {ends}")
        assert (arena, turn) == (self.arena, TURN)
        assert place == (PLACE if self.request["waits"] else wire.GATE_OFFSET)
        write()
        if self.is_ahead:
            self.kernel(self)
        self.before, self.watched, self.snapshots = arena._bytes.clone(), len(snapshots) * is_watched, snapshots
        start = arena._bytes.data_ptr()
        self.withheld = [(place.data_ptr() - start, len(place)) for place, _ in withheld]
        self.pieces = sum(bool((content == POISON).all()) for _, content in withheld)
        for piece, content in withheld:
            piece.copy_(content)
        if not self.request["waits"]:
            assert self.waits_for_device or self.told == wire.pack_turn(TURN, wire.GATE_OFFSET)
            self.compute()
        return Opened(ends, self.is_changed, self.keeps_turn, self.took_ns)

    def start(self) -> None:
        self.log.append("start")

    def take(self, opened: Opened) -> None:
        self.log.append("take")

    def keep(self, opened: Opened, snapshots: Any) -> None:
        self.log.append("keep")
        assert not self.snapshots
        self.snapshots = snapshots

    def rehearse(self, arena: HostArena, write: Callable[[], None]) -> Delays:
        self.log.append("rehearse")
        write()
        self.before = arena._bytes.clone()
        return self.delays[self.log.count("rehearse") - 1]

    def open_empty(self, arena: HostArena, turn: int) -> None:
        self.log.append("open empty")

    def wait(self, opened: Opened, go_on: Callable[[float], None]) -> None:
        self.log.append("wait")
        go_on(self.waited_s)
        for private, place in self.snapshots:
            private.copy_(place)

    def settle(self) -> None:
        self.log.append("settle")

    def give_up(self, arena: HostArena, turn: int, kill: Callable[[], None]) -> None:
        assert (arena, turn) == (self.arena, TURN)
        self.log.append("give up")

    # The worker.

    def launch(
        self, request: dict[str, Any], told: bytes, scalars: bytes, *, within_s: float
    ) -> Returned | Raised | None:
        self.request, self.told, self.scalars = request, told, scalars
        self._goes("launch")
        return None if self.waits_for_device else self.answer()

    def prepare(self, request: dict[str, Any], *, timeout_s: float) -> None:
        self.request = request
        self._goes("prepare")

    def arm(self, told: bytes, scalars: bytes) -> None:
        self.told, self.scalars = told, scalars
        self._goes("arm")
        self.compute()

    def launched(
        self,
        deadline: float,
        at_once: Callable[[], None] = lambda: None,
        before_stop: Callable[[Returned | Raised], None] = lambda answer: None,
    ) -> Returned | Raised:
        self._goes("launched")
        at_once()
        before_stop(self.answer())
        return self.answer()

    def finish(self, deadline: float) -> int:
        self._goes("finish")
        self.at_finish(self)
        return self.event_ns

    def go_on(self, waited_s: float = 0.0) -> None:
        self._goes("go on")

    def kill(self) -> None:
        self._goes("kill")

    def check_parked(self) -> None:
        self._goes("check parked")

    def compute(self) -> None:
        if not (self.request["empty"] or self.raises or self.is_ahead):
            self.kernel(self)

    def answer(self) -> Returned | Raised:
        if self.raises:
            return Raised(nonce=1, outcome="raised", type="ValueError", message=self.raises, where="kernel.py:3")
        claims = tuple(Claim.model_validate({**CLAIM, **claim}) for claim in self.claims)
        return Returned(nonce=1, outcome="returned", outputs=claims)

    def _goes(self, step: str) -> None:
        self.log.append(step)
        if self.fails is not None and self.fails[0] == step:
            raise self.fails[1]


class Worker:
    """A caller's view of the worker's half."""

    log = "its last words"

    def __init__(self, world: World) -> None:
        self._world, self.arena = world, world.arena

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


@pytest.fixture
def world() -> World:
    return World(HostArena(2 * case_footprint(TASK, CASE)))


def call(
    world: World,
    abi: str = "destination",
    case: Case = CASE,
    *,
    place: str = "cpu",
    timeout_s: float = 9,
    **options: Any,
) -> Observation:
    return called(world, make_inputs(TASK, case), abi, case, place=place, timeout_s=timeout_s, **options)


def called(
    world: World,
    inputs: Inputs,
    abi: str,
    case: Case,
    *,
    task: Any = TASK,
    place: str,
    timeout_s: float,
    **options: Any,
) -> Observation:
    worker: Any = Worker(world)
    return caller(world, task, timeout_s=timeout_s, place=place).call(worker, abi, case, inputs, **options)


def caller(world: World, task: Any = TASK, **options: Any) -> DeviceCaller:
    gate: Any = world
    return DeviceCaller(task, **{"timeout_s": 9, "gate": gate, **options})


def expected(case: Case = CASE) -> torch.Tensor:
    tensors = make_inputs(TASK, case).tensors
    return tensors["x"] * tensors["weight"]


def result_at(offset: int, case: Case = CASE) -> dict[str, Any]:
    """Return the claim of a result that lies at this offset."""
    rows, cols = case.axes.values()
    return {"shape": (rows, cols), "stride": (cols, 1), "pointer": offset}


def results_into(world: World, offset: int) -> None:
    """Have the kernel put its result at this offset, and claim it there."""
    world.claims = [result_at(offset)]

    def kernel(world: World) -> None:
        spec = {**world.request["outputs"][0], "offset": offset}
        world.arena.floats(spec).copy_(world.input(0) * world.input(1))

    world.kernel = kernel


def write(place: torch.Tensor, content: torch.Tensor | float) -> None:
    place.copy_(torch.as_tensor(content))


def bytes_before(world: World, spec: Mapping[str, Any]) -> torch.Tensor:
    return world.before[spec["offset"] : spec["offset"] + 4 * spec["span"]]


# --- the three ways ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["turn", "word"])
def test_a_call_is_launched_first_and_then_its_gate_is_opened(world: World, way: str) -> None:
    seen = call(world, way=way)
    assert world.log == ["launch", f"open {way}", "wait", "settle", "finish", "check parked"]
    assert (world.request["ends"], world.request["waits"]) == (way == "word", False)
    assert (seen.ending, seen.clock, seen.elapsed_ns, seen.delays_ns) == ("returned", "gate", GATE_NS, (12, 34))
    assert torch.equal(seen.outputs["y"], expected())
    assert (seen.problems, seen.changed_inputs, seen.overruns, seen.is_late) == ((), (), {}, False)


WALL = ["prepare", "open host", "go on", "start", "arm", "launched", "take", "keep", "wait", "settle", "finish"]


def test_on_the_wall_clock_a_call_is_launched_when_the_clock_has_started_and_timed_by_the_gate(world: World) -> None:
    seen = call(world, way="wall")
    assert world.log == [*WALL, "check parked"]
    assert (world.request["ends"], world.request["waits"]) == (True, True)
    assert (seen.ending, seen.clock, seen.is_timed, seen.elapsed_ns) == ("returned", "wall", True, GATE_NS)
    assert torch.equal(seen.outputs["y"], expected())


def test_a_turn_that_was_not_kept_makes_a_call_on_the_wall_clock_no_sample(world: World) -> None:
    world.keeps_turn = False
    seen = call(world, way="wall")
    assert (seen.ending, seen.clock, seen.is_late, seen.is_timed) == ("returned", None, False, False)
    assert torch.equal(seen.outputs["y"], expected())


@pytest.mark.parametrize("way", ["turn", "word"])
def test_a_call_whose_host_waits_for_the_device_is_served_and_is_no_sample(world: World, way: str) -> None:
    world.waits_for_device = True
    seen = call(world, way=way)
    assert world.log == ["launch", "open turn", "wait", "launched", "settle", "finish", "check parked"]
    assert (seen.ending, seen.clock, seen.is_late, seen.is_timed) == ("returned", None, False, False)
    assert torch.equal(seen.outputs["y"], expected())


@pytest.mark.parametrize(("waits", "steps"), [(False, ["launch"]), (True, ["launch", "launched"])])
def test_the_judge_stands_aside_while_a_worker_s_host_is_waited_for_and_at_no_other_time(
    world: World, waits: bool, steps: list[str]
) -> None:
    @contextmanager
    def aside() -> Iterator[None]:
        start = len(world.log)
        yield
        beside.extend(world.log[start:])

    beside: list[str] = []
    world.waits_for_device = waits
    worker: Any = Worker(world)
    caller(world, aside=aside).call(worker, "destination", CASE, make_inputs(TASK, CASE))
    assert beside == steps


def test_a_call_of_nothing_has_no_tensors_and_ends_by_the_judge_s_turn(world: World) -> None:
    worker: Any = Worker(world)
    seen = caller(world).call_nothing(worker, CASE)
    assert world.log == ["launch", "open turn", "wait", "settle", "finish", "check parked"]
    assert (world.request["empty"], world.request["inputs"], world.request["outputs"]) == (True, [], [])
    assert (seen.ending, seen.clock, seen.elapsed_ns, seen.delays_ns) == ("returned", "gate", GATE_NS, (12, 34))
    assert (seen.outputs, world.withheld, world.watched) == ({}, [], 0)


@pytest.mark.parametrize("step", ["launch", "finish"])
def test_a_call_of_nothing_that_fails_is_our_own_failure_and_leaves_no_stream_waiting(world: World, step: str) -> None:
    world.fails = step, WorkerCrashed("was killed by SIGKILL", "")
    worker: Any = Worker(world)
    with pytest.raises(HarnessError, match="an empty call failed: was killed by SIGKILL"):
        caller(world).call_nothing(worker, CASE)
    assert world.log[-1] == "give up"


def test_time_in_which_others_judge_is_not_the_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    @contextmanager
    def aside() -> Iterator[None]:
        yield
        now[0] += 60  # until it is this thread's turn again

    gate: Any = world
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    made = DeviceCaller(TASK, timeout_s=9, gate=gate, aside=aside)
    for waits in (False, True):
        world.waits_for_device = waits
        worker: Any = Worker(world)
        assert made.call(worker, "destination", CASE, make_inputs(TASK, CASE), way="turn").ending == "returned"


@pytest.mark.parametrize("abi", ["destination", "value"])
def test_usual_delays_are_the_least_of_rehearsals_that_write_all_that_a_call_would(world: World, abi: str) -> None:
    world.delays = [Delays(30, 90), Delays(20, 80), Delays(40, 70), Delays(50, 60)]
    assert caller(world).usual_delays(world.arena, abi, CASE, make_inputs(TASK, CASE)) == Delays(20, 60)
    assert world.log == ["rehearse"] * 4
    assert (world.before == POISON).sum() >= SIZE


@pytest.mark.parametrize(("took_ns", "charged_ns"), [(150_000, 0), (200_000, 0), (200_001, 1), (1_200_000, 1_000_000)])
def test_who_keeps_the_judge_from_taking_pieces_of_outputs_is_charged_beyond_what_that_may_take(
    world: World, took_ns: int, charged_ns: int
) -> None:
    world.took_ns = took_ns
    seen = call(world, way="word")
    assert (seen.clock, seen.elapsed_ns, seen.taking_excess_ns) == ("gate", GATE_NS, charged_ns)


@pytest.mark.parametrize("way", ["turn", "word"])
def test_a_call_behind_the_gate_is_told_its_turn_with_its_launch(world: World, way: str) -> None:
    call(world, way=way)
    assert world.told == wire.pack_turn(TURN, wire.GATE_OFFSET)
    assert str(TURN) not in str(world.request)


def test_on_the_wall_clock_nobody_is_told_a_turn_or_the_place_of_a_gate_before_the_clock_starts(world: World) -> None:
    told = dict[str, bytes]()

    def note(step: str) -> None:
        told[step] = world.told
        World._goes(world, step)

    world._goes = note  # type: ignore[method-assign]
    call(world, way="wall")
    assert (told["prepare"], told["go on"]) == (b"", b"")
    assert world.log.index("start") < world.log.index("arm")
    assert told["arm"] == wire.pack_turn(TURN, PLACE)
    assert "turn" not in world.request
    assert {str(TURN), str(PLACE)}.isdisjoint(map(str, world.request.values()))


def test_scalars_come_with_a_launch_behind_the_gate(world: World) -> None:
    inputs = make_inputs(SEEDED, CASE)
    called(world, inputs, "destination", CASE, task=SEEDED, place="cpu", timeout_s=9, way="turn")
    assert wire.unpack_scalars({2: "int64"}, world.scalars) == {2: inputs.scalars[2]}


def test_on_the_wall_clock_scalars_come_only_when_the_gate_is_open(world: World) -> None:
    inputs, there = make_inputs(SEEDED, CASE), list[bytes]()

    def opening(*arguments: Any, **options: Any) -> Any:
        there.append(world.scalars)
        return World.open(world, *arguments, **options)

    world.open = opening  # type: ignore[method-assign]
    called(world, inputs, "destination", CASE, task=SEEDED, place="cpu", timeout_s=9, way="wall")
    assert there == [b""]
    assert wire.unpack_scalars({2: "int64"}, world.scalars) == {2: inputs.scalars[2]}
    assert world.request["inputs"][2] == {"scalar": "int64"}


def test_what_events_of_a_trusted_worker_show_is_told(world: World) -> None:
    world.event_ns = 99
    assert call(world, with_events=True).event_ns == 99
    assert world.request["events"] is True
    assert call(world).event_ns is None
    assert world.request["events"] is False


def test_nobody_looks_at_the_outputs_of_an_empty_call(world: World) -> None:
    seen = call(world, "value", is_empty=True, way="turn")
    assert world.request["empty"] is True
    assert (seen.ending, seen.outputs, seen.problems, seen.clock) == ("returned", {}, (), "gate")
    assert world.watched == 0


# --- what is there before the clock starts ----------------------------------------------------------------------------


def slots_of(world: World) -> list[tuple[Mapping[str, Any], torch.Tensor]]:
    """List both inputs: the place, and its bytes before the gate opens."""
    return [(spec, bytes_before(world, spec)) for spec in world.request["inputs"]]


def values_of(case: Case) -> list[torch.Tensor]:
    return [tensor.reshape(-1).view(torch.uint8) for tensor in make_inputs(TASK, case).tensors.values()]


@pytest.mark.parametrize("way", ["turn", "word", "wall"])
@pytest.mark.parametrize("axes", [{"rows": 64, "cols": 64}, {"rows": 1, "cols": 1}, {"rows": 5, "cols": 64}], ids=str)
def test_no_input_is_complete_before_the_gate_opens_and_all_are_behind_it(
    world: World, way: str, axes: dict[str, int]
) -> None:
    case = make_case(axes=axes)
    seen = call(world, case=case, way=way)
    for (_, before), real in zip(slots_of(world), values_of(case), strict=True):
        assert not torch.equal(before, real)
    assert torch.equal(seen.outputs["y"], expected(case))
    assert seen.changed_inputs == ()


def test_of_a_large_input_a_few_random_pieces_are_withheld(world: World) -> None:
    places = set()
    for _ in range(3):
        call(world)
        (spec, before), real = slots_of(world)[0], values_of(CASE)[0]
        wrong = (before != real).nonzero()
        assert 0 < len(wrong) <= 4 * WITHHELD_BYTES
        places.add(int(wrong[0]))
        inside = [at for at, size in world.withheld if spec["offset"] <= at < spec["offset"] + 4 * spec["span"]]
        assert len(inside) == 4
        assert all((at - spec["offset"]) % 4 == 0 for at in inside)
    assert len(places) > 1
    assert len(world.withheld) <= MOST_WITHHELD
    assert all(0 < size <= WITHHELD_BYTES for _, size in world.withheld)


def test_what_stands_in_for_a_withheld_piece_is_made_of_values_of_the_same_input(world: World) -> None:
    call(world)
    (_, before), real = slots_of(world)[0], values_of(CASE)[0]
    assert set(before.view(torch.float32).tolist()) <= set(real.view(torch.float32).tolist())


def test_an_input_that_has_no_elements_is_not_withheld(world: World) -> None:
    task = make_task(axes={"rows": {"low": 0, "high": 64}, "cols": {"low": 1, "high": 64}})
    case = make_case(axes={"rows": 0, "cols": 8})
    inputs = make_inputs(task, case)
    seen = called(world, inputs, "destination", case, task=task, place="cpu", timeout_s=9, way="turn")
    assert (seen.ending, tuple(seen.outputs["y"].shape)) == ("returned", (0, 8))
    assert len(world.withheld) == 1


MASK = make_task(
    axes={"rows": {"low": 1, "high": 64}, "cols": {"low": 1, "high": 64}},
    inputs={"seed": SEEDED.inputs["seed"].model_dump(exclude_none=True)},
)


def ones(world: World) -> None:
    world.output().fill_(1.0)


def test_without_tensors_among_the_inputs_pieces_of_outputs_are_poisoned_again_on_the_clock(world: World) -> None:
    world.kernel = ones
    seen = called(world, make_inputs(MASK, CASE), "destination", CASE, task=MASK, place="cpu", timeout_s=9, way="wall")
    assert bool((seen.outputs["y"] == 1).all())
    (spec,) = world.request["outputs"]
    assert (len(world.withheld), world.pieces) == (4, 4)
    end = spec["offset"] + SIZE
    assert all(spec["offset"] <= at < at + size <= end and size <= WITHHELD_BYTES for at, size in world.withheld)


def test_what_was_computed_before_the_clock_started_is_lost_in_these_pieces(world: World) -> None:
    world.kernel, world.is_ahead = ones, True
    seen = called(world, make_inputs(MASK, CASE), "destination", CASE, task=MASK, place="cpu", timeout_s=9, way="wall")
    assert bool(seen.outputs["y"].isnan().any())


def test_of_a_task_with_tensors_among_its_inputs_no_output_is_poisoned_again(world: World) -> None:
    call(world)
    assert (len(world.withheld), world.pieces) == (4 + 1, 0)


def test_outputs_are_poisoned_before_the_gate_opens(world: World) -> None:
    world.arena._bytes.fill_(1)
    call(world)
    assert bool((bytes_before(world, world.request["outputs"][0]) == POISON).all())


def test_results_are_poisoned_where_the_worker_says_they_are(world: World) -> None:
    world.arena._bytes.fill_(1)
    offset = world.arena.results_at + 512
    results_into(world, offset)
    seen = call(world, "value")
    poisoned = bytes_before(world, {"offset": offset - 4, "span": 64 * 64 + 2}) == POISON
    assert poisoned.view(-1, 4).all(dim=1).tolist() == [False, *[True] * 64 * 64, False]
    assert torch.equal(seen.outputs["y"], expected())


def test_a_result_that_lies_in_the_slot_of_its_output_was_copied_there(world: World) -> None:
    def launch(request: dict[str, Any], told: bytes, scalars: bytes, *, within_s: float) -> Any:
        world.claims = [result_at(request["outputs"][0]["offset"])]
        return World.launch(world, request, told, scalars, within_s=within_s)

    results_into(world, world.arena.results_at)
    assert not call(world, "value").is_copied
    world.launch = launch  # type: ignore[method-assign]
    assert call(world, "value").is_copied


@pytest.mark.parametrize("shift", [-4, 0])
def test_a_result_may_be_a_view_of_an_input_and_reach_no_further(world: World, shift: int) -> None:
    def launch(request: dict[str, Any], told: bytes, scalars: bytes, *, within_s: float) -> Any:
        world.claims = [result_at(request["inputs"][0]["offset"] + shift)]
        return World.launch(world, request, told, scalars, within_s=within_s)

    world.launch = launch  # type: ignore[method-assign]
    world.kernel = lambda world: None
    seen = call(world, "value")
    assert (seen.changed_inputs, seen.problems) == ((), ())
    assert list(seen.overruns) == (["x"] if shift else [])
    if not shift:
        assert torch.equal(seen.outputs["y"], make_inputs(TASK, CASE).tensors["x"])


# --- claims -----------------------------------------------------------------------------------------------------------


OUTSIDE = "y: its memory is not the judge's: the worker broke the protocol"
SIZE = 64 * 64 * 4


@pytest.mark.parametrize("place", ["the words", "behind the end", "across the end", "nowhere", "just before the slots"])
def test_a_claim_outside_of_the_memory_for_tensors_is_a_problem_of_the_submission(world: World, place: str) -> None:
    end = world.arena.size_bytes
    offsets = {
        "the words": 0,
        "behind the end": end,
        "across the end": end - SIZE + 4,
        "nowhere": 2**62,
        "just before the slots": wire.SLOTS_OFFSET - 4,
    }
    world.claims = [result_at(offsets[place])]
    seen = call(world, "value")
    assert (seen.ending, seen.problems, seen.outputs) == ("returned", (OUTSIDE,), {})
    assert not world.before[: wire.SLOTS_OFFSET].any()


def test_the_last_bytes_of_the_memory_may_hold_a_result(world: World) -> None:
    results_into(world, world.arena.size_bytes - SIZE)
    seen = call(world, "value")
    assert seen.problems == ()
    assert torch.equal(seen.outputs["y"], expected())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"device": "cpu"}, "returned a tensor on 'cpu'; expected one on 'cuda'"),
        ({"shape": (1, 4096)}, "returned shape [1, 4096]; expected [64, 64]"),
        ({"dtype": "float64"}, "returned float64; expected float32"),
        ({"pointer": None}, "returned a tensor without strided memory; expected a dense one"),
        ({"stride": (10**9, 1)}, "returned a view with strides [1000000000, 1]; return a dense tensor"),
        ({"type": "int"}, "returned a int; expected a plain torch.Tensor"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_claim_that_contradicts_the_task_is_a_problem(world: World, changes: dict[str, Any], problem: str) -> None:
    world.claims = [{**result_at(world.arena.results_at), **changes}]
    seen = call(world, "value")
    assert (seen.problems, seen.outputs) == ((f"y: {problem}",), {})


@pytest.mark.parametrize("count", [0, 2])
def test_another_number_of_results_is_a_problem(world: World, count: int) -> None:
    world.claims = [result_at(world.arena.results_at)] * count
    assert call(world, "value").problems == (f"returned {count} values, expected 1: y",)


def test_claims_are_looked_at_where_a_host_waited_for_the_device_as_well(world: World) -> None:
    world.waits_for_device = True
    world.claims = [result_at(0)]
    assert call(world, "value").problems == (OUTSIDE,)
    results_into(world, world.arena.results_at)
    seen = call(world, "value", way="wall")
    assert torch.equal(seen.outputs["y"], expected())


def test_a_transposed_result_is_read_through_its_strides(world: World) -> None:
    offset = world.arena.results_at
    world.claims = [{**result_at(offset), "stride": (1, 64)}]
    transposed = {"offset": offset, "span": 64 * 64, "shape": (64, 64), "stride": (1, 64)}
    world.kernel = lambda world: write(world.arena.floats(transposed), world.input(0) * world.input(1))
    assert torch.equal(call(world, "value").outputs["y"], expected())


def test_the_stride_of_an_axis_of_one_is_never_used(world: World) -> None:
    case = make_case(axes={"rows": 1, "cols": 64})
    world.claims = [{**result_at(world.arena.results_at, case), "stride": (2**62, 1)}]
    world.kernel = lambda world: None
    seen = call(world, "value", case)
    assert (seen.problems, seen.outputs["y"].shape) == ((), (1, 64))


@pytest.mark.parametrize("role", ["timed", "check"])
def test_answers_come_to_where_they_are_judged(world: World, role: str) -> None:
    case = CASE.model_copy(update={"role": role})
    seen = call(world, case=case, place="meta")
    assert seen.outputs["y"].device.type == "meta"


def test_answers_are_private_copies(world: World) -> None:
    seen = call(world, way="word")
    world.arena._bytes.fill_(0)
    assert torch.equal(seen.outputs["y"], expected())


# --- what a call did besides ------------------------------------------------------------------------------------------


def test_an_input_that_was_changed_is_seen(world: World) -> None:
    def spoil(world: World) -> None:
        world.scale()
        world.input(1)[3] += 1

    world.kernel = spoil
    assert call(world).changed_inputs == ("weight",)


@pytest.mark.parametrize(
    ("place", "distance"), [(-4, {"y": -1}), (-40, {"y": -37}), (SIZE, {"y": 1}), (SIZE + 96, {"y": 97})]
)
def test_a_write_outside_of_an_output_is_seen(world: World, place: int, distance: dict[str, int]) -> None:
    def overrun(world: World) -> None:
        world.scale()
        offset = world.request["outputs"][0]["offset"] + place
        world.arena._bytes[offset : offset + 4] = 0

    world.kernel = overrun
    assert call(world).overruns == distance


# --- late outputs -----------------------------------------------------------------------------------------------------


def overwrite(world: World) -> None:
    """Change the output, as work that goes on when the call is said to be over."""
    world.output().fill_(2.5)


def test_a_call_by_turn_whose_outputs_change_afterwards_is_late_and_no_sample(world: World) -> None:
    world.at_finish = overwrite
    seen = call(world, way="turn")
    assert (seen.ending, seen.is_late, seen.clock, seen.is_timed) == ("returned", True, None, False)
    assert bool((seen.outputs["y"] == 2.5).all())  # all that it has computed is judged


def test_outputs_are_compared_bit_by_bit(world: World) -> None:
    world.kernel = lambda world: None  # NaN stays NaN
    assert not call(world, way="turn").is_late
    world.kernel = lambda world: write(world.output(), 0.0)
    world.at_finish = lambda world: write(world.output(), -0.0)
    assert call(world, way="turn").is_late


@pytest.mark.parametrize("way", ["turn", "word", "wall"])
def test_memory_that_is_right_only_while_the_answer_is_taken_is_late(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The work is done when the clock has stopped, and undone before the judge looks once more."""
    looks: list[int] = []
    is_overrun = HostArena.is_overrun

    def look_and_undo(self: HostArena, slots: Any) -> Any:
        looks.append(1)
        if len(looks) == 2:
            self._bytes[world.request["outputs"][0]["offset"] :][:SIZE].fill_(POISON)
        return is_overrun(self, slots)

    monkeypatch.setattr(HostArena, "is_overrun", look_and_undo)
    world.kernel, world.at_finish = lambda world: None, lambda world: world.scale()
    seen = call(world, way=way)
    assert torch.equal(seen.outputs["y"], expected())
    assert seen.is_late


def test_a_result_that_changes_after_the_turn_is_late_as_well(world: World) -> None:
    offset = world.arena.results_at
    results_into(world, offset)
    world.at_finish = lambda world: write(world.arena._bytes[offset : offset + 4], 7)
    seen = call(world, "value", way="turn")
    assert (seen.is_late, seen.clock) == (True, None)


def test_a_call_that_is_no_sample_anyway_is_not_late(world: World) -> None:
    world.waits_for_device, world.at_finish = True, overwrite
    seen = call(world, way="turn")
    assert (seen.is_late, seen.clock) == (False, None)
    assert bool((seen.outputs["y"] == 2.5).all())


def test_an_end_word_behind_which_pieces_of_outputs_changed_came_too_early(world: World) -> None:
    world.is_changed = True
    seen = call(world, way="word")
    assert (seen.is_late, seen.clock, seen.elapsed_ns) == (True, "gate", GATE_NS)
    assert world.watched == 1


@pytest.mark.parametrize(("way", "clock"), [("word", "gate"), ("wall", "wall")])
def test_outputs_that_change_after_the_judge_has_taken_them_are_late_too(world: World, way: str, clock: str) -> None:
    world.at_finish = overwrite
    seen = call(world, way=way)
    assert (seen.is_late, seen.clock) == (True, clock)
    assert bool((seen.outputs["y"] == 2.5).all())


def test_pieces_of_results_are_watched_where_the_worker_says_they_are(world: World) -> None:
    results_into(world, world.arena.results_at)
    call(world, "value", way="word")
    assert world.watched == 1


# --- failures ---------------------------------------------------------------------------------------------------------


def test_an_exception_is_told_and_its_gate_is_opened_and_given_up(world: World) -> None:
    world.raises = "boo"
    seen = call(world)
    assert world.log == ["launch", "open empty", "finish", "give up", "check parked"]
    assert (seen.ending, seen.message) == ("raised", "raised ValueError at kernel.py:3: boo")
    assert seen.log == "its last words"


@pytest.mark.parametrize(("way", "waits"), [("wall", False), ("turn", True), ("word", True)])
def test_an_exception_behind_the_open_gate_is_told_and_given_up_too(world: World, way: str, waits: bool) -> None:
    world.raises, world.waits_for_device = "boo", waits
    seen = call(world, way=way)
    assert (seen.ending, seen.clock, seen.is_timed) == ("raised", "judge", False)
    assert world.log[-3:] == ["finish", "give up", "check parked"]


STEPS = {
    "turn": ["launch", "go on", "finish", "check parked"],
    "word": ["launch", "go on", "finish", "check parked"],
    "wall": ["prepare", "go on", "arm", "launched", "finish", "check parked"],
}


@pytest.mark.parametrize(("way", "step"), [(way, step) for way, steps in STEPS.items() for step in steps])
def test_a_worker_that_dies_at_any_step_has_crashed_and_its_call_is_given_up(world: World, way: str, step: str) -> None:
    world.fails, world.waited_s = (step, WorkerCrashed("was killed by SIGKILL", "oh")), 1.0
    seen = call(world, way=way)
    assert (seen.ending, seen.message, seen.log, seen.outputs) == ("crashed", "was killed by SIGKILL", "oh", {})
    assert world.log[-2:] == [step, "give up"]


def test_whoever_interrupts_a_call_leaves_no_stream_waiting(world: World) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    world.launch = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        call(world)
    assert world.log[-1] == "give up"


@pytest.mark.parametrize("step", ["launched", "finish"])
def test_a_worker_that_gives_no_answer_in_time_is_timed_out_and_its_call_is_given_up(world: World, step: str) -> None:
    world.fails, world.waits_for_device = (step, WorkerTimedOut("gave no answer in time", "oh")), True
    seen = call(world)
    assert (seen.ending, seen.message, seen.log) == ("timed_out", "gave no answer in time (9 s)", "oh")
    assert world.log[-2:] == [step, "give up"]


def test_a_call_that_the_device_does_not_end_in_time_costs_the_worker_its_life(world: World) -> None:
    seen = call(world, timeout_s=0)
    assert (seen.ending, world.log[-2:]) == ("timed_out", ["kill", "give up"])
    assert seen.message == "gave no answer in time while running the kernel (0 s)"


@pytest.mark.parametrize(("waited_s", "is_let_on"), [(0.001, False), (0.5, True)])
def test_a_stopped_worker_whose_call_takes_long_runs_on_to_tell_what_the_device_says(
    world: World, waited_s: float, is_let_on: bool
) -> None:
    world.waited_s = waited_s
    call(world)
    assert ("go on" in world.log) is is_let_on
