"""How one call is carried out on each kind of device, inside the worker.

On the cpu device the arguments are views of the judge's memory and the judge's clock is the only clock. On the cuda
device the worker copies to and from device memory, off the clock, and reports event times that the judge treats as
claims.
"""

from typing import Any, Protocol

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.loaders import Kernel


class Call(Protocol):
    """One call, in the order in which its methods run; only `run` is inside the judge's clock."""

    def fill(self) -> None:
        """The inputs' values have arrived in shared memory."""

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Call the kernel and say what came back."""

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Bring results to where the judge reads them."""


class CpuCall:
    """A call whose arguments lie in shared memory."""

    def __init__(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> None:
        self._returns = abi in ("value", "torch")
        self._arguments = arguments.build(abi, arena, request["inputs"], request["outputs"], request["axes"])
        self._outputs = [arena.tensor(spec) for spec in request["outputs"]] if request["copy_out"] else []

    def fill(self) -> None:
        """Nothing to do: the views already show the new values."""

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Call the kernel and say what came back."""
        self._result = kernel(*self._arguments)
        return {"outcome": "returned", "outputs": arguments.describe(self._result) if self._returns else []}

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Copy returned tensors to shared memory, where the judge cannot read ours."""
        if self._returns and answer["outcome"] == "returned":
            _copy(self._result, self._outputs)
        return answer


class CpuDevice:
    """The processor, one thread."""

    def prepare(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> Call:
        """Build the arguments of one call."""
        return CpuCall(abi, arena, request)


def _copy(result: Any, slots: list[torch.Tensor]) -> None:
    tensors = result if isinstance(result, tuple | list) else [result]
    for tensor, slot in zip(tensors, slots, strict=False):
        if type(tensor) is torch.Tensor and tensor.shape == slot.shape and tensor.dtype == slot.dtype:
            slot.copy_(tensor)


def _cuda() -> Any:
    from robust_kbench.worker.cuda import CudaDevice

    return CudaDevice()


DEVICES = {"cpu": CpuDevice, "cuda": _cuda}
