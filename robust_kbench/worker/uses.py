"""Calls of a kernel as real code makes them: several without a pause, in PyTorch's other modes, from another thread."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch

from robust_kbench.worker import arguments
from robust_kbench.worker.loaders import Kernel


class Use:
    """Use of a kernel that a request asks for; one plain call if it names none."""

    def __init__(self, request: dict[str, Any]) -> None:
        told = request.get("use") or {}
        self._sets, self._order = told.get("sets", 1), told.get("order", [0])
        self._mode, self._in_thread = told.get("mode"), told.get("in_thread", False)
        self.on_stream = bool(told.get("on_stream"))
        self._inputs, self._outputs = request["inputs"], request["outputs"]
        self._axes: list[int] = request["axes"]

    @property
    def calls(self) -> int:
        """Number of the calls that the use makes."""
        return len(self._order)

    def outputs_of(self, call: int) -> list[dict[str, Any]]:
        """Return the descriptions of a call's outputs."""
        count = len(self._outputs) // len(self._order)
        found: list[dict[str, Any]] = self._outputs[call * count : (call + 1) * count]
        return found

    def arguments(self, abi: str, memory: arguments.Memory, *, passes_outputs: bool) -> list[list[Any]]:
        """Build the arguments of each call."""
        count = len(self._inputs) // self._sets
        found = []
        for call, number in enumerate(self._order):
            inputs = self._inputs[number * count : (number + 1) * count]
            outputs = self.outputs_of(call) if passes_outputs else []
            found.append(arguments.build(abi, memory, inputs, outputs, self._axes))
        if self._mode == "requires_grad":
            for each in found:
                _ask_for_gradients(each)
        return found

    def receive(self, called_with: list[list[Any]], scalars: Mapping[int, int | float]) -> None:
        """Put scalars, which are told by their places among all inputs, into their places."""
        count = len(self._inputs) // self._sets
        for each, number in zip(called_with, self._order, strict=True):
            own = {place - number * count: value for place, value in scalars.items() if place // count == number}
            arguments.receive(each, own)

    @staticmethod
    def claims(results: list[Any]) -> list[list[dict[str, Any]]]:
        """Describe the results of each call. Raises ValueError for a call with more or fewer results than others."""
        found = [arguments.describe(result) for result in results]
        if len(counts := {len(each) for each in found}) > 1:
            raise ValueError(f"some calls returned {min(counts)} values, others {max(counts)}")
        return found

    def run(
        self, kernel: Kernel, called_with: list[list[Any]], enter_thread: Callable[[], object] = lambda: None
    ) -> list[Any]:
        """Make the calls and return the result of each. Raises their errors. `enter_thread` begins another thread."""
        with _mode(self._mode):
            if not self._in_thread:
                return [kernel(*each) for each in called_with]
        results: list[Any] = []
        problems: list[BaseException] = []

        def work() -> None:
            try:
                enter_thread()
                with _mode(self._mode):
                    results.extend(kernel(*each) for each in called_with)
            except BaseException as error:
                problems.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if problems:
            raise problems[0]
        return results


class CpuCalls:
    """Calls on the processor as a `Use` has them; worker.devices.CpuCall is one plain call."""

    def __init__(self, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> None:
        self._use = Use(request)
        self._returns = abi in ("value", "torch")
        self._copies_out = bool(request["copy_out"])
        self._slots = [[arena.tensor(spec) for spec in self._use.outputs_of(call)] for call in range(self._use.calls)]
        self._arguments = self._use.arguments(abi, arena, passes_outputs=not self._returns)

    def rehearse(self) -> dict[str, Any]:
        """Do nothing, as no time counts."""
        return {"outcome": "returned", "outputs": []}

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """Put the scalars that have arrived into their places."""
        self._use.receive(self._arguments, scalars)

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Make the calls and describe their results, one after the other."""
        self._results = self._use.run(kernel, self._arguments)
        claims = [claim for each in self._use.claims(self._results) for claim in each] if self._returns else []
        return {"outcome": "returned", "outputs": claims}

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Copy returned tensors to shared memory, where the judge cannot read ours."""
        if self._returns and answer["outcome"] == "returned":
            for result, slots in zip(self._results, self._slots, strict=True):
                arguments.copy(result, slots)
        return answer


def _mode(name: str | None) -> contextlib.AbstractContextManager[Any]:
    if name == "no_grad":
        return torch.no_grad()
    return torch.inference_mode() if name == "inference_mode" else contextlib.nullcontext()


def _ask_for_gradients(called_with: list[Any]) -> None:
    for number, value in enumerate(called_with):
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            called_with[number] = value.detach().requires_grad_()
