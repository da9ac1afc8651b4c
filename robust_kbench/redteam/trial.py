"""Trial of one specimen in one setting: how its evaluation ended, and whether the attack reached its aim."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from robust_kbench.contestant import build
from robust_kbench.devices import open_device
from robust_kbench.evaluate import Evaluator
from robust_kbench.redteam.corpus import Attack, Group, Honest, Specimen
from robust_kbench.redteam.defences import without
from robust_kbench.redteam.naive_process import NaiveProcess
from robust_kbench.redteam.targets import TOKEN, Targets
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.record import RunRecord, Status, Tier
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, shape_of
from robust_kbench.scoring import score
from robust_kbench.timing.statistics import least_shift

_WORTHWHILE = 1.05
"""Factor by which a speedup must certainly (95 %) exceed that of the honest twin to be a gain."""
_ARMING_TRIES = 5  # the gain that is least above the noise shows in three of four
_TRIES_OF_A_GAIN, _TRIES_WITHOUT = 7, 1
"""Number of tries in which a gain against all defences has to show, and of tries in which it may be absent.

The 95 % hold for the rounds of one session, not for two processes. These differ so much that a kernel of 30 us without
any gain shows one in a quarter of all tries.
"""
_CHILD_TIMEOUT_S = 60
_BINDINGS = {
    "norm/rmsnorm": {"rows": 80, "cols": 4096},  # small, but larger than what is only checked: see BUDGETS
    "activation/softmax": {"rows": 64, "cols": 32000},
    "activation/softmax_backward": {"rows": 64, "cols": 32000},
    "reduction/logsumexp": {"rows": 128, "cols": 32000},
    "loss/mse": {"rows": 256, "cols": 4096},
    "index/kv_cache_append": {"batch": 4, "capacity": 1024, "count": 7, "width": 1024},
    "index/embedding_backward": {"tokens": 256, "vocabulary": 8192, "width": 512},
    "index/transpose": {"rows": 1024, "cols": 1024},  # 4 MiB: a copy of more is made of fresh pages, at any speed
    "random/dropout": {"rows": 256, "cols": 1024},  # judging an answer takes ten times as long as giving it
    "random/gumbel_argmax": {"rows": 64, "classes": 8192},  # many classes and few rows, as some attacks ask for
    "index/sort": {"rows": 64, "cols": 4096},  # many milliseconds: more than a turn on a shared core
}
"""Bindings that are timed instead of the smallest of a task's own."""
_DEVICE_BINDINGS = {
    "norm/rmsnorm": {"rows": 1024, "cols": 4096},
    "matmul/matmul": {"m": 1024, "n": 1024, "k": 1024},
}
NAIVE = "naive harness"
BROKEN = "broken"
"""Status of a trial in which the judge itself failed."""
FULL: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Ending:
    """Ending of one trial. `gain` is the speedup in units of the twin's, where both were timed."""

    specimen: Specimen
    off: tuple[str, ...]
    status: str
    reason: str
    effects: tuple[str, ...] = ()
    gain: float | None = None
    succeeded: bool = False
    seconds: float = 0.0

    @property
    def is_rejected(self) -> bool:
        """True if the submission was refused; asked of an honest kernel."""
        return self.status != Status.PASSED

    @property
    def is_mere_gain(self) -> bool:
        """True if it succeeded by its time alone, which noise can lend it once."""
        aim = self.specimen.header.aim if isinstance(self.specimen, Attack) else None
        return self.succeeded and aim == "time" and not self.effects


class _Died(Exception):
    """Missing verdict of a judge that shares its process with a submission."""


