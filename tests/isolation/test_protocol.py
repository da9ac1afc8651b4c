from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robust_kbench.isolation.protocol import Loaded, Raised, Returned, parse_answer
from robust_kbench.worker import wire

NONCE = 4711
RETURNED: dict[str, Any] = {"nonce": NONCE, "outcome": "returned", "outputs": []}
LOADED: dict[str, Any] = {"nonce": NONCE, "outcome": "loaded"}
RAISED: dict[str, Any] = {"nonce": NONCE, "outcome": "raised", "type": "E", "message": "m", "where": "k.py:3"}
CLAIM: dict[str, Any] = {
    "type": "Tensor",
    "dtype": "float32",
    "device": "cpu",
    "shape": [4],
    "stride": [1],
    "pointer": 8,
    "source": 16,
}

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_VALUES = _JSON | st.sampled_from([NONCE, "returned", "loaded", "raised", [], [CLAIM], 2**70, "x" * 5000])


def _parse(answer: Any, nonce: int = NONCE) -> object:
    return parse_answer(json.dumps(answer).encode(), nonce)


def _is_answer_or_refused(body: bytes) -> bool:
    """Any exception but ValueError ends the test."""
    try:
        answer = parse_answer(body, NONCE)
    except ValueError:
        return True
    return isinstance(answer, Loaded | Returned | Raised) and answer.nonce == NONCE


@settings(max_examples=300)
@given(st.binary(max_size=200))
@example(b"")
@example(b"\x00" * 64)
@example(b"\xff\xfe")
@example(b"[" * wire.REPLY_BYTES)
@example(b'{"a":' * (wire.REPLY_BYTES // 5))
@example(b'{"nonce":' + b"9" * 10_000 + b"}")
@example(b'{"nonce":1e999}')
@example(b'{"nonce":NaN,"outcome":"returned","outputs":[]}')
@example(b'{"nonce":4711,"outcome":"returned","outputs":[{"type":"\\ud800"}]}')
@example(b'{"nonce":4711,"outcome":"raised","type":"","message":"\\u0000","where":""}')
def test_any_bytes_are_an_answer_to_this_request_or_a_value_error(body: bytes) -> None:
    assert _is_answer_or_refused(body)


@settings(max_examples=200)
@given(_JSON)
def test_any_json_is_an_answer_to_this_request_or_a_value_error(value: object) -> None:
    assert _is_answer_or_refused(json.dumps(value).encode())


@settings(max_examples=300)
@given(
    base=st.sampled_from([RETURNED, LOADED, RAISED]),
    key=st.sampled_from(["nonce", "outcome", "outputs", "layers", "type", "message", "where", "more"]),
    value=_VALUES,
)
def test_an_answer_with_one_key_changed_is_an_answer_or_a_value_error(
    base: dict[str, Any], key: str, value: object
) -> None:
    assert _is_answer_or_refused(json.dumps({**base, key: value}).encode())


@settings(max_examples=200)
@given(key=st.sampled_from([*CLAIM, "more"]), value=_VALUES)
def test_a_claim_with_one_key_changed_is_an_answer_or_a_value_error(key: str, value: object) -> None:
    assert _is_answer_or_refused(json.dumps({**RETURNED, "outputs": [{**CLAIM, key: value}]}).encode())


def test_a_returned_answer_holds_its_claims() -> None:
    answer = _parse({**RETURNED, "outputs": [CLAIM]})
    assert isinstance(answer, Returned)
    assert answer.outputs[0].model_dump() == {**CLAIM, "shape": (4,), "stride": (1,)}


def test_a_worker_has_no_say_in_its_layers() -> None:
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        parse_answer(json.dumps({**LOADED, "layers": ["a fortress"]}).encode(), NONCE)


@pytest.mark.parametrize(("where", "words"), [("k.py:3", "raised E at k.py:3: m"), ("", "raised E: m")])
def test_an_exception_is_told_with_its_place(where: str, words: str) -> None:
    assert str(_parse({**RAISED, "where": where})) == words


@pytest.mark.parametrize("nonce", [0, NONCE + 1, -NONCE, 2**64])
def test_an_answer_to_another_request_is_refused(nonce: int) -> None:
    with pytest.raises(ValueError, match="^an answer to another request$"):
        _parse({**RETURNED, "nonce": nonce})


@pytest.mark.parametrize(
    "answer",
    [
        {**RETURNED, "nonce": str(NONCE)},
        {**RETURNED, "nonce": float(NONCE)},
        {**RETURNED, "nonce": True},
        {**RETURNED, "verdict": "passed"},
        {**RETURNED, "elapsed_ns": 1},
        {**RETURNED, "outcome": "passed"},
        {**RETURNED, "event_ns": 1},
        {**RETURNED, "outputs": [CLAIM] * 257},
        {**RETURNED, "outputs": [{**CLAIM, "shape": [1] * 17}]},
        {**RETURNED, "outputs": [{**CLAIM, "shape": [1.0]}]},
        {**RETURNED, "outputs": [{**CLAIM, "data": [1]}]},
        {**RETURNED, "outputs": [{**CLAIM, "type": "x" * 4001}]},
        {**RETURNED, "outputs": {}},
        {**LOADED, "layers": ["a fortress"]},
        {**RAISED, "message": "x" * 4001},
        {**RAISED, "outputs": []},
        {key: value for key, value in RETURNED.items() if key != "nonce"},
        [RETURNED],
        None,
    ],
)
def test_an_answer_outside_the_protocol_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="^not an answer: "):
        _parse(answer)
