"""Session of the worker: restrict itself, load the submission, answer calls until the judge hangs up."""

import contextlib
import gc
import json
import mmap
import os
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any

from robust_kbench.worker import kernel, sandbox, wire

_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # on the clock: `json.dumps` makes an encoder in each call


def run(limits: sandbox.Limits, layers: list[str], parent: int, fds: dict[str, int]) -> None:
    """Run the worker; never return. An uncaught error ends the process with exit code 1 and a traceback in the log."""
    code = 1
    try:
        os.dup2(fds["log"], 1)
        os.dup2(fds["log"], 2)
        os.close(fds["log"])
        os.setsid()  # a signal to our own group must not reach those who watch us
        kernel.die_with_parent(parent)
        os.chdir(limits["scratch"])
        os.environ.update(HOME=limits["scratch"], TMPDIR=limits["scratch"])
        os.environ.setdefault("TRITON_HOME", limits["scratch"])  # else it is where that was when Triton was imported
        tempfile.tempdir = limits["scratch"]  # the warm process may have remembered its own
        layers = sandbox.restrict(limits, layers)
        # Told before any foreign code runs, over a pipe that is closed by then.
        os.write(fds["status"], json.dumps({"layers": layers}).encode() + b"\n")
        os.close(fds["status"])
        _Session(fds).serve()
        code = 0
    except EOFError:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


