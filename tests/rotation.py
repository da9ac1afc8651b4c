"""Rotation of tests of the whole registry: the fast lane has an eighth of the tasks each day, the slow lane all."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import Any

import pytest

_SHARES = 8


def rotating(names: Iterable[str]) -> list[Any]:
    """Return `names` for `pytest.mark.parametrize`; names that are not due today are marked as slow."""
    given = list(names)
    due = due_among(given)
    return [name if name in due else pytest.param(name, marks=pytest.mark.slow) for name in given]


_DAY = "KBENCH_TESTS_DAY"
os.environ.setdefault(
    _DAY, str(datetime.datetime.now(datetime.UTC).toordinal())
)  # which pytest-xdist's workers inherit


def due_among(names: Iterable[str]) -> frozenset[str]:
    """Select the names of today's fast lane. No day has more than another, and neighbours are not together."""
    return frozenset(sorted(names)[today() % _SHARES :: _SHARES])


def today() -> int:
    """Return the number of the day on which the run began: its processes agree on it, also at midnight."""
    return int(os.environ[_DAY])
