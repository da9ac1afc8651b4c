"""Launches the kernels of a cubin by the judge's plan: in a process in which no code of the submission's host runs."""

import ctypes
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from robust_kbench.worker import knocked_out
from robust_kbench.worker.cuda.driver import Driver

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_USUAL_SHARED_BYTES = 48 << 10
_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
Program = Sequence[int | str]


class Launcher:
    """Kernels of one module, in the order of the plan. Called as a function of abi c is."""

    def __init__(self, driver: Driver, module: ctypes.c_void_p, plan: Mapping[str, Any]) -> None:
        self._driver, self._plan = driver, plan
        self._functions = [_function(driver, module, launch["kernel"]) for launch in plan["launches"]]
        self._scratch: dict[tuple[int, ...], list[torch.Tensor]] = {}

    def __call__(self, *arguments: Any) -> None:
        """`arguments`: addresses and scalars, the axes, the stream, as ctypes. Raises RuntimeError."""
        axes = {name: int(arguments[place].value) for name, place in self._plan["axes"].items()}
        scratch = self._scratch_for(axes)
        stream = arguments[-1]
        if knocked_out.is_due():
            return
        for function, launch in zip(self._functions, self._plan["launches"], strict=True):
            grid, block = ([evaluate(size, axes) for size in launch[key]] for key in ("grid", "block"))
            if 0 in grid:
                continue
            shared_bytes = evaluate(launch["shared_bytes"], axes)
            if shared_bytes > _USUAL_SHARED_BYTES:
                self._driver("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, ctypes.c_int(shared_bytes))
            values = [
                ctypes.c_void_p(scratch[place].data_ptr()) if kind == "scratch" else arguments[place]
                for kind, place in launch["arguments"]
            ]
            self._driver(
                "cuLaunchKernel", function, *map(ctypes.c_uint, (*grid, *block)), ctypes.c_uint(shared_bytes), stream,
                _pointers(values), None,
            )  # fmt: skip

    def _scratch_for(self, axes: Mapping[str, int]) -> list[torch.Tensor]:
        """Allocated at the first call of each shape, and kept."""
        sizes = tuple(evaluate(size, axes) for size in self._plan["scratch"])
        if sizes not in self._scratch:
            self._scratch[sizes] = [torch.empty(max(size, 1), dtype=torch.uint8, device="cuda") for size in sizes]
        return self._scratch[sizes]


def load(path: str, plan: Mapping[str, Any]) -> Launcher:
    """Load a cubin into the current context. Raises RuntimeError when the driver refuses it or a kernel is missing."""
    torch.cuda.current_stream().synchronize()  # makes torch's context the current one
    driver, module = Driver(), ctypes.c_void_p()
    with open(path, "rb") as file:
        driver("cuModuleLoadData", ctypes.byref(module), file.read())
    return Launcher(driver, module, plan)


def evaluate(program: Program, axes: Mapping[str, int]) -> int:
    """The value of a program for a stack. Raises ZeroDivisionError."""
    stack: list[int] = []
    for token in program:
        if isinstance(token, int):
            stack.append(token)
        elif token in axes:
            stack.append(axes[token])
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(int(_OPERATIONS[token](left, right)))
    return stack[0]


def _function(driver: Driver, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
    function = ctypes.c_void_p()
    try:
        driver("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    except RuntimeError as error:
        raise RuntimeError(f'no kernel {name!r} in the module; declare it extern "C" __global__ ({error})') from None
    return function


def _pointers(values: Sequence[Any]) -> Any:
    """The array of addresses that cuLaunchKernel takes; `values` must outlive the call."""
    return (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
