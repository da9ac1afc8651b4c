"""Deleting what hostile code has filled."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def discard(folder: Path) -> None:
    """Delete `folder` as far as possible; never raises. Python's own way recurses, and a submission may nest deeply."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True)
