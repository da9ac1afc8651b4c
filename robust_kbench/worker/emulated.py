"""Emulated calls: drives the CUDA emulator's runtime, with settings and tensors' names before, findings after."""

import ctypes
import json
from typing import Any, Protocol, TypedDict

_MAX_REPORTS = 16


class Named(TypedDict):
    """Tensor of the call: name, place and size in bytes, and whether it holds values before the call."""

    name: str
    offset: int
    size: int
    initialised: bool


class Emulation(TypedDict):
    """Settings of one emulated call; `schedule` is 0 forward, 1 reverse, 2 shuffled by `seed`."""

    schedule: int
    seed: int
    poison: int
    checked: bool
    cores: int
    work_limit: int
    cpu_seconds: int
    tensors: list[Named]


class Memory(Protocol):
    """Memory in which the tensors lie, from its `address` on."""

    address: int


class Emulator:
    """Runtime library that an emulated kernel's shared object is linked with."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.kbemu_begin.argtypes = [
            ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint,
        ]  # fmt: skip
        self._library.kbemu_begin.restype = None
        self._library.kbemu_tensor.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._library.kbemu_tensor.restype = None
        self._library.kbemu_end.restype = ctypes.c_char_p

    def begin(self, emulation: Emulation, memory: Memory) -> None:
        """Set up the runtime before a call."""
        self._library.kbemu_begin(
            emulation["schedule"], emulation["seed"], emulation["poison"], emulation["checked"], emulation["cores"],
            emulation["work_limit"], emulation["cpu_seconds"],
        )  # fmt: skip
        for tensor in emulation["tensors"]:
            address = memory.address + tensor["offset"]
            self._library.kbemu_tensor(tensor["name"].encode(), address, tensor["size"], tensor["initialised"])

    def end(self) -> list[dict[str, Any]]:
        """Return the checker's findings after a call, the first ones only."""
        reports: list[dict[str, Any]] = json.loads(self._library.kbemu_end())
        return reports[:_MAX_REPORTS]
