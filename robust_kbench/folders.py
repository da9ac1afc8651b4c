"""Where tasks and baselines lie: in the checkout that this package runs from, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def data_folder(kind: Literal["tasks", "baselines"]) -> Path:
    """The folder of that name next to the package in a checkout, else the copy that the wheel carries."""
    checkout = _PACKAGE.parent
    is_checkout = (checkout / "pyproject.toml").is_file() and (checkout / kind).is_dir()
    return checkout / kind if is_checkout else _PACKAGE / kind