class _Session:
    def __init__(self, fds: dict[str, int]) -> None:
        self._channel = socket.socket(fileno=fds["channel"])
        self._control = mmap.mmap(fds["control"], wire.CONTROL_BYTES)
        self._words = memoryview(self._control).cast("Q")
        self._arena_fd = fds["arena"]
        self._abi = "destination"
        self._kernels: dict[str, Any] = {}
        self._device: Any = None
        self._spin = True
        self._padding: tuple[object, ...] = ()

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the judge, who ends us
        while True:
            request = wire.receive_frame(self._channel)
            getattr(self, f"_{request['op']}")(request)

    def _open(self, request: dict[str, Any]) -> None:
        """Open the device, on which calls are empty until something is loaded."""
        with _few_queues() if request["few_queues"] else contextlib.nullcontext():
            self._open_device(request)
        self._answer(request["nonce"], {"outcome": "loaded"})
        self._signal(wire.FINISHED, request["nonce"])

    def _open_device(self, request: dict[str, Any]) -> None:
        from robust_kbench.worker import devices

        self._spin = request["spin"]
        self._device = devices.DEVICES[request["device"]]()
        self._arena = self._device.open_memory(self._arena_fd, request)

    def _load(self, request: dict[str, Any]) -> None:
        """Load one artefact, for calls of its dtypes."""
        from robust_kbench.worker import emulated, loaders, precision

        self._spin = request["spin"]
        if self._device is None:
            self._open_device(request)
        os.environ.update(request["environment"])
        precision.set_precision(request["precision"])
        self._padding = self._padding or _shift_addresses(request.get("padding_bytes", 0))
        _touch_heap(request.get("heap_bytes", 0))
        try:
            self._kernels |= dict.fromkeys(request["dtypes"], loaders.load(request))
            self._abi = request["abi"]
            self._emulator = emulated.Emulator(request["path"]) if request["execution"] == "emulated" else None
            answer: dict[str, Any] = {"outcome": "loaded"}
        except BaseException as error:
            answer = _raised(error)
        gc.collect()
        gc.disable()
        self._answer(request["nonce"], answer)
        self._signal(wire.FINISHED, request["nonce"])

    def _rehearse(self, request: dict[str, Any]) -> None:
        """Call a kernel of ours on a CUDA device with zeros, so that all is compiled and loaded that it needs."""
        self._spin = request["spin"]
        try:
            self._device.rehearse(self._kernels[request["dtype"]], self._abi, request)
            answer: dict[str, Any] = {"outcome": "loaded"}
        except BaseException as error:
            answer = _raised(error)
        self._answer(request["nonce"], answer)
        self._signal(wire.FINISHED, request["nonce"])

    def _call(self, request: dict[str, Any]) -> None:
        nonce = request["nonce"]
        scalars = wire.places_of_scalars(request["inputs"])
        call = self._device.prepare(self._abi, self._arena, request)
        self._signal(wire.PREPARED, nonce)
        if request["rehearses"]:
            self._wait(wire.WAKE, nonce)
            self._answer(0, call.rehearse())
            self._signal(wire.READY, nonce)
        self._wait(wire.GO, nonce)
        # The clock runs from here on.
        if scalars:
            call.receive(wire.unpack_scalars(scalars, self._control, wire.SCALARS_OFFSET))
        if self._emulator is not None:
            self._emulator.begin(request["emulation"], self._arena)
        try:
            answer = call.run(self._kernels[request["dtype"]])
        except BaseException as error:
            answer = _raised(error)
        if self._emulator is not None:
            answer["reports"] = self._emulator.end()
        self._answer(nonce, answer)
        self._signal(wire.DONE, nonce)
        if request["copy_out"]:
            self._answer(nonce, call.copy_out(answer))
            self._signal(wire.FINISHED, nonce)
        # Until the next call the result stays alive: the judge reads it from our memory.
        self._kept = call

    def _launch(self, request: dict[str, Any]) -> None:
        """Launch a call on a CUDA device, before its inputs are there unless it has to wait for GO."""
        nonce = request["nonce"]
        call = self._device.prepare(self._abi, self._arena, request)
        if request["waits"]:
            self._signal(wire.PREPARED, nonce)
            self._wait(wire.GO, nonce)
        scalars = wire.places_of_scalars(request["inputs"])
        call.receive(wire.unpack_scalars(scalars, self._control, wire.SCALARS_OFFSET))
        call.take_turn(*wire.unpack_turn(self._control))
        try:
            answer = call.launch(self._kernels.get(request["dtype"]))  # calls are empty before anything is loaded
        except BaseException as error:
            answer = _raised(error)
        self._answer(nonce, answer)
        self._signal(wire.READY, nonce)
        event_ns = call.finish()  # what it raises has spoilt the context, and ends this process
        struct.pack_into("<Q", self._control, wire.EVENT_OFFSET, event_ns)
        self._signal(wire.DONE, nonce)
        self._kept = call  # so that the next results lie elsewhere

    def _wait(self, word: int, nonce: int) -> None:
        if self._spin:
            words = self._words
            while words[word] != nonce:
                pass
        else:
            self._channel.recv(1)  # one for each signal: what stayed unread would be taken for the next request

    def _signal(self, word: int, nonce: int) -> None:
        self._words[word] = nonce
        if not self._spin:
            self._channel.send(b"!")

    def _answer(self, nonce: int, answer: dict[str, Any]) -> None:
        body = _ENCODE({"nonce": nonce, **answer}).encode()[: wire.REPLY_BYTES]
        self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(body)] = body
        struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, len(body))


@contextlib.contextmanager
def _few_queues() -> Iterator[None]:
    """Have the driver create a context with two channels for kernels in place of eight, in a third of the time.

    Streams of a worker may wait for each other then. The environment that a submission finds is the same.
    """
    os.environ[_QUEUES] = "2"
    try:
        yield
    finally:
        del os.environ[_QUEUES]


def _shift_addresses(size_bytes: int) -> tuple[object, ...]:
    """Shift the addresses of later mappings and allocations, for as long as the result lives."""
    return (mmap.mmap(-1, size_bytes), bytearray(size_bytes)) if size_bytes else ()


def _touch_heap(size_bytes: int) -> None:
    """Have the heap's pages in place, which stay there when they are freed (see the pool's environment).

    Otherwise the first ten or twenty calls of a kernel that allocates results pay for page faults, four times their own
    time.
    """
    if size_bytes:
        try:
            kernel.populate_heap(size_bytes)
        except OSError:
            bytearray(size_bytes)


def _raised(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    message = str(error)[: wire.MAX_TEXT]
    return {"outcome": "raised", "type": type(error).__name__[:80], "message": message, "where": where}
