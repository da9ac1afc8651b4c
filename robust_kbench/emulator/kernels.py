"""Kernels elsewhere than in launches: their `__launch_bounds__`, and runtime functions that take a kernel."""

from __future__ import annotations

from robust_kbench.emulator.launches import kernel_name
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream

# Which argument is the kernel, from 0.
_TAKES_KERNEL = {
    "cudaFuncSetAttribute": 0,
    "cudaFuncSetCacheConfig": 0,
    "cudaFuncSetSharedMemConfig": 0,
    "cudaFuncGetAttributes": 1,
    "cudaFuncGetName": 1,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": 1,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": 1,
    "cudaOccupancyAvailableDynamicSMemPerBlock": 1,
    "cudaOccupancyMaxActiveClusters": 1,
    "cudaOccupancyMaxPotentialClusterSize": 1,
    "cudaOccupancyMaxPotentialBlockSize": 2,
    "cudaOccupancyMaxPotentialBlockSizeWithFlags": 2,
    "cudaOccupancyMaxPotentialBlockSizeVariableSMem": 2,
    "cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags": 2,
    "cudaLaunchKernel": 0,
    "cudaLaunchCooperativeKernel": 0,
    "cudaLaunchKernelEx": 1,
    "cudaLaunchKernelExC": 1,
}
# Tokens of an expression that names a kernel; bounds the time for hostile source.
_LONGEST_KERNEL = 256
_CASTS = frozenset(["reinterpret_cast", "static_cast", "const_cast"])
_VOID_POINTER = {"const", "void", "*"}


def rewrite_launch_bounds(source: Source) -> None:
    """Move the bounds from the kernel's head, where no other compiler knows them, into its body."""
    for stream in source.streams:
        for index in stream.find("__launch_bounds__"):
            if stream.text(index + 1) != "(":
                continue
            closing = stream.partner(index + 1)
            bounds = stream.render(index + 2, closing)
            source.replace(stream, index, closing + 1, "")
            body = stream.seek(closing + 1, "{", ";")
            if stream.text(body) == "{":
                source.insert_after(stream, body, f" ::kbemu::launch_bounds({bounds});")


def rewrite_references(source: Source) -> None:
    """Give the runtime functions that take a kernel its name and type, which `const void*` has lost."""
    for stream in source.streams:
        for index in stream.find(*_TAKES_KERNEL):
            if stream.text(index + 1) != "(" or stream.partner(index + 1) == index + 1:
                continue
            arguments = stream.split(index + 2, stream.partner(index + 1))
            number = _TAKES_KERNEL[stream.text(index)]
            if number < len(arguments):
                _refer(source, stream, *arguments[number])


def _refer(source: Source, stream: Stream, first: int, end: int) -> None:
    inner, inner_end = _without_casts(stream, first, end)
    if inner < inner_end <= inner + _LONGEST_KERNEL:
        name = kernel_name(stream, inner, inner_end)
        source.replace(stream, first, end, f"::kbemu::kernel({name}, {stream.render(inner, inner_end)})")


def _without_casts(stream: Stream, first: int, end: int) -> tuple[int, int]:
    """What is left of `(const void*)&kernel<T>`, `reinterpret_cast<void*>(kernel)` and `(kernel)`."""
    while first < end:
        closing = stream.partner(first)
        if stream.text(first) == "&":
            first += 1
        elif stream.text(first) == "(" and closing == end - 1:
            first, end = first + 1, end - 1
        elif stream.text(first) == "(" and _is_void_pointer(stream, first + 1, closing):
            first = closing + 1
        elif stream.text(first) in _CASTS and _is_void_pointer(stream, first + 2, stream.close_angle(first + 1)):
            first = stream.close_angle(first + 1) + 1
        else:
            break
    return first, end


def _is_void_pointer(stream: Stream, first: int, end: int) -> bool:
    words = [stream.text(index) for index in range(first, end)]
    return "void" in words and set(words) <= _VOID_POINTER
