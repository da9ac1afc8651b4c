"""The site as files: what each page holds, and that it is a page."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from made_boards import Page, rows_script
from made_sites import BOARD, DEVICE, TASK, figures, headed, page_about, run, site, twice, wrong
from specimens import make_result

from robust_kbench.leaderboard.site import paths, submission_pages, task_pages, workers
from robust_kbench.schema.record import Session, Timing

STATIC = resources.files("robust_kbench.leaderboard.site") / "static"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("board") / "site"


@pytest.fixture(scope="module")
def pages(out: Path) -> dict[str, Page]:
    return site(out)


def test_there_is_a_page_for_each_task_and_submission_and_each_subject(pages: dict[str, Page]) -> None:
    plain = [path for path in pages if not path.startswith("submissions/")]
    assert plain == [
        "agents.html",
        "index.html",
        "method.html",
        "problems.html",
        "redteam.html",
        "tasks/norm-rmsnorm.html",
    ]
    assert len(pages) - len(plain) == 4


def test_every_page_is_well_formed_and_can_be_walked_without_a_mouse(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        tags = [element.tag for element in page.elements]
        identities = page.values("id")
        assert (page.mistakes, page.open) == ([], []), path
        assert (tags.count("h1"), tags.count("main"), tags.count("header"), tags.count("footer")) == (1, 1, 1, 1), path
        assert len(identities) == len(set(identities)), path
        assert page.values("lang") == ["en"], path
        skip = next(element for element in page.elements if element.tag == "a")
        assert skip.attributes == {"class": "skip", "href": "#content"}, path
        assert "content" in identities, path


def test_every_box_that_scrolls_has_a_name_and_can_be_reached_by_keyboard(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        for element in page.elements:
            if element.attributes.get("class") == "scroll":
                named = element.attributes.keys() & {"aria-label", "aria-labelledby"}
                assert (element.attributes["role"], element.attributes["tabindex"]) == ("region", "0"), path
                assert named, path
                assert element.attributes.get("aria-labelledby") in (None, *page.values("id")), path


def test_every_field_has_a_label_and_every_column_a_scope(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        labelled = set(page.values("for"))
        fields = {element.attributes["id"] for element in page.elements if element.tag in ("input", "select")}
        assert fields <= labelled, path
        assert all("scope" in element.attributes for element in page.elements if element.tag == "th"), path


def test_no_page_has_code_or_style_within_and_scripts_come_from_beside_it(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        names = {name for element in page.elements for name in element.attributes}
        assert not {name for name in names if name.startswith("on") or name == "style"}, path
        for element in page.elements:
            if element.tag == "script":
                assert element.attributes.get("type") == "application/json" or "src" in element.attributes, path
            assert element.tag not in ("style", "img", "iframe", "object", "base"), path
        (policy,) = (e.attributes["content"] for e in page.elements if e.attributes.get("http-equiv"))
        assert policy.startswith("default-src 'none'; script-src 'self' file:;"), path
        assert "http" not in policy, path


def test_every_link_leads_to_something_that_is_there(pages: dict[str, Page], out: Path) -> None:
    for path, page in pages.items():
        for address in (*page.values("href"), *page.values("src"), *page.values("data-plotly")):
            if address == "data:,":
                continue
            assert ":" not in address, path
            file, _, part = address.partition("#")
            target = ((out / path).parent / file).resolve() if file else out.resolve() / path
            assert target.is_file(), f"{path}: {address}"
            if part:
                assert part in pages[target.relative_to(out.resolve()).as_posix()].values("id"), f"{path}: {address}"


def test_the_overview_has_a_row_for_each_dtype_in_order_of_ranks(pages: dict[str, Page], out: Path) -> None:
    data: Any = rows_script(out)
    column = data["columns"]["submission"]
    names = [column["of"][index] for index in column["at"]]
    assert (data["count"], names) == (8, ["fast", "middle", "slow", "wrong"] * 2)
    assert data["columns"]["rank"] == [1, 2, 3, None] * 2
    assert all(f"\n{name}\n" in headed(pages["index.html"]) for name in ("fast", "middle", "slow", "wrong"))


def test_what_the_overview_holds_at_once_is_no_more_than_can_be_shown_quickly(tmp_path: Path) -> None:
    records = [run(f"n{number}", minute=number % 60, submission_digest=f"sha256:{number}") for number in range(120)]
    pages = site(tmp_path / "site", records)
    (body,) = (page for path, page in pages.items() if path == "index.html")
    assert sum(element.attributes.get("data-label") == "rank" for element in body.elements) == 200
    data: Any = rows_script(tmp_path / "site")
    assert data["count"] == 240


def test_filters_offer_what_occurs(pages: dict[str, Page]) -> None:
    options = [e.attributes["value"] for e in pages["index.html"].elements if e.tag == "option"]
    assert {"passed", "rejected", "float32", "float16", "author of fast"} <= set(options)
    assert DEVICE not in options  # there is but one, and nothing to choose


def test_a_task_page_tells_the_contract_and_ranks_the_best_first(pages: dict[str, Page]) -> None:
    page = pages["tasks/norm-rmsnorm.html"]
    text = headed(page)
    assert "\nhalf_fp32acc\n" in text or "\nieee\n" in text
    assert "reference" in page.text
    assert text.index("\nfast\n") < text.index("\nmiddle\n") < text.index("\nslow\n") < text.index("\nwrong\n")
    names = [name.rpartition("-")[0] for name in page.values("data-figure")]
    assert names == [f"figure-{kind}" for kind in ("speedups", "spread", "history", "roof")] * 2


def test_a_task_that_is_not_installed_has_a_page_that_says_so(tmp_path: Path) -> None:
    pages = site(tmp_path / "site", twice("fast", task="none/such"))
    page = pages["tasks/none-such.html"]
    assert "not installed here" in page.text
    assert "No roofline" in page.text


def test_a_name_that_no_task_can_have_names_no_file(tmp_path: Path) -> None:
    pages = site(
        tmp_path / "site", [*twice("a", task="../../escaped"), *twice("b", task="Norm/x"), *twice("c", task="a/b/c")]
    )
    assert not [path for path in pages if path.startswith("tasks/")]
    assert "../../escaped" in pages["problems.html"].text
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_submission_page_holds_all_that_its_run_tells(pages: dict[str, Page]) -> None:
    page = page_about(pages, "fast")
    assert "kbench evaluate path/to/submission --device cpu --tier full --seed 7" in page.text
    assert "rows=2048 cols=4096" in page.text
    assert "three-metric-v1" in page.text
    assert page.text.count("Times of float32") == 2
    assert len(figures(page)) == 1 + 4


def test_failing_cases_and_findings_that_reject_come_first(pages: dict[str, Page]) -> None:
    text = headed(page_about(pages, "wrong"))
    assert text.index("\nan answer was kept\n", text.index("Findings of the guards")) < text.index(
        "\ndiffers from run to run\n"
    )
    assert "calls = 3" in text
    groups = text[text.index("All 2 cases") :]
    assert groups.index("\nstrided\n") < groups.index("\ncontiguous\n")
    assert "Nothing was timed." in text


def test_the_history_tells_what_each_run_counts_as(tmp_path: Path) -> None:
    records = [run("a", 30.0, 1), run("a", 31.0, 2), run("a", 10.0, 3), run("a", 5.0, 4, replay=True)]
    text = headed(page_about(site(tmp_path / "site", records), "a"))
    history = text[text.index("All runs of this source") :]
    counted = re.findall(r"(?<=\n)(published|could be ranked|shown only)(?=\n| \()", history)
    assert counted == ["could be ranked", "published", "could be ranked", "shown only"]
    assert "(replay)" in history


def test_samples_that_are_none_cost_a_chart_and_not_the_page(tmp_path: Path) -> None:
    broken = Session(samples={"candidate": "!!!!", "eager": "AAAA"}, foreign_load=0.0)
    timing = Timing(axes={"rows": 1}, dtype="float32", sessions=(broken,))
    page = page_about(site(tmp_path / "site", [run("odd", timings=(timing,))]), "odd")
    assert figures(page) == []
    assert page.mistakes == []


def test_limits_of_zero_cost_no_page(tmp_path: Path) -> None:
    cases = (make_result(errors=(1.0,), limits=(0.0,)), make_result(errors=(1.0, 2.0), limits=(1.0,)))
    assert page_about(site(tmp_path / "site", [run("odd", cases=cases)]), "odd").mistakes == []


def test_equal_sources_are_told_to_be_equal(tmp_path: Path) -> None:
    records = [
        *twice("first", 30.0, 1, submission_digest="sha256:1"),
        run("again", 30.0, 9, submission_digest="sha256:1", task="norm/layernorm"),
    ]
    text = site(tmp_path / "site", records)["tasks/norm-layernorm.html"].text
    assert "same source as first" in text


def test_the_same_records_give_the_same_bytes_in_whatever_order_they_stand(tmp_path: Path) -> None:
    def content(name: str, records: list[Any]) -> dict[str, bytes]:
        site(tmp_path / name / "site", records)
        root = tmp_path / name / "site"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    once = content("once", list(BOARD))
    assert once == content("twice", list(BOARD))
    assert once == content("turned", list(BOARD)[::-1])
    assert once == content("once", list(BOARD))


@pytest.mark.slow
def test_several_processes_write_the_same_bytes_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site(tmp_path / "one" / "site")
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(workers, "_AT_ONCE", 2)
    site(tmp_path / "two" / "site", jobs=2)
    for path in (tmp_path / "one" / "site").rglob("*.html"):
        assert (
            path.read_bytes() == (tmp_path / "two" / "site" / path.relative_to(tmp_path / "one" / "site")).read_bytes()
        )


def test_pages_of_an_earlier_call_go_and_files_of_others_stay(tmp_path: Path) -> None:
    out = tmp_path / "site"
    before = site(out, [*BOARD, *twice("gone", minute=50, task="norm/layernorm")])
    mine = out / "tasks" / "notes.html"
    mine.write_text("<p>mine</p>")
    after = site(out, BOARD)
    assert {path for path in before if path not in after} == {
        "tasks/norm-layernorm.html",
        paths.submission_page(paths.submission_key("norm/layernorm", "sha256:gone", DEVICE)),
    }
    assert mine.exists()


def test_a_page_that_cannot_be_made_is_told_and_the_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(order: task_pages.TaskOrder) -> list[Path]:
        raise RuntimeError("<b>no</b>")

    monkeypatch.setattr(task_pages, "write_task", fail)
    pages = site(tmp_path / "site")
    assert f"{TASK}: no page: RuntimeError: <b>no</b>" in pages["problems.html"].text
    assert len([path for path in pages if path.startswith("submissions/")]) == 4


def test_a_line_that_has_gone_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission_pages, "load_record", lambda place: None)
    page = page_about(site(tmp_path / "site", [wrong()]), "wrong")
    assert "could not be read again" in page.text


NASTY = '</script><img src=x onerror="alert(1)">{{ 7 * 7 }}\u202e\x1b[2J\u2028<a href="javascript:alert(1)">'


def test_words_of_a_record_are_words_on_every_page(tmp_path: Path) -> None:
    changes: dict[str, Any] = dict.fromkeys(("author", "language", "abi", "track", "rule", "reason", "log"), NASTY)
    environment = {"device": NASTY, "kbench": NASTY, NASTY: NASTY}
    records = twice(NASTY, environment=environment, submission_digest="sha256:1", labels=(NASTY,), **changes)
    pages = site(tmp_path / "site", records)
    for path, page in pages.items():
        assert page.mistakes == [], path
        assert not [element for element in page.elements if element.tag == "img"], path
        assert not [address for address in page.values("href") if address.startswith("java")], path
        assert not set("\u202e\x1b\u2028") & set(page.source), path
    assert "{{ 7 * 7 }}" in pages["index.html"].text
    for text in map(str, figures(pages["tasks/norm-rmsnorm.html"])):
        assert "<img" not in text
        assert "<a href" not in text


def test_the_script_is_one_that_parses() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    with resources.as_file(STATIC / "site.js") as script:
        done = subprocess.run([node, "--check", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _variables(css: str) -> dict[str, str]:
    return dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{6});", css))


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it_in_both_schemes(scheme: str) -> None:
    css = (STATIC / "site.css").read_text(encoding="utf-8")
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    colours = _variables(light) if scheme == "light" else _variables(light) | _variables(rest)
    texts = (
        "ink",
        "quiet",
        "accent",
        "good",
        "bad",
        "doubt",
        "same",
        "keyword",
        "comment",
        "string",
        "number",
        "name",
        "macro",
    )
    for name in texts:
        for behind in ("page", "panel"):
            assert _contrast(colours[f"--{name}"], colours[f"--{behind}"]) >= 4.5, f"{name} on {behind}"
    for heat in range(5):
        assert _contrast(colours["--heat-ink"], colours[f"--heat{heat}"]) >= 4.5, heat
    for line in range(1, 9):
        assert _contrast(colours[f"--c{line}"], colours["--page"]) >= 3.0, line
