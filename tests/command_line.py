"""`kbench` as a user calls it, with a folder of settings of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def kbench(*arguments: str | Path, config: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`config`: what $XDG_CONFIG_HOME names, so that nobody's real key signs what tests make."""
    command = [sys.executable, "-m", "robust_kbench", *map(str, arguments)]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(config)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=300)
