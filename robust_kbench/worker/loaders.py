"""Loaders of built artefacts as callables, one function per way of being called. Runs only in a worker."""

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from robust_kbench.worker import knocked_out

Kernel = Callable[..., Any]


def load(request: dict[str, Any]) -> Kernel:
    """Load the submission's entry point. Raises any error that the submission raises while it is imported."""
    if request["abi"] == "c":
        return _load_c(request["path"], request["symbol"])
    if request["abi"] == "launch":
        from robust_kbench.worker.cuda import launches

        return launches.load(request["path"], request["plan"])
    if request["abi"] == "torch":
        return _load_extension(request["path"], request["symbol"])
    return _load_python(request["path"], request["symbol"])


def _load_c(path: str, symbol: str) -> Kernel:
    kernel: Kernel = getattr(ctypes.CDLL(path), symbol)
    kernel.restype = None  # type: ignore[attr-defined]
    return kernel


def _load_extension(path: str, symbol: str) -> Kernel:
    import torch  # noqa: F401 - the extension resolves its symbols against torch's libraries

    name = os.path.basename(path).partition(".")[0]
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    kernel: Kernel = getattr(module, symbol)
    return kernel


def _load_python(path: str, symbol: str) -> Kernel:
    if knocked_out.is_due():
        knocked_out.knock_out_triton()
    folder, file = os.path.split(path)
    name = os.path.splitext(file)[0]
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # triton and dataclasses look their module up by name
    spec.loader.exec_module(module)
    if not hasattr(module, symbol):
        raise AttributeError(f"{file} defines no {symbol!r}")
    kernel: Kernel = getattr(module, symbol)
    return kernel
