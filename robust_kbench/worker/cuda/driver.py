"""The CUDA driver, called by name: what neither PyTorch nor the runtime library offers."""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

_DEVICE, _FILE_DESCRIPTOR, _PINNED, _READ_AND_WRITE = 1, 1, 1, 3
_UNTIL_EQUAL = 1
_GRANULE_BYTES = 2 << 20


class Driver:
    """Calls of libcuda by name. Each raises RuntimeError with the driver's words."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call `name`. Raises RuntimeError."""
        code = getattr(self._library, name)(*arguments)
        if code:
            words = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(words))
            raise RuntimeError(f"{name}: {(words.value or b'unknown error').decode()}")

    def wait(self, stream: int, address: int, value: int) -> None:
        """Have `stream` wait until the 32-bit word at `address` equals `value`."""
        self("cuStreamWaitValue32_v2", *_word(stream, address, value), ctypes.c_uint(_UNTIL_EQUAL))

    def write(self, stream: int, address: int, value: int) -> None:
        """Have `stream` write `value` to the 32-bit word at `address`, behind all that it did before."""
        self("cuStreamWriteValue32_v2", *_word(stream, address, value), ctypes.c_uint(0))

    def launch(self, stream: int, function: ctypes.c_void_p, threads: int, arguments: Sequence[Any]) -> None:
        """Have `stream` run one block of `threads`; `arguments` are objects of ctypes."""
        places = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(stream), places, None)

    def allocate(self, size_bytes: int) -> int:
        """Allocate memory of the current device that can be exported. Returns a handle of it; see `whole_granules`."""
        handle = ctypes.c_uint64()
        properties = _Properties(_PINNED, _FILE_DESCRIPTOR, _Location(_DEVICE, torch.cuda.current_device()))
        size, flags = ctypes.c_size_t(size_bytes), ctypes.c_uint64()
        self("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(properties), flags)
        return handle.value

    def export(self, handle: int) -> int:
        """Make a file descriptor through which another process imports the memory; the caller closes it."""
        descriptor = ctypes.c_int()
        kind, flags = ctypes.c_int(_FILE_DESCRIPTOR), ctypes.c_uint64()
        self("cuMemExportToShareableHandle", ctypes.byref(descriptor), ctypes.c_uint64(handle), kind, flags)
        return descriptor.value

    def import_memory(self, descriptor: int) -> int:
        """Import memory that another process has exported. Returns a handle of it."""
        handle = ctypes.c_uint64()
        kind = ctypes.c_int(_FILE_DESCRIPTOR)
        self("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor), kind)
        return handle.value

    def map(self, handle: int, size_bytes: int) -> int:
        """Map memory for reading and writing. Returns its address."""
        address, size, nothing = ctypes.c_uint64(), ctypes.c_size_t(size_bytes), ctypes.c_uint64()
        self("cuMemAddressReserve", ctypes.byref(address), size, ctypes.c_size_t(), nothing, nothing)
        self("cuMemMap", address, size, ctypes.c_size_t(), ctypes.c_uint64(handle), nothing)
        access = _Access(_Location(_DEVICE, torch.cuda.current_device()), _READ_AND_WRITE)
        self("cuMemSetAccess", address, size, ctypes.byref(access), ctypes.c_size_t(1))
        return address.value

    def unmap(self, address: int, size_bytes: int) -> None:
        """Undo `map`; no tensor may view the memory any longer."""
        self("cuMemUnmap", ctypes.c_uint64(address), ctypes.c_size_t(size_bytes))
        self("cuMemAddressFree", ctypes.c_uint64(address), ctypes.c_size_t(size_bytes))

    def release(self, handle: int) -> None:
        """Give memory back as soon as no process has it mapped."""
        self("cuMemRelease", ctypes.c_uint64(handle))


def whole_granules(size_bytes: int) -> int:
    """The least size not below `size_bytes` that can be allocated and mapped."""
    return -(-size_bytes // _GRANULE_BYTES) * _GRANULE_BYTES


def bytes_at(address: int, size_bytes: int) -> torch.Tensor:
    """View device memory as a tensor of uint8, shape [size_bytes]."""
    described = {"shape": (size_bytes,), "typestr": "|u1", "data": (address, False), "version": 3}
    return torch.as_tensor(type("_Bytes", (), {"__cuda_array_interface__": described})(), device="cuda")


def _word(stream: int, address: int, value: int) -> tuple[Any, ...]:
    return ctypes.c_void_p(stream), ctypes.c_uint64(address), ctypes.c_uint32(value)


class _Location(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("number", ctypes.c_int))


class _Flags(ctypes.Structure):
    _fields_ = (
        ("compression", ctypes.c_ubyte),
        ("direct_access", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    )


class _Properties(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("metadata", ctypes.c_void_p),
        ("flags", _Flags),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))
