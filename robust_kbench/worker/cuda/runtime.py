"""The CUDA runtime that torch has loaded, for what torch does not offer. Absent, or refusing, it does nothing."""

import ctypes
from collections.abc import Iterable
from typing import Any

_PERSISTING_L2_CACHE_SIZE = 0x06  # cudaLimitPersistingL2CacheSize


class Runtime:
    """Calls of libcudart by name; `library` is None where none is loaded."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def reset_persisting_cache(self) -> None:
        """Take back what a submission has set aside of the L2 cache, and turn lines that persist into normal ones."""
        self._try("cudaDeviceSetLimit", ctypes.c_int(_PERSISTING_L2_CACHE_SIZE), ctypes.c_size_t(0))
        self._try("cudaCtxResetPersistingL2Cache")

    def fill(self, address: int, value: int, size_bytes: int) -> bool:
        """Set device memory; True if the runtime did so."""
        return self._try("cudaMemset", ctypes.c_void_p(address), ctypes.c_int(value), ctypes.c_size_t(size_bytes))

    def _try(self, name: str, *arguments: Any) -> bool:
        function = getattr(self._library, name, None)
        if function is None:
            return False
        if function(*arguments) == 0:
            return True
        self._library.cudaGetLastError()  # or torch would find our error and blame the submission for it
        return False


def loaded_runtime() -> Runtime:
    """The libcudart that is mapped into this process."""
    with open("/proc/self/maps") as file:
        path = find_library(file)
    return Runtime(ctypes.CDLL(path) if path else None)


def find_library(maps: Iterable[str]) -> str | None:
    """The path of libcudart in the lines of /proc/self/maps."""
    for line in maps:
        path = line.rstrip("\n").partition("/")[2]
        if path.rpartition("/")[2].startswith("libcudart"):
            return f"/{path}"
    return None
