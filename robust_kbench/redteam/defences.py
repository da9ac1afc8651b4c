"""Groups of defences, and how each is switched off: by replacing functions of the evaluator while a trial runs."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from robust_kbench import evaluate, guards
from robust_kbench.cases import bank
from robust_kbench.cases.suite import draw_suite
from robust_kbench.cases.values import Inputs
from robust_kbench.checking import Checker
from robust_kbench.guards import floor, lateness
from robust_kbench.isolation import calls, pool, process
from robust_kbench.isolation.arena import REDZONE_BYTES, Slots
from robust_kbench.isolation.protocol import Raised
from robust_kbench.isolation.resident import Found
from robust_kbench.languages import compiler
from robust_kbench.oracle import verdict
from robust_kbench.oracle.categorical import Categorical
from robust_kbench.oracle.dropout import Dropout
from robust_kbench.oracle.judgement import Judgement, refusal
from robust_kbench.own_modules import confined_python
from robust_kbench.redteam.corpus import Group
from robust_kbench.redteam.inside import InsideWorker
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import Distribution
from robust_kbench.timing import clock_drift, dealing, drawing, peers, rounds, session
from robust_kbench.worker import wire

if TYPE_CHECKING:  # needs a driver
    from robust_kbench.isolation.device_calls import DeviceCall, DeviceCaller

_LATE_S = 0.015  # how much longer a worker runs after DONE when nobody stops it
_TOLERANCE = 1e-2
_SIMPLE_CASES = 3
_FORMS = verdict.Judge._forms


@contextmanager
def without(groups: Collection[Group]) -> Iterator[None]:
    """Switch `groups` off. Evaluators whose workers have started keep the sandbox that they have."""
    with ExitStack() as stack:
        for group in groups:
            stack.enter_context(_OFF[group]())
        yield


@contextmanager
def _replaced(*replacements: tuple[object, str, object]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, value in replacements:
            stack.enter_context(patch.object(owner, name, value))
        yield


def _no_process_boundary() -> AbstractContextManager[None]:
    """Import and call the submission in the judge's process."""
    return _replaced(
        (pool.WarmPool, "start", lambda self, flavour, arena, allowance: InsideWorker(arena)),
        (pool.WarmPool, "warm_up", lambda self, flavour, gpu: None),
    )


def _no_sandbox() -> AbstractContextManager[None]:
    """Make workers and compilers processes like any other of the user's, with the judge's environment."""
    bare = confined_python("robust_kbench.redteam.bare")
    return _replaced(
        (pool, "WORKER_COMMAND", (*bare, "worker")),
        (pool, "_INHERITED", tuple(os.environ)),
        (compiler, "BUILDER_COMMAND", (*bare, "builder")),
    )


def _no_pages() -> AbstractContextManager[None]:
    """Read results on any kind of page, and do not change them afterwards."""
    return _replaced((calls, "look", lambda *_: Found()), (calls, "spoil", lambda *_: None))


def _no_buffers() -> AbstractContextManager[None]:
    """Leave out poison, red zones and the look at inputs after a call; use the same addresses in every call."""
    return _replaced(
        (calls, "poison", lambda memory: None),
        (calls, "_same", lambda shared, content: True),
        (Slots, "overrun", lambda self, slot: None),
        (Slots, "begin", _begin_at_the_start),
    )


def _begin_at_the_start(self: Slots, needed_bytes: int, **_same_place: bool) -> None:
    self._next = self._first + REDZONE_BYTES


def _no_fresh_values() -> AbstractContextManager[None]:
    """Repeat the values and addresses of timed calls, and do not look at their results."""
    return _replaced(
        (drawing.Drawing, "_draw", _draw_once),
        (bank, "_FILLING", 0.0),
        (session.TimingSession, "_check_values", lambda *_: None),
        (session.TimingSession, "_check_spot", lambda *_: None),
        (session.TimingSession, "_verify", _verify_none),
        (Slots, "begin", _begin_at_the_start),
    )


def _draw_once(self: drawing.Drawing, distribution: Distribution) -> tuple[Case, Inputs]:
    drawn: dict[drawing.Drawing, tuple[Case, Inputs]] = _DRAWN
    if self not in drawn:
        case = self._case.model_copy(update={"distribution": "normal"})
        drawn[self] = case, self._bank.draw(case)
    return drawn[self]


_DRAWN: Any = weakref.WeakKeyDictionary()


def _verify_none(self: session.TimingSession, name: str, seen: Observation, *_: object, **__: object) -> str | None:
    return None if seen.ending == "returned" else seen.message


