"""Cost of a board of 20,000 records on two cores: run with `make perf`. The store has about two gigabytes.

Records have as many samples, sessions and cases as real ones (see synthetic). The project aims at tables in 20 s,
tables and pages in 120 s, the first row within a second of opening. Times depend on the machine: they are measured, and
the aim stands beside them. Memory over all processes is asserted to stay below 2 GB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import synthetic
from made_boards import rows_of, rows_script

from robust_kbench.leaderboard.site import paths

pytestmark = pytest.mark.slow
RECORDS = 20_000
CORES = 2
TABLES_S, PAGES_S, FIRST_ROW_MS, MEMORY_BYTES = 20.0, 120.0, 1000.0, 2 * 10**9
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_EVERY_S = 0.25


@dataclass(frozen=True)
class Cost:
    """Cost of a command with all of its processes. `peak_bytes` counts memory that they share once."""

    seconds: float
    peak_bytes: int


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("many")
    synthetic.write_store(folder / "results.jsonl", RECORDS)
    yield folder / "results.jsonl"
    shutil.rmtree(folder)  # pytest would keep it for three sessions


@pytest.fixture(scope="module")
def site(store: Path) -> tuple[Path, Cost]:
    return store.parent / "site", leaderboard(store, store.parent / "site")


def leaderboard(store: Path, out: Path, *options: str, is_watched: bool = True) -> Cost:
    """Run `kbench leaderboard` on two cores. Watching memory takes a tenth of them: without it, `peak_bytes` is 0."""
    command = [sys.executable, "-m", "robust_kbench", "leaderboard", str(store), "--out", str(out), *options]
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: _settle(cores)
    ) as process:
        watch = _Watch(process.pid) if is_watched else None
        _, complaints = process.communicate()
    if watch is not None:
        watch.end()
    assert process.returncode == 0, complaints
    return Cost(time.perf_counter() - started, watch.peak_bytes if watch else 0)


def _settle(cores: list[int]) -> None:
    os.sched_setaffinity(0, cores)


class _Watch(threading.Thread):
    """Thread that looks again and again how much memory a process and its descendants have together."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._root, self._over = root, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, sum(map(_share_of_memory, [self._root, *_below(self._root)])))

    def end(self) -> None:
        self._over.set()
        self.join()


def _below(process: int) -> Iterator[int]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, _text(path).split()):
            yield child
            yield from _below(child)


def _share_of_memory(process: int) -> int:
    """Return the proportional set size: a page that n processes have counts a n-th in each."""
    lines = _text(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""


def test_the_tables_of_twenty_thousand_records(benchmark: Any, store: Path) -> None:
    out = store.parent / "tables"
    peak_bytes = leaderboard(store, out, "--no-pages").peak_bytes

    benchmark.pedantic(lambda: leaderboard(store, out, "--no-pages", is_watched=False), rounds=3, iterations=1)
    sizes = {"peak MB": peak_bytes // 10**6, "store MB": store.stat().st_size // 10**6}
    benchmark.extra_info |= {"aim in s": TABLES_S, **sizes}
    assert len(rows_of(out / "leaderboard.csv")) > RECORDS
    assert 0 < peak_bytes < MEMORY_BYTES


def test_the_pages_of_twenty_thousand_records(benchmark: Any, site: tuple[Path, Cost]) -> None:
    out, cost = site
    benchmark.pedantic(lambda: None, rounds=1, iterations=1)  # made once for all tests of this file
    taken = {"seconds": round(cost.seconds, 1), "peak MB": cost.peak_bytes // 10**6}
    benchmark.extra_info |= {"aim in s": PAGES_S, **taken}
    assert len(list((out / paths.SUBMISSIONS).glob("*.html"))) > RECORDS / 3
    assert cost.peak_bytes < MEMORY_BYTES


_FIRST_ROW = """
  const look = () => {
    const row = document.querySelector("#ranking tbody tr td");
    if (row && row.getBoundingClientRect().height > 0) {
      requestAnimationFrame(() => setTimeout(() => { window.firstRowMs = performance.now(); }, 0));  // after painting
    } else {
      requestAnimationFrame(look);
    }
  };
  requestAnimationFrame(look);
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH; Debian: apt-get install chromium")
def test_the_first_row_is_seen(benchmark: Any, site: tuple[Path, Cost]) -> None:
    pytest.importorskip("playwright.sync_api", reason="no playwright; pip install -e .[dev]")
    from playwright.sync_api import sync_playwright

    out, _ = site
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])

        def first_row_ms() -> float:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.add_init_script(_FIRST_ROW)
            page.goto((out / paths.INDEX).as_uri(), wait_until="load")
            page.locator("#ranking tbody tr").first.wait_for()
            page.wait_for_timeout(200)
            milliseconds = float(page.evaluate("window.firstRowMs"))
            assert page.locator("#count").inner_text().startswith(f"{rows_script(out)['count']:,} of ")
            page.close()
            return milliseconds

        first_row_ms()  # a browser's first page is slow, whatever it holds
        found: list[float] = []
        benchmark.pedantic(lambda: found.append(first_row_ms()), rounds=3, iterations=1)
        benchmark.extra_info |= {"aim in ms": FIRST_ROW_MS, "first row ms": [round(each) for each in found]}
        browser.close()
    assert min(found) > 0


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH; Debian: apt-get install chromium")
def test_all_rows_are_sorted_by_a_click(benchmark: Any, site: tuple[Path, Cost]) -> None:
    pytest.importorskip("playwright.sync_api", reason="no playwright; pip install -e .[dev]")
    from playwright.sync_api import sync_playwright

    out, _ = site
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto((out / paths.INDEX).as_uri(), wait_until="load")
        button = page.locator("#ranking th[data-sort='submission'] button")
        milliseconds = benchmark.pedantic(lambda: float(button.evaluate(_CLICK)), rounds=3, iterations=1)
        benchmark.extra_info |= {"aim in ms": FIRST_ROW_MS, "click ms": round(milliseconds)}
        order = page.locator("#ranking th[data-sort='submission']").get_attribute("aria-sort")
        browser.close()
    assert order in ("ascending", "descending")


_CLICK = "(button) => { const before = performance.now(); button.click(); return performance.now() - before; }"
