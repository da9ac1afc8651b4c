"""The pages as a reader meets them: opened from a disk by a real browser, on a desk and on a phone.

Needs playwright (extra `dev`) and a chromium; `make browser` installs one where it may, and keeps the screenshots.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import hostile
import pytest
import synthetic
from made_boards import KINDS, board, kinds, read, write_redteam, write_runs

from robust_kbench.folders import data_folder
from robust_kbench.leaderboard.site import paths
from robust_kbench.registry import read_submission

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, ViewportSize

pytest.importorskip("playwright.sync_api", reason="no playwright; pip install -e .[dev]")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH; Debian: apt-get install chromium"),
]

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
SIZES = {"desk": DESK, "phone": PHONE}
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3, level AA
_WAIT_MS = 20_000


@dataclass
class Seen:
    """Requests, complaints and dialogs of a page while it was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def outside(self, folder: Path) -> list[str]:
        """List requests for anything but files of the board. Data that a page holds itself are no requests."""
        return [address for address in self.requests if not _is_inside(address, folder)]


def _is_inside(address: str, folder: Path) -> bool:
    parts = urlsplit(address)
    if parts.scheme in ("data", "blob"):
        return True
    is_local = parts.scheme == "file" and not parts.netloc
    return is_local and Path(unquote(parts.path)).resolve().is_relative_to(folder.resolve())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its sandbox wants a user that is not root; all that it opens here are files that these tests have written.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@contextmanager
def opened(browser: Browser, path: Path, size: ViewportSize = DESK, **options: Any) -> Iterator[tuple[Page, Seen]]:
    """Open a page in a window of its own; yield it with its requests, complaints and dialogs."""
    context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    try:
        page, seen = context.new_page(), Seen()
        _listen(page, seen)
        page.goto(path.as_uri(), wait_until="load")
        yield page, seen
    finally:
        context.close()


def _listen(page: Page, seen: Seen) -> None:
    page.set_default_timeout(_WAIT_MS)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))

    def listen(said: ConsoleMessage) -> None:
        if said.type == "error":
            seen.complaints.append(said.text)

    def dismiss(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", listen)
    page.on("dialog", dismiss)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a board of 240 records of three tasks, with sources, agents, the red team and a line that is broken."""
    folder = tmp_path_factory.mktemp("honest")
    synthetic.write_store(folder / "results.jsonl", 240, tasks=["norm/rmsnorm", "activation/softmax", "matmul/matmul"])
    kernel = data_folder("baselines") / "norm" / "rmsnorm" / "cpp_simd"
    sourced = hostile.plain() | {"submission": "cpp_simd", "submission_digest": read_submission(kernel).digest}
    sourced |= {"language": "cpp", "abi": "c"}
    with (folder / "results.jsonl").open("ab") as file:
        file.write(hostile.sealed(sourced))
        file.write(hostile.sealed(sourced | {"seed": 3, "started_at": "2026-03-03T03:03:03Z"}))
        file.write(b"this is no record\n")
    write_runs(folder / "runs")
    write_redteam(folder / "redteam.csv")
    done = board(
        folder / "out", [folder / "results.jsonl"], "--agents", folder / "runs", "--redteam", folder / "redteam.csv",
        "--sources", data_folder("baselines") / "norm",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a board of hostile things alone."""
    folder = tmp_path_factory.mktemp("nasty")
    stores = hostile.write_stores(folder / "stores")
    write_runs(folder / "runs", "".join(hostile.TEXTS.values()))
    write_redteam(folder / "redteam.csv", "".join(hostile.TEXTS.values()))
    done = board(folder / "out", stores, "--agents", folder / "runs", "--redteam", folder / "redteam.csv")
    assert done.returncode == 0, done.stderr
    return folder / "out"


def draw_all(page: Page) -> int:
    """Bring every chart into view, and wait until all are drawn; return their number."""
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    charts = page.locator("[data-figure]")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        charts.nth(number).locator(".main-svg").first.wait_for(state="attached")
    return charts.count()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_from_a_disk_alone_and_complains_about_nothing(
    browser: Browser, honest: Path, kind: str, size: str, tmp_path: Path
) -> None:
    with opened(browser, kinds(honest)[kind], SIZES[size]) as (page, seen):
        assert page.locator("h1").inner_text().strip()
        draw_all(page)
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=_screenshots(tmp_path) / f"{kind}-{size}.png", full_page=kind != "overview")
        assert (seen.outside(honest), seen.complaints, seen.dialogs) == ([], [], [])


