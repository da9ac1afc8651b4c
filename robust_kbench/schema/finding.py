"""Objection of one guard, phrased so that the author can act on it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from robust_kbench.schema.documents import Strict


class Finding(Strict):
    """Finding of one guard: `reject` costs the verdict, `warn` does not."""

    guard: str
    severity: Literal["reject", "warn"]
    message: str = Field(max_length=500)
    case: str | None = None
    evidence: dict[str, float | int | str] = {}
