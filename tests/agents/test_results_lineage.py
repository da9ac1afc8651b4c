"""The origin of candidates: as a tree on a terminal, and as a file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from robust_kbench.agents.archive import ROOT, Archive, Candidate, Judged, Node
from robust_kbench.agents.lineage import as_json, tree

NASTY = "<script>\x1b]0;mine\x07\u202egnp\nsecond line\ud800"


def node(identity: str, parents: tuple[str, ...] = (), speedup: float = 1.0, **changes: Any) -> Node:
    """Make a node of the tree; a speedup of 0 marks a failure."""
    right = Judged("time", True, speedup, speedup * 0.9, speedup * 1.1, 5.0)
    candidate = replace(Candidate(identity, f"code of {identity}", "made", parents), **changes)
    return Node(candidate, right if speedup else Judged("correct", log="wrong"))


def archive(*nodes: Node, root: Node | None = None) -> Archive:
    found = Archive(root or node(ROOT))
    for each in nodes:
        found.add(each)
    return found


def test_a_tree_has_a_line_for_each_candidate_below_its_parent() -> None:
    grown = archive(
        node("a", (ROOT,), 2.0), node("b", (ROOT,), 0.0), node("c", ("a",), 3.0), node("d", ("a",), 1.5),
        node("e", ("b", "a"), 0.0),
    )  # fmt: skip
    assert tree(grown).splitlines() == [
        "root  made  1.00x [0.90, 1.10]",
        "├─ a  made  2.00x [1.80, 2.20]",
        "│  ├─ c  made  3.00x [2.70, 3.30]  <- best",
        "│  └─ d  made  1.50x [1.35, 1.65]",
        "└─ b  made  failed at correct",
        "   e  made  failed at correct",
    ]


def test_a_long_row_of_repairs_is_not_set_in() -> None:
    chain = [node(ROOT)]
    for number in range(2000):  # deeper than Python may recurse
        chain.append(node(f"n{number}", (chain[-1].id,), 2.0))
    lines = tree(archive(*chain[1:])).splitlines()
    assert len(lines) == 2001
    assert max(map(len, lines)) < 60


def test_the_reference_is_never_the_best() -> None:
    reference = node(ROOT, is_reference=True)
    assert "best" not in tree(archive(node("a", (ROOT,), 0.0), root=reference))
    assert tree(archive(root=reference)) == "root  made  the reference"


def test_an_error_of_ours_is_told_as_such() -> None:
    ours = Node(node("a", (ROOT,)).candidate, Judged("harness", is_ours=True))
    assert tree(archive(ours)).splitlines()[1] == "a  made  not judged: our own error"


def test_names_stay_in_their_line_and_steer_no_terminal() -> None:
    lines = tree(archive(node("a", (ROOT,), 2.0, name=NASTY))).split("\n")
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert "second line" in lines[1]


def test_the_file_holds_everything_and_is_json() -> None:
    noted = node("b", ("a",), 0.0, context=("a", ROOT), notes={"plan": NASTY}, calls=("g1.p0.code",), name=NASTY)
    entries = as_json(archive(node("a", (ROOT,), 2.0), noted))
    text = json.dumps(entries, allow_nan=False, ensure_ascii=False)
    assert text.encode()  # UTF-8 can carry it
    first, second, third = json.loads(text)
    assert (first["id"], second["id"], third["id"]) == (ROOT, "a", "b")
    assert third["parents"] == ["a"]
    assert third["context"] == ["a", ROOT]
    assert third["calls"] == ["g1.p0.code"]
    assert third["notes"]["plan"].startswith("<script>")
    assert third["judged"]["stage"] == "correct"
    assert third["judged"]["median_us"] is None
    assert [entry["is_best"] for entry in entries] == [False, True, False]
    assert len({entry["code_digest"] for entry in (first, second, third)}) == 3


def test_infinite_times_are_no_numbers_in_the_file() -> None:
    assert math.isinf(Judged("run").median_us)
    (entry,) = as_json(archive(root=node(ROOT, speedup=0.0)))
    judged = entry["judged"]
    assert isinstance(judged, dict)
    assert judged["median_us"] is None
