"""Selectors of the candidates that are expanded next. Each is one class with `select`; presets name it by `kind`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import takewhile
from typing import Annotated, Literal

from pydantic import Field

from robust_kbench.agents.archive import Archive, Node
from robust_kbench.schema.documents import Strict


class Root(Strict):
    """Selector of the root at all times, for independent samples."""

    kind: Literal["root"]

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Return the root, `count` times."""
        return [archive.root] * count


class Last(Strict):
    """Selector of the latest candidate, right or wrong, which is refined again and again."""

    kind: Literal["last"]

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Return the latest candidate, `count` times."""
        return [archive.last] * count


class Retry(Strict):
    """Selector of the latest candidate, to be repaired, or of the root.

    The root is selected after a right candidate, and after every `reset`-th failure in a row.
    """

    kind: Literal["retry"]
    reset: int = Field(default=3, ge=1)

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Return the latest candidate or the root, `count` times."""
        failures = len(list(takewhile(lambda node: not node.is_right, archive.newest_first())))
        return [archive.root if failures % self.reset == 0 else archive.last] * count


class Best(Strict):
    """Selector of the fastest right candidate, or of the root where there is none."""

    kind: Literal["best"]

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Return the best candidate, `count` times."""
        return [archive.best] * count


class Rank(Strict):
    """Selector from the elite by rank, with replacement: of N, rank r has a weight of 1/(r+N), r from 0.

    EvoEngineer and EoH (arXiv 2510.03760) select in this way.
    """

    kind: Literal["rank"]

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Draw `count` candidates of the elite."""
        return by_rank(archive.elite(), rng, count)


class Islands(Strict):
    """Selector of some programs of a random island by rank, the slowest first, as in FunSearch.

    The root lives on each island. A new candidate lives where its first parent was drawn.
    """

    kind: Literal["islands"]
    islands: int = Field(default=5, ge=1)

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Draw `count` programs of one island, and return the different ones among them, the slowest first."""
        programs = archive.top(len(archive), self.draw(rng)) or [archive.root]
        chosen = {node.id: node for node in by_rank(programs, rng, count)}
        return sorted(chosen.values(), key=lambda node: node.speedup)

    def draw(self, rng: random.Random) -> int:
        """Draw the number of an island."""
        return rng.randrange(self.islands)


class Tree(Strict):
    """Selector by STARK's policy (arXiv 2510.16996): the best node that may have children, or, at random, any leaf.

    The root may have `root_children`. A branch is dead when a node has `node_children` and all have failed. Failures
    are the worst of all, so they are chosen, in order to be debugged, at random only. With the probability `debug`, the
    latest failing leaf is taken instead, which the paper does not do.
    """

    kind: Literal["tree"]
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.35
    root_children: int = Field(default=5, ge=1)
    node_children: int = Field(default=3, ge=1)
    debug: Annotated[float, Field(ge=0, le=1)] = 0.0

    def select(self, archive: Archive, rng: random.Random, count: int) -> list[Node]:
        """Return one node by the policy, `count` times."""
        return [self._one(archive, rng)] * count

    def _one(self, archive: Archive, rng: random.Random) -> Node:
        pool = self.expandable(archive)
        leaves = [node for node in pool if not archive.children(node)]
        failing = [node for node in leaves if not node.is_right]
        if failing and self.debug and rng.random() < self.debug:
            return failing[-1]
        if leaves and rng.random() < self.epsilon:
            return rng.choice(leaves)
        return max(pool, key=lambda node: node.speedup)

    def expandable(self, archive: Archive) -> list[Node]:
        """Return all nodes that may have one more child. There is one: a leaf other than the root always may."""
        return [node for node in archive if self._may_grow(archive, node)]

    def _may_grow(self, archive: Archive, node: Node) -> bool:
        children = archive.children(node)
        if node == archive.root:
            return len(children) < self.root_children
        return len(children) < self.node_children or any(child.is_right for child in children)


AnySelector = Annotated[Root | Last | Retry | Best | Rank | Islands | Tree, Field(discriminator="kind")]


def by_rank(nodes: Sequence[Node], rng: random.Random, count: int) -> list[Node]:
    """Draw `count` of `nodes`, which have the best first, with replacement."""
    return rng.choices(nodes, [1 / (rank + len(nodes)) for rank in range(len(nodes))], k=count)
