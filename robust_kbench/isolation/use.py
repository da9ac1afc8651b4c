"""Ways to call a kernel, whatever its inputs: once on its own, as cases are, or as real code does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from robust_kbench.cases.layouts import Outer
from robust_kbench.cases.values import Inputs
from robust_kbench.isolation.protocol import Claim
from robust_kbench.schema.observation import Observation

Mode = Literal["no_grad", "inference_mode", "requires_grad"]
_MARK = "#"


@dataclass(frozen=True)
class Use:
    """A call on some inputs, or a burst of several calls without a pause.

    `others`: further sets of inputs beside the first; `order`: the number of the set for each call of the burst.
    `mode`: PyTorch's, for kernels in Python; with "requires_grad" the real inputs ask for gradients. `in_thread`: not
    from the thread that has loaded the kernel. `on_stream`: on a CUDA device, not on the default stream. `same_place`:
    at the addresses of the call before, which needed as much room. `dense`: inputs that are contiguous, whatever the
    layout of the others. `outer`: how the outer axes of what is pitched lie, see `layouts.outer_strides`.
    """

    others: tuple[Inputs, ...] = ()
    order: tuple[int, ...] = (0,)
    mode: Mode | None = None
    in_thread: bool = False
    on_stream: bool = False
    same_place: bool = False
    dense: frozenset[str] = frozenset()
    outer: Outer | None = None

    @property
    def is_plain(self) -> bool:
        """Tell if the worker makes an ordinary call."""
        return replace(self, same_place=False, dense=frozenset(), outer=None) == PLAIN

    @property
    def room(self) -> int:
        """Give its memory as a multiple of a plain call's."""
        return max(1 + len(self.others), len(self.order))

    def request(self) -> dict[str, object]:
        """Describe it for the worker; empty for a plain call."""
        if self.is_plain:
            return {}
        told = {"mode": self.mode, "in_thread": self.in_thread, "on_stream": self.on_stream}
        return {"use": {**told, "sets": 1 + len(self.others), "order": list(self.order)}}

    def scalars(self, inputs: Inputs) -> dict[int, int | float]:
        """Scalars of all sets, by their position among all inputs."""
        count = len(inputs.values)
        return {
            number * count + place: value
            for number, each in enumerate((inputs, *self.others))
            for place, value in each.scalars.items()
        }

    def labels(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Name and label of each output of each call."""
        return ((name, label(name, number)) for number in range(len(self.order)) for name in names)


PLAIN = Use()


def label(name: str, number: int) -> str:
    """The name of a tensor of one set or call among others."""
    return f"{name}{_MARK}{number}" if number else name


def name_of(labelled: str) -> str:
    """The opposite."""
    return labelled.partition(_MARK)[0]


def _call_of(labelled: str) -> int:
    return int(labelled.partition(_MARK)[2] or 0)


def reused(claims: Mapping[str, Claim], order: Sequence[int]) -> tuple[str, ...]:
    """Labels of results of a burst that lie where one of a later call on another set of inputs does, in their order.

    Calls on one set have one answer, and those that return a view of an input have one address.
    """
    latest: dict[int, list[str]] = {}
    found = set()
    for labelled, claim in claims.items():
        place = claim.source or claim.pointer
        if not place or 0 in claim.shape:
            continue
        there = latest.setdefault(place, [])
        earlier = [each for each in there if order[_call_of(each)] != order[_call_of(labelled)]]
        found.update(earlier)
        latest[place] = [*(each for each in there if each not in earlier), labelled]
    return tuple(each for each in claims if each in found)


def answers(seen: Observation, names: Sequence[str], calls: int) -> list[Observation]:
    """Take a burst apart. Outputs are left out that a later call has overwritten, as both lie at one address."""
    found = []
    for number in range(calls):
        labels = {name: label(name, number) for name in names}
        kept = {name: each for name, each in labels.items() if each in seen.outputs and each not in seen.reused}
        found.append(replace(seen, outputs={name: seen.outputs[each] for name, each in kept.items()}))
    return found
