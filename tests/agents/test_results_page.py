"""The page of a run: complete, self-contained, and inert with any text in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from made_runs import NASTY, evolved, node, record, root

from robust_kbench.agents.archive import Judged
from robust_kbench.agents.budget import Spent
from robust_kbench.agents.evolution import Evolved
from robust_kbench.agents.loop import Opinion
from robust_kbench.agents.page import PAGE, SUMMARY, render, write
from robust_kbench.agents.summary import Summary, summarise

STORABLE = NASTY.replace("\ud800", "")  # our own files hold whole characters only
VOID = {"meta", "br", "img", "input", "link", "hr"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span", "table", "tr", "th", "td", "div", "svg",
    "line", "text", "path", "circle", "a", "figure", "figcaption", "details", "summary", "pre", "ul", "li",
}  # fmt: skip


class Reader(HTMLParser):
    """Parser that reads the page as a browser does: elements with attributes, texts, and tags that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(run: Evolved) -> str:
    return render(run, summarise(run))


def usual() -> Evolved:
    made = [
        node("g1.p0", code="int x = 1;\nint y = 2;\n", name="first", thought="try this"),
        node("g2.p0", ("g1.p0",), 3.0, code="int x = 9;\nint y = 2;\n", name="second"),
        node("g2.p1", ("g1.p0", "g2.p0"), 0, stage="compile", log="no such type", code=""),
    ]
    opinions = [(Opinion(made[0].candidate, {"compile": True}), True)]
    return evolved(made, final=[record("best", 25.0), record("start", 200.0)], opinions=opinions)


def test_it_is_well_formed_and_made_of_known_elements() -> None:
    reader = Reader(page_of(usual()))
    assert (reader.mistakes, reader.open) == ([], [])
    assert {tag for tag, _ in reader.elements} <= KNOWN


