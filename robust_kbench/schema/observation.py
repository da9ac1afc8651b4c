"""Facts about one call, gathered by the judge, without an opinion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from robust_kbench.schema.case import Case
from robust_kbench.schema.defect import Defect
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS

if TYPE_CHECKING:
    import torch

Ending = Literal["returned", "raised", "crashed", "timed_out"]
Way = Literal["turn", "word", "wall"]
"""Way to tell the end of a call on a CUDA device, see isolation.gate. "wall": the host's clock, launches included."""


@dataclass(frozen=True)
class Repetition:
    """Difference of the answers to two calls on equal inputs: in how many `elements` of an output, and how far.

    `ratio` is the distance in units of the limits that the first answer was held to; single units in the last place are
    left out. `may_differ`: the task is declared nondeterministic.
    """

    output: str
    differing: int
    elements: int
    ratio: float
    may_differ: bool = False


@dataclass(frozen=True)
class Window:
    """Part of a call that is off the clock, in ns: its length, and the processor time of the worker's processes.

    Where the time of one of them is in no account, `used_ns` is all of `took_ns`. `may_miss`: something took a process
    id meanwhile. It may have been a process that came and went unseen, with all that it has used.
    """

    took_ns: int = 0
    used_ns: int = 0
    may_miss: bool = False


@dataclass(frozen=True)
class Observation:
    """Observation of one call of a submission or a baseline.

    `outputs` are private copies, taken while the worker was stopped. A missing output is explained in `problems`, for
    example by a wrong shape. `overruns` gives, per tensor, the distance in bytes of a write outside it. `handing_ns`
    went into writing the arguments to shared memory, `draining_ns` into copying and comparing the results, both while
    the worker was stopped.
    `reports` are the words of the emulator's checker, `defects` the same with its lines looked up. `repetition`
    compares its answer with that of an earlier call on equal inputs.

    On a processor `elapsed_ns` is the time from GO to DONE. For `waited_ns` of it, or of the time until its stop, the
    worker's first thread stood in a run queue behind other processes. `used_ns` is the processor time of the worker's
    processes from GO to their stop, which came `stopping_ns` after DONE; None where the time of one of them is in no
    account. `may_miss`: they may include processes of its own that no look shows. Two windows are off the clock, before
    the inputs are there:
    `preparation`, in which the worker learns shapes and addresses, and `rehearsal`. `threads_before` and
    `threads_after` count the tree's threads while it was stopped.

    On a CUDA device (see isolation.gate) `elapsed_ns` is by the judge's own context, and `clock` says how. "gate": from
    the last of the inputs to the judge's next turn, or to the end word. "wall": launches included. None: the time is no
    sample, as the host had to wait for the device, or outputs were not complete. `delays_ns` are the times that the
    judge's own work before the call took, on the device and on the host. `is_late`: an output changed after the call
    was over. `is_copied`: a result outside the judge's memory was copied there, on the clock. `taking_excess_ns`:
    excess time of copying pieces of the outputs after an end word. `reused`: answers of a burst that lie where a later
    one's does, see isolation.use. `event_ns`: time of its kernel between two events in a trusted worker, where they
    were asked for.
    """

    case: Case
    ending: Ending
    message: str = ""
    log: str = ""
    outputs: Mapping[str, torch.Tensor] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    changed_inputs: tuple[str, ...] = ()
    overruns: Mapping[str, int] = field(default_factory=dict)
    elapsed_ns: int = 0
    waited_ns: int = 0
    used_ns: int | None = None
    stopping_ns: int = 0
    may_miss: bool = False
    handing_ns: int = 0
    draining_ns: int = 0
    left_processes: int = 0
    reports: tuple[Mapping[str, Any], ...] = ()
    defects: tuple[Defect, ...] = ()
    repetition: Repetition | None = None
    preparation: Window = Window()
    rehearsal: Window | None = None
    threads_before: int | None = None
    threads_after: int | None = None
    clock: Literal["judge", "gate", "wall"] | None = "judge"
    delays_ns: tuple[int, int] = (0, 0)
    event_ns: int | None = None
    reused: tuple[str, ...] = ()
    is_late: bool = False
    is_copied: bool = False
    taking_excess_ns: int = 0

    @property
    def looks_scored(self) -> bool:
        """Tell if its shape, layout and values are those of calls that are scored."""
        return self.case.role == "timed" and self.case.distribution in TIMED_DISTRIBUTIONS

    @property
    def is_timed(self) -> bool:
        """Tell if its times are those of a call as it is scored."""
        return self.ending == "returned" and self.case.role == "timed" and self.clock is not None
