from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Submit
from kernels import CPP_ANSWER, RIGHT, native, python

from robust_kbench.contestant import build
from robust_kbench.devices import open_device
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.profiling.reports import DeviceActivity, RunTimeReport
from robust_kbench.profiling.run_time import PAGE_BYTES, parse, run_time
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import Submission

TASK = load_task("norm/rmsnorm").spec
CASE = Case(axes={"rows": 64, "cols": 256}, dtype="float32", seed=1)
Run = Callable[[Submission], RunTimeReport]


@pytest.fixture(scope="module")
def run() -> Any:
    with WarmPool() as pool:
        device = open_device("cpu")

        def profiled(submission: Submission) -> RunTimeReport:
            contestant = build("test", submission, TASK, ["float32"], device, pool.scratch())
            return run_time(TASK, contestant, CASE, device, pool)

        yield profiled


def page(**changes: object) -> bytes:
    operator = {"name": "aten::mul", "calls": 5, "self_us": 2.0, "total_us": 3.0, "device_us": 0.0}
    data = {"calls": 5, "operators": [operator], "activities": [], **changes}
    return json.dumps(data).encode().ljust(PAGE_BYTES)


def activity(start_us: float, duration_us: float, **changes: object) -> dict[str, object]:
    sizes = {"grid": [8, 1, 1], "block": [256, 1, 1], "registers": 32, "shared_bytes": 0}
    return {"kind": "kernel", "name": "f", "start_us": start_us, "duration_us": duration_us, **sizes, **changes}


@pytest.mark.rotating
def test_the_operators_of_a_python_submission_are_listed_with_their_calls(run: Run, submit: Submit) -> None:
    report = run(submit(python("return torch.sin(torch.sin(x)) * weight")))
    calls = {row.name: row.calls for row in report.operators}
    assert report.calls == 5
    assert (calls["aten::sin"], calls["aten::mul"], calls["submission"]) == (10, 5, 5)
    assert report.notes == ()


@pytest.mark.rotating
@pytest.mark.parametrize("abi", ["value", "destination"])
def test_both_ways_of_being_called_are_profiled(run: Run, submit: Submit, abi: str) -> None:
    parameters = "x, weight" if abi == "value" else "x, weight, y"
    body = "return x * weight" if abi == "value" else "y.copy_(x * weight)"
    report = run(submit(python(body, parameters=parameters), abi=abi))
    assert {row.name: row.calls for row in report.operators}["aten::mul"] == 5


@pytest.mark.rotating
def test_compiled_code_has_no_operators_and_is_timed_as_a_whole(run: Run, submit: Submit) -> None:
    report = run(submit(native(CPP_ANSWER), language="cpp", abi="c"))
    (row,) = report.operators
    assert (row.name, row.calls) == ("submission", 5)
    assert row.self_us > 0


def test_what_a_submission_does_instead_of_returning_becomes_a_note(run: Run, submit: Submit) -> None:
    raised = run(submit(python("raise ValueError('\\x1b[2Jboo')")))
    assert raised.operators == ()
    assert raised.notes[0].startswith("the submission raised: raised ValueError at kernel.py:")
    assert raised.notes[0].endswith(":  [2Jboo")
    crashed = run(submit(python("os.abort()")))
    assert "was killed by SIGABRT" in crashed.notes[0]
    unloaded = run(submit(python(RIGHT, before="raise RuntimeError('at import')")))
    assert "the submission could not be loaded" in unloaded.notes[0]
    assert "at import" in unloaded.notes[0]


def test_a_submission_cannot_forge_more_than_a_claim(run: Run, submit: Submit) -> None:
    """The submission may replace the profiler in its own process, but the answer must still be a profile."""
    forged = "from robust_kbench.worker import profiled\nprofiled._digest = lambda *a: {'operators': 'many'}"
    report = run(submit(python(RIGHT, before=forged)))
    assert report.operators == ()
    assert report.notes[0].startswith("the worker's profile is none: ")


def test_emulated_and_interpreted_kernels_are_not_timed(run: Run, submit: Submit) -> None:
    source = "import triton\nimport triton.language as tl\n\ndef rmsnorm(x, weight, y):\n    pass\n"
    (note,) = run(submit(source, language="triton", abi="destination")).notes
    assert note == "interpreted on the cpu device, which says nothing about a GPU's time; use --device cuda"


def test_a_profile_is_read_back_as_it_was_written() -> None:
    report = parse(page(activities=[activity(0.0, 4.0)]), "cuda")
    assert [(row.name, row.calls, row.self_us) for row in report.operators] == [("aten::mul", 5, 2.0)]
    assert report.activities == (DeviceActivity("kernel", "f", 0.0, 4.0, (8, 1, 1), (256, 1, 1), 32, 0),)


@pytest.mark.parametrize(
    "forged",
    [
        page()[:100],
        b"\xff" * PAGE_BYTES,
        page(extra=1),
        page(calls=0),
        page(operators=[{"name": "x" * 201, "calls": 1, "self_us": 0.0, "total_us": 0.0, "device_us": 0.0}]),
        page(activities=[activity(0.0, float("nan"))]),
        page(activities=[activity(0.0, -1.0)]),
        page(activities=[activity(0.0, 1.0, kind="verdict")]),
        page(activities=[activity(float(n), 1.0) for n in range(65)]),
        b"[" * PAGE_BYTES,
    ],
    ids=["cut", "poison", "unknown key", "no calls", "long name", "nan", "negative", "kind", "many", "deep"],
)
def test_what_is_no_profile_is_refused_with_a_note(forged: bytes) -> None:
    report = parse(forged, "cpu")
    assert (report.operators, report.activities, report.calls) == ((), (), 0)
    assert report.notes[0].startswith("the worker's profile is none: ")


def test_names_cannot_move_the_cursor() -> None:
    report = parse(page(activities=[activity(0.0, 1.0, name="\x1b[2J\r\nPASSED\u202e")]), "cuda")
    assert report.activities[0].name == " [2J  PASSED "


def test_time_between_activities_counts_as_a_gap_and_overlap_does_not() -> None:
    report = parse(page(activities=[activity(0.0, 4.0), activity(2.0, 6.0), activity(11.0, 1.0)]), "cuda")
    assert (report.busy_us, report.gap_us) == (11.0, 3.0)


def test_a_device_without_recorded_activity_is_told_so() -> None:
    assert "CUPTI" in parse(page(), "cuda").notes[0]
    assert parse(page(), "cpu").notes == ()