def test_it_loads_nothing_and_allows_no_script() -> None:
    reader = Reader(page_of(usual()))
    policies = [each["content"] for each in reader.of("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    place = [tag for tag, _ in reader.elements].index("style")
    assert ("http-equiv", "Content-Security-Policy") in [
        pair for _, attributes in reader.elements[:place] for pair in attributes.items()
    ]
    for _, attributes in reader.elements:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")}
        assert (attributes.get("href") or "#").startswith("#")


def test_links_lead_to_candidates_of_the_page() -> None:
    reader = Reader(page_of(usual()))
    targets = {f"#{attributes['id']}" for _, attributes in reader.elements if "id" in attributes}
    assert {each["href"] for each in reader.of("a")} == targets == {"#c0", "#c1", "#c2", "#c3"}


def hostile(place: str) -> Evolved:
    """Return a run with a hostile text in one place."""
    all_changes: dict[str, dict[str, Any]] = {
        "code": {"code": f"{NASTY}\nint x;\n{NASTY}"},
        "name": {"name": NASTY},
        "thought": {"thought": NASTY},
        "note": {"notes": {"plan": NASTY, NASTY: "text"}},
        "log": {"judged": Judged("run", log=NASTY)},
        "finding": {"judged": Judged("guard", findings=(NASTY,))},
        "stage": {"judged": Judged(NASTY)},
        "operator": {"operator": STORABLE},
    }
    changes = all_changes.get(place, {})
    first = node(NASTY if place == "identity" else "g1.p0", **changes)
    second = node("g2.p0", (first.id,), 3.0, **(changes if place == "code" else {}))
    opinions = [(Opinion(first.candidate, {STORABLE if place == "verifier" else "compile": True}), True)]
    environment = {"device": STORABLE if place == "hardware" else "a processor"}
    all_facts: dict[str, dict[str, Any]] = {
        "model": {"llm": (STORABLE,)},
        "task": {"task": STORABLE},
    }
    facts = all_facts.get(place, {})
    start = root(code=NASTY) if place == "start" else None
    final = [record("best", 25.0, environment=environment)]
    return evolved([first, second], start=start, final=final, opinions=opinions, **facts)


@pytest.mark.parametrize(
    "place",
    [
        "code", "name", "thought", "note", "log", "finding", "stage", "operator", "identity", "verifier", "hardware",
        "model", "task", "start",
    ],
)  # fmt: skip
def test_what_others_wrote_is_inert(place: str) -> None:
    page = page_of(hostile(place))
    reader = Reader(page)
    assert (reader.mistakes, reader.open) == ([], [])
    assert {tag for tag, _ in reader.elements} <= KNOWN
    assert "<script" not in page
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert all(character.isprintable() or character == "\n" for character in page)
    assert page.encode()  # half a character would end in an exception
    assert "<script>alert(" in "".join(reader.texts)  # it is shown, not lost


def test_a_difference_marks_what_was_added_and_removed() -> None:
    reader = Reader(page_of(usual()))
    kinds = [attributes.get("class") for attributes in reader.of("span")]
    assert kinds.count("added") == kinds.count("removed") == 2
    text = "".join(reader.texts)
    assert "-int x = 1;" in text
    assert "+int x = 9;" in text
    assert " int y = 2;" in text


def test_code_of_a_translation_is_shown_whole() -> None:
    first = node("g1.p0", code="int x;\nint y;\n")
    text = "".join(Reader(page_of(evolved([first], start=root(is_reference=True, code="def reference(x): ...")))).texts)
    assert "The code:" in text
    assert "int x;\nint y;" in text
    assert "-def reference" not in text


def test_code_without_end_is_not_compared() -> None:
    long = "int x;\n" * 5000
    page = page_of(evolved([node("a", code=long), node("b", ("a",), code=long + "int y;\n")]))
    assert page.count("int x;") < 100
    assert "5,001 lines of 35,000 characters" in page


def test_the_figures_of_the_run_stand_on_it() -> None:
    text = "".join(Reader(page_of(usual())).texts)
    for shown in ("g2.p0: 3.00x", "passed: 4.00x", "8.00x", "failed at compile", "no such type", "try this", "second"):
        assert shown in text


def test_each_curve_goes_from_the_start_to_the_end_and_rises_only() -> None:
    reader = Reader(page_of(usual()))
    paths = [each["d"] for each in reader.of("path")]
    assert len(paths) == 3
    for path in paths:
        assert path is not None
        assert re.fullmatch(r"M[\d.]+ [\d.]+( [HV][\d.]+)+", path)
        heights = [float(path.split()[1]), *map(float, re.findall(r"V([\d.]+)", path))]
        assert heights == sorted(heights, reverse=True)  # y goes down the page
        places = [float(path.split()[0][1:]), *map(float, re.findall(r"H([\d.]+)", path))]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("run", "note"),
    [
        (evolved([node("a")], spent=[Spent(1, 1, 10, 10, None)]), "a call had no price"),
        (evolved([node("a")], spent=[Spent(1, 1, 10, 10, 0.0)]), "nothing was spent"),
        (evolved([node("a", speedup=0)], start=root(is_reference=True)), "no kernel was right"),
        (evolved([], stop="unfinished"), "nothing was spent"),
    ],
    ids=["no price", "free", "no kernel", "no candidate"],
)
def test_where_there_is_no_curve_the_page_says_why(run: Evolved, note: str) -> None:
    assert note in page_of(run)


@pytest.mark.parametrize(("slowest", "fastest"), [(0.001, 900.0), (0.99, 1.01), (1.0, 1.0), (1e-9, 1e-8)])
def test_axes_hold_any_speedup(slowest: float, fastest: float) -> None:
    reader = Reader(page_of(evolved([node("a", speedup=fastest)], start=root(slowest))))
    (height,) = {float(each["height"] or 0) for each in reader.of("svg")[:3]}
    for each in reader.of("path"):
        assert all(0 <= float(y) <= height for y in re.findall(r"V([\d.-]+)", each["d"] or ""))
    ticks = [text for text in reader.texts if re.fullmatch(r"[\d.e+-]+x", text)]
    assert "1x" in ticks
    assert len(ticks) <= 3 * 8


def test_the_tree_has_a_circle_for_each_candidate_and_none_on_another() -> None:
    made = [node(f"n{number}", (f"n{(number - 1) // 3}",) if number else ("root",)) for number in range(40)]
    reader = Reader(page_of(evolved(made)))
    places = [(each["cx"], each["cy"]) for each in reader.of("circle")]
    assert len(places) == len(set(places)) == 41
    assert sum(each.get("class") == "edge" for each in reader.of("line")) == 40
    assert [each.get("class") for each in reader.of("circle")].count("best") == 1


def test_a_deep_tree_is_drawn() -> None:
    made = [node(f"n{number}", (f"n{number - 1}",) if number else ("root",)) for number in range(1500)]
    assert page_of(evolved(made)).count("<circle") == 1501


def test_the_same_run_gives_the_same_page() -> None:
    assert page_of(usual()) == page_of(usual())


def test_both_files_are_written_whole(tmp_path: Path) -> None:
    summary = write(tmp_path, usual())
    assert sorted(path.name for path in tmp_path.iterdir()) == [PAGE, SUMMARY]
    assert Summary.model_validate_json((tmp_path / SUMMARY).read_text()) == summary
    assert (tmp_path / PAGE).read_text() == page_of(usual())
