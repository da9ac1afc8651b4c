"""The CUDA runtime does what it is asked for, or nothing, and leaves no error behind."""

from __future__ import annotations

from collections.abc import Callable

from robust_kbench.worker.cuda import runtime


class Library:
    def __init__(self, error: int = 0) -> None:
        self.called: list[str] = []
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return lambda *_: self.called.append(name) or self._error  # type: ignore[func-returns-value]


def test_the_persisting_part_of_the_cache_is_given_back() -> None:
    library = Library()
    runtime.Runtime(library).reset_persisting_cache()
    assert library.called == ["cudaDeviceSetLimit", "cudaCtxResetPersistingL2Cache"]


def test_an_error_of_ours_is_not_left_for_torch_to_find() -> None:
    library = Library(error=801)
    assert not runtime.Runtime(library).fill(4096, 255, 16)
    assert library.called == ["cudaMemset", "cudaGetLastError"]


def test_memory_that_was_set_is_told() -> None:
    assert runtime.Runtime(Library()).fill(4096, 255, 16)


def test_without_a_runtime_nothing_happens() -> None:
    runtime.Runtime(None).reset_persisting_cache()
    assert not runtime.Runtime(None).fill(0, 0, 0)


def test_the_runtime_that_is_mapped_is_found() -> None:
    maps = [
        "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libc.so.6\n",
        "7f02-7f03 r-xp 00000000 08:01 13 /opt/site packages/cuda_runtime/lib/libcudart.so.12\n",
    ]
    assert runtime.find_library(maps) == "/opt/site packages/cuda_runtime/lib/libcudart.so.12"
    assert runtime.find_library(maps[:1]) is None
