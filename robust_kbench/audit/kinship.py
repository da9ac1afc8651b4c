"""Check of a task's properties on variants: their answers to related inputs are held to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.variants import Variant
from robust_kbench.cases.draw import Draw
from robust_kbench.oracle.properties import Relation, relate
from robust_kbench.schema.task import Property

_TIMES = 6
"""Number of cases on which each property is tried."""


@dataclass(frozen=True)
class Kin:
    """Relation of one case, with a setting for each of its calls."""

    relation: Relation
    settings: tuple[Setting, ...]

    def violation(
        self, variant: Variant, setting: Setting, answer: Tensors, limits: Mapping[str, Sequence[float]]
    ) -> str | None:
        """Describe how the answers of `variant` break the relation. `answer` is the one to `setting`.

        Return None if they do not, or if the variant does not apply to one of the settings.
        """
        answers = [answer if other is setting else variant.answer(other) for other in self.settings]
        given = [tensors for tensors in answers if tensors is not None]
        if len(given) < len(answers):
            return None
        return self.relation.violation(given, limits, is_deterministic=not setting.task.spec.nondeterministic)


class Family:
    """Properties of a task, with the number of cases on which each is still to be tried."""

    def __init__(self, properties: Sequence[Property]) -> None:
        self._left = dict.fromkeys(range(len(properties)), _TIMES)
        self._properties = properties

    def of(self, setting: Setting) -> Iterator[Kin]:
        """Make the relations to try on one case."""
        for number, prop in enumerate(self._properties):
            if self._left[number]:
                draw = Draw(setting.case.seed, f"related {number}")
                relation = relate(setting.task.spec, prop, setting.case, setting.inputs, draw)
                if relation is not None:
                    self._left[number] -= 1
                    yield Kin(relation, tuple(setting.beside(inputs) for inputs in relation.calls))
