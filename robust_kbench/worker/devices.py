"""Devices inside the worker: how one call is carried out on each kind.

The arguments are views of the judge's memory, and the judge's clock is the only one. On the cpu device a call waits for
GO (`CpuCall`), on a CUDA device it is launched behind a gate (see worker.cuda).
"""

import ctypes
import os
from collections.abc import Mapping
from typing import Any, Protocol

from robust_kbench.worker import arguments
from robust_kbench.worker.loaders import Kernel
from robust_kbench.worker.uses import CpuCalls


class Call(Protocol):
    """Call with its methods in the order in which they run; `receive` and `run` are on the judge's clock."""

    def rehearse(self) -> dict[str, Any]:
        """Go through `run` with nothing in the kernel's place."""

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """Receive the scalars: position among the arguments -> value."""

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Call the kernel and describe its results."""

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Bring results to where the judge reads them."""


class CpuCall:
    """Call whose arguments lie in shared memory."""

    def __init__(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> None:
        self._returns = abi in ("value", "torch")
        self._is_native = abi == "c"
        self._arguments = arguments.build(abi, arena, request["inputs"], request["outputs"], request["axes"])
        self._outputs = [arena.tensor(spec) for spec in request["outputs"]] if request["copy_out"] else []

    def rehearse(self) -> dict[str, Any]:
        """Go through `run` with nothing in the kernel's place.

        The caches were emptied for the kernel's sake. Without this, our own code would be fetched from memory inside
        the clock. That costs 30 us, and as much more or less as the layout of this process happens to be.
        """
        return self.run(_return_first if self._returns or not self._is_native else _C_IDLE)

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """Put the scalars that have arrived into their places."""
        arguments.receive(self._arguments, scalars)

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Call the kernel and describe its results."""
        self._result = kernel(*self._arguments)
        return {"outcome": "returned", "outputs": arguments.describe(self._result) if self._returns else []}

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Copy returned tensors to shared memory, where the judge cannot read ours."""
        if self._returns and answer["outcome"] == "returned":
            arguments.copy(self._result, self._outputs)
        return answer


class CpuDevice:
    """Processor as a device with one thread."""

    def open_memory(self, descriptor: int, request: dict[str, Any]) -> arguments.Arena:
        """Map the judge's shared memory; from then on nothing here can map it elsewhere."""
        arena = arguments.Arena(descriptor, request["arena_bytes"])
        os.close(descriptor)
        return arena

    def prepare(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> Call:
        """Build the arguments of one call."""
        return CpuCalls(abi, arena, request) if "use" in request else CpuCall(abi, arena, request)


def _return_first(*arguments: Any) -> Any:
    return arguments[0]


def _c_idle() -> Kernel:
    """Return a C function that does nothing worth mentioning with any arguments."""
    function: Kernel = ctypes.CDLL(None).labs
    function.restype = None  # type: ignore[attr-defined]
    return function


_C_IDLE = _c_idle()


def _cuda() -> Any:
    from robust_kbench.worker.cuda import CudaDevice

    return CudaDevice()


DEVICES = {"cpu": CpuDevice, "cuda": _cuda}
