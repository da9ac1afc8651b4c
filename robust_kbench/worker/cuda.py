"""One call on a CUDA device: fresh buffers, a cold L2 cache, events around the call, completion of every stream.

Event times are the worker's claim. The judge's own clock runs from GO to DONE, and DONE is signalled only after a
device-wide synchronisation, so that work on any stream is inside it.
"""

import ctypes
import random
from typing import Any

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.loaders import Kernel

_MIN_FLUSH_BYTES = 64 << 20
_MAX_FLUSH_BYTES = 512 << 20
_ALIGNMENT_BYTES = 256
_MAX_PADDING = 64  # units of _ALIGNMENT_BYTES: addresses differ from call to call


class CudaDevice:
    """The first visible CUDA device; the context is created here, after the fork."""

    def __init__(self) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        properties = torch.cuda.get_device_properties(0)
        size = min(max(2 * properties.L2_cache_size, _MIN_FLUSH_BYTES), _MAX_FLUSH_BYTES)
        self.scratch = torch.zeros(size, dtype=torch.uint8, device="cuda")
        self.clean = torch.zeros(size // 4, dtype=torch.int32, device="cuda")

    def prepare(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> "CudaCall":
        """Allocate this call's own buffers."""
        return CudaCall(self, abi, arena, request)

    def flush(self) -> None:
        """Evict everything from L2 and leave clean lines: a dirty one would be written back on the kernel's account."""
        self.scratch.fill_(1)
        self.clean.sum()


class CudaCall:
    """A call whose arguments are copied to the device and whose results are copied back."""

    def __init__(self, device: CudaDevice, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> None:
        self._device = device
        self._abi = abi
        self._host_outputs = [arena.tensor(spec) for spec in request["outputs"]]
        self._inputs = [
            spec.get("value", None) if "value" in spec else _Buffer(arena, spec) for spec in request["inputs"]
        ]
        self._outputs = [_Buffer(arena, spec) for spec in request["outputs"]]
        self._axes = request["axes"]
        self._start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._stop = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def fill(self) -> None:
        """Copy the inputs and the poisoned outputs to the device, then empty its cache."""
        for buffer in (*self._inputs, *self._outputs):
            if isinstance(buffer, _Buffer):
                buffer.upload()
        self._arguments = self._build()
        self._device.flush()
        torch.cuda.synchronize()

    def _build(self) -> list[Any]:
        inputs = [value.view if isinstance(value, _Buffer) else value for value in self._inputs]
        outputs = [buffer.view for buffer in self._outputs]
        if self._abi in ("value", "torch"):
            return inputs
        if self._abi == "destination":
            return [*inputs, *outputs]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        return [*map(_native, (*inputs, *outputs)), *map(ctypes.c_int64, self._axes), stream]

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Call the kernel between two events, then wait for every stream of the device."""
        self._start.record()
        self._result = kernel(*self._arguments)
        self._stop.record()
        torch.cuda.synchronize()
        event_ns = int(self._start.elapsed_time(self._stop) * 1e6)
        returned = arguments.describe(self._result) if self._abi in ("value", "torch") else []
        return {"outcome": "returned", "outputs": returned, "event_ns": event_ns}

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Copy results and inputs back to shared memory, where the judge compares both."""
        for buffer in self._inputs:
            if isinstance(buffer, _Buffer):
                buffer.download()
        if self._abi in ("value", "torch") and answer["outcome"] == "returned":
            tensors = self._result if isinstance(self._result, tuple | list) else [self._result]
            for tensor, slot in zip(tensors, self._host_outputs, strict=False):
                if type(tensor) is torch.Tensor and tensor.shape == slot.shape and tensor.dtype == slot.dtype:
                    slot.copy_(tensor)
        else:
            for buffer in self._outputs:
                buffer.download()
        return answer


class _Buffer:
    """Device memory of one tensor, with the strides and the misalignment of its twin in shared memory."""

    def __init__(self, arena: arguments.Arena, spec: dict[str, Any]) -> None:
        self._host = arena.tensor({**spec, "shape": [spec["span"]], "stride": [1]})
        itemsize = self._host.element_size()
        shift = (spec["offset"] % _ALIGNMENT_BYTES) // itemsize
        shift += random.randrange(_MAX_PADDING) * _ALIGNMENT_BYTES // itemsize
        storage = torch.empty(spec["span"] + shift, dtype=self._host.dtype, device="cuda")
        self._flat = storage[shift:]
        self.view = self._flat.as_strided(spec["shape"], spec["stride"], shift)

    def upload(self) -> None:
        self._flat.copy_(self._host)

    def download(self) -> None:
        self._host.copy_(self._flat)


def _native(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
