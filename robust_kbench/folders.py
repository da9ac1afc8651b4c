"""Folders of tasks, baselines and the red team's corpus: in the checkout that runs, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


Kind = Literal["tasks", "baselines", "attacks", "honest"]
IN_CHECKOUT: dict[Kind, str] = {
    "tasks": "tasks",
    "baselines": "baselines",
    "attacks": "tests/attacks",
    "honest": "tests/honest",
}


def data_folder(kind: Kind) -> Path:
    """Return a data folder of the checkout that this package runs from, else the copy that the wheel carries."""
    checkout = _PACKAGE.parent
    in_checkout = checkout / IN_CHECKOUT[kind]
    is_checkout = (checkout / "pyproject.toml").is_file() and in_checkout.is_dir()
    return in_checkout if is_checkout else _PACKAGE / kind
