"""A small board, to the byte: the effects of a changed rule, column or word can be seen in review.

KBENCH_WRITE_GOLDEN=1 writes the files anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from specimens import make_loaded, make_record, make_result, make_run_summary

from robust_kbench.agents.summary import Interval
from robust_kbench.leaderboard.agents import Run
from robust_kbench.leaderboard.reading import Problem
from robust_kbench.leaderboard.summary import Loaded
from robust_kbench.leaderboard.tables import write
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("leaderboard.csv", "totals.csv", "agents.csv", "README.md")
CPU = {"device": "a processor", "kbench": "0.1.0", "torch": "2.13.0"}
GPU = {"device": "an accelerator", "kbench": "0.1.0", "torch": "2.13.0", "driver": "580.1"}


def session(number: int, candidate_us: float, baselines_us: dict[str, float]) -> Session:
    """Make a session of whole numbers that any arithmetic gives: no random number is drawn."""
    times = {"candidate": candidate_us, "control": baselines_us["eager"], **baselines_us}
    samples = {
        name: [
            round(us * (1000 + 4 * ((7 * i + 3 * number + len(name)) % 11 - 5) + number * len(name) % 5))
            for i in range(20 + number)
        ]
        for name, us in times.items()
    }
    return Session(samples={name: encode_samples(values) for name, values in samples.items()}, foreign_load=0.01)


def timing(dtype: str, rows: int, candidate_us: float, floor_us: float | None, **baselines_us: float) -> Timing:
    sessions = tuple(session(number, candidate_us * rows, _times(rows, baselines_us)) for number in range(5))
    facts = {"axes": {"rows": rows}, "dtype": dtype, "sessions": sessions}
    return Timing.model_validate({**facts, "floor_us": None if floor_us is None else floor_us * rows})


def _times(rows: int, baselines_us: dict[str, float]) -> dict[str, float]:
    return {name: us * rows for name, us in baselines_us.items()}


def record(name: str, minute: int, us: Sequence[float] = (), **changes: Any) -> RunRecord:
    """Make a run at this minute; `us`: the candidate's time for a row in float32 and float16."""
    dtypes = ("float32", "float16")[: max(1, len(us))]
    timings = tuple(
        timing(dtype, rows, each, 10.0, eager=100.0, compile=80.0)
        for dtype, each in zip(dtypes, us, strict=False)
        for rows in (1, 3)
    )
    facts = {
        "submission": name,
        "submission_digest": f"sha256:{name}",
        "author": "alice",
        "dtypes": dtypes,
        "timings": timings,
        "cases": tuple(make_result(dtype=dtype, errors=(1.0,), limits=(4.0,)) for dtype in dtypes),
        "environment": CPU,
        "started_at": f"2026-01-02T03:{minute:02}:05Z",
    }
    return make_record(**{**facts, **changes})


def twice(name: str, minute: int, us: Sequence[float], **changes: Any) -> list[RunRecord]:
    return [record(name, minute, us, **changes), record(name, minute + 1, [1.01 * each for each in us], **changes)]


def wrong(name: str, minute: int, status: Status, reason: str, **changes: Any) -> RunRecord:
    cases = (make_result(status="incorrect" if status is Status.INCORRECT else "passed"),)
    return record(name, minute, status=status, reason=reason, cases=cases, **changes)


GELU: dict[str, Any] = {"task": "activation/gelu", "task_version": 2}
REJECT = Finding(guard="freshness", severity="reject", message="the answer was that of an earlier call")
RECORDS = [
    *twice("fast", 1, (40.0, 20.0)),
    *twice("middle", 3, (60.0, 60.0), author="bob", track="custom", language="triton"),
    *twice("even", 5, (40.0,), author="bob"),
    *twice("slow", 7, (120.0,)),
    record("single", 9, (30.0,)),
    record("quick", 10, (30.0,), tier="quick"),
    record("given", 11, (30.0,), replay=True),
    record("interpreted", 12, (), execution="interpreted"),
    wrong("wrong", 13, Status.INCORRECT, "y[3, 7]: got 0, expected 1.25 | with `markup` <b>", **GELU, author="carol"),
    wrong("cheat", 14, Status.REJECTED, "freshness: the answer was that of an earlier call", findings=(REJECT,)),
    wrong("broken", 15, Status.BUILD_FAILED, "kernel.cpp:3: error: expected ';'", author="carol", language="cpp"),
    wrong("elsewhere", 16, Status.UNSUPPORTED, "needs a CUDA device", language="cuda"),
    wrong("ours", 17, Status.HARNESS_ERROR, "no memory was left"),
    *twice("=1+1", 18, (90.0,), author="@mallory"),
    *twice("copy", 20, (40.0,), submission_digest="sha256:fast", environment=GPU, author="mallory"),
    *twice("gelu", 22, (50.0, 70.0), **GELU),
    *twice("gelu", 24, (20.0,), environment={**CPU, "kbench": "0.2.0"}),
    record("fast", 1, (40.0, 20.0)),
]


def loaded() -> Loaded:
    """Return the records with one that was signed, one that was altered, and two lines that cannot be read."""
    found = make_loaded(RECORDS)
    marks: dict[str, dict[str, Any]] = {
        "middle": {"digest": "sha256:1", "intact": True, "signer": "1a2b3c4d" * 8},
        "slow": {"digest": "sha256:2", "intact": False},
    }
    summaries = [replace(each, **marks.get(each.submission, {})) for each in found.summaries]
    problems = [Problem("results.jsonl:3", "not a line of JSON"), Problem("results.jsonl:9", "task: missing")]
    return Loaded(summaries, problems, found.duplicates)


def runs() -> list[Run]:
    """Return runs of two agents; one run did not end by its budget."""
    speeds = {1: 1.2, 2: 2.4, 3: 1.0}
    made = [
        make_run_summary(agent=agent, seed=seed, final_speedup=Interval(value=value, low=0.9 * value, high=1.1 * value))
        for agent in ("best-of-n", "stark")
        for seed, value in speeds.items()
    ]
    return [
        Run(Path(f"run{n}"), each) for n, each in enumerate([*made, make_run_summary(seed=9, stop="provider_error")])
    ]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    write(loaded(), folder, runs=runs())
    if os.environ.get("KBENCH_WRITE_GOLDEN") == "1":
        write(loaded(), GOLDEN, runs=runs())
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_board_is_what_it_was(name: str, board: Path) -> None:
    assert (board / name).read_text() == (GOLDEN / name).read_text(), "KBENCH_WRITE_GOLDEN=1 accepts what is new"


def test_the_board_shows_every_kind_of_row(board: Path) -> None:
    """The board needs every kind of row, or the files above would protect little."""
    page = (board / "README.md").read_text()
    words = (
        "(tie)", "the same sources as", "altered", "signed by 1a2b3c4d", "self-reported", "incorrect with seed 7",
        "rejected with seed 7", "build_failed with seed 7", "unsupported with seed 7", "## Totals", "## Agents",
        "## Left out", "## Repeated", "an accelerator", "float16",
    )  # fmt: skip
    assert [word for word in words if word not in page] == []
    assert "ours" not in page
