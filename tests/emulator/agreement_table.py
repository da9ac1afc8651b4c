"""The table of agreement between two runs of the suite, as Markdown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import suite
import torch
from comparison import bits, same, ulps
from torch import Tensor


def markdown(left_file: Path, right_file: Path) -> str:
    """Return the table, with one row per kernel that both files know."""
    left, right = (json.loads(file.read_text()) for file in (left_file, right_file))
    outputs = [torch.load(file.with_suffix(".pt")) for file in (left_file, right_file)]
    names = [name for name in left["kernels"] if name in right["kernels"]]
    rows = [
        _row(name, left["kernels"][name], right["kernels"][name], *(kept.get(name) for kept in outputs))
        for name in names
    ]
    return "\n".join(
        [*_summary(left["device"], right["device"], rows), "", *_table(left["device"], right["device"], rows)]
    )


def _row(name: str, left: dict[str, Any], right: dict[str, Any], *outputs: list[Tensor] | None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "left": left, "right": right, "equal": None, "ulps": None}
    if outputs[0] is not None and outputs[1] is not None:
        pairs = list(zip(outputs[0], outputs[1], strict=True))
        row["equal"] = all(bool(same(a, b).all()) for a, b in pairs)
        row["ulps"] = max(ulps(a, b) for a, b in pairs)
        row["elements"] = sum(int((bits(a) != bits(b)).sum()) for a, b in pairs)
        row["total"] = sum(a.numel() for a, _ in pairs)
    return row


def _summary(left: str, right: str, rows: list[dict[str, Any]]) -> list[str]:
    both = sum(_passes(row["left"]) and _passes(row["right"]) for row in rows)
    equal = sum(row["equal"] is True for row in rows)
    return [
        f"{len(rows)} kernels on {left} and on {right}: {both} pass on both, {equal} with equal bits.",
        "",
        "Error: the largest difference from the float64 reference. Distance: between the two devices, in units in the",
        "last place (differences, for integers), with the share of elements that differ.",
    ]


def _table(left: str, right: str, rows: list[dict[str, Any]]) -> list[str]:
    head = ["kernel", left, right, f"error, {left}", f"error, {right}", "equal bits", "distance", "tolerance"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(_cells(row)) + " |" for row in rows]


def _cells(row: dict[str, Any]) -> list[str]:
    left, right = row["left"], row["right"]
    equal = {True: "yes", False: "no", None: "–"}[row["equal"]]
    if _passes(left) and _passes(right) and left["inputs"] != right["inputs"]:
        equal = "other inputs"
    because = suite.named(row["name"]).because.replace("|", "\\|")
    errors = [_number(left.get("absolute")), _number(right.get("absolute"))]
    return [row["name"], left["status"], right["status"], *errors, equal, _distance(row), because]


def _distance(row: dict[str, Any]) -> str:
    if row["ulps"] is None or row["equal"]:
        return "–"
    share = 100 * row["elements"] / row["total"]
    return f"{row['ulps']:.0f} ({share:.0f} %)" if math.isfinite(row["ulps"]) else "a NaN against a number"


def _number(value: float | None) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:.1e}"


def _passes(found: dict[str, Any]) -> bool:
    return bool(found["status"] == "pass")
