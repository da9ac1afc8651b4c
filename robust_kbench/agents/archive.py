"""Tree of the candidates that an agent has tried, which only grows, with its views for selectors and prompts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

ROOT = "root"


@dataclass(frozen=True)
class Candidate:
    """Kernel that an agent proposed, with its origin.

    `parents` were expanded to get it; the first one is its place in the tree. `context` names all candidates that the
    prompts showed. `notes` hold the texts that roles wrote on the way (a plan, a summary), by role. `calls` are ids in
    the journal. The root may be the task's reference, which is right and is no kernel. `plan_problem` tells where an
    anchored plan leaves its form; it decides nothing.
    """

    id: str
    code: str
    operator: str
    parents: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    generation: int = 0
    island: int = 0
    name: str = ""
    thought: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    is_reference: bool = False
    plan_problem: str = ""


@dataclass(frozen=True)
class Judged:
    """Verdict of the evaluator on a candidate, from public cases. A language model has no say in it.

    `stage` is where the judging ended: parse, compile, run, correct, guard, time or harness. A candidate reaches time
    only if it is right; harness is a failure of the evaluator. `speedup` is against eager PyTorch, with its interval
    from `low` to `high`. `median_us` is the geometric mean over the timed cases, and `timed` names these.
    """

    stage: str
    is_right: bool = False
    speedup: float = 0.0
    low: float = 0.0
    high: float = 0.0
    median_us: float = math.inf
    log: str = ""
    profile: str = ""
    findings: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()
    is_ours: bool = False
    """True if the failure is the evaluator's own."""


@dataclass(frozen=True)
class Node:
    """Candidate of the archive with its verdict."""

    candidate: Candidate
    judged: Judged

    @property
    def id(self) -> str:
        """Identifier of the candidate in the archive."""
        return self.candidate.id

    @property
    def is_right(self) -> bool:
        """True if the evaluator found nothing wrong with the candidate."""
        return self.judged.is_right

    @property
    def is_kernel(self) -> bool:
        """True if the candidate could be submitted: it is right, and it is not the reference."""
        return self.is_right and not self.candidate.is_reference

    @property
    def speedup(self) -> float:
        """Speedup over eager PyTorch; 0 if the candidate is not right, so that it never beats one that is."""
        return self.judged.speedup if self.is_right else 0.0


class Archive:
    """Candidates of a run in the order in which they were judged. The first one is the root."""

    def __init__(self, root: Node, *, population: int = 5) -> None:
        self._nodes: dict[str, Node] = {root.id: root}
        self._size = population

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __getitem__(self, identity: str) -> Node:
        return self._nodes[identity]

    def add(self, node: Node) -> None:
        """Add a judged candidate. Raises ValueError if it is known already, has no parents or an unknown parent."""
        if node.id in self._nodes:
            raise ValueError(f"candidate {node.id} was judged before")
        if not node.candidate.parents or any(parent not in self._nodes for parent in node.candidate.parents):
            raise ValueError(f"candidate {node.id} has a parent that nobody knows")
        self._nodes[node.id] = node

    @property
    def root(self) -> Node:
        """Candidate that the run started from."""
        return next(iter(self._nodes.values()))

    def newest_first(self) -> Iterator[Node]:
        """Return all candidates, the latest first."""
        return reversed(self._nodes.values())

    @property
    def last(self) -> Node:
        """Candidate that was judged last in this run."""
        return next(self.newest_first())

    @property
    def best(self) -> Node:
        """Fastest kernel of the run; the root where there is no kernel."""
        return next(iter(self.top(1)), self.root)

    def top(self, count: int, island: int | None = None) -> list[Node]:
        """Return the fastest kernels, the fastest first; of two equal ones, the older comes first."""
        kernels = [node for node in self if node.is_kernel and _lives_on(node, island)]
        return sorted(kernels, key=lambda node: -node.speedup)[:count]

    def population(self) -> list[Node]:
        """Return the elite, followed by the latest failures where the elite does not fill the population."""
        elite = self.top(self._size)
        failures = [node for node in self.newest_first() if not node.is_right]
        return elite + failures[: self._size - len(elite)]

    def elite(self) -> list[Node]:
        """Return the kernels of the population, or the root where there is no kernel."""
        return self.top(self._size) or [self.root]

    def children(self, node: Node) -> list[Node]:
        """Return the candidates whose first parent is `node`, the oldest first."""
        return [other for other in self if other.candidate.parents[:1] == (node.id,)]

    def siblings(self, node: Node) -> list[Node]:
        """Return the other children of the node's first parent."""
        return [
            other for parent in node.candidate.parents[:1] for other in self.children(self[parent]) if other != node
        ]

    def cousins(self, node: Node) -> list[Node]:
        """Return the children of the node's siblings."""
        return [child for sibling in self.siblings(node) for child in self.children(sibling)]


def _lives_on(node: Node, island: int | None) -> bool:
    return island is None or node.candidate.island == island or not node.candidate.parents
