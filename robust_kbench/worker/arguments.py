"""Arguments of a kernel, made from the judge's description of them: views of shared memory."""

import ctypes
from collections.abc import Mapping
from typing import Any, Protocol

import torch

from robust_kbench.worker.kernel import map_shared


class Arena:
    """View of the judge's shared memory from this process, for as long as it lives."""

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.address = map_shared(descriptor, size_bytes)
        self._memory = (ctypes.c_char * size_bytes).from_address(self.address)

    def tensor(self, spec: dict[str, Any]) -> torch.Tensor:
        """Return the tensor that `spec` describes: dtype, shape, stride (elements) and offset (bytes)."""
        dtype = getattr(torch, spec["dtype"])
        if spec["span"] == 0:
            return torch.empty(spec["shape"], dtype=dtype)
        flat = torch.frombuffer(self._memory, dtype=dtype, count=spec["span"], offset=spec["offset"])
        return flat.as_strided(spec["shape"], spec["stride"])

    def pointer(self, spec: dict[str, Any]) -> ctypes.c_void_p:
        """Return the address of the first element, for kernels of abi c."""
        return ctypes.c_void_p(self.address + spec["offset"])


class Memory(Protocol):
    """Memory of the judge's: shared memory (`Arena`), or a device's (worker.cuda.memory)."""

    def tensor(self, spec: dict[str, Any]) -> torch.Tensor:
        """Return the tensor that `spec` describes."""

    def pointer(self, spec: dict[str, Any]) -> ctypes.c_void_p:
        """Return the address of its first element, for kernels of abi c."""


def build(
    abi: str, arena: Memory, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], axes: list[int]
) -> list[Any]:
    """Build the positional arguments of one call; `receive` is to bring the scalars, whose places hold zeros."""
    if abi == "c":
        return [_native(arena, spec) for spec in (*inputs, *outputs)] + [ctypes.c_int64(size) for size in axes]
    called_with = inputs if abi in ("value", "torch") else [*inputs, *outputs]
    return [zero(spec) if "scalar" in spec else arena.tensor(spec) for spec in called_with]


def zero(spec: dict[str, Any]) -> int | float:
    """Return the value that stands for a scalar until the scalar comes."""
    return 0 if spec["scalar"] == "int64" else 0.0


def _native(arena: Memory, spec: dict[str, Any]) -> Any:
    if "scalar" not in spec:
        return arena.pointer(spec)
    return ctypes.c_int64() if spec["scalar"] == "int64" else ctypes.c_double()


def receive(arguments: list[Any], scalars: Mapping[int, int | float]) -> None:
    """Put scalars into their places among the positional arguments."""
    for place, value in scalars.items():
        if isinstance(arguments[place], ctypes.c_int64 | ctypes.c_double):
            arguments[place].value = value
        else:
            arguments[place] = value


def describe(result: Any) -> list[dict[str, Any]]:
    """Describe the results of a kernel of abi value, as claims for the judge to check. Converts and copies nothing."""
    tensors = result if isinstance(result, tuple | list) else [result]
    return [_claim(tensor) for tensor in tensors[:16]]


def copy(result: Any, slots: list[torch.Tensor]) -> None:
    """Copy a kernel's results to `slots`, as far as they have the slots' shapes and dtypes."""
    tensors = result if isinstance(result, tuple | list) else [result]
    for tensor, slot in zip(tensors, slots, strict=False):
        if type(tensor) is torch.Tensor and tensor.shape == slot.shape and tensor.dtype == slot.dtype:
            slot.copy_(tensor)


def _claim(tensor: Any) -> dict[str, Any]:
    if type(tensor) is not torch.Tensor:
        return {"type": type(tensor).__name__[:80]}
    claim: dict[str, Any] = {
        "type": "Tensor",
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": tensor.device.type,
        "shape": list(tensor.shape),
    }
    if tensor.layout is torch.strided and tensor.device.type != "meta":
        claim |= {"stride": list(tensor.stride()), "pointer": tensor.data_ptr()}
    return claim
