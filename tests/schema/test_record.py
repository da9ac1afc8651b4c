from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from specimens import ALL_LAYERS, make_record, make_result

from robust_kbench import store
from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.schema.documents import parse
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import (
    LEAST_SEARCHED,
    RunRecord,
    Search,
    Seconds,
    Session,
    Status,
    Tier,
    Timing,
    decode_samples,
    encode_samples,
)

LARGEST = 2**32 - 1

_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_TEXT = st.text(max_size=40)
_RESULTS = st.builds(
    make_result,
    seed=st.integers(0, 2**63 - 1),
    axes=st.dictionaries(_TEXT, st.integers(0, 2**31), max_size=3),
    layout=st.sampled_from(["contiguous", "transposed", "strided", "offset", "expanded"]),
    status=st.sampled_from(["passed", "incorrect", "crashed", "timed_out", "not_checked"]),
    reason=_TEXT,
    errors=st.none() | st.tuples(_FINITE, _FINITE, _FINITE),
)
_SESSIONS = st.builds(
    Session,
    samples=st.dictionaries(_TEXT, st.lists(st.integers(0, LARGEST), max_size=5).map(encode_samples), max_size=3),
    foreign_load=_FINITE,
)
_TIMINGS = st.builds(
    Timing,
    axes=st.just({"rows": 1}),
    dtype=st.sampled_from(["float32", "bfloat16"]),
    sessions=st.lists(_SESSIONS, max_size=2).map(tuple),
)
_FINDINGS = st.builds(
    Finding,
    guard=_TEXT,
    severity=st.sampled_from(["reject", "warn"]),
    message=_TEXT,
    case=st.none() | _TEXT,
    evidence=st.dictionaries(_TEXT, _TEXT | st.integers(-(2**53), 2**53) | _FINITE, max_size=2),
)
_RECORDS = st.builds(
    make_record,
    seed=st.integers(0, 2**53),
    status=st.sampled_from(Status),
    author=_TEXT,
    log=_TEXT,
    cases=st.lists(_RESULTS, max_size=3).map(tuple),
    timings=st.lists(_TIMINGS, max_size=2).map(tuple),
    findings=st.lists(_FINDINGS, max_size=2).map(tuple),
    seconds=st.builds(Seconds, build=_FINITE, total=_FINITE),
    environment=st.dictionaries(_TEXT, _TEXT, max_size=2),
)


def _timing(foreign_load: float = 0.0, disturbance: str = "", repeated: tuple[int, ...] = (0,)) -> Timing:
    sessions = [
        Session(
            samples={"candidate": encode_samples([1]), "eager": encode_samples([2])},
            foreign_load=foreign_load,
            disturbance=disturbance,
            repeated=often,
        )
        for often in repeated
    ]
    return Timing(axes={"rows": 1}, dtype="float32", sessions=tuple(sessions))


def _finding(guard: str) -> Finding:
    return Finding(guard=guard, severity="warn", message="baseline compile is left out: was killed by SIGKILL")


@given(st.lists(st.integers(0, 2**40)))
def test_samples_survive_encoding_and_those_too_large_become_the_largest(nanoseconds: list[int]) -> None:
    assert decode_samples(encode_samples(nanoseconds)) == [min(value, LARGEST) for value in nanoseconds]


def test_samples_are_base64_of_little_endian_words() -> None:
    assert encode_samples([1, 0x01020304, LARGEST]) == "AQAAAAQDAgH/////"


@pytest.mark.parametrize("text", ["AQAAAA", "AQAAAAE=", "AQ AAAA==", "AQAAAA==\n", "é", "AQAAAAQDAgH/////=="])
def test_text_that_holds_no_whole_samples_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are base64's
        decode_samples(text)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=_RECORDS)
def test_any_record_is_read_back_as_it_was_written(record: RunRecord, tmp_path: Path) -> None:
    (tmp_path / "store.jsonl").write_bytes(store.to_line(record))
    assert list(store.read(tmp_path / "store.jsonl")) == [record]


@given(author=st.text(max_size=20))
def test_a_record_is_exactly_one_line(author: str) -> None:
    line = store.to_line(make_record(author=author))
    assert line.endswith(b"\n")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["seconds", "errors", "evidence", "foreign_load"])
def test_a_number_that_is_not_finite_is_never_written(place: str, number: float, tmp_path: Path) -> None:
    finding = {"guard": "clock", "severity": "warn", "message": "", "evidence": {"us": number}}
    with pytest.raises((HarnessError, ValueError)):
        store.append(
            tmp_path / "store.jsonl",
            {
                "seconds": lambda: make_record(seconds=Seconds(total=number)),
                "errors": lambda: make_record(cases=(make_result(errors=(0.0, number, 0.0)),)),
                "evidence": lambda: make_record(findings=(Finding.model_validate(finding),)),
                "foreign_load": lambda: make_record(timings=(_timing(foreign_load=number),)),
            }[place](),
        )
    assert not (tmp_path / "store.jsonl").exists()


def test_a_full_record_may_be_ranked() -> None:
    assert make_record().is_rankable
    assert make_record(timings=(_timing(foreign_load=0.05),)).is_rankable
    assert make_record(findings=(_finding("determinism"),)).is_rankable
    assert make_record(timings=(_timing(repeated=(0, 0, 1, 0, 0)),)).is_rankable


