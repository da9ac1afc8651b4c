"""A view of a line has the contents of its record, and exists if the record does."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import hostile
import msgspec
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError
from specimens import make_record

from robust_kbench import store
from robust_kbench.schema.documents import Strict
from robust_kbench.schema.record import RunRecord, decode_samples
from robust_kbench.schema.views import reader
from robust_kbench.scoring import score
from robust_kbench.signing import seal, standing

READ = reader(RunRecord)
LINES = [
    line.rstrip(b"\n") for line in (*synthetic.lines(12), *map(store.to_line, (make_record(), seal(make_record()))))
]


def told(each: Any) -> Any:
    """Return fields and properties, as deep as they go; of bytes the text that stands for them."""
    if isinstance(each, BaseModel | msgspec.Struct):
        names = [*type(each).model_fields] if isinstance(each, BaseModel) else [*each.__struct_fields__]
        properties = [name for name, value in vars(type(each)).items() if isinstance(value, property)]
        return {name: told(getattr(each, name)) for name in names + [p for p in properties if p not in _OF_PYDANTIC]}
    if isinstance(each, tuple):
        return tuple(map(told, each))
    if isinstance(each, dict):
        return {key: told(value) for key, value in each.items()}
    if isinstance(each, bytes):
        return told(base64.b64encode(each).decode())
    return (type(each), each)


_OF_PYDANTIC = {name for name, value in vars(BaseModel).items() if isinstance(value, property)}


@pytest.mark.parametrize("line", LINES)
def test_a_view_has_the_fields_and_the_properties_of_the_record(line: bytes) -> None:
    view = store.view_line(line, "x")
    assert not isinstance(view, RunRecord)
    assert told(view) == told(store.parse_line(line, "x"))


def test_what_is_told_of_a_view_covers_what_is_derived() -> None:
    assert {"disturbance", "is_rankable", "coverage"} <= told(store.parse_line(LINES[0], "x")).keys()


def both(line: bytes) -> tuple[bool, bool]:
    """Tell if the model takes the line, and if the view does."""
    outcomes = []
    for read in (RunRecord.model_validate_json, READ):
        try:
            read(line)
            outcomes.append(True)
        except (ValidationError, ValueError):
            outcomes.append(False)
    model, view = outcomes
    return model, view


@pytest.mark.parametrize("name", hostile.LINES)
def test_what_is_no_record_has_no_view(name: str) -> None:
    model, view = both(hostile.LINES[name])
    assert view == model


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _places(value, (*path, key))


_FULL = json.loads(max(LINES, key=len))
_FULL |= {
    "findings": [{"guard": "floor", "severity": "warn", "message": "x", "case": "y", "evidence": {"us": 1.5, "n": 2}}],
    "search": {"examples": 3, "covered": {"float32": 3}, "minimal": _FULL["cases"][0]},
    "signature": {"key": "00", "value": "11"},
}
_DATA = {key: value[:2] if key in ("cases", "timings") else value for key, value in _FULL.items()}
_PLACES = sorted({tuple(0 if isinstance(key, int) else key for key in path) for path in _places(_DATA)} - {()}, key=str)
_TEXTS = (
    "null", "true", "0", "-1", "1.0", "1e2", "-0", "01", "1e999", "NaN", "Infinity", "9" * 30, '""', '"passed"',
    '"float32"', '"\\ud800"', '"\\u0000"', '"a\tb"', f'"{"x" * 4001}"', f'"{"é" * 1000}"', f'"{"😀" * 500}"', "[]",
    "{}", "[0]", '["x"]', "[1.5, 2]", "[NaN]", "[null]", '{"x": 1}', '{"x": 1.0}', '{"x": "1"}',
    '{"x": null}', '{"x": {}}', '{"x": 1, "x": 2}', "{1: 2}", "[1,]", "\xff",
)  # fmt: skip


def _put(path: tuple[Any, ...], text: str, *, beside: bool) -> bytes:
    """Return `_DATA` with the text in that place, or as an unknown key beside it."""
    data = json.loads(json.dumps(_DATA))
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    if beside and isinstance(holder, dict):
        holder["another"] = "PUT HERE"
    else:
        holder[path[-1]] = "PUT HERE"
    return json.dumps(data).replace('"PUT HERE"', text).encode("latin-1" if text == "\xff" else "utf-8")


def _samples(put: Any) -> list[str]:
    return list(put.values()) if isinstance(put, dict) else [put]


@pytest.mark.rotating
@pytest.mark.parametrize("path", _PLACES, ids=str)
def test_a_view_is_as_strict_as_the_record(path: tuple[Any, ...]) -> None:
    for text in _TEXTS:
        for beside in (False, True):
            model, view = both(_put(path, text, beside=beside))
            if "samples" in path and model and not view:  # it is no base64, and so there are no bytes to hold
                with pytest.raises((ValueError, TypeError)):
                    [decode_samples(each) for each in _samples(json.loads(text))]
            else:
                assert view == model, (text, beside)


@pytest.mark.parametrize("path", _PLACES, ids=str)
def test_a_view_lacks_what_the_record_lacks(path: tuple[Any, ...]) -> None:
    data = json.loads(json.dumps(_DATA))
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    model, view = both(json.dumps(data).encode())
    assert view == model


def test_of_a_key_that_stands_twice_both_take_the_last() -> None:
    record = store.parse_line(LINES[0], "x")
    for key, value in (("status", '"incorrect"'), ("task", '"another"'), ("seed", "5")):
        line = f'{{"{key}":{value},'.encode() + LINES[0][1:]
        assert told(store.view_line(line, "x")) == told(store.parse_line(line, "x")) == told(record)
        line = LINES[0][:-1] + f',"{key}":{value}}}'.encode()
        assert told(store.view_line(line, "x")) == told(store.parse_line(line, "x"))


@given(st.sampled_from(LINES), st.data())
def test_a_view_ends_where_the_record_ends(line: bytes, data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(line)))
    more = data.draw(st.sampled_from([b"", b" ", b"\n", b"\xef\xbb\xbf", b"\x00", b",", b"}", b"null", b"//", b'"']))
    changed = line[:where] + more + line[where:]
    model, view = both(changed)
    if model and not view:
        assert _has_broken_samples(store.parse_line(changed, "x"))
    else:
        assert view == model


def _has_broken_samples(record: RunRecord) -> bool:
    texts = [text for timing in record.timings for session in timing.sessions for text in session.samples.values()]
    try:
        for text in texts:
            decode_samples(text)
    except ValueError:
        return True
    return False


def test_samples_that_are_no_base64_are_kept_as_text_and_scored_by_nobody() -> None:
    damaged = re.sub(rb'"candidate":"[^"]{8}', b'"candidate":"!damaged', max(LINES, key=len), count=1)
    found = store.view_line(damaged, "x")
    assert isinstance(found, RunRecord)
    with pytest.raises(ValueError, match="base64"):
        score(found)


def test_an_altered_line_is_told_from_its_view() -> None:
    line = store.to_line(seal(make_record())).replace(b'"task":"', b'"task":"another_')
    assert standing(store.view_line(line, "x"), line) == (False, None)


def test_a_sealed_line_in_other_words_is_intact_in_its_view() -> None:
    line = json.dumps(json.loads(store.to_line(seal(make_record())))).encode()
    assert standing(store.view_line(line, "x"), line) == (True, None)


class _Bounded(Strict):
    number: int = Field(ge=0)


class _Strange(Strict):
    numbers: set[int]


@pytest.mark.parametrize("model", [_Bounded, _Strange])
def test_a_model_that_has_no_view_is_refused(model: type[Strict]) -> None:
    with pytest.raises(TypeError, match="no counterpart"):
        reader(model)
