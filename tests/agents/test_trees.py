"""Selectors and archives: what the tree forbids never happens, whatever was judged."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.agents.archive import ROOT, Archive, Candidate, Judged, Node
from robust_kbench.agents.selectors import Best, Islands, Last, Rank, Retry, Root, Tree, by_rank

RIGHT, WRONG = Judged("time", True, 1.0, 0.9, 1.1, 10.0), Judged("correct", log="wrong")
SEEDS = st.integers(0, 2**32)
VERDICTS = st.lists(st.one_of(st.just(0.0), st.floats(0.1, 20.0)), min_size=1, max_size=60)


def node(identity: str, parents: tuple[str, ...] = (), speedup: float = 1.0, island: int = 0) -> Node:
    """0: a failure."""
    judged = Judged("time", True, speedup, speedup, speedup, 1.0) if speedup else WRONG
    return Node(Candidate(identity, f"code of {identity}", "made", parents, island=island), judged)


def grown(tree: Tree, verdicts: list[float], seed: int) -> Archive:
    """An archive whose candidates were selected by `tree` and came out as `verdicts`."""
    archive, rng = Archive(node(ROOT)), random.Random(seed)
    for number, speedup in enumerate(verdicts):
        (parent,) = tree.select(archive, rng, 1)
        archive.add(node(f"n{number}", (parent.id,), speedup))
    return archive


@given(VERDICTS, SEEDS, st.integers(1, 6), st.integers(1, 4), st.floats(0, 1))
def test_neither_root_nor_dead_branches_grow(
    verdicts: list[float], seed: int, root_children: int, node_children: int, epsilon: float
) -> None:
    tree = Tree(kind="tree", epsilon=epsilon, root_children=root_children, node_children=node_children)
    archive = grown(tree, verdicts, seed)
    assert len(archive.children(archive.root)) <= root_children
    for each in list(archive)[1:]:
        children = archive.children(each)
        failures_first = [child.is_right for child in children[:node_children]]
        assert len(children) <= node_children or any(failures_first)


@given(VERDICTS, SEEDS)
def test_every_candidate_comes_from_the_root(verdicts: list[float], seed: int) -> None:
    archive = grown(Tree(kind="tree"), verdicts, seed)
    for each in archive:
        above = each
        for _ in range(len(archive)):
            above = archive[above.candidate.parents[0]] if above.candidate.parents else above
        assert above == archive.root


@given(VERDICTS, SEEDS)
def test_without_chance_the_fastest_that_may_grow_is_expanded(verdicts: list[float], seed: int) -> None:
    tree = Tree(kind="tree", epsilon=0.0)
    archive = grown(tree, verdicts, seed)
    (chosen,) = tree.select(archive, random.Random(seed), 1)
    assert chosen.speedup == max(each.speedup for each in tree.expandable(archive))


def test_chance_chooses_among_all_leaves_failures_too() -> None:
    archive = Archive(node(ROOT))
    for name, speedup in (("a", 2.0), ("b", 0.0), ("c", 1.5)):
        archive.add(node(name, (ROOT,), speedup))
    archive.add(node("d", ("a",), 3.0))
    tree, rng = Tree(kind="tree", epsilon=1.0), random.Random(0)
    assert {tree.select(archive, rng, 1)[0].id for _ in range(100)} == {"b", "c", "d"}


def test_ranks_are_weighted_by_one_over_rank_and_number() -> None:
    nodes, rng = [node(str(number)) for number in range(3)], random.Random(1)
    drawn = [each.id for each in by_rank(nodes, rng, 12_000)]
    weights = [1 / (rank + 3) for rank in range(3)]
    for rank in range(3):
        assert drawn.count(str(rank)) / 12_000 == pytest.approx(weights[rank] / sum(weights), abs=0.02)


def test_simple_selectors() -> None:
    archive, rng = Archive(node(ROOT), population=2), random.Random(0)
    for name, speedup in (("a", 5.0), ("b", 7.0), ("c", 6.0), ("d", 0.0)):
        archive.add(node(name, (ROOT,), speedup))
    assert Root(kind="root").select(archive, rng, 2) == [archive.root] * 2
    assert Last(kind="last").select(archive, rng, 1)[0].id == "d"
    assert Best(kind="best").select(archive, rng, 1)[0].id == "b"
    assert {each.id for each in Rank(kind="rank").select(archive, rng, 50)} == {"b", "c"}


@pytest.mark.parametrize(("failures", "chosen"), [(0, ROOT), (1, "f0"), (2, "f1"), (3, ROOT), (4, "f3"), (6, ROOT)])
def test_a_repair_begins_anew_after_every_third_failure(failures: int, chosen: str) -> None:
    archive = Archive(node(ROOT))
    for number in range(failures):
        archive.add(node(f"f{number}", (ROOT,), 0.0))
    assert Retry(kind="retry").select(archive, random.Random(0), 1)[0].id == chosen


def test_islands_do_not_see_each_other_but_all_see_the_root() -> None:
    archive, rng = Archive(node(ROOT)), random.Random(0)
    for number in range(10):
        archive.add(node(f"n{number}", (ROOT,), 2.0 + number, island=number % 2))
    for _ in range(50):
        chosen = Islands(kind="islands", islands=2).select(archive, rng, 2)
        assert len({each.candidate.island for each in chosen if each.id != ROOT}) <= 1
        assert [each.speedup for each in chosen] == sorted(each.speedup for each in chosen)


def test_the_reference_is_right_and_is_no_kernel() -> None:
    archive = Archive(Node(Candidate(ROOT, "code", "reference", is_reference=True), RIGHT))
    assert archive.top(5) == []
    assert archive.best == archive.root
    archive.add(node("slow", (ROOT,), 0.5))
    assert archive.best.id == "slow"


def test_the_population_is_the_elite_and_the_latest_failures_where_it_is_not_full() -> None:
    archive = Archive(node(ROOT), population=4)
    for name, speedup in (("a", 0.0), ("b", 3.0), ("c", 0.0), ("d", 0.0)):
        archive.add(node(name, (ROOT,), speedup))
    assert [each.id for each in archive.population()] == ["b", ROOT, "d", "c"]


def test_relatives() -> None:
    archive = Archive(node(ROOT))
    for name, parent in (("a", ROOT), ("b", ROOT), ("c", "a"), ("d", "b"), ("e", "b")):
        archive.add(node(name, (parent,)))
    assert [each.id for each in archive.siblings(archive["a"])] == ["b"]
    assert [each.id for each in archive.cousins(archive["a"])] == ["d", "e"]
    assert archive.siblings(archive.root) == archive.cousins(archive.root) == []


@pytest.mark.parametrize("parents", [(), ("nobody",), (ROOT, "nobody")])
def test_nobody_enters_an_archive_without_parents_in_it(parents: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="a parent that nobody knows"):
        Archive(node(ROOT)).add(node("a", parents))


def test_nobody_enters_an_archive_twice() -> None:
    archive = Archive(node(ROOT))
    archive.add(node("a", (ROOT,)))
    with pytest.raises(ValueError, match="was judged before"):
        archive.add(node("a", (ROOT,), 9.0))
