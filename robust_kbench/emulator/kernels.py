"""Kernels outside of launches: attributes in their heads, and runtime functions that take a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from robust_kbench.emulator import launches
from robust_kbench.emulator.launches import kernel_name
from robust_kbench.emulator.naming import quoted
from robust_kbench.emulator.scopes import CARRIERS
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream

# Which argument is the kernel, from 0.
_LAUNCHES = {"cudaLaunchKernel": 0, "cudaLaunchCooperativeKernel": 0, "cudaLaunchKernelEx": 1, "cudaLaunchKernelExC": 1}
_QUERIES = {
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
}
# Tokens of an expression that names a kernel, and attributes before its name; they bound the time for hostile source.
_LONGEST_KERNEL = 256
_MOST_ATTRIBUTES = 4
_CASTS = frozenset(["reinterpret_cast", "static_cast", "const_cast"])
_VOID_POINTER = {"const", "void", "*"}

Span = tuple[int, int]


def rewrite_keywords(source: Source) -> None:
    """Replace `__noinline__` by the attribute. A macro cannot: newer libstdc++ headers spell the attribute so."""
    for stream in source.streams:
        for index in stream.find("__noinline__"):
            if stream.text(index - 1) not in ("(", ","):
                source.replace(stream, index, index + 1, "__attribute__((noinline))")


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
    """Give the runtime functions that take a kernel its name and type, which `const void*` has lost.

    A setting for one kernel must hold when the kernel is launched by another name, such as that of a variable. Where
    that may happen the argument stays as it is, and the runtime library applies the setting to every kernel.
    """
    known = {name for stream in source.streams for name in _declared(stream)}
    all_known = {name for stream in source.streams for name in _launched(stream)} <= known
    for stream in source.streams:
        for first, end in _arguments(stream, _LAUNCHES):
            _refer(source, stream, first, end)
        for first, end in _arguments(stream, _QUERIES) if all_known else ():
            if kernel_name(stream, *_without_casts(stream, first, end)) in known:
                _refer(source, stream, first, end)


def _declared(stream: Stream) -> Iterator[str]:
    """Yield the name of every kernel of the file, as a string literal."""
    for index in stream.find("__global__"):
        parameters = stream.seek(index + 1, "(")
        for _ in range(_MOST_ATTRIBUTES):
            if stream.text(parameters - 1) in CARRIERS:
                parameters = stream.seek(stream.partner(parameters) + 1, "(")
        yield quoted(stream, parameters - 1, parameters)


def _launched(stream: Stream) -> Iterator[str]:
    """Yield the name by which each launch names its kernel."""
    for launch in launches.find(stream):
        yield kernel_name(stream, launch.first, launch.opening)
    for first, end in _arguments(stream, _LAUNCHES):
        yield kernel_name(stream, *_without_casts(stream, first, end))


def _arguments(stream: Stream, functions: dict[str, int]) -> Iterator[Span]:
    """Yield the argument that is the kernel, for each call of the functions."""
    for index in stream.find(*functions):
        closing = stream.partner(index + 1)
        if stream.text(index + 1) != "(" or closing == index + 1:
            continue
        arguments = stream.split(index + 2, closing)
        number = functions[stream.text(index)]
        first, end = arguments[number] if number < len(arguments) else (0, 0)
        if first < end <= first + _LONGEST_KERNEL:
            yield first, end


def _refer(source: Source, stream: Stream, first: int, end: int) -> None:
    inner = _without_casts(stream, first, end)
    if inner[0] < inner[1]:
        source.replace(stream, first, end, f"::kbemu::kernel({kernel_name(stream, *inner)}, {stream.render(*inner)})")


def _without_casts(stream: Stream, first: int, end: int) -> Span:
    """Return the span of the kernel in `(const void*)&kernel<T>`, `reinterpret_cast<void*>(kernel)` and `(kernel)`."""
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
