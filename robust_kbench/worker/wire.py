"""Protocol of the trust boundary, to the byte. Judge and worker both read this file; nothing here may be trusted.

Requests travel over a socket: a little-endian u32 length and as many bytes of JSON. Answers and clock signals lie in a
control page, a sealed memfd of CONTROL_BYTES that only the judge and this one worker map:

    offset    0  u64 PREPARED  worker -> judge   arguments of this call are built
    offset   64  u64 WAKE      judge  -> worker  rehearse
    offset  128  u64 READY     worker -> judge   rehearsed
    offset  192  u64 GO        judge  -> worker  inputs are in place, and the clock has started
    offset  256  u64 DONE      worker -> judge   the kernel has returned; the clock stops here
    offset  320  u64 FINISHED  worker -> judge   outputs that had to be copied are copied
    offset  512  u32           length of the answer, then REPLY_BYTES of JSON at offset 576
    offset  520  u64           worker -> judge   ns between two events, of a call that asks for it; there with DONE
    offset 62 Ki  u32 turn, u32 gate  judge -> worker  of a call on a CUDA device, see below
    offset 63 Ki               judge -> worker  the call's scalars, 8 bytes each, in their order; there with GO

The worker is stopped behind PREPARED and READY. The judge writes the inputs then, sets GO, starts the clock, and only
then lets the worker run. So before DONE it never runs with the inputs and off the clock.

Each word carries the nonce of its call, and each has a cache line of its own, so that a store to one does not slow the
reader of another.

On a CUDA device a call is launched before its inputs exist (see isolation.gate). Its words are PREPARED (only where the
worker has to wait for GO before it may launch), GO, READY (all is launched; the answer has its claims) and DONE (the
device has come to rest). The judge may read the answer while the worker runs on, so it is written once. Tensors lie in
device memory of the judge's, a block that this one worker maps:

    offset    0  u32 gate      judge's stream -> worker's stream   the clock has started
    offset 4096  u32 end       worker's stream -> judge's stream   the call is over
    offset 64 Ki               slots of inputs and outputs, then a region in which results may be allocated

Each of the two words carries the turn, a random number that is never 0. A call that waits for GO learns its turn only
then, and where its gate's word is: somewhere among the first 64 KiB.
"""

import json
import mmap
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

PREPARED, WAKE, READY, GO, DONE, FINISHED = (line * 8 for line in range(6))
LENGTH_OFFSET, EVENT_OFFSET = 512, 520
REPLY_OFFSET = 576
REPLY_BYTES = 60 * 1024
TURN_OFFSET = 62 * 1024
SCALARS_OFFSET = 63 * 1024
CONTROL_BYTES = 64 * 1024
GATE_OFFSET, END_OFFSET, SLOTS_OFFSET = 0, 4096, 64 * 1024
MAX_FRAME_BYTES = 1024 * 1024
MAX_TEXT = 2000
_HEADER = struct.Struct("<I")
_TURN = struct.Struct("<II")
_CODES = {"int64": "q", "float64": "d"}
Scalar = int | float


def send_frame(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one JSON message, with its length before it."""
    body = json.dumps(message, separators=(",", ":")).encode()
    channel.sendall(_HEADER.pack(len(body)) + body)


def receive_frame(channel: socket.socket) -> dict[str, Any]:
    """Receive one JSON message. Raises EOFError when the other side is gone."""
    (length,) = _HEADER.unpack(_exactly(channel, _HEADER.size))
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"frame of {length} bytes; at most {MAX_FRAME_BYTES} are allowed")
    message: dict[str, Any] = json.loads(_exactly(channel, length))
    return message


def places_of_scalars(inputs: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Find the scalars among the described inputs: position -> dtype."""
    return {place: spec["scalar"] for place, spec in enumerate(inputs) if "scalar" in spec}


def pack_scalars(dtypes: Mapping[int, str], scalars: Mapping[int, Scalar]) -> bytes:
    """Pack scalars by position, as they lie in the control page."""
    return struct.pack(_format(dtypes), *(scalars[place] for place in dtypes))


def unpack_scalars(dtypes: Mapping[int, str], packed: bytes | mmap.mmap, offset: int = 0) -> dict[int, Scalar]:
    """Unpack scalars that `pack_scalars` has packed: position -> value."""
    return dict(zip(dtypes, struct.unpack_from(_format(dtypes), packed, offset), strict=True))


def pack_turn(turn: int, gate: int) -> bytes:
    """Pack the turn of a call on a CUDA device, and the offset of its gate's word, for the control page."""
    return _TURN.pack(turn, gate)


def unpack_turn(page: mmap.mmap) -> tuple[int, int]:
    """Unpack the turn and the offset that `pack_turn` has packed."""
    turn, gate = _TURN.unpack_from(page, TURN_OFFSET)
    return turn, gate


def _format(dtypes: Mapping[int, str]) -> str:
    return "<" + "".join(_CODES[dtype] for dtype in dtypes.values())


def _exactly(channel: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(count - len(parts))
        if not part:
            raise EOFError("the other side closed the channel")
        parts += part
    return bytes(parts)
