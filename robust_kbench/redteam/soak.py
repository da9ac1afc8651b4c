"""Soak test: attacks, disturbances and honest kernels in random order on one evaluator.

No submission may change another's verdict. A submission that hangs, crashes or floods ends as its header says. An
honest one passes, independent of the submissions before it. Nothing is left behind: no process, no file descriptor, no
shared memory, no temporary file.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import processes
from robust_kbench.redteam import corpus
from robust_kbench.redteam.corpus import Attack, Disturbance, Honest, Specimen
from robust_kbench.redteam.targets import Targets
from robust_kbench.schema.record import Status

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, never written


@dataclass(frozen=True)
class Belongings:
    """Counts of things that a submission could leave behind for this process and its evaluator."""

    processes: int
    descriptors: int
    shared_files: int
    temporary_files: int

    @classmethod
    def now(cls) -> Belongings:
        """Count processes, descriptors and files at this moment."""
        shared = len(list(_SHARED_MEMORY.iterdir())) if _SHARED_MEMORY.is_dir() else 0
        temporary = len(list(Path(tempfile.gettempdir()).iterdir()))
        return cls(_descendants(os.getpid()), len(os.listdir("/proc/self/fd")), shared, temporary)

    def left_since(self, earlier: Belongings) -> dict[str, int]:
        """Count the things of which there are more than `earlier`, by name."""
        differences = {name: getattr(self, name) - getattr(earlier, name) for name in self.__dataclass_fields__}
        return {name: more for name, more in differences.items() if more > 0}


@dataclass
class Soaked:
    """Result of a soak test. `wrong` names submissions whose verdict was another than when alone."""

    seed: int
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """True if no verdict was changed and nothing was left behind."""
        return not self.wrong and not self.left


def soak(count: int, seed: int, *, step: Callable[[int], None] = lambda _: None) -> Soaked:
    """Evaluate `count` submissions that `seed` chooses."""
    choice = random.Random(seed)
    soaked = Soaked(seed)
    kinds = [_on_a_processor(kind) for kind in (corpus.disturbances(), corpus.honest(), corpus.attacks())]
    with Evaluator("cpu") as evaluator:
        _evaluate(evaluator, _plainest(kinds[1]))  # starts what an evaluator keeps
        before = Belongings.now()
        for _ in range(count):
            specimen = choice.choice(choice.choice(kinds))
            status = _evaluate(evaluator, specimen)
            soaked.ended[status] += 1
            if (complaint := _complaint(specimen, status)) is not None:
                soaked.wrong.append(complaint)
            step(1)
        soaked.left = Belongings.now().left_since(before)
    return soaked


def _evaluate(evaluator: Evaluator, specimen: Specimen) -> str:
    with Targets() as targets:
        return evaluator.evaluate(specimen.submission(targets.source(specimen.path.suffix)), tier="quick").status.value


def _complaint(specimen: Specimen, status: str) -> str | None:
    """Tell why a verdict differs from the verdict on the submission alone; None if it does not."""
    allowed: Sequence[str]
    match specimen:
        case Honest():
            allowed = [Status.PASSED]
        case Disturbance():
            allowed = specimen.header.ends
        case _:
            allowed = [status for status in Status if status is not Status.HARNESS_ERROR]
    return None if status in allowed else f"{specimen.name}: {status}"


def _on_a_processor(specimens: Sequence[Attack] | Sequence[Honest] | Sequence[Disturbance]) -> list[Specimen]:
    return [specimen for specimen in specimens if specimen.header.device == "cpu"]


def _plainest(honest: Sequence[Specimen]) -> Specimen:
    return next(specimen for specimen in honest if specimen.name == "plain")


def _descendants(pid: int) -> int:
    return len([child for child in processes.tree(pid) if processes.state(child) not in "ZX"]) - 1
