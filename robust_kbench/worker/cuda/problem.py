"""One set of inputs and outputs on the device, in the form in which a kernel of some abi is called with it."""

import ctypes
from collections.abc import Mapping
from typing import Any

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.cuda.buffers import Buffer, overruns
from robust_kbench.worker.loaders import Kernel


class Problem:
    """Buffers of one call, and its scalars."""

    def __init__(self, abi: str, arena: arguments.Arena, request: dict[str, Any], place: str) -> None:
        self._returns = abi in ("value", "torch")
        self._is_native = abi not in ("value", "torch", "destination")
        self._axes = request["axes"]
        self._inputs = [
            arguments.zero(spec) if "scalar" in spec else Buffer(arena, spec, place) for spec in request["inputs"]
        ]
        self._outputs = [] if self._returns else [Buffer(arena, spec, place) for spec in request["outputs"]]
        self._slots = [arena.tensor(spec) for spec in request["outputs"]]
        self.result: Any = None

    def upload(self, stream: int) -> None:
        """Bring inputs and poisoned outputs to the device; native kernels are told the stream's handle."""
        for buffer in self._buffers():
            buffer.upload()
        inputs = [value.view if isinstance(value, Buffer) else value for value in self._inputs]
        passed = [*inputs, *(buffer.view for buffer in self._outputs)]
        if self._is_native:
            passed = native(passed, self._axes, stream)
        self._arguments = passed

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """Put scalars into their places."""
        arguments.receive(self._arguments, scalars)

    def vary(self) -> None:
        """Make the inputs another problem of the same kind."""
        for value in self._inputs:
            if isinstance(value, Buffer):
                value.roll()

    def solve(self, kernel: Kernel) -> Any:
        """Call the kernel."""
        self.result = kernel(*self._arguments)
        return self.result

    def describe(self) -> list[dict[str, Any]]:
        """What the kernel returned, as claims for the judge to check."""
        return arguments.describe(self.result) if self._returns else []

    def snapshot(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Where the judge reads each output, and a copy of it that is made on the device at once.

        What some thread or stream writes later must not get into an output while it travels to the host.
        """
        if not self._returns:
            return [(buffer.host, buffer.flat.clone()) for buffer in self._outputs]
        tensors = self.result if isinstance(self.result, tuple | list) else [self.result]
        return [
            (slot, tensor.clone()) for slot, tensor in zip(self._slots, tensors, strict=False) if _fits(tensor, slot)
        ]

    def download(self) -> list[dict[str, int]]:
        """Copy inputs back, where the judge compares them; returns writes outside inputs and outputs."""
        for value in self._inputs:
            if isinstance(value, Buffer):
                value.download()
        return overruns([*self._inputs, *self._outputs])

    def _buffers(self) -> list[Buffer]:
        return [value for value in (*self._inputs, *self._outputs) if isinstance(value, Buffer)]


def _fits(tensor: Any, slot: torch.Tensor) -> bool:
    return type(tensor) is torch.Tensor and tensor.shape == slot.shape and tensor.dtype == slot.dtype


def native(values: list[Any], axes: list[int], stream: int) -> list[Any]:
    """What a kernel of abi c is called with: addresses and scalars, the axes, and the stream."""
    return [*map(_native, values), *map(ctypes.c_int64, axes), ctypes.c_void_p(stream)]


def _native(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
