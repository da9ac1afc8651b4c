"""Shared part of all adapters: conversion of arguments, tensors of results, and float64 throughout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_DRAWING = (torch.rand, torch.randn, torch.rand_like, torch.randn_like)
_REAL = (torch.float32, torch.float16, torch.bfloat16)
_WIDENED = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}


def tensors_of(result: Any) -> Iterator[Tensor]:
    """Yield every tensor in the result of a model, in order; truth values as numbers."""
    if isinstance(result, Tensor):
        yield result.to(torch.uint8) if result.dtype == torch.bool else result
    elif isinstance(result, dict):
        yield from tensors_of(tuple(result.values()))
    elif isinstance(result, tuple | list):
        for part in result:
            yield from tensors_of(part)


def argument(how: str, detail: Any, values: Sequence[Any]) -> Any:
    """Return an argument of the imported code: a constant, or one of `values` in the form that the code expects."""
    if how == "constant":
        return detail
    value = values[detail]
    match how:
        case "bool":
            return value.bool()
        case "upper":
            return value.triu()
        case "lower":
            return value.tril()
        case "symmetric":
            return (value + value.mT) / 2
    return value


@contextmanager
def exactly(dtype: torch.dtype, draws: Sequence[Any]) -> Iterator[None]:
    """Keep float64 from being rounded to less, whatever the model asks for; random numbers are taken from `draws`."""
    before = torch.get_default_dtype()
    with ExitStack() as stack:
        if draws:
            stack.enter_context(_Drawn(draws))
        if dtype == torch.float64:
            stack.enter_context(_Wide())
            torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


class _Wide(TorchFunctionMode):
    """Mode in which conversions to less than float64 become conversions to float64."""

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _WIDENED:
            return args[0].double()
        kwargs = {name: _widened(value) for name, value in (kwargs or {}).items()}
        return function(*map(_widened, args), **kwargs)


def _widened(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _REAL else value


class _Drawn(TorchFunctionMode):
    """Mode that replaces random numbers by arguments, in the order in which they are asked for."""

    def __init__(self, draws: Sequence[Any]) -> None:
        super().__init__()
        self._left = list(draws)

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._left.pop(0) if function in _DRAWING and self._left else function(*args, **(kwargs or {}))
