"""The part of the profiler that runs beside the submission, called here directly."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from robust_kbench.worker import profiled


def event(category: str, start: float, **args: object) -> dict[str, Any]:
    return {"cat": category, "name": category, "ts": start, "dur": 2.0, "args": args}


def test_a_kernel_of_abi_c_gets_pointers_scalars_and_axes() -> None:
    seen: list[Any] = []
    x = torch.zeros(4)
    profiled.bound(lambda *values: seen.extend(values), "c", [x, 3, 0.5], 2, [7, 8], "cpu")()
    assert [type(value) for value in seen] == [
        ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_int64,
    ]  # fmt: skip
    assert [value.value for value in seen] == [x.data_ptr(), 3, 0.5, 7, 8]


@pytest.mark.parametrize(("abi", "count"), [("value", 2), ("torch", 2), ("destination", 3)])
def test_outputs_are_passed_only_where_the_abi_has_them(abi: str, count: int) -> None:
    seen: list[Any] = []
    profiled.bound(lambda *values: seen.extend(values), abi, [1, 2, 3], 2, [], "cpu")()
    assert seen == [1, 2, 3][:count]


def test_of_equal_calls_the_last_one_is_told_from_its_own_beginning() -> None:
    calls = [
        [event("kernel", 100.0 * n, grid=[8, 1, 1], block=[256, 1, 1], **{"registers per thread": 40}),
         event("cpu_op", 100.0 * n), event("gpu_memcpy", 100.0 * n + 5)]
        for n in range(profiled.CALLS)
    ]  # fmt: skip
    kernel, copy = profiled._activities([one for call in reversed(calls) for one in call])
    assert (kernel["kind"], kernel["start_us"], kernel["grid"], kernel["registers"]) == ("kernel", 0.0, [8, 1, 1], 40)
    assert (copy["kind"], copy["start_us"], copy["duration_us"]) == ("copy", 5.0, 2.0)


def test_calls_that_differ_are_told_together() -> None:
    events = [event("kernel", float(n)) for n in range(profiled.CALLS + 1)]
    assert len(list(profiled._activities(events))) == profiled.CALLS + 1
