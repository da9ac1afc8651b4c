"""What an agent has tried: a tree that only grows, and the views of it that selectors and prompts are made from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

ROOT = "root"


@dataclass(frozen=True)
class Candidate:
    """A kernel that was proposed, and where it comes from.

    `parents` were expanded to get it, the first of them is its place in the tree; `context` are all that were shown.
    `notes` hold what roles wrote on the way (a plan, a summary), by role. `calls` are ids in the journal. The root may
    be the task's reference, which is right and is no kernel. `plan_problem` is where an anchored plan leaves its form;
    it decides nothing.
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
    """What the evaluator said of a candidate on public cases. A language model has no say in it.

    `stage` is where it ended: parse, compile, run, correct, guard, or time, which it reaches only if it is right.
    `speedup` is against eager PyTorch, with its interval; `median_us` the geometric mean over timed cases, and `timed`
    names these.
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
    """The failure is the evaluator's own."""


@dataclass(frozen=True)
class Node:
    """A candidate with its verdict."""

    candidate: Candidate
    judged: Judged

    @property
    def id(self) -> str:
        """The candidate's."""
        return self.candidate.id

    @property
    def is_right(self) -> bool:
        """Whether the evaluator found nothing wrong with it."""
        return self.judged.is_right

    @property
    def is_kernel(self) -> bool:
        """Whether it could be submitted: right, and not the reference."""
        return self.is_right and not self.candidate.is_reference

    @property
    def speedup(self) -> float:
        """0 for what is not right, so that it is never better than anything that is."""
        return self.judged.speedup if self.is_right else 0.0


class Archive:
    """All candidates of a run in the order in which they were judged. The first one is the root."""

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
        """One more. Raises ValueError when it is known already, or a parent is not."""
        if node.id in self._nodes:
            raise ValueError(f"candidate {node.id} was judged before")
        if not node.candidate.parents or any(parent not in self._nodes for parent in node.candidate.parents):
            raise ValueError(f"candidate {node.id} has a parent that nobody knows")
        self._nodes[node.id] = node

    @property
    def root(self) -> Node:
        """What the run started from."""
        return next(iter(self._nodes.values()))

    def newest_first(self) -> Iterator[Node]:
        """All, the latest first."""
        return reversed(self._nodes.values())

    @property
    def last(self) -> Node:
        """The one that was judged last."""
        return next(self.newest_first())

    @property
    def best(self) -> Node:
        """The fastest kernel; the root where there is none."""
        return next(iter(self.top(1)), self.root)

    def top(self, count: int, island: int | None = None) -> list[Node]:
        """The fastest kernels, the fastest first; the older one first where two are equal."""
        kernels = [node for node in self if node.is_kernel and _lives_on(node, island)]
        return sorted(kernels, key=lambda node: -node.speedup)[:count]

    def population(self) -> list[Node]:
        """The elite, and the latest failures where it is not full."""
        elite = self.top(self._size)
        failures = [node for node in self.newest_first() if not node.is_right]
        return elite + failures[: self._size - len(elite)]

    def elite(self) -> list[Node]:
        """The kernels of the population; the root where there is none."""
        return self.top(self._size) or [self.root]

    def children(self, node: Node) -> list[Node]:
        """Those that came from it, the oldest first."""
        return [other for other in self if other.candidate.parents[:1] == (node.id,)]

    def siblings(self, node: Node) -> list[Node]:
        """The other children of its parent."""
        return [
            other for parent in node.candidate.parents[:1] for other in self.children(self[parent]) if other != node
        ]

    def cousins(self, node: Node) -> list[Node]:
        """The children of its siblings."""
        return [child for sibling in self.siblings(node) for child in self.children(sibling)]


def _lives_on(node: Node, island: int | None) -> bool:
    return island is None or node.candidate.island == island or not node.candidate.parents
