"""Call on a CUDA device: launched behind the judge's gate, ended by a word that the judge waits for."""

import contextlib
import ctypes
from collections.abc import Mapping
from typing import Any, Protocol

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.loaders import Kernel
from robust_kbench.worker.uses import Use


class Memory(arguments.Memory, Protocol):
    """Parts of the judge's memory that a call needs, see worker.cuda.memory."""

    @property
    def address(self) -> int:
        """Address of its first byte; words of gates lie behind it."""

    @property
    def end(self) -> int:
        """Address of the word that ends a call."""

    def offset_of(self, tensor: torch.Tensor) -> int | None:
        """Return the offset of a tensor in the memory, in bytes; None where it lies elsewhere."""

    def serving_results(self) -> contextlib.AbstractContextManager[None]:
        """Have PyTorch's allocations come from the memory meanwhile."""


class Device(Protocol):
    """Parts of a device that a call needs."""

    def wait(self, address: int, value: int) -> None:
        """Have the stream of calls wait for a word."""

    def write(self, address: int, value: int) -> None:
        """Have the stream of calls write a word, behind all that it did before."""

    def event(self) -> Any:
        """Make a new event that takes times, as torch.cuda.Event."""

    def launch_nothing(self) -> None:
        """Launch a kernel that does nothing."""

    def stream(self) -> int:
        """Return the handle of the stream of calls."""

    def other_stream(self) -> contextlib.AbstractContextManager[None]:
        """Make another stream the current one meanwhile, on which calls run, too."""

    def enter_thread(self) -> None:
        """Make the context current in a new thread."""

    def synchronize(self) -> None:
        """Wait for every stream of the device."""


class CudaCall:
    """Call whose arguments lie in the judge's memory, or several as the request's `use` has it."""

    def __init__(self, device: Device, abi: str, memory: Memory, request: dict[str, Any]) -> None:
        """Prepare a call of the `request`: inputs, outputs, axes.

        `ends`: whether to write the end word; `empty`: with an empty kernel instead; `events`: timed by events.
        """
        self._device, self._memory, self._use = device, memory, Use(request)
        self._ends, self._is_empty = request["ends"], request["empty"]
        self._events = [device.event(), device.event()] if request["events"] else []
        self._returns = abi in ("value", "torch")
        self._is_native = not self._returns and abi != "destination"
        self._arguments = self._use.arguments("c" if self._is_native else abi, memory, passes_outputs=not self._returns)
        self._slots = [memory.tensor(spec) for spec in request["outputs"]] if self._returns else []
        self._offsets = [spec["offset"] for spec in request["outputs"]]
        self._results: list[Any] = []

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """Put scalars into their places among the arguments."""
        self._use.receive(self._arguments, scalars)

    def take_turn(self, turn: int, gate: int) -> None:
        """Set the words of the call. `turn`: the value of both words; `gate`: offset of the first one."""
        self._turn, self._gate = turn, self._memory.address + gate

    def launch(self, kernel: Kernel) -> dict[str, Any]:
        """Have the device wait for the gate, call the kernel, and mark the end behind all that it has launched.

        Returns the kernel's results, as claims. Nothing of them is computed yet, unless the host waited for it.
        """
        with self._device.other_stream() if self._use.on_stream else contextlib.nullcontext():
            return self._launch(kernel)

    def _launch(self, kernel: Kernel) -> dict[str, Any]:
        self._device.wait(self._gate, self._turn)
        for event in self._events[:1]:
            event.record()
        if self._is_empty:
            self._device.launch_nothing()
        else:
            if self._is_native:
                for each in self._arguments:
                    each.append(ctypes.c_void_p(self._device.stream()))
            with self._memory.serving_results() if self._returns else contextlib.nullcontext():
                self._results = self._use.run(kernel, self._arguments, self._device.enter_thread)
        claims = self._claims() if self._returns and not self._is_empty else []
        for event in self._events[1:]:  # behind copies of results, which the judge's clock has in it as well
            event.record()
        if self._ends:
            self._device.write(self._memory.end, self._turn)
        return {"outcome": "returned", "outputs": claims}

    def finish(self) -> int:
        """Wait for every stream; ns between the events, 0 where there are none. Raises the device's errors."""
        self._device.synchronize()
        if not self._events:
            return 0
        start, stop = self._events
        return max(0, int(start.elapsed_time(stop) * 1e6))

    def _claims(self) -> list[dict[str, Any]]:
        """Tell where the results are, as offsets in the judge's memory; results elsewhere are copied there."""
        found: list[dict[str, Any]] = []
        for call, (result, claims) in enumerate(zip(self._results, self._use.claims(self._results), strict=True)):
            first = call * (len(self._slots) // self._use.calls)
            found += self._placed(result, claims, first, first + len(self._slots) // self._use.calls)
        return found

    def _placed(self, result: Any, claims: list[dict[str, Any]], first: int, stop: int) -> list[dict[str, Any]]:
        tensors = result if isinstance(result, tuple | list) else [result]
        for number, (tensor, claim) in enumerate(zip(tensors, claims, strict=False), first):
            if "pointer" not in claim or number >= stop:
                continue
            offset = None if tensor.is_neg() else self._memory.offset_of(tensor)
            if offset is None and _fits(tensor, self._slots[number]):
                self._slots[number].copy_(tensor)
                offset, claim["stride"] = self._offsets[number], list(self._slots[number].stride())
                if self._use.calls > 1:  # a graph's own output, say, is that of its latest call
                    claim["source"] = claim["pointer"]
            claim["pointer"] = offset
        return claims


def _fits(tensor: torch.Tensor, slot: torch.Tensor) -> bool:
    return tensor.shape == slot.shape and tensor.dtype == slot.dtype and tensor.device.type == slot.device.type
