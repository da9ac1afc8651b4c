"""The SVG of a record, read back as XML."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from timed import NASTY, SPREAD, session, timed, timing

from robust_kbench.plots.canvas import CELL, STYLE
from robust_kbench.plots.labels import cells_of
from robust_kbench.plots.panels import case_key
from robust_kbench.plots.picture import WIDTH, svg
from robust_kbench.schema.record import RunRecord, Timing
from robust_kbench.scoring import CaseScore, score_case
from robust_kbench.timing.statistics import Ratio

SVG = "{http://www.w3.org/2000/svg}"
LEFT, RIGHT = 232, 600  # of the times' axis
Box = tuple[float, float, float, float]


def parse(record: RunRecord, floor_us: float | None = None) -> ElementTree.Element:
    floors = {} if floor_us is None else {case_key(case.axes, case.dtype): floor_us for case in record.timings}
    return ElementTree.fromstring(svg(record, floors))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def of_class(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if kind in element.get("class", "").split()]


def strips(root: ElementTree.Element) -> list[tuple[str, list[tuple[float, float]]]]:
    """Class and points of every strip but those of the legend."""
    found = []
    for path in of_class(root, "strip"):
        points = [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+)h0", path.get("d", ""))]
        if points[0][0] >= LEFT:
            found.append((path.get("class", ""), points))
    return found


def boxes(root: ElementTree.Element) -> list[Box]:
    """Left, right, top and bottom of every line of text, generously."""
    found = []
    for element in root.iter(f"{SVG}text"):
        cell = CELL * 15 / 12 if element.get("class") == "title" else CELL
        wide = cells_of(element.text or "") * cell
        shift = {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor", ""), 0.0)
        x, y = float(element.get("x", "nan")) - shift * wide, float(element.get("y", "nan"))
        found.append((x, x + wide, y - 10, y + 3))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


LINEAR = timed(timing(session(candidate=[100, 150], eager=[200, 175]), session(candidate=[125, 110], eager=[180, 190])))


def test_samples_lie_where_their_times_say_in_the_order_in_which_they_were_taken() -> None:
    # 100 to 200 us, 4 % of padding at each end.
    expected = [[100, 150], [125, 110], [200, 175], [180, 190]]
    drawn = strips(parse(LINEAR))
    assert [kind for kind, _ in drawn] == ["strip s1", "strip s2", "strip s1", "strip s2"]
    for times, (_, points) in zip(expected, drawn, strict=True):
        places = [LEFT + (time - 96) / 108 * (RIGHT - LEFT) for time in times]
        assert [x for x, _ in points] == pytest.approx(places, abs=0.06)


def test_a_wide_spread_is_drawn_on_a_logarithmic_axis_and_says_so() -> None:
    root = parse(timed(timing(session(candidate=[10, 100, 1000], eager=[10, 100, 1000]))))
    (_, points), *_ = strips(root)
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.11)
    assert "us, log" in texts(root)
    assert "us" in texts(parse(LINEAR))


def test_each_session_has_a_lane_of_its_own_below_the_one_before() -> None:
    lanes = [[y for _, y in points] for _, points in strips(parse(LINEAR))]
    assert all(max(above) < min(below) for above, below in itertools.pairwise(lanes))


def test_every_sample_is_drawn_once() -> None:
    drawn = [point for _, points in strips(parse(timed(SPREAD, SPREAD))) for point in points]
    assert len(set(drawn)) == 32


def test_the_median_of_the_score_is_marked_and_the_middle_half_boxed() -> None:
    root = parse(LINEAR)
    place = LEFT + (score_case(LINEAR.timings[0]).medians_us["candidate"] - 96) / 108 * (RIGHT - LEFT)
    mark = of_class(root, "median")[0]
    assert float(mark.get("x1", "")) == float(mark.get("x2", "")) == pytest.approx(place, abs=0.06)
    box = of_class(root, "box")[0]  # of 100, 110, 125, 150: from the second to the third
    assert float(box.get("x", "")) == pytest.approx(LEFT + 14 / 108 * (RIGHT - LEFT), abs=0.06)
    assert float(box.get("width", "")) == pytest.approx(15 / 108 * (RIGHT - LEFT), abs=0.11)
    assert float(box.get("height", "")) == float(mark.get("y2", "")) - float(mark.get("y1", ""))


Pin = Callable[..., None]


@pytest.fixture
def pin(monkeypatch: pytest.MonkeyPatch) -> Pin:
    """Replace the speedups of every score, by whatever rule those come from."""

    def pinned(fastest: Ratio, eager: Ratio) -> None:
        def scored(timing: Timing, noise: float | None) -> CaseScore:
            return replace(score_case(timing, noise), speedup=fastest, speedups={"eager": eager}, margin=0.02)

        monkeypatch.setattr("robust_kbench.plots.panels.score_case", scored)

    return pinned


def test_a_speedup_its_interval_and_the_line_at_one_share_a_logarithmic_axis(pin: Pin) -> None:
    pin(Ratio(2, 1, 4), Ratio(0.5, 0.25, 1.1))
    root = parse(timed(SPREAD))
    per_octave = 136 / 4 / 1.08  # 640 to 776 hold four octaves and 4 % of padding at each end
    one = 640 + per_octave * 2.16
    places = [(float(mark.get("x1", "")), float(mark.get("x2", ""))) for mark in of_class(root, "interval")]
    for (left, right), octaves in zip(places, [(0, 2), (1, 1), (-2, math.log2(1.1)), (-1, -1)], strict=True):
        assert (left, right) == pytest.approx([one + per_octave * octave for octave in octaves], abs=0.06)
    (line,) = (line for line in of_class(root, "par") if line.get("x1") == line.get("x2"))
    assert float(line.get("x1", "")) == pytest.approx(one, abs=0.06)
    assert {"2.00x [1.00, 4.00]", "0.50x [0.25, 1.10]", "ambiguous; fastest: eager", "0.5", "1", "2"} <= set(
        texts(root)
    )


def test_the_axis_of_speedups_is_the_same_for_all_cases() -> None:
    wide = timing(session(candidate=[1], eager=[1000]), dtype="float16")
    estimates = [mark.get("x1") for mark in of_class(parse(timed(SPREAD, wide, SPREAD)), "interval")]
    assert estimates[:4] == estimates[-4:] != estimates[4:-4]


@pytest.mark.parametrize(
    ("ratio", "kind"),
    [
        (Ratio(2, 1.03, 3), "faster"),
        (Ratio(0.5, 0.4, 0.97), "slower"),
        (Ratio(1, 0.99, 1.01), "same"),
        (Ratio(2, 1.01, 3), "ambiguous"),
    ],
)
def test_the_verdict_is_a_colour_and_a_word(ratio: Ratio, kind: str, pin: Pin) -> None:
    pin(ratio, Ratio(2, 1.9, 2.1))
    root = parse(timed(SPREAD))
    drawn = [mark.get("class") for mark in of_class(root, "interval")]
    assert drawn == [f"interval {kind}"] * 2 + ["interval faster"] * 2
    assert f"{kind}; fastest: eager" in texts(root)


def test_differences_that_count_as_none_are_shaded(pin: Pin) -> None:
    pin(Ratio(2, 1, 4), Ratio(2, 1, 4))
    (shade,) = of_class(parse(timed(SPREAD)), "margin")
    octaves = math.log2(4 * 1.1)  # from the smallest range below 1.0 to 4.0
    assert float(shade.get("width", "")) == pytest.approx(136 / octaves / 1.08 * 2 * math.log2(1.02), abs=0.11)


def test_an_interval_without_bounds_ends_where_its_axis_ends(pin: Pin) -> None:
    pin(Ratio(2, 0.0, math.inf), Ratio(2, 1, 4))
    interval = of_class(parse(timed(SPREAD)), "interval")[0]
    assert (interval.get("x1"), interval.get("x2")) == ("640", "776")


def test_a_floor_is_a_marked_line_where_its_time_says() -> None:
    root = parse(LINEAR, floor_us=90)
    (line,) = of_class(root, "floor")
    assert float(line.get("x1", "")) == pytest.approx(LEFT + 4.4 / 118.8 * (RIGHT - LEFT), abs=0.06)
    assert "floor 90.00 us" in texts(root)
    assert of_class(parse(LINEAR), "floor") == []


@pytest.mark.parametrize(("floor_us", "label"), [(0.5, "← floor 0.500 us"), (1e5, "floor 100,000 us →")])
def test_a_floor_far_from_all_samples_is_an_arrow_at_the_edge(floor_us: float, label: str) -> None:
    root = parse(LINEAR, floor_us)
    assert of_class(root, "floor") == []
    (box,) = (box for box, shown in zip(boxes(root), texts(root), strict=True) if shown == label)
    assert min(box[0] - LEFT, RIGHT - box[1]) == pytest.approx(0, abs=0.06)


HARD = timed(
    timing(
        session(candidate=[1, 4_294_967], eager=[4_000_000, 2], **{NASTY: [3, 9], "W" * 90: [1, 1]}),
        axes={NASTY: 1, "long" * 40: 2},
    ),
    timing(*[session(candidate=[100.1, 100.2], eager=[100.3, 100.1])] * 12, dtype="float16"),
    timing(session(candidate=[5]), dtype="bfloat16"),
    timing(session(candidate=[5, 5], eager=[5, 5]), dtype="float64"),
    submission=NASTY + "核" * 200,
    language=NASTY,
    environment={"device": NASTY * 9},
    task=NASTY,
    submission_digest=NASTY,
)


@pytest.mark.parametrize("floor_us", [None, 0.0, 4.9, 1e9])
@pytest.mark.parametrize("record", [timed(SPREAD), LINEAR, HARD, timed()], ids=["spread", "linear", "hard", "untimed"])
def test_no_text_touches_another_one_or_leaves_the_page(record: RunRecord, floor_us: float | None) -> None:
    root = parse(record, floor_us)
    height = float(root.get("height", ""))
    found = boxes(root)
    assert root.get("viewBox") == f"0 0 {WIDTH} {root.get('height')}"
    assert [box for box in found if box[0] < 0 or box[1] > WIDTH or box[2] < 0 or box[3] > height] == []
    assert [pair for pair in itertools.combinations(found, 2) if overlap(*pair)] == []


def test_everything_of_a_row_lies_within_its_panel() -> None:
    root = parse(HARD, floor_us=3)
    for _, points in strips(root):
        assert all(LEFT <= x <= RIGHT for x, _ in points)
    ys = [y for _, points in strips(root) for _, y in points]
    assert 92 < min(ys) < max(ys) < float(root.get("height", ""))


def test_a_script_in_a_name_is_text() -> None:
    drawn = svg(timed(SPREAD, submission="<script>alert(1)</script>"))
    assert "<script" not in drawn
    assert "norm/scale  <script>alert(1)</script> (python)" in texts(ElementTree.fromstring(drawn))


def test_no_name_reaches_the_markup() -> None:
    root = parse(HARD)
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds == {"svg", "title", "desc", "style", "rect", "text", "line", "path"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or "href" in name]
    assert not set("\x1b\u202e\u0336\n") & set("".join(texts(root)))
    assert svg(HARD).encode().decode() == svg(HARD)


def test_a_person_who_cannot_see_the_picture_gets_its_numbers() -> None:
    root = parse(timed(SPREAD), floor_us=40)
    assert root.get("role") == "img"
    labels = {element.get("id"): element.text or "" for element in root if element.get("id")}
    title, description = (labels[name] for name in root.get("aria-labelledby", "").split())
    assert title == "Times and speedups of norm/scale  mine (python)"
    speed = f"speedup {score_case(SPREAD).speedup}, {score_case(SPREAD).verdict}"  # the same over eager, the fastest
    assert f"float32 rows=64: candidate 102.5 us, {speed}; eager 203.5 us, {speed}; floor 40.00 us." in description


def test_two_pictures_on_one_page_share_no_identifier() -> None:
    one, other = parse(timed(SPREAD)), parse(timed(SPREAD, seed=8))
    assert not set(one.get("aria-labelledby", "").split()) & set(other.get("aria-labelledby", "").split())


def test_a_record_that_was_not_timed_says_so() -> None:
    assert "no case was timed" in texts(parse(timed()))


def test_the_same_record_gives_the_same_bytes() -> None:
    again = RunRecord.model_validate_json(timed(SPREAD).model_dump_json())
    assert svg(again) == svg(timed(SPREAD))


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_marks_and_text_stand_out_from_the_page_by_the_contrast_of_wcag_2(is_dark: bool) -> None:
    scheme = STYLE.split("@media")[is_dark]
    rules = re.findall(r"svg\.kbench ([\w. ]+?) \{[^}]*?(?:fill|stroke): (#\w{6})", scheme)
    colours = {name: luminance(colour) for name, colour in rules}
    page = colours.pop(".page")
    contrasts = {n: (max(page, c) + 0.05) / (min(page, c) + 0.05) for n, c in colours.items() if n != ".grid"}
    assert {"text", "text.quiet", ".s1", ".s5", ".faster", ".same", ".ambiguous", ".median"} <= contrasts.keys()
    assert [name for name, c in contrasts.items() if c < (4.5 if name.startswith("text") else 3)] == []
