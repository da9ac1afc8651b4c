"""The properties of a task, for variants: what they answer to related inputs is held to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.variants import Variant
from robust_kbench.cases.draw import Draw
from robust_kbench.oracle.properties import Relation, relate
from robust_kbench.schema.task import Property

_TIMES = 6
"""On how many cases each property is tried."""


@dataclass(frozen=True)
class Kin:
    """A relation of one case, with a setting for each of its calls."""

    relation: Relation
    settings: tuple[Setting, ...]

    def violation(
        self, variant: Variant, setting: Setting, answer: Tensors, limits: Mapping[str, Sequence[float]]
    ) -> str | None:
        """What does not hold between the answers of `variant`, in words. `answer`: the one to `setting`."""
        answers = [answer if other is setting else variant.answer(other) for other in self.settings]
        given = [tensors for tensors in answers if tensors is not None]
        if len(given) < len(answers):
            return None
        return self.relation.violation(given, limits, is_deterministic=not setting.task.spec.nondeterministic)


class Family:
    """The properties of a task, each of which is still to be tried on some cases."""

    def __init__(self, properties: Sequence[Property]) -> None:
        self._left = dict.fromkeys(range(len(properties)), _TIMES)
        self._properties = properties

    def of(self, setting: Setting) -> Iterator[Kin]:
        """The relations to try on one case."""
        for number, prop in enumerate(self._properties):
            if self._left[number]:
                draw = Draw(setting.case.seed, f"related {number}")
                relation = relate(setting.task.spec, prop, setting.case, setting.inputs, draw)
                if relation is not None:
                    self._left[number] -= 1
                    yield Kin(relation, tuple(setting.beside(inputs) for inputs in relation.calls))
