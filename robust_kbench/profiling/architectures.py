"""Which machine code to look at: the device's own, or that of two generations that most people have."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess

USUAL = ("sm_80", "sm_90")
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")


def architectures(device: str) -> tuple[str, ...]:
    """Names as nvcc takes them, the most telling one last."""
    if device == "cuda" and (own := _of_device()) is not None:
        return (own,)
    return USUAL


def _of_device() -> str | None:
    if (tool := shutil.which("nvidia-smi")) is None:
        return None
    command = [tool, "--query-gpu=compute_cap", "--format=csv,noheader", "--id=0"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        printed = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        if match := _CAPABILITY.match(printed.strip()):
            return f"sm_{match[1]}{match[2]}"
    return None
