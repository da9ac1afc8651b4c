"""Run a kernel of the suite on the emulator."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, TypedDict

import torch
from description import Kernel
from module import call_torch, load_torch
from torch import Tensor

from robust_kbench.worker.emulated import Emulation, Emulator, Named

# A quiet NaN in float32 and float16, and an everyday number.
NAN, NUMBER = 0x7FA5A5A5, 0xC2F6E979
FORWARD, REVERSE, SHUFFLED = range(3)


class Mode(TypedDict):
    """Settings of an emulated call, as far as the tests vary them."""

    schedule: int
    seed: int
    poison: int
    checked: bool


PLAIN = (
    Mode(schedule=FORWARD, seed=0, poison=NAN, checked=False),
    Mode(schedule=REVERSE, seed=0, poison=NUMBER, checked=False),
    Mode(schedule=SHUFFLED, seed=11, poison=NAN, checked=False),
)
CHECKED = (
    Mode(schedule=FORWARD, seed=0, poison=NAN, checked=True),
    Mode(schedule=SHUFFLED, seed=12, poison=NUMBER, checked=True),
)

_GUARD_BYTES = 1 << 12
_GUARD = 0xA5
_ALIGNMENT = 256


class _Anywhere:
    """Memory in which tensors are named by address and not by their place."""

    address = 0


def run(kernel: Kernel, artefact: Path, inputs: list[Tensor], mode: Mode) -> tuple[list[Tensor], list[dict[str, Any]]]:
    """Make one call; return the outputs and the findings of the emulator."""
    emulator = Emulator(str(artefact))
    arguments = [Guarded(tensor.shape, tensor.dtype) for tensor in inputs]
    for argument, tensor in zip(arguments, inputs, strict=True):
        argument.tensor.copy_(tensor)
    results = [] if kernel.abi == "torch" else [Guarded(output.shape, output.dtype) for output in kernel.outputs]
    function = load_torch(artefact) if kernel.abi == "torch" else None
    emulator.begin(_emulation(mode, arguments, results), _Anywhere())
    if function is None:
        _call(kernel, artefact, [guarded.tensor for guarded in (*arguments, *results)])
        outputs = [result.tensor for result in results]
    else:
        outputs = call_torch(function, [argument.tensor for argument in arguments], kernel.scalars)
    findings = emulator.end()
    if not all(guarded.intact() for guarded in (*arguments, *results)):
        findings.append({"kind": "guard", "message": "memory beside a tensor was written"})
    return outputs, findings


def _emulation(mode: Mode, arguments: list[Guarded], results: list[Guarded]) -> Emulation:
    tensors = [argument.named(f"input{i}", initialised=True) for i, argument in enumerate(arguments)]
    tensors += [result.named(f"output{i}", initialised=False) for i, result in enumerate(results)]
    return Emulation(
        **mode,
        cores=2,
        work_limit=2_000_000_000,
        cpu_seconds=60,
        tensors=tensors,
    )


def _call(kernel: Kernel, artefact: Path, tensors: list[Tensor]) -> None:
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    scalars = [ctypes.c_int64(scalar) for scalar in kernel.scalars]
    ctypes.CDLL(str(artefact)).run(*pointers, *scalars, ctypes.c_void_p(None))


class Guarded:
    """A tensor at an aligned address, poisoned, between two stretches of memory that must not be written."""

    def __init__(self, shape: tuple[int, ...] | torch.Size, dtype: torch.dtype) -> None:
        empty = torch.empty(shape, dtype=dtype, device="meta")
        self.bytes = empty.numel() * empty.element_size()
        self._memory = torch.full((self.bytes + 2 * _GUARD_BYTES,), _GUARD, dtype=torch.uint8)
        self._start = _GUARD_BYTES - self._memory.data_ptr() % _ALIGNMENT
        self.tensor = self._memory[self._start : self._start + self.bytes].view(dtype).view(shape)

    def intact(self) -> bool:
        before, after = self._memory[: self._start], self._memory[self._start + self.bytes :]
        return bool((before == _GUARD).all() and (after == _GUARD).all())

    def named(self, name: str, *, initialised: bool) -> Named:
        return Named(name=name, offset=self.tensor.data_ptr(), size=self.bytes, initialised=initialised)
