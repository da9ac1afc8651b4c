"""Torch extensions: loading one from its file, and calling its `forward`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

Forward = Callable[..., Any]


def load_torch(artefact: Path) -> Forward:
    """The `forward` of an extension whose module has the file's name."""
    loader = importlib.machinery.ExtensionFileLoader(artefact.stem, str(artefact))
    spec = importlib.util.spec_from_loader(artefact.stem, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    forward: Forward = module.forward
    return forward


def call_torch(forward: Forward, inputs: Sequence[Tensor], scalars: Sequence[int]) -> list[Tensor]:
    """The tensors that it returns, as a list."""
    found = forward(*inputs, *scalars)
    return [found] if isinstance(found, Tensor) else list(found)
