"""Parts from which pages are put together: figures, escapes, quantiles, cases, sources, rates."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_sites import BOARD, figures, page_about, site
from scipy.stats import binomtest
from specimens import make_result

from robust_kbench.leaderboard.site import cases, charts, entries, paths, redteam_page, sources, spreads, writing
from robust_kbench.leaderboard.site.charts import Estimate, Line
from robust_kbench.redteam.report import COLUMNS
from robust_kbench.registry import read_submission
from robust_kbench.schema.record import encode_samples

RECORDS = list(BOARD)


def test_every_figure_is_one_that_plotly_knows(tmp_path: Path) -> None:
    import plotly.graph_objects as go

    table = tmp_path / "redteam.csv"
    table.write_text(
        f"{','.join(COLUMNS)}\na,timing,,,,clocks,b,rejected,0,,,,,1,clocks,passed,,\nb,honest,,,,,,passed,0,,,,,,,,,\n"
    )
    pages = site(tmp_path / "site", RECORDS, redteam=table)
    drawn = [figure for page in pages.values() for figure in figures(page)]
    assert len(drawn) > 20
    for figure in drawn:
        go.Figure(data=figure["data"], layout=figure["layout"])  # refuses what it does not know


def test_every_chart_has_axes_with_titles_a_name_and_words_below_it(tmp_path: Path) -> None:
    pages = site(tmp_path / "site", RECORDS)
    page = page_about(pages, "fast")
    boxes = [element for element in page.elements if "data-figure" in element.attributes]
    assert boxes
    for box, figure in zip(boxes, figures(page), strict=True):
        assert box.attributes["role"] == "img"
        assert len(box.attributes["aria-label"]) > 20
        titles = [axis.get("title", {}).get("text", "") for axis in figure["layout"].values() if isinstance(axis, dict)]
        assert any("speedup" in title or "µs" in title for title in titles)
    assert sum(element.tag == "figcaption" for element in page.elements) == len(boxes)


def test_a_logarithmic_axis_holds_all_values_and_one() -> None:
    for values in ([2.0, 8.0], [0.1, 0.5], [1.0], [], [0.0, math.inf, 4.0]):
        low, high = charts.log_axis("x", values)["range"]
        known = [value for value in values if 0 < value < math.inf]
        assert low < min([0.0, *map(math.log10, known)])
        assert high > max([0.0, *map(math.log10, known)])


def test_the_first_interval_is_drawn_on_top_and_its_ends_are_where_they_belong() -> None:
    estimates = [Estimate("a", 2.0, 1.5, 3.0, "faster"), Estimate("b", 1.0, 0.5, 2.0, "ambiguous")]
    figure = charts.intervals(estimates)
    first, second = figure["data"]
    assert (first["y"], second["y"]) == ([0], [1])
    assert figure["layout"]["yaxis"]["range"] == [1.5, -0.5]
    assert (first["error_x"]["array"], first["error_x"]["arrayminus"]) == ([1.0], [0.5])


def test_what_a_chart_writes_is_no_tag_and_no_entity() -> None:
    assert writing.in_chart("<b>&lt;\x1b") == "&lt;b&gt;&amp;lt;\ufffd"
    figure = charts.lines([Line("<a href='x'>", [1.0], [2.0], ["<b>"])], x={}, y={})
    assert "<" not in str(figure["data"][0]["name"]) + str(figure["data"][0]["text"])


def test_numbers_that_are_none_are_null_in_a_script() -> None:
    assert writing.json_text({"x": [math.nan, math.inf, 1.0], "y": (None, "\u2028</script>&")}) == (
        '{"x":[null,null,1.0],"y":[null,"\\u2028\\u003c/script\\u003e\\u0026"]}'
    )


@pytest.mark.parametrize(("value", "told"), [(None, ""), (2.0, "2.00×"), (0.5, "0.50×"), (165.68, "166×")], ids=str)
def test_a_speedup_is_told_with_as_many_digits_as_it_has(value: float | None, told: str) -> None:
    assert writing.times(value) == told


def test_a_speedup_and_its_interval_share_a_unit() -> None:
    assert writing.speedup(2.0, 1.5, 200.0) == "2.00× [1.50, 200]"


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_quantiles_are_those_of_numpy(count: int) -> None:
    samples = [random.Random(7).randrange(10**6) for _ in range(count)]
    found = spreads.spread(samples)
    assert found.count == count
    assert found.quantiles_us == pytest.approx(np.quantile(np.array(samples) / 1e3, [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_the_candidate_comes_first_and_the_control_last() -> None:
    samples = {name: encode_samples([10, 20]) for name in ("control", "zeta", "candidate", "eager")}
    found = spreads.of_session({**samples, "gone": ""})
    assert list(found) == ["candidate", "eager", "zeta", "control"]


def test_groups_of_cases_that_failed_come_first_and_then_what_was_not_checked() -> None:
    drawn = [
        make_result(layout="contiguous", errors=(0.5,), limits=(1.0,)),
        make_result(layout="contiguous", errors=(0.75,), limits=(1.0,)),
        make_result(layout="offset", status="not_checked", reason="bfloat16"),
        make_result(layout="strided", status="crashed"),
        make_result(layout="strided"),
        make_result(layout="contiguous", probe="identity"),
    ]
    found = cases.groups(drawn)
    assert [(each.layout, each.values, each.outcome) for each in found] == [
        ("strided", "normal", "crashed"),
        ("offset", "normal", "not_checked"),
        ("contiguous", "normal", "passed"),
        ("contiguous", "probe identity", "passed"),
    ]
    assert (found[0].drawn, found[0].failed, found[2].worst) == (2, 1, 0.75)


def test_pages_of_submissions_are_told_apart_by_task_source_and_device() -> None:
    one = paths.submission_key("a/b", "sha256:1", "x")
    others = [
        ("a/b", "sha256:1x", ""),
        ("a/b", "sha256:2", "x"),
        ("a/c", "sha256:1", "x"),
        ("a/b", "sha256:1", "\ud800"),
    ]
    keys = {one, *(paths.submission_key(*other) for other in others)}
    assert len(keys) == 5
    assert all(len(key) == 16 and not set(key) - set("0123456789abcdef") for key in keys)


@pytest.mark.parametrize("name", ["", "a", "a/b/c", "A/b", "../x", "a/b\n", "a" * 80 + "/b", "a/b.html", "a//b", "ä/b"])
def test_what_cannot_be_a_task_has_no_page(name: str) -> None:
    assert paths.task_page(name) == ""


def test_texts_that_repeat_are_written_once() -> None:
    assert entries.coded(["a", "b", "a", "a"]) == {"of": ["a", "b"], "at": [0, 1, 0, 0]}
    assert entries.coded(["a", "b"]) == ["a", "b"]
    assert entries.coded([1, None, 2.5]) == [1, None, 2.5]


def _submission(folder: Path, text: str = "def rmsnorm(x, weight, y): pass\n") -> Path:
    folder.mkdir(parents=True)
    header = "task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::rmsnorm\n"
    (folder / "submission.yaml").write_text(header)
    (folder / "kernel.py").write_text(text)
    return folder


def test_sources_are_found_by_their_digest_and_what_is_malformed_is_passed_over(tmp_path: Path) -> None:
    good = _submission(tmp_path / "b" / "good")
    (_submission(tmp_path / "a" / "bad") / "submission.yaml").write_text("task: [")
    assert sources.find([tmp_path]) == {read_submission(good).digest: good}


def test_only_the_source_that_was_judged_is_shown(tmp_path: Path) -> None:
    folder = _submission(tmp_path / "mine")
    digest = read_submission(folder).digest
    records = [record.model_copy(update={"submission_digest": digest}) for record in RECORDS[:2]]
    shown = site(tmp_path / "one" / "site", records, sources={digest: folder})
    assert "def rmsnorm(x, weight, y)" in page_about(shown, "fast").text
    (folder / "kernel.py").write_text("def rmsnorm(x, weight, y): cheat()\n")
    changed = page_about(site(tmp_path / "two" / "site", records, sources={digest: folder}), "fast")
    assert "cheat" not in changed.text
    assert "The source was not at hand" in changed.text


def test_a_source_is_coloured_and_what_is_in_it_is_text(tmp_path: Path) -> None:
    text = '"""\u202e</code></pre><script>alert(1)</script>"""\n\timport os  # \x1b[2J\n'
    folder = _submission(tmp_path / "mine", text)
    (found,) = sources.files(folder, read_submission(folder).digest)
    assert '<span class="kn">import</span>' in found.text
    assert "<script" not in found.text
    assert not set("\u202e\x1b") & set(found.text)
    assert not found.is_cut


def test_a_source_that_is_too_long_is_cut_and_a_text_without_a_language_is_plain(tmp_path: Path) -> None:
    folder = _submission(tmp_path / "mine", "x = 1\n" * 20_000)
    (folder / "notes.txt").write_text("<b>")
    kernel, notes = sources.files(folder, read_submission(folder).digest)
    assert (kernel.name, kernel.is_cut, notes.name, str(notes.text)) == ("kernel.py", True, "notes.txt", "&lt;b&gt;\n")


@pytest.mark.parametrize(("count", "total"), [(0, 0), (0, 7), (3, 40), (7, 7), (1, 1)])
def test_the_interval_of_a_rate_is_wilsons(count: int, total: int) -> None:
    low, high = redteam_page.wilson(count, total)
    if not total:
        assert (low, high) == (0.0, 1.0)
        return
    wanted = binomtest(count, total).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def _redteam(path: Path, *rows: dict[str, Any]) -> Path:
    lines = [",".join(str(row.get(column, "")) for column in COLUMNS) for row in rows]
    path.write_text("\n".join([",".join(COLUMNS), *lines, ""]))
    return path


def _attack(name: str, kind: str, off: str, *, succeeded: int = 0, armed: int = 1) -> dict[str, Any]:
    told = {"specimen": name, "kind": kind, "status": "rejected", "succeeded": succeeded}
    return {**told, "armed": armed, "armed_without": off}


ATTACKS = (
    _attack("a", "timing", "clocks"),
    _attack("b", "timing", "clocks + floor", succeeded=1),
    _attack("c", "caching", "fresh values"),
    _attack("d", "caching", "fresh values", armed=0),
    _attack("e", "harness", "naive harness"),
)
HONEST = tuple(
    {"specimen": name, "kind": "honest", "catalogue": looks_like, "status": status, "succeeded": 0}
    for name, status, looks_like in (("x", "passed", "T01 T02 C04"), ("y", "rejected", "C01"), ("z", "passed", ""))
)


def test_rates_are_of_armed_attacks_and_of_honest_kernels(tmp_path: Path) -> None:
    rows, broken = redteam_page.read(_redteam(tmp_path / "t.csv", *ATTACKS, *HONEST))
    counted = {rate.name: (rate.count, rate.total) for rate in redteam_page.rates(rows)}
    assert broken == 0
    assert counted == {
        "timing": (1, 2), "answers": (0, 0), "caching": (0, 1), "precision": (0, 0), "harness": (0, 1),
        "shortcuts": (0, 0), "hardware": (0, 0), "all attacks": (1, 4),
    }  # fmt: skip
    refused = {rate.name: (rate.count, rate.total) for rate in redteam_page.false_positives(rows) if rate.total}
    assert refused == {
        "honest, looks like timing": (0, 1), "honest, looks like caching": (1, 2), "all honest kernels": (1, 3),
    }  # fmt: skip


def test_the_matrix_counts_an_attack_where_the_group_that_stops_it_is_off(tmp_path: Path) -> None:
    rows, _ = redteam_page.read(_redteam(tmp_path / "t.csv", *ATTACKS))
    columns, lines = redteam_page.matrix(rows)
    counts = {
        (line.name, column): cell.count for line in lines for column, cell in zip(columns, line.cells, strict=True)
    }
    assert {key for key, count in counts.items() if count} == {
        ("timing", "clocks"), ("timing", "several together"), ("caching", "fresh values"), ("harness", "naive harness"),
    }  # fmt: skip
    assert columns[-1] == "naive harness"


def test_rows_that_make_no_sense_are_counted_as_such_and_the_page_is_made(tmp_path: Path) -> None:
    table = _redteam(
        tmp_path / "t.csv", *ATTACKS, _attack("<b>", "nonsense", "clocks"), _attack("f", "timing", "x", succeeded=7)
    )
    page = site(tmp_path / "site", RECORDS, redteam=table)["redteam.html"]
    assert "2 rows of the table could not be read" in page.text
    assert "These attacks succeed" in page.text


@pytest.mark.parametrize("content", [b"", b"\xff\x00\x00", b'"', b"a,b\n1,2\n", b'specimen,kind,status,succeeded\n"x'])
def test_a_table_that_is_none_costs_nothing_but_itself(tmp_path: Path, content: bytes) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(content)
    assert "No table of the red team" in site(tmp_path / "site", RECORDS, redteam=table)["redteam.html"].text


def test_a_table_that_is_not_there_is_a_problem_that_is_told(tmp_path: Path) -> None:
    pages = site(tmp_path / "site", RECORDS, redteam=tmp_path / "none.csv")
    assert "none.csv: No such file" in pages["problems.html"].text


def test_a_script_of_rows_is_json_in_ascii(tmp_path: Path) -> None:
    site(tmp_path / "site", RECORDS)
    text = (tmp_path / "site" / paths.ROWS).read_text(encoding="ascii")
    assert json.loads(text.removeprefix("window.kbenchRows = ").removesuffix(";\n"))["count"] == 8
