"""What happened in one call: facts, gathered by the judge, without an opinion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from robust_kbench.schema.case import Case
from robust_kbench.schema.defect import Defect

if TYPE_CHECKING:
    import torch

Ending = Literal["returned", "raised", "crashed", "timed_out"]


@dataclass(frozen=True)
class Repetition:
    """How the answers to two calls on equal inputs differ: in how many `elements` of an output, and how far.

    `ratio` is the distance in units of the limits that the first answer was held to, single units in the last place
    left out. `may_differ`: the task is declared nondeterministic.
    """

    output: str
    differing: int
    elements: int
    ratio: float
    may_differ: bool = False


@dataclass(frozen=True)
class Observation:
    """One call of a submission or a baseline.

    `outputs` are private copies, taken while the worker was stopped. A missing output is explained in `problems`, for
    example by a wrong shape. `overruns` gives, per tensor, the distance in bytes of a write outside it. `wake_ns` is
    the time from waking the worker to its READY, `peer_wake_ns` the same of the baseline's latest call. `reports` is
    what the emulator's checker said, `defects` the same with its lines looked up. `repetition` compares its answer with
    that of an earlier call on equal inputs.
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
    wake_ns: int = 0
    peer_wake_ns: int | None = None
    event_ns: int | None = None
    left_processes: int = 0
    reports: tuple[Mapping[str, Any], ...] = ()
    defects: tuple[Defect, ...] = ()
    repetition: Repetition | None = None
