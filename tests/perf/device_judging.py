"""Comparison of the judge's verdicts on a device and on the host, for every task that it judges on a device.

    python tests/perf/device_judging.py [--place cuda] [--seconds S] [TASK...]

For each dtype and each distribution of timed calls a right answer (PyTorch's own, on the device) and a wrong one are
judged in both places. A row is printed where the device accepts an answer that the host refuses, where the host refuses
PyTorch, or where something is raised. The last lines tell how often the device accepts right answers, and how long both
took. Exit code 1 if the device has accepted too much or anything was raised.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from robust_kbench.cases.bank import Bank
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import LoadedTask, load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS


@dataclass(frozen=True)
class Looked:
    """Outcome of a case: statuses of the right and the wrong answer, and seconds that judging took."""

    case: Case
    here: tuple[str, str]
    there: tuple[str, str]
    seconds_here: float
    seconds_there: float

    @property
    def is_sound(self) -> bool:
        """True if nothing is accepted there that is refused here."""
        return all(there != "passed" or here == "passed" for here, there in zip(self.here, self.there, strict=True))

    @property
    def is_right(self) -> bool:
        """True if PyTorch's own answer, made on the device, passes here. If not, no baseline of it can be timed."""
        return self.here[0] == "passed"


def cases_of(task: LoadedTask) -> Iterator[Case]:
    """Yield the timed binding that moves least, in every dtype and with every distribution of timed calls."""
    bindings = task.spec.timed.get("cuda") or task.spec.timed["cpu"]
    axes = min(bindings, key=lambda binding: sum(binding.values()))
    for dtype in task.spec.dtypes:
        for distribution in TIMED_DISTRIBUTIONS:
            if distribution in task.spec.distributions:
                yield Case(axes=axes, dtype=dtype, distribution=distribution, seed=7, role="timed")


def look(task: LoadedTask, case: Case, place: str) -> Looked:
    """Judge a right and a wrong answer to fresh values, here and on `place`."""
    reference = Reference(task)
    inputs = Bank(task.spec, case, place).draw(case)
    right = Observation(case, "returned", outputs=reference.native(inputs))
    wrong = replace(right, outputs={name: spoilt(tensor) for name, tensor in right.outputs.items()})
    found = []
    for where in ("cpu", place):
        judge = Judge(task.spec, reference, where)
        started = time.perf_counter()
        looks = [judge.look(each, inputs, where).result.status for each in (right, wrong)]
        found.append((looks[0], looks[1], time.perf_counter() - started))
    (*here, seconds_here), (*there, seconds_there) = found
    return Looked(case, (here[0], here[1]), (there[0], there[1]), seconds_here, seconds_there)


def spoilt(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor that is far from the given one."""
    return tensor * 1.25 + 1 if tensor.dtype.is_floating_point else tensor ^ 1


def main(arguments: Sequence[str]) -> int:
    """Look at all tasks, or at those that are named, until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--place", default="cuda")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("tasks", nargs="*")
    asked = parser.parse_args(arguments)
    names, until = asked.tasks or task_names(), time.monotonic() + asked.seconds
    accepted, looks, refused, unsound, here, there = 0, 0, 0, 0, 0.0, 0.0
    for number, name in enumerate(names):
        if time.monotonic() > until:
            print(f"no time was left for {len(names) - number} tasks, from {name} on")
            break
        task = load_task(name)
        if not Judge(task.spec, Reference(task), asked.place).is_easily_moved:
            continue
        for case in cases_of(task):
            try:
                looked = look(task, case, asked.place)
            except Exception as error:
                print(f"{name} {case}: {type(error).__name__}: {error}"[:300], flush=True)
                unsound += 1
                continue
            here, there = here + looked.seconds_here, there + looked.seconds_there
            accepted, looks = accepted + (looked.there[0] == "passed"), looks + 1
            unsound, refused = unsound + (not looked.is_sound), refused + (not looked.is_right)
            if not (looked.is_sound and looked.is_right):
                print(f"{name} {case}: here {looked.here}, there {looked.there}", flush=True)
    print(
        f"{accepted} of {looks} right answers accepted there, {refused} refused here, {unsound} unsound; "
        f"{here:.1f} s here, {there:.1f} there"
    )
    return int(unsound > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
