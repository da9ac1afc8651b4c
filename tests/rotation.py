"""What the fast lane tests of the whole registry: an eighth of the tasks each day. The slow lane tests all of them."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import Any

import pytest

_SHARES = 8


def rotating(names: Iterable[str]) -> list[Any]:
    """`names` for `pytest.mark.parametrize`, those that are not due today marked as slow."""
    given = list(names)
    due = due_among(given)
    return [name if name in due else pytest.param(name, marks=pytest.mark.slow) for name in given]


_DAY = "KBENCH_TESTS_DAY"
os.environ.setdefault(
    _DAY, str(datetime.datetime.now(datetime.UTC).toordinal())
)  # which pytest-xdist's workers inherit


def due_among(names: Iterable[str]) -> frozenset[str]:
    """Those that the fast lane has today: dealt out, so that no day has more than another, nor neighbours together."""
    return frozenset(sorted(names)[today() % _SHARES :: _SHARES])


def today() -> int:
    """The number of the day on which the run began: processes of one run agree on it, also at midnight."""
    return int(os.environ[_DAY])
