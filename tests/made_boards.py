"""Boards made by the command itself, their input, and the contents of their pages."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

from made_runs import evolved, node, record

from robust_kbench.agents.page import SUMMARY
from robust_kbench.agents.summary import summarise
from robust_kbench.leaderboard.site import paths
from robust_kbench.redteam.report import COLUMNS

VOID = {"meta", "br", "img", "input", "link", "hr"}
AGENTS = ("best-of-n", "evoengineer-free", "refine")


def kbench(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `kbench` with these arguments, in a process of its own."""
    command = [sys.executable, "-m", "robust_kbench", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", errors="replace")


def board(out: Path, stores: Sequence[Path], *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Make all files of a board in `out`."""
    return kbench("leaderboard", *stores, "--out", out, *options)


def write_runs(folder: Path, text: str = "") -> None:
    """Write two runs of each of three agents, as `kbench evolve` leaves them; `text`: the words that they have."""
    for number, agent in enumerate(AGENTS * 2):
        made = [node(f"g{step}.p0", speedup=1.0 + step * (1 + number) / 8) for step in range(1, 6)]
        final = [record("best", 100 / (1.5 + number / 8)), record("start", 90.0)]
        summary = summarise(evolved(made, agent=agent, final=final, seed=number, task="norm/rmsnorm"))
        if text:
            told = {"task": text, "agent": text, "llm": (text,), "hardware": text, "stop": text, "best": text}
            summary = summary.model_copy(update={**told, "deviations": (text,), "harness": text, "kbench": text})
        path = folder / f"{agent}-{number}" / SUMMARY
        path.parent.mkdir(parents=True)
        path.write_text(summary.model_dump_json(indent=2), encoding="utf-8")


def write_redteam(path: Path, text: str = "") -> None:
    """Write a table of the red team's: attacks of three classes and honest kernels; `text`: the words that it has."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for number in range(24):
            kind = ("timing", "caching", "harness", "honest")[number % 4]
            stopped_by = ("clocks", "fresh values", "sandbox", "")[number % 4]
            row = {"specimen": f"{kind}_{number}", "kind": kind, "aim": "time", "stopped_by": stopped_by}
            is_honest = kind == "honest"
            row |= {"status": "passed" if is_honest else "rejected", "reason": "clock: too late", "gain": "1.5"}
            row |= {"succeeded": str(int(number == 5)), "seconds": "3.5"}
            row |= {} if is_honest else {"armed": "1", "armed_without": stopped_by, "armed_status": "passed"}
            if text:
                row |= dict.fromkeys(("specimen", "aim", "stopped_by", "reason", "effects", "armed_without"), text)
            writer.writerow(row)


def rows_of(table: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file."""
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def kinds(out: Path) -> dict[str, Path]:
    """Return a page of each kind. The task and the submission have all that such a page can have."""
    rows = [row for row in rows_of(out / "leaderboard.csv") if paths.is_task_name(row["task"])]
    best = next(row for row in rows if row["rank"] == "1")
    sourced = next((row for row in rows if row["submission"] == "cpp_simd"), best)
    failed = next(row for row in rows if row["status"] == "rejected")
    pages = {"overview": paths.INDEX, "task": paths.task_page(best["task"])}
    pages |= {"submission": submission_page(sourced), "failure": submission_page(failed)}
    pages |= {"agents": paths.AGENTS, "redteam": paths.REDTEAM, "method": paths.METHOD, "problems": paths.PROBLEMS}
    return {kind: out / page for kind, page in pages.items()}


KINDS = ("overview", "task", "submission", "failure", "agents", "redteam", "method", "problems")


def submission_page(row: dict[str, str]) -> str:
    """Return the path of a submission's page, relative to the board."""
    return paths.submission_page(paths.submission_key(row["task"], row["submission_digest"], row["device"]))


@dataclass(frozen=True)
class Element:
    """An element as a browser would make it of its tag."""

    tag: str
    attributes: dict[str, str]


@dataclass
class Page(HTMLParser):
    """Elements, texts outside of scripts, scripts with their attributes, and tags that do not match."""

    source: str
    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scripts: list[tuple[Element, str]] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop().tag != tag:
            self.mistakes.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1].tag == "script":
            self.scripts.append((self.open[-1], data))
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, attribute: str) -> list[str]:
        """List the values of an attribute in all elements that have it."""
        return [each.attributes[attribute] for each in self.elements if attribute in each.attributes]


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages_of(out: Path) -> Iterator[tuple[str, Page]]:
    """Yield every page of a board, each with its path below it."""
    for path in sorted(out.rglob("*.html")):
        yield path.relative_to(out).as_posix(), read(path)


def vocabulary() -> tuple[set[str], set[str]]:
    """Return the elements and the attributes in templates. Others in a page come from elsewhere."""
    folder = resources.files("robust_kbench.leaderboard.site") / "templates"
    texts = [each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".j2")]
    tags = {tag.lower() for text in texts for tag in re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", text)}
    names = {name.lower() for text in texts for name in re.findall(r"[ {}%]([a-zA-Z][a-zA-Z0-9-]*)=\"", text)}
    return tags | {"span"}, names | {"hidden", "defer", "open", "data-sortable", "class"}  # pygments: span, class


def rows_script(out: Path) -> dict[str, object]:
    """Return the data in `rows.js`, which is one assignment."""
    text = (out / paths.ROWS).read_text(encoding="utf-8")
    found = re.fullmatch(r"window\.kbenchRows = (\{.*\});\n", text)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data