def _no_clocks() -> AbstractContextManager[None]:
    """Leave out the charge for work off the clock, and the check of stopped workers.

    Inputs and scalars are there before a worker rehearses, and it runs on for a while after completion.
    """
    kept = tuple(guard for guard in guards.GUARDS if guard is not lateness.inspect)
    park, signal, call = process.Worker.park, process.Worker._signal, process.Worker.call
    on_the_clock: weakref.WeakSet[process.Worker] = weakref.WeakSet()

    def call_early(
        worker: process.Worker,
        request: dict[str, Any],
        before_clock: Callable[[], None],
        before_rehearsal: Callable[[], None] | None = None,
        *,
        scalars: bytes = b"",
        **options: Any,
    ) -> process.Reply:
        def hand_over() -> None:
            if before_rehearsal is not None:
                before_rehearsal()
            before_clock()
            worker._hand_over(scalars)

        return call(worker, request, lambda: None, hand_over, scalars=scalars, **options)

    def signal_and_remember(worker: process.Worker, word: int, nonce: int) -> None:
        if word == wire.GO:
            on_the_clock.add(worker)
        signal(worker, word, nonce)

    def park_late(worker: process.Worker) -> None:
        if worker in on_the_clock:
            on_the_clock.discard(worker)
            time.sleep(_LATE_S)
        park(worker)

    return _replaced(
        (guards, "GUARDS", kept),
        (process.Worker, "call", call_early),
        (process.Worker, "_signal", signal_and_remember),
        (process.Worker, "park", park_late),
        (process.Worker, "check_parked", _tolerate),
        (peers.Peers, "charge_ns", lambda self, seen: seen.elapsed_ns),
    )


def _tolerate(worker: process.Worker) -> None:
    """Accept a worker that may have run while it was stopped."""


def _no_floor() -> AbstractContextManager[None]:
    """Accept any time as possible, and a view in place of an answer."""
    return _replaced((floor, "inspect_times", lambda *_: ()), (calls, "_is_row_major", lambda claim: True))


def _no_baseline_protection() -> AbstractContextManager[None]:
    """Let the candidate's worker run while baselines are timed, and count their wait for a processor."""
    living: weakref.WeakSet[process.Worker] = weakref.WeakSet()
    load, call = process.Worker.load, process.Worker.call

    def load_and_remember(worker: process.Worker, *arguments: Any, **options: Any) -> Any:
        living.add(worker)
        return load(worker, *arguments, **options)

    def call_beside_others(worker: process.Worker, *arguments: Any, **options: Any) -> process.Reply:
        others = [other for other in living if other is not worker and other.is_alive()]
        for other in others:
            other._run()
        try:
            return call(worker, *arguments, **options)
        finally:
            for other in others:
                other.park()

    return _replaced(
        (process.Worker, "load", load_and_remember),
        (process.Worker, "call", call_beside_others),
        (process.Worker, "check_parked", _tolerate),
        (peers.Peers, "time_ns", lambda self, seen: seen.elapsed_ns),
    )


def _no_contract() -> AbstractContextManager[None]:
    """Check one shape, one layout and normal values, with a tolerance of 1e-2, and random ops call by call."""
    return _replaced(
        (evaluate, "draw_suite", partial(_draw_simply, draw_suite)),
        (evaluate._Run, "_searched", lambda *_, **__: None),
        (Checker, "_relate", lambda self, attempt, case, every_property: None),
        (verdict.Judge, "pool", lambda self, case, inputs, outputs, thorough=True: None),
        (dealing.Deal, "of", lambda *_: []),
        (drawing, "TIMED_DISTRIBUTIONS", ("normal",)),
        (verdict.Expected, "judge", _judge_loosely),
        (verdict.Judge, "_forms", _answers),
        (verdict.Judge, "short_cut", _short_cut_loosely),
    )