def _screenshots(otherwise: Path) -> Path:
    folder = Path(os.environ.get("KBENCH_SCREENSHOTS") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_is_wider_than_a_phone(browser: Browser, honest: Path, kind: str) -> None:
    with opened(browser, kinds(honest)[kind], PHONE) as (page, _):
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("kind", ["task", "submission", "agents", "redteam"])
def test_charts_are_drawn_with_titled_axes(browser: Browser, honest: Path, kind: str) -> None:
    with opened(browser, kinds(honest)[kind]) as (page, _):
        count = draw_all(page)
        assert count > 0
        for number in range(count):
            canvas = page.locator("[data-figure]").nth(number)
            titles = canvas.locator("text.xtitle, text.ytitle").all_text_contents()
            assert any(title.strip() for title in titles), canvas.get_attribute("data-figure")
            assert canvas.get_attribute("aria-label")


@pytest.mark.parametrize("kind", ["task", "submission", "agents", "redteam"])
def test_every_axis_of_numbers_says_what_they_are(honest: Path, kind: str) -> None:
    page = read(kinds(honest)[kind])
    figures = [json.loads(text) for element, text in page.scripts if "figure" in element.attributes.get("id", "")]
    assert figures
    for figure in figures:
        axes = [axis for name, axis in figure["layout"].items() if name.startswith(("xaxis", "yaxis"))]
        assert len(axes) >= 2
        for axis in axes:
            assert axis.get("type") == "category" or axis.get("tickmode") == "array" or axis["title"]["text"].strip()


def column(page: Page, key: str) -> list[str]:
    """Return the texts of a column of the ranking, from the top."""
    cells = page.locator(f"#ranking tbody td[data-label='{key}']")
    return [text.strip() for text in cells.all_inner_texts()]


def by_click(page: Page, key: str) -> None:
    page.locator(f"#ranking th[data-sort='{key}'] button").click()


def by_keyboard(page: Page, key: str) -> None:
    button = page.locator(f"#ranking th[data-sort='{key}'] button")
    button.focus()
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    page.keyboard.press("Enter")


@pytest.mark.parametrize("sort", [by_click, by_keyboard], ids=["click", "keyboard"])
def test_the_ranking_sorts_all_of_its_rows_both_ways(
    browser: Browser, honest: Path, sort: Callable[[Page, str], None]
) -> None:
    with opened(browser, honest / paths.INDEX) as (page, _):
        before, head = column(page, "submission"), page.locator("#ranking th[data-sort='submission']")
        sort(page, "submission")
        upwards = column(page, "submission")
        assert head.get_attribute("aria-sort") == "ascending"
        assert upwards == sorted(upwards) != before
        sort(page, "submission")
        downwards = column(page, "submission")
        assert head.get_attribute("aria-sort") == "descending"
        assert downwards == sorted(downwards, reverse=True)
        assert downwards[0] > upwards[-1]  # of all rows, of which there are more than are shown


@pytest.mark.parametrize("sort", ["click", "keyboard"])
def test_the_table_of_a_task_sorts_in_place(browser: Browser, honest: Path, sort: str) -> None:
    with opened(browser, kinds(honest)["task"]) as (page, _):
        table = page.locator("table[data-sortable]").first
        button = table.locator("th[data-sort='median'] button")
        before = medians(table)
        if sort == "click":
            button.click()
        else:
            button.focus()
            page.keyboard.press("Space")
        after = medians(table)
        known = [each for each in after if each]
        assert sorted(after) == sorted(before)
        assert [float(each) for each in known] == sorted(float(each) for each in known)
        assert after[: len(known)] == known  # what has no time comes last
        assert after != before


def medians(table: Locator) -> list[str]:
    """Return the medians of a table, from the top."""
    values: list[str] = table.evaluate(
        "(table) => { const at = table.querySelector('th[data-sort=median]').cellIndex;"
        " return [...table.tBodies[0].rows].map((row) => row.cells[at].dataset.value); }"
    )
    return values


def test_filters_and_search_narrow_the_rows_and_reset_gives_all_back(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX) as (page, seen):
        everything = page.locator("#count").inner_text()
        page.select_option("#filters select[name='dtype']", "float16")
        assert set(column(page, "dtype")) == {"float16"}
        narrowed = page.locator("#count").inner_text()
        assert narrowed != everything
        page.select_option("#filters select[name='family']", "norm")
        assert {task.partition("/")[0] for task in column(page, "task")} == {"norm"}
        page.fill("#filters input[name='q']", "no such submission anywhere")
        page.locator("#ranking tbody tr").first.wait_for(state="detached")
        assert page.locator("#count").inner_text().startswith("0 of ")
        page.locator("#filters button[type='reset']").click()
        page.locator("#ranking tbody tr").first.wait_for()
        assert page.locator("#count").inner_text() == everything
        assert seen.complaints == []


def test_more_rows_come_when_asked_for(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX) as (page, _):
        first = page.locator("#ranking tbody tr").count()
        assert first == 200
        page.locator("#more").click()
        assert page.locator("#ranking tbody tr").count() > first


def test_a_filter_is_kept_in_the_address(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX) as (page, seen):
        page.select_option("#filters select[name='dtype']", "bfloat16")
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        page.locator("#ranking tbody tr").first.wait_for()
        assert set(column(page, "dtype")) == {"bfloat16"}
        assert seen.outside(honest) in ([], ["about:blank"])


def test_links_lead_from_the_ranking_to_a_submission_its_task_and_back(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX) as (page, seen):
        link = page.locator("#ranking tbody td[data-label='submission'] a").first
        name = link.inner_text().strip()
        link.click()
        page.wait_for_url("**/submissions/*.html")
        assert page.locator("h1").inner_text().strip() == name
        page.locator("main a[href*='tasks/']").first.click()
        page.wait_for_url("**/tasks/*.html")
        page.locator("a.brand").click()
        page.wait_for_url("**/index.html")
        assert (seen.outside(honest), seen.complaints) == ([], [])


def test_every_link_of_every_page_leads_to_a_page_and_to_a_place_on_it(honest: Path) -> None:
    pages = {path: read(path) for path in sorted(honest.rglob("*.html"))}
    places = {path: {*page.values("id")} for path, page in pages.items()}
    assert len(pages) > 100
    for path, page in pages.items():
        for address in page.values("href"):
            target, _, place = address.partition("#")
            where = path if not target else Path(os.path.normpath(path.parent / target))
            assert address == "data:," or where.is_file(), f"{path.name}: {address}"
            assert not place or place in places[where], f"{path.name}: {address}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_control_has_a_name_and_every_id_is_one(browser: Browser, honest: Path, kind: str) -> None:
    with opened(browser, kinds(honest)[kind]) as (page, _):
        assert page.evaluate(_NAMELESS) == []
        identities = read(kinds(honest)[kind]).values("id")
        assert len(identities) == len(set(identities))
        assert page.locator("h1").count() == page.locator("main").count() == 1
        assert page.locator("html").get_attribute("lang") == "en"


_NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button, a[href]")]
  .filter((each) => !each.closest("[hidden]") && !each.closest("svg") && !each.closest(".modebar"))
  .filter((each) => {
    const label = each.labels && each.labels.length ? each.labels[0].textContent : "";
    const by = each.getAttribute("aria-labelledby");
    const other = by ? document.getElementById(by).textContent : "";
    const own = each.matches("button, a") ? each.textContent : "";
    return !(label || other || own || each.getAttribute("aria-label") || "").trim();
  })
  .map((each) => each.outerHTML.slice(0, 200))"""


def test_everything_can_be_reached_with_the_keyboard_and_is_seen_to_be(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX) as (page, _):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        box = page.locator("a.skip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        names = []
        for _ in range(25):
            page.keyboard.press("Tab")
            names.append(page.evaluate("document.activeElement.name || document.activeElement.className"))
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert {"brand", "q", "sort"} <= set(names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_stand_out_from_what_is_behind_them(browser: Browser, honest: Path, kind: str, scheme: str) -> None:
    with opened(browser, kinds(honest)[kind], color_scheme=scheme) as (page, _):
        weak = page.evaluate(_CONTRASTS, LEAST_CONTRAST)
        assert weak == []


_CONTRASTS = """(least) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) known.set(colour, measured(colour));
    return known.get(colour);
  };
  const measured = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), rgba("Canvas"));
  };
  const light = (colour) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.slice(0, 3).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const weak = new Set();
  for (const element of document.querySelectorAll("body *:not(script):not(noscript)")) {
    const words = [...element.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!words || element.closest("svg") || !element.checkVisibility()) continue;
    const back = behind(element), text = over(rgba(getComputedStyle(element).color), back);
    const [high, low] = [light(text), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < least) weak.add(element.tagName + "." + element.className + " " + ratio.toFixed(2));
  }
  return [...weak];
}"""


def all_pages(out: Path, step: int) -> list[Path]:
    """List all pages, but of the many submissions only every `step`-th."""
    submissions = sorted((out / paths.SUBMISSIONS).glob("*.html"))
    others = [*sorted(out.glob("*.html")), *sorted((out / paths.TASKS).glob("*.html"))]
    return [*others, *submissions[::step]]


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_that_a_record_words_is_executed_on_any_page(browser: Browser, nasty: Path, step: int) -> None:
    with opened(browser, nasty / paths.INDEX) as (page, seen):
        for path in all_pages(nasty, step):
            page.goto(path.as_uri())
            draw_all(page)
            page.mouse.move(200, 300)
            assert page.evaluate("typeof window.pwned") == "undefined", path.name
            assert (seen.dialogs, seen.outside(nasty), seen.complaints) == ([], [], []), path.name
            assert page.evaluate(_THEIRS) == [], path.name


_THEIRS = """() => {
  const isTheirs = (each) => {
    if ([...each.attributes].some((one) => one.name.startsWith("on"))) return true;
    if (/^(iframe|object|embed|base|foreignobject)$/i.test(each.tagName)) return true;
    const address = each.getAttribute("href") || each.getAttribute("xlink:href") || "";
    return /^\\s*(javascript|https?|\\/\\/):?/i.test(address) || Boolean(address && each.closest(".plot svg"));
  };
  return [...document.querySelectorAll("*")].filter(isTheirs).map((each) => each.outerHTML.slice(0, 200));
}"""


def test_hostile_rows_that_are_drawn_by_the_script_are_as_inert(browser: Browser, nasty: Path) -> None:
    with opened(browser, nasty / paths.INDEX) as (page, seen):
        by_click(page, "submission")
        while page.locator("#more").is_visible():
            page.locator("#more").click()
        by_click(page, "author")
        for select in page.locator("#filters select").all():
            values = select.locator("option").evaluate_all("(all) => all.map((each) => each.value)")
            select.select_option(index=len(values) - 1)
            select.select_option(index=0)
        assert page.evaluate("typeof window.pwned") == "undefined"
        assert page.evaluate(_THEIRS) == []
        assert (seen.dialogs, seen.outside(nasty), seen.complaints) == ([], [], [])


@pytest.mark.parametrize("name", [paths.INDEX, paths.AGENTS, paths.REDTEAM, paths.PROBLEMS, "tasks/norm-rmsnorm.html"])
def test_no_name_however_long_makes_a_page_wider_than_a_phone(browser: Browser, nasty: Path, name: str) -> None:
    with opened(browser, nasty / name, PHONE) as (page, _):
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_without_scripts_the_first_rows_and_all_links_are_there(browser: Browser, honest: Path) -> None:
    with opened(browser, honest / paths.INDEX, java_script_enabled=False) as (page, _):
        assert page.locator("#ranking tbody tr").count() == 200
        page.locator("#ranking tbody td[data-label='submission'] a").first.click()
        page.wait_for_url("**/submissions/*.html")
