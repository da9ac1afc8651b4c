"""One call, or a batch of them: what happens before the clock, inside it and after it."""

import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from robust_kbench.worker import arguments
from robust_kbench.worker.cuda import clocks, profile
from robust_kbench.worker.cuda.problem import Problem
from robust_kbench.worker.loaders import Kernel

_SINGLE = {"calls": 1, "problems": 1, "flush": False, "empty": False}


class Device(clocks.Device, Protocol):
    """What a call needs of a device."""

    place: str
    calibration: dict[str, int]
    first_wall_ns: dict[str, int]

    def reset_cache(self) -> None:
        """Undo what a submission has set aside of the cache."""

    def poison_free_memory(self) -> None:
        """Overwrite what is cached of freed memory."""

    def used_bytes(self) -> int:
        """Memory in use."""

    def stream(self) -> int:
        """The handle of the stream of calls."""


class CudaCall:
    """A call whose arguments are copied to the device and whose results are copied back."""

    def __init__(self, device: Device, abi: str, arena: arguments.Arena, request: dict[str, Any]) -> None:
        self._device = device
        self._batch = _SINGLE | request.get("batch", {})
        self._is_batch = "batch" in request
        self._profile = request.get("profile", False)
        self._hot_calls = request.get("hot", 0)
        self._is_read = request.get("is_read", True)
        self._hold = request.get("hold", 1)
        self._shape = str([[spec.get("shape"), spec.get("dtype")] for spec in request["inputs"]])
        count = min(self._batch["problems"], self._batch["calls"])  # none is left out: the first one is verified
        self._problems = [Problem(abi, arena, request, device.place) for _ in range(count)]
        self._clocks = clocks.Clocks(device)
        self._pairs = [(device.event(), device.event()) for _ in range(self._batch["calls"] if self._is_batch else 0)]
        self._audit: dict[str, Any] | None = None

    def fill(self) -> None:
        """Copy the inputs and the poisoned outputs to the device."""
        for number, problem in enumerate(self._problems):
            problem.upload(self._device.stream())
            if number:
                problem.vary()
        self._device.poison_free_memory()
        self._bytes_before = self._device.used_bytes()
        self._device.reset_cache()
        self._device.synchronize()

    def rehearse(self) -> dict[str, Any]:
        """Nothing: the events leave out the host's part."""
        return {"outcome": "rehearsed"}

    def receive(self, scalars: Mapping[int, int | float]) -> None:
        """The scalars have arrived."""
        for problem in self._problems:
            problem.receive(scalars)

    def run(self, kernel: Kernel) -> dict[str, Any]:
        """Empty the cache, call the kernel between two events, then wait for every stream of the device."""
        self._kernel = kernel
        if self._profile:
            self._audit = profile.audited(self._device, self._clocks, lambda: self._problems[0].solve(kernel))
        else:
            self._clocks.around(self._work(kernel), hold=self._hold)
        return {
            "outcome": "returned",
            "outputs": self._problems[0].describe(),
            "event_ns": self._clocks.event_ns(),
        }

    def _work(self, kernel: Kernel) -> Callable[[], Any]:
        if not self._is_batch:
            return lambda: self._problems[0].solve(kernel)
        return lambda: self._row(_nothing if self._batch["empty"] else kernel, flush=self._batch["flush"])

    def _row(self, kernel: Kernel, *, flush: bool) -> None:
        first = random.randrange(len(self._problems))  # the one that is verified may come anywhere
        for number, (start, stop) in enumerate(self._pairs):
            if flush:
                self._device.hold(self._hold)
            start.record()
            self._problems[(first + number) % len(self._problems)].solve(kernel)
            stop.record()

    def copy_out(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Copy results and inputs back to shared memory, and add to the answer what else was seen."""
        if answer["outcome"] != "returned":
            self._device.synchronize()
            return answer
        overruns = self._download() if self._is_read else []
        return answer | self._facts() | {"overruns": overruns}

    def _download(self) -> list[dict[str, int]]:
        copies = self._problems[0].snapshot()
        self._device.synchronize()
        for host, copy in copies:
            host.copy_(copy)
        return self._problems[0].download()

    def _facts(self) -> dict[str, Any]:
        times = self._clocks.read()
        if not self._is_batch and self._audit is None:
            self._device.first_wall_ns.setdefault(self._shape, times["wall_ns"])
        facts = {
            **times,
            "first_wall_ns": self._device.first_wall_ns.get(self._shape),
            "device_bytes_before": self._bytes_before,
            "device_bytes_after": self._device.used_bytes(),
            "calibration": self._device.calibration,
            "batch_ns": [clocks.between_ns(start, stop) for start, stop in self._pairs],
            "hot_ns": self._hot(),
        }
        return facts if self._audit is None else facts | {"audit": self._audit}

    def _hot(self) -> list[int]:
        """E of calls back to back on the same buffers; their results are nobody's."""
        self._pairs = [(self._device.event(), self._device.event()) for _ in range(self._hot_calls)]
        if self._hot_calls:
            self._device.hold(self._hold * self._hot_calls)  # so that it is no matter of launches either
            self._row(self._kernel, flush=False)
            self._device.synchronize()
        return [clocks.between_ns(start, stop) for start, stop in self._pairs]


def _nothing(*_: Any) -> None:
    """A kernel that does nothing."""
