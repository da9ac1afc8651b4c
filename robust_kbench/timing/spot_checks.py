"""Spot checks: they test if a kernel keeps the contract at the timed sizes, too, in calls among those that count.

Checked cases are small, and timed ones are dense, finite and of a few published shapes. A kernel that tells them apart
could keep the contract only in the checked cases. So sessions mix in other calls of about the timed size: of a shape
nearby that is not published, in another layout, with a probe's values or with NaN and infinities, on inputs that stand
in a known relation to each other, and twice on the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random, SystemRandom
from typing import Literal

from robust_kbench.cases import layouts, probes
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.oracle.sampled import is_costly
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import Layout, Probe, Task, shape_of
from robust_kbench.timing.dealing import Deal

Kind = Literal["nearby", "layout", "probe", "nonfinite", "property", "repeat"]
Spot = tuple[Kind, Case]
KINDS: tuple[Kind, ...] = ("nearby", "layout", "probe", "nonfinite", "property", "repeat")
"""Kinds of spot checks.

NaN and infinities are a kind of their own: among four other probes, a quick evaluation would mostly miss them.
"""

_LEAST_SHARE = 7 / 8  # of the timed size of an axis, which one nearby has
_ATTEMPTS = 50
_SPREAD: tuple[Layout, ...] = ("strided", "pitched")  # those that take more room than their elements


class Schedule:
    """Schedule of the calls that all sessions check beside their samples."""

    def __init__(self, task: Task, cases: Sequence[Case], tier: Tier, sessions: int, *, dense: bool) -> None:
        """Schedule checks of `cases`, the timed ones. `sessions`: among how many the kinds are shared out.

        `dense`: see `draw`. Tier quick has a single session for each case, and deals the kinds out to the cases, that
        is to the dtypes.
        """
        self._task, self._cases, self._dense = task, cases, dense
        self._random = SystemRandom()
        self._kinds = Deal(KINDS, len(cases), sessions, is_single=tier == "quick")
        self._drawn: dict[tuple[int, int], list[Spot]] = {}

    def take(self, number: int, turn: int) -> list[Spot]:
        """Draw the spots of session `turn` of timed case `number`; new ones each time: no worker sees values twice."""
        if (number, turn) in self._drawn:
            return self._drawn.pop((number, turn))
        timed = self._cases[number]
        drawn = [
            (kind, draw(self._task, timed, kind, dense=self._dense, source=self._random))
            for kind in self._kinds.of(number, turn)
        ]
        return [(kind, case) for kind, case in drawn if case is not None]

    def other_shapes(self, turns: int) -> list[Case]:
        """List the cases of shapes or layouts that are not timed, in sessions before turn `turns`, in random order.

        Kernels may be compiled for them.
        """
        for turn in range(turns):
            for number in range(len(self._cases)):
                self._drawn[number, turn] = self.take(number, turn)
        shapes = [case for spots in self._drawn.values() for kind, case in spots if kind in ("nearby", "layout")]
        self._random.shuffle(shapes)  # their order would tell which session looks at which
        return shapes


def draw(task: Task, timed: Case, kind: Kind, *, dense: bool, source: Random) -> Case | None:
    """Draw a case of about the size of `timed`; None where the task has none of this kind.

    `dense`: the calling convention passes dense tensors only. For "property" the case is one to relate others to, for
    "repeat" one to call twice.
    """
    seed = source.getrandbits(62)
    plain = timed.model_copy(update={"role": "check", "seed": seed, "distribution": source.choice(task.distributions)})
    # As the suite's own probes: beside equal values, a long sum of rounded ones errs by more than the rule allows.
    probing = timed.model_copy(update={"role": "check", "seed": seed, "distribution": "normal"})
    match kind:
        case "nearby":
            axes = _axes_nearby(task, timed, source)
            return plain.model_copy(update={"axes": axes}) if axes else None
        case "layout":
            others = [layout for layout in layouts.applicable(task, dense=dense) if layout != "contiguous"]
            spread = [layout for layout in others if layout not in layouts.DENSE]
            return plain.model_copy(update={"layout": source.choice(spread or others)}) if others else None
        case "probe":
            possible = _probes(task, timed)
            return probing.model_copy(update={"probe": source.choice(possible)}) if possible else None
        case "nonfinite":
            # Where float64 is too costly, slices are judged, and which of them a NaN reaches is not known.
            is_due = bool(probes.spoilable(task)) and not is_costly(task, timed)
            return probing.model_copy(update={"probe": "nonfinite"}) if is_due else None
        case "property":
            return plain if task.properties and not is_costly(task, timed) else None
        case "repeat":
            return plain


def footprint(task: Task, timed: Case) -> int:
    """Return the arena bytes that the timed calls and these may take."""
    return max(case_footprint(task, timed.model_copy(update={"layout": layout})) for layout in ("contiguous", *_SPREAD))


def _axes_nearby(task: Task, timed: Case, source: Random) -> dict[str, int] | None:
    """Draw sizes slightly below the timed ones, as far as the axes admit them; None where there are no others."""
    for _ in range(_ATTEMPTS):
        axes = {name: _size_nearby(task, name, size, source) for name, size in timed.axes.items()}
        if axes != timed.axes and task.misfit(axes) is None and _fits(task, timed, axes):
            return axes
    return None


def _size_nearby(task: Task, name: str, size: int, source: Random) -> int:
    sizes = task.axes[name].sizes()
    least = int(size * _LEAST_SHARE)
    if isinstance(sizes, range):
        low = sizes.start + -(-max(0, least - sizes.start) // sizes.step) * sizes.step
        return source.choice(range(low, size + 1, sizes.step))
    return source.choice([each for each in sizes if least <= each <= size])


def _fits(task: Task, timed: Case, axes: Mapping[str, int]) -> bool:
    """Tell if no tensor is empty, and all of them together take no more room than the timed ones."""
    is_empty = any(size < 1 for tensor in task.tensors.values() for size in shape_of(tensor, axes))
    room = case_footprint(task, timed)
    return not is_empty and case_footprint(task, timed.model_copy(update={"axes": dict(axes)})) <= room


def _probes(task: Task, timed: Case) -> list[Probe]:
    """List the probes that say something about sums as long as the timed ones."""
    length = probes.length_of(task, timed.axes)
    return [
        probe
        for probe in probes.VALUED
        if probe in task.probes and probes.applies(task, probe) and length <= probes.longest(task, probe, timed.dtype)
    ]
