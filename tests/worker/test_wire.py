from __future__ import annotations

import itertools
import json
import mmap
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robust_kbench.worker import wire

Pair = tuple[socket.socket, socket.socket]
WORDS = ("PREPARED", "WAKE", "READY", "GO", "DONE", "FINISHED")
FRAMES = st.dictionaries(
    st.text(max_size=8), st.integers() | st.text(max_size=20) | st.lists(st.integers()), max_size=4
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.settimeout(5)
        yield ours, theirs


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(FRAMES, min_size=1, max_size=4))
def test_frames_arrive_as_they_were_sent_and_in_order(frames: list[dict[str, Any]], pair: Pair) -> None:
    ours, theirs = pair
    for frame in frames:
        wire.send_frame(ours, frame)
    assert [wire.receive_frame(theirs) for _ in frames] == frames


def test_a_frame_is_a_little_endian_length_and_compact_json(pair: Pair) -> None:
    ours, theirs = pair
    wire.send_frame(ours, {"op": "call", "nonce": 7})
    assert theirs.recv(100) == b"\x17\x00\x00\x00" + b'{"op":"call","nonce":7}'


def test_a_frame_that_arrives_in_pieces_is_put_together(pair: Pair) -> None:
    ours, theirs = pair
    body = json.dumps({"text": "x" * 500}).encode()
    pieces = [bytes([byte]) for byte in struct.pack("<I", len(body)) + body]
    sender = threading.Thread(target=lambda: [ours.send(piece) for piece in pieces])
    sender.start()
    assert wire.receive_frame(theirs) == {"text": "x" * 500}
    sender.join()


def test_a_frame_larger_than_the_buffer_of_a_socket_arrives_whole(pair: Pair) -> None:
    ours, theirs = pair
    sender = threading.Thread(target=wire.send_frame, args=(ours, {"text": "x" * 900_000}))
    sender.start()
    assert len(wire.receive_frame(theirs)["text"]) == 900_000
    sender.join()


@pytest.mark.parametrize("sent", [b"", b"\x05\x00", b"\x05\x00\x00\x00", b"\x05\x00\x00\x00{}"])
def test_a_channel_that_closes_before_the_end_of_a_frame_is_an_end_of_file(sent: bytes, pair: Pair) -> None:
    ours, theirs = pair
    ours.sendall(sent)
    ours.close()
    with pytest.raises(EOFError, match="the other side closed the channel"):
        wire.receive_frame(theirs)


@pytest.mark.parametrize("length", [wire.MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_a_length_above_the_limit_is_refused_before_anything_is_read(length: int, pair: Pair) -> None:
    ours, theirs = pair
    ours.sendall(struct.pack("<I", length))
    with pytest.raises(ValueError, match=f"frame of {length} bytes; at most 1048576 are allowed"):
        wire.receive_frame(theirs)


@pytest.mark.parametrize("body", [b"{", b"\xff", b""])
def test_a_body_that_is_no_json_is_a_value_error(body: bytes, pair: Pair) -> None:
    ours, theirs = pair
    ours.sendall(struct.pack("<I", len(body)) + body)
    with pytest.raises(ValueError, match="Expecting|decode"):
        wire.receive_frame(theirs)


def test_each_word_has_a_cache_line_of_its_own() -> None:
    words = [getattr(wire, name) for name in WORDS]
    assert all(abs(one - other) * 8 >= 64 for one, other in itertools.combinations(words, 2))


def test_words_length_and_answer_lie_one_behind_the_other_in_the_control_page() -> None:
    last_word = (max(getattr(wire, name) for name in WORDS) + 1) * 8
    assert last_word <= wire.LENGTH_OFFSET
    assert wire.LENGTH_OFFSET + 4 <= wire.REPLY_OFFSET
    assert wire.REPLY_OFFSET + wire.REPLY_BYTES <= wire.TURN_OFFSET
    assert wire.TURN_OFFSET + len(wire.pack_turn(1, 2)) <= wire.SCALARS_OFFSET < wire.CONTROL_BYTES


def test_a_turn_and_the_place_of_its_gate_come_out_as_they_were_put_in() -> None:
    with mmap.mmap(-1, wire.CONTROL_BYTES) as page:
        told = wire.pack_turn(2**31 - 1, wire.SLOTS_OFFSET - 128)
        page[wire.TURN_OFFSET : wire.TURN_OFFSET + len(told)] = told
        assert wire.unpack_turn(page) == (2**31 - 1, wire.SLOTS_OFFSET - 128)


def test_scalars_come_out_as_they_were_put_in_and_at_their_positions() -> None:
    inputs: list[dict[str, Any]] = [{"shape": [4]}, {"scalar": "float64"}, {"scalar": "int64"}]
    dtypes, scalars = wire.places_of_scalars(inputs), {1: 0.1, 2: 2**53 + 1}
    page = b"x" * 8 + wire.pack_scalars(dtypes, scalars)
    assert wire.unpack_scalars(dtypes, page, 8) == scalars


def test_the_longest_message_of_an_exception_fits_an_answer_and_its_schema() -> None:
    escaped = json.dumps({"message": "\N{SNOWMAN}" * wire.MAX_TEXT})
    assert len(escaped) < wire.REPLY_BYTES
    assert wire.MAX_TEXT <= 4000