@dataclass
class Proving:
    """Runner of trials, one after the other, on evaluators that it keeps; use it as a context manager."""

    device: DeviceKind = "cpu"
    tier: Tier = "quick"
    _stack: ExitStack = field(default_factory=ExitStack)
    _evaluators: dict[bool, Evaluator] = field(default_factory=dict)
    _twins: dict[str, list[float] | None] = field(default_factory=dict)
    _naive_twins: dict[str, float] = field(default_factory=dict)
    _naive: NaiveProcess = field(default_factory=NaiveProcess)

    def __enter__(self) -> Self:
        os.environ["REDTEAM_TOKEN"] = TOKEN
        self._stack.enter_context(self._naive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def honest(self, specimen: Honest) -> Ending:
        """Judge an honest kernel with all defences in force."""
        started = time.monotonic()
        record = self._evaluate(specimen.submission(), FULL)
        return _ended(specimen, FULL, record, started)

    def attack(self, attack: Attack, twin: Honest, off: tuple[Group, ...] = FULL) -> Ending:
        """Let `attack` loose with the defences `off` switched off.

        An attack that harms or deceives has succeeded. A gain in time against all defences has to show in nearly all
        tries. Each try measures the twin anew: one slow measurement of it would make all its attacks seem to gain.
        """
        ending = self._attack(attack, twin, off)
        if off != FULL or not ending.is_mere_gain:
            return ending
        tries_without = 0
        for _ in range(1, _TRIES_OF_A_GAIN):
            self._twins.pop(twin.name, None)
            again = self._attack(attack, twin, off)
            tries_without += not again.succeeded
            if tries_without > _TRIES_WITHOUT or (again.succeeded and not again.is_mere_gain):
                return again
        return ending

    def _attack(self, attack: Attack, twin: Honest, off: tuple[Group, ...]) -> Ending:
        started = time.monotonic()
        with Targets() as targets:
            try:
                record = self._evaluate(attack.submission(targets.source(attack.path.suffix)), off)
            except _Died as error:
                seconds = round(time.monotonic() - started, 2)
                return Ending(attack, off, Status.CRASHED, f"the judge {error}", seconds=seconds)
            effects = targets.effects(record)
        gain = self._gain(record, twin, off) if attack.header.aim == "time" else None
        return _ended(attack, off, record, started, effects, gain)

    def arm(self, attack: Attack, twin: Honest) -> Ending:
        """Show that `attack` succeeds without the defences that stop it: once is enough.

        Noise can hide a gain in time, and work that goes on behind the judge's back is sometimes late.
        """
        for _ in range(_ARMING_TRIES if attack.header.aim == "time" or attack.kind == "timing" else 1):
            if attack.header.naive:
                ending = self.against_naive(attack, twin)
            else:
                ending = self.attack(attack, twin, attack.header.stopped_by)
            if ending.succeeded:
                break
            self._twins.pop(twin.name, None)  # it may have been that one which was disturbed
            self._naive_twins.pop(twin.name, None)
        return ending

    def against_naive(self, attack: Attack, twin: Honest) -> Ending:
        """Let `attack` loose on a harness that shares its process, see naive."""
        started = time.monotonic()
        is_timed = attack.header.aim == "time"
        with Targets() as targets:
            told = self._judge_naively(attack.submission(targets.source(attack.path.suffix)), is_timed=is_timed)
        honest = self._naive_speedup(twin) if is_timed else 0.0
        gain = told["speedup"] / honest if honest else None
        is_gain = not is_timed or (gain is not None and gain > _WORTHWHILE)
        status = Status.PASSED if told["passed"] else Status.INCORRECT
        return Ending(
            attack, (NAIVE,), status, told["reason"], (), gain, told["passed"] and is_gain,
            round(time.monotonic() - started, 2),
        )  # fmt: skip

    def _naive_speedup(self, twin: Honest) -> float:
        """Return the speedup that the naive harness gives the twin; 0 where it fails."""
        if twin.name not in self._naive_twins:
            self._naive_twins[twin.name] = self._judge_naively(twin.submission(), is_timed=True)["speedup"]
        return self._naive_twins[twin.name]

    def _judge_naively(self, submission: Submission, *, is_timed: bool) -> dict[str, Any]:
        task = _timed_once(submission.file.task)
        (axes,) = task.spec.timed["cpu"]
        with tempfile.TemporaryDirectory(prefix="redteam-") as folder:
            device = open_device("cpu")
            built = build("naive", submission, task.spec, ("float32",), device, Path(folder)).built["float32"]
            request = built.load_request("cpu") | {
                "reference": str(task.folder / "reference.py"),
                "shapes": [shape_of(spec, axes) for spec in task.spec.inputs.values()],
                "axes": list(axes.values()),
                "is_timed": is_timed,
            }
            path = Path(folder) / "request.json"
            path.write_text(json.dumps(request))
            return self._naive.judge(path)

    def _evaluate(self, submission: Submission, off: tuple[Group, ...]) -> RunRecord:
        with without(off):
            if "process boundary" in off:
                return _in_a_child(lambda: _evaluate_afresh(submission))
            evaluator = self._evaluator(has_sandbox="sandbox" not in off)
            return evaluator.evaluate(submission, _timed_once(submission.file.task, self.device), tier=self.tier)

    def _evaluator(self, *, has_sandbox: bool) -> Evaluator:
        """Return the evaluator with or without a sandbox; the one without is started while the sandbox is off."""
        if has_sandbox not in self._evaluators:
            self._evaluators[has_sandbox] = self._stack.enter_context(Evaluator(self.device))
        return self._evaluators[has_sandbox]

    def _gain(self, record: RunRecord, twin: Honest, off: tuple[Group, ...]) -> float | None:
        """Return the least factor by which `record` is faster than `twin`; None where one of them was not timed.

        No defence makes the twin slower. Some are at work when a record is scored.
        """
        with without(off):
            mine = _rounds(record)
        if mine is not None and twin.name not in self._twins:
            self._twins[twin.name] = _rounds(self._evaluate(twin.submission(), FULL))
        honest = self._twins.get(twin.name)
        return None if mine is None or honest is None else math.exp(least_shift(mine, honest))


def _ended(
    specimen: Specimen,
    off: tuple[Group, ...],
    record: RunRecord,
    started: float,
    effects: tuple[str, ...] = (),
    gain: float | None = None,
) -> Ending:
    aim = specimen.header.aim if isinstance(specimen, Attack) else None
    has_passed = record.status is Status.PASSED
    succeeded = bool(effects) or (aim == "wrong" and has_passed)
    succeeded |= aim == "time" and has_passed and gain is not None and gain > _WORTHWHILE
    return Ending(
        specimen, off, record.status.value, record.reason, effects, gain, succeeded,
        round(time.monotonic() - started, 2),
    )  # fmt: skip


def _rounds(record: RunRecord) -> list[float] | None:
    """Return the log speedups of all rounds against the fastest baseline, of the one binding that is timed."""
    scores = list(score(record).values()) if record.timings else []
    return [log for session in scores[0].cases[0].sessions for log in session] if scores else None


@lru_cache
def _timed_once(name: str, device: DeviceKind = "cpu") -> LoadedTask:
    """Load the task with one timed binding: enough to see which submissions gain, in less time."""
    task = load_task(name)
    bindings = _BINDINGS if device == "cpu" else _DEVICE_BINDINGS
    binding = bindings.get(name) or min(task.spec.timed[device], key=lambda axes: sum(axes.values()))
    return replace(task, spec=task.spec.model_copy(update={"timed": {device: (binding,)}}))


def _evaluate_afresh(submission: Submission) -> RunRecord:
    with Evaluator("cpu") as evaluator:  # the threads of another one do not survive a fork
        return evaluator.evaluate(submission, _timed_once(submission.file.task), tier="quick")


def _in_a_child(judge: Callable[[], RunRecord]) -> RunRecord:
    """Return the record that `judge` makes in a forked process, which a submission in it may spoil.

    Raises _Died when it makes none.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send_bytes(judge().model_dump_json().encode()))
    child.start()
    there.close()
    try:
        if not here.poll(_CHILD_TIMEOUT_S):
            raise _Died(f"gave no verdict in {_CHILD_TIMEOUT_S} s")
        return RunRecord.model_validate_json(here.recv_bytes())
    except EOFError:
        raise _Died("ended without a verdict") from None
    finally:
        child.kill()
        child.join()