@pytest.mark.parametrize(
    "changes",
    [
        *({"status": status} for status in Status if status is not Status.PASSED),
        {"replay": True},
        {"execution": "interpreted"},
        {"execution": "emulated"},
        {"tier": "quick"},
        {"handshake": "blocking"},
        {"handshake": "none"},
        {"timings": ()},
        {"timings": (_timing(foreign_load=0.051),)},
        {"timings": (_timing(disturbance="the device had lowered its clocks"),)},
        {"timings": (_timing(), _timing(), _timing(foreign_load=1.0))},
        {"timings": (_timing(repeated=(0, 1, 1, 0, 0)),)},
        {"findings": (_finding("determinism"), _finding("baselines"))},
        {"clock": "worker"},
        {"clock": "trusted"},
        {"clock": "wall"},
        {"search": None},
        {"search": Search(examples=3, covered={})},
        {"search": Search(examples=LEAST_SEARCHED["full"], covered={}), "tier": "final"},
    ],
    ids=str,
)
def test_a_record_that_lacks_one_condition_is_not_ranked(changes: dict[str, Any]) -> None:
    assert not make_record(**changes).is_rankable


@pytest.mark.parametrize(
    "changes",
    [
        {"status": Status.HARNESS_ERROR, "timings": (), "handshake": "none", "isolation": ()},
        {"timings": (_timing(foreign_load=0.051),)},
        {"timings": (_timing(disturbance="the device had lowered its clocks"),)},
        {"timings": (_timing(repeated=(2,)),)},
        {"findings": (_finding("baselines"),)},
        {"search": Search(examples=3, covered={})},
    ],
    ids=str,
)
def test_a_run_that_came_to_nothing_is_discarded_if_it_was_meant_to_be_ranked(changes: dict[str, Any]) -> None:
    assert make_record(**changes).is_discarded
    for never in ({"replay": True}, {"tier": "quick"}, {"execution": "interpreted"}):
        assert not make_record(**{**changes, **never}).is_discarded


@pytest.mark.parametrize(
    "changes",
    [
        {},
        *({"status": status} for status in Status if status not in (Status.PASSED, Status.HARNESS_ERROR)),
        {"status": Status.REJECTED, "timings": (_timing(foreign_load=0.9),)},
        {"timings": ()},
        {"handshake": "blocking"},
        {"isolation": ()},
    ],
    ids=str,
)
def test_a_run_that_counts_that_failed_or_that_no_submission_could_spoil_is_not_discarded(
    changes: dict[str, Any],
) -> None:
    assert not make_record(**changes).is_discarded


@pytest.mark.parametrize("missing", ["own process", "no new privileges", "landlock", "seccomp"])
def test_a_record_made_without_a_layer_of_the_sandbox_is_not_ranked(missing: str) -> None:
    layers = tuple(layer for layer in ALL_LAYERS if layer != missing)
    assert not make_record(isolation=layers).is_rankable


def test_a_private_root_counts_as_much_as_landlock() -> None:
    layers = tuple(layer for layer in ALL_LAYERS if layer != "landlock")
    assert make_record(isolation=(*layers, "private root")).is_rankable


@pytest.mark.parametrize("tier", ["full", "final"])
def test_a_search_that_was_cut_short_costs_the_rank_and_says_so(tier: Tier) -> None:
    least = LEAST_SEARCHED[tier]
    slow, starved = (
        make_record(tier=tier, search=Search(examples=examples, covered={})) for examples in (least, least - 1)
    )
    assert (slow.is_rankable, slow.disturbance) == (True, "")
    assert not starved.is_rankable
    assert starved.disturbance == f"the search tried {least - 1} cases of at least {least}"


def test_what_is_never_ranked_is_not_told_that_its_search_was_short() -> None:
    few = Search(examples=3, covered={})
    for changes in ({"tier": "quick"}, {"execution": "emulated"}, {"replay": True}, {"timings": ()}):
        assert make_record(search=few, **changes).disturbance == ""


@pytest.mark.parametrize("tier", ["full", "final"])
def test_both_large_tiers_may_be_ranked(tier: str) -> None:
    assert make_record(tier=tier).is_rankable


@pytest.mark.parametrize(
    ("errors", "limits", "ratio"),
    [
        ((1.0, 2.0, 3.0), (2.0, 2.0, 2.0), 1.5),
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.0),
        (None, (1.0, 1.0, 1.0), None),
        ((1.0, 1.0, 1.0), None, None),
    ],
)
def test_the_error_ratio_is_the_largest_error_in_units_of_its_limit(
    errors: tuple[float, float, float] | None, limits: tuple[float, float, float] | None, ratio: float | None
) -> None:
    assert make_result(errors=errors, limits=limits).error_ratio == ratio


def test_the_overhead_is_what_building_kernels_and_references_leave_of_the_total() -> None:
    seconds = Seconds(build=1.0, check=3.0, timing=4.0, kernels=2.0, inputs=0.25, judging=0.25, total=10.0)
    assert seconds.harness == 6.5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "won"),
        ("tier", "fast"),
        ("schema_version", 2),
        ("seed", "1"),
        ("speedup", 9.0),
        ("reason", "x" * 4001),
    ],
)
def test_a_record_outside_the_format_is_refused_with_its_key(key: str, value: object) -> None:
    data = {**make_record().model_dump(mode="json"), key: value}
    with pytest.raises(SpecError, match=f"^store:1: {key}: "):
        parse(RunRecord, data, "store:1")


def test_the_coverage_counts_judged_cases_and_lists_probes_instead_of_their_distribution() -> None:
    cases = (
        make_result(layout="strided"),
        make_result(distribution="sparse"),
        make_result(probe="integers", status="incorrect"),
        make_result(dtype="float16", status="not_checked"),
    )
    assert make_record(cases=cases).coverage == {
        "dtype": {"float32": 3},
        "layout": {"contiguous": 2, "strided": 1},
        "distribution": {"normal": 1, "sparse": 1},
        "probe": {"integers": 1},
    }


def test_a_record_without_cases_covers_nothing() -> None:
    assert make_record(cases=()).coverage == {}
