"""Diagnosis: one line of the doctor's report."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["ok", "warn", "missing"]


@dataclass(frozen=True)
class Diagnosis:
    """Finding about one part of the machine, and its remedy.

    warn: works, with a loss that `found` names. missing: does not work. Without a part that `is_required` no kernel can
    be judged at all.
    """

    group: str
    name: str
    status: Status
    found: str
    remedy: str = ""
    is_required: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)
    """Numbers for programs; their names end in their units."""


def output_of(command: Sequence[str], timeout_s: float = 60.0) -> str:
    """Return the stripped stdout of `command`; an empty string when it cannot be run, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()