def _answers(self: verdict.Judge, case: Case, exact: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Round the exact answer: the loose rule looks at values where the judge's needs shapes alone."""
    return {name: exact[name].to(form.dtype) for name, form in _FORMS(self, case, exact).items()}


def _draw_simply(draw: Callable[..., Suite], *arguments: Any, **options: Any) -> Suite:
    suite = draw(*arguments, **options)
    checked = tuple(
        case.model_copy(update={"role": "check", "seed": case.seed + number})
        for case in suite.timed[:1]
        for number in range(_SIMPLE_CASES)
    )
    return suite.model_copy(update={"checked": checked})


def _judge_loosely(self: verdict.Expected, outputs: Mapping[str, torch.Tensor]) -> dict[str, Judgement]:
    return {name: _judgement(self, name, outputs.get(name)) for name in self.native}


def _judgement(self: verdict.Expected, name: str, answer: torch.Tensor | None) -> Judgement:
    due, standard = self.native[name], self.standards[name]
    if isinstance(standard, Categorical | Dropout) and answer is not None and answer.shape == due.shape:
        return standard.judge(answer)  # there is no other answer to be near to
    return Judgement((0.0,), (1.0,)) if answer is not None and _is_near(answer, due) else refusal("not near")


def _is_near(answer: torch.Tensor, due: torch.Tensor) -> bool:
    return torch.allclose(answer.double(), due.double(), rtol=_TOLERANCE, atol=_TOLERANCE)


def _short_cut_loosely(self: verdict.Judge, seen: Observation, inputs: Inputs, limits: verdict.Limits) -> str | None:
    if any(output.law for output in self._task.outputs.values()):
        return "random: to be judged in full"
    native = self._reference.native(inputs)
    is_near = all(_is_near(seen.outputs[name], due) for name, due in native.items())
    return None if is_near else "not near"


def _no_circumstances() -> AbstractContextManager[None]:
    """Call each case once, on its own."""
    return _replaced((Checker, "use_otherwise", lambda self, cases, seed: []))


def _no_mean() -> AbstractContextManager[None]:
    """Go by the median of the candidate's calls, however far their mean lies above it."""
    return _replaced((rounds, "_charges", lambda samples, medians_ns, counts: [1.0] * len(counts)))


def _no_gate() -> AbstractContextManager[None]:
    """Complete the inputs before the call is launched, and start the clock after the launch."""
    from robust_kbench.isolation.device_calls import DeviceCaller

    return _replaced((DeviceCaller, "_gated", _launched_upon_its_inputs))


def _launched_upon_its_inputs(
    self: DeviceCaller, call: DeviceCall, request: dict[str, object], scalars: bytes
) -> Observation:
    opened = self._open(call, "word")
    launched = call.worker.launch(request | {"ends": True}, call.told, scalars, within_s=self._timeout_s)
    started = time.perf_counter_ns()
    if launched is None or isinstance(launched, Raised):
        return Observation(call.case, "raised", str(launched))
    self._gate.wait(opened, lambda seconds: self._look_after(call, seconds))
    elapsed_ns = time.perf_counter_ns() - started
    self._locate(call, launched)
    call.snapshots.clear()  # of slots, as nobody knew where results would be
    return self._seen(call, opened, "gate", elapsed_ns)


def _no_turn() -> AbstractContextManager[None]:
    """End a call when its worker says so, and ignore any later change of its outputs."""
    from robust_kbench.isolation import device_calls
    from robust_kbench.isolation.gate import Opened

    return _replaced(
        (Opened, "elapsed_ns", lambda self: max(0, int(self.opened.elapsed_time(self.taken) * 1e6))),
        (session, "_LONGEST_TURN_NS", 0),
        (session, "_SHORTEST_BY_WORD_NS", 0),
        (device_calls, "_is_late", lambda *_: False),
    )


def _no_delays() -> AbstractContextManager[None]:
    """Charge no time that is taken from the judge before a call, and leave out no call of a baseline for it."""
    return _replaced((peers.Peers, "delay_ns", lambda self, seen: 0))


def _no_cache() -> AbstractContextManager[None]:
    """Let the cache keep data that was set aside in it, and do not empty it before a call."""
    from robust_kbench.isolation.gate import Gate
    from robust_kbench.worker.cuda.runtime import Runtime

    return _replaced((Gate, "_flush", lambda self: None), (Runtime, "reset_persisting_cache", lambda self: None))


def _no_drift() -> AbstractContextManager[None]:
    """Look at no calls of nothing for a change of the clock."""
    return _replaced(
        (clock_drift.ClockDrift, "is_too_large", False),
        (clock_drift.ClockDrift, "charge_ns", 0),
    )


_OFF: dict[Group, Callable[[], AbstractContextManager[None]]] = {
    "process boundary": _no_process_boundary,
    "sandbox": _no_sandbox,
    "buffers": _no_buffers,
    "pages": _no_pages,
    "fresh values": _no_fresh_values,
    "clocks": _no_clocks,
    "floor": _no_floor,
    "baseline protection": _no_baseline_protection,
    "contract": _no_contract,
    "circumstances": _no_circumstances,
    "mean": _no_mean,
    "gate": _no_gate,
    "turn": _no_turn,
    "delays": _no_delays,
    "cache": _no_cache,
    "drift": _no_drift,
}
Groups = Sequence[Group]
