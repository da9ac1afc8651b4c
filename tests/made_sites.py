"""Sites made of a few records, in this process, and the figures that stand in a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from made_boards import Page, pages_of
from specimens import make_record, make_result

from robust_kbench.leaderboard.rows import rows
from robust_kbench.leaderboard.site import write_site
from robust_kbench.leaderboard.summary import summaries
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples
from robust_kbench.schema.task import FloatDType
from robust_kbench.store import to_line

TASK, DEVICE = "norm/rmsnorm", "an accelerator"
BINDING = {"rows": 512, "cols": 4096}
_DTYPES: tuple[FloatDType, ...] = ("float32", "float16")


def session(candidate_us: float, shift: int = 0) -> Session:
    """Make twenty rounds that differ a little; eager takes 100 us, and compile 60."""
    typical = {"candidate": candidate_us, "eager": 100.0, "control": 100.5, "compile": 60.0}
    samples = {
        name: encode_samples([round(1000 * us) + 10 * ((round_ + shift) % 7) for round_ in range(20)])
        for name, us in typical.items()
    }
    return Session(samples=samples, foreign_load=0.0)


def run(name: str, candidate_us: float = 30.0, minute: int = 0, **changes: Any) -> RunRecord:
    """Make a run that may be ranked, on two dtypes and two bindings."""
    timings = tuple(
        Timing(
            axes={**BINDING, "rows": size},
            dtype=dtype,
            sessions=tuple(session(candidate_us, shift) for shift in range(3)),
            floor_us=10.0,
        )
        for dtype in _DTYPES
        for size in (512, 2048)
    )
    cases = tuple(
        make_result(dtype=dtype, layout=layout, distribution=values, errors=(0.25,), limits=(1.0,))
        for dtype in _DTYPES
        for layout in ("contiguous", "strided")
        for values in ("normal", "sparse")
    )
    facts: dict[str, Any] = {
        "task": TASK,
        "submission": name,
        "submission_digest": f"sha256:{name}",
        "author": f"author of {name}",
        "dtypes": _DTYPES,
        "timings": timings,
        "cases": cases,
        "environment": {"device": DEVICE, "kbench": "0.1.0", "torch": "2.13.0"},
        "started_at": f"2026-01-02T03:{minute:02}:05Z",
    }
    return make_record(**{**facts, **changes})


def twice(name: str, candidate_us: float = 30.0, minute: int = 0, **changes: Any) -> list[RunRecord]:
    """Make a run and the one that confirms it."""
    return [run(name, candidate_us, minute + each, **changes) for each in range(2)]


def wrong(name: str = "wrong", **changes: Any) -> RunRecord:
    """Make a run that a guard rejects, with a case that failed among others."""
    cases = (
        make_result(),
        make_result(status="incorrect", layout="strided", reason="y[3] is 0", errors=(9.0,), limits=(1.0,)),
    )
    found = (
        Finding(guard="outputs", severity="warn", message="differs from run to run"),
        Finding(guard="replay", severity="reject", message="an answer was kept", evidence={"calls": 3}),
    )
    facts: dict[str, Any] = {"status": Status.REJECTED, "reason": "an answer was kept", "findings": found}
    told: dict[str, Any] = {**facts, "cases": cases, "timings": (), **changes}
    return run(name, **told)


BOARD = (*twice("fast", 20.0, 10), *twice("slow", 80.0, 20), *twice("middle", 50.0, 30), wrong(minute=40))


def store_of(path: Path, records: Sequence[RunRecord]) -> Path:
    """Write the records as a store holds them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(to_line, records)))
    return path


def site(out: Path, records: Sequence[RunRecord] = BOARD, **options: Any) -> dict[str, Page]:
    """Make the pages of these records; return them by their paths below `out`."""
    store = store_of(out.parent / "records.jsonl", records)
    loaded = summaries([store], jobs=1)
    asked: dict[str, Any] = {"jobs": 1, **options}
    write_site(loaded, rows(loaded.summaries), out, **asked)
    return dict(pages_of(out))


def page_about(pages: dict[str, Page], name: str) -> Page:
    """Return the page of the submission with this name."""
    (found,) = (
        page for path, page in pages.items() if path.startswith("submissions/") and f"\n{name}\n" in headed(page)
    )
    return found


def headed(page: Page) -> str:
    """Return the page's text, its parts on lines of their own."""
    return "\n" + "\n".join(page.texts) + "\n"


def figures(page: Page) -> list[dict[str, Any]]:
    """Return the figures that are drawn in a page."""
    return [json.loads(text) for element, text in page.scripts if element.attributes.get("type") == "application/json"]
