"""What the fast lane tests of the whole registry: an eighth of the tasks each day. The slow lane tests all of them."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any

import pytest

_SHARES = 8


def rotating(names: Iterable[str]) -> list[Any]:
    """`names` for `pytest.mark.parametrize`, those that are not due today marked as slow."""
    return [name if is_due(name) else pytest.param(name, marks=pytest.mark.slow) for name in names]


def is_due(name: str) -> bool:
    """Whether the fast lane has it today."""
    return _share(name) == today() % _SHARES


def today() -> int:
    """The number of the day."""
    return datetime.datetime.now(datetime.UTC).toordinal()


def _share(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _SHARES
