"""Torch as on a machine with one CUDA device, whose tensors lie on the processor; used inside the sandbox.

Sources written for a GPU say `device="cuda"` and `.cuda()` everywhere. Here both mean the processor.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
_PROPERTIES = {
    "name": "CUDA emulator", "major": 8, "minor": 0, "multi_processor_count": 108, "total_memory": 8 << 30,
    "max_threads_per_multi_processor": 2048, "warp_size": 32, "regs_per_multiprocessor": 65536,
    "shared_memory_per_block": 48 << 10, "shared_memory_per_block_optin": 163 << 10,
}  # fmt: skip


class OnProcessor(TorchFunctionMode):
    """Mode that replaces the CUDA device by the processor in every call of torch."""

    def __torch_function__(self, function: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call one function of torch with the processor in place of the CUDA device."""
        if function is torch.Tensor.cuda:
            return args[0]
        if function == _IS_CUDA:
            return True
        kwargs = {name: _elsewhere(value) for name, value in (kwargs or {}).items()}
        return function(*(_elsewhere(value) for value in args), **kwargs)


def _elsewhere(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.split(":")[0] == "cuda" else value


class _Stream:
    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def install() -> None:
    """Make torch claim from now on that it has a CUDA device."""
    answers: dict[str, Any] = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_name": _PROPERTIES["name"],
        "get_device_capability": (8, 0), "get_device_properties": types.SimpleNamespace(**_PROPERTIES),
        "synchronize": None, "empty_cache": None, "manual_seed": None, "manual_seed_all": None, "init": None,
        "set_device": None, "current_stream": _Stream(), "default_stream": _Stream(), "memory_allocated": 0,
        "max_memory_allocated": 0, "reset_peak_memory_stats": None,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    torch.cuda.Stream = _Stream  # type: ignore[misc,assignment]
    torch.cuda.Event = _Stream  # type: ignore[misc,assignment]
    torch.cuda.stream = lambda *_: contextlib.nullcontext()  # type: ignore[assignment]
    torch.nn.Module.cuda = lambda self, *_: self  # type: ignore[method-assign]
    OnProcessor().__enter__()  # type: ignore[no-untyped-call]
