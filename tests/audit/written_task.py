"""A task in a folder of its own whose reference and bank a test writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from specimens import TASK

from robust_kbench.registry import LoadedTask, read_task

REFERENCE = "def reference(x, weight):\n    return x * weight\n"
BANK = '''
"""Variants of a product."""
import torch

def other_order(x, weight):
    """The factors exchanged."""
    return weight * x

def in_float64(x, weight):
    """Wide, rounded once."""
    return (x.double() * weight.double()).to(x.dtype)

def plus_one(x, weight):
    """One too large."""
    return x * weight + 1

def squared(x, weight):
    """The weight twice."""
    return x * weight * weight

def rounded_weight(x, weight):
    """The weight without its last bits."""
    return x * (weight * 64).round() / 64

def negative(x, weight):
    """Of the wrong sign."""
    return -(x * weight)

def absolute(x, weight):
    """Without the sign."""
    return (x * weight).abs()

def lost_tail(x, weight):
    """Zero behind column 20."""
    y = x * weight
    y[..., 20:] = 0
    return y

HONEST = (other_order, in_float64)
MUTANTS = (plus_one, squared, rounded_weight, negative, absolute, lost_tail)
'''


def write_task(folder: Path, reference: str = REFERENCE, bank: str | None = BANK, **changes: Any) -> LoadedTask:
    """The task `TASK` with some keys replaced, below `folder`, where `reference` and `bank` are its sources."""
    spec: Mapping[str, Any] = {**TASK, **changes}
    place = folder / spec["name"]
    place.mkdir(parents=True, exist_ok=True)
    (place / "task.yaml").write_text(yaml.safe_dump(dict(spec), sort_keys=False))
    (place / "reference.py").write_text(reference)
    if bank is not None:
        (place / "mutants.py").write_text(bank)
    return read_task(place)
