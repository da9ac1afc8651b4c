"""Kernels that are launched and do nothing, for the knock-out test of the custom track (see checking.knock_out).

Each launching code looks for VARIABLE in the environment: this module for Triton, the emulator's runtime for CUDA on
the cpu device, `kbench_launch.cpp`, which is linked into nvcc's builds, for CUDA on a device, and
worker.cuda.launches for abi launch.
"""

import os
from typing import Any

VARIABLE = "KBENCH_KNOCKED_OUT"


def is_due() -> bool:
    """Tell if kernels do nothing in this process."""
    return VARIABLE in os.environ


def knock_out_triton() -> None:
    """Have every launch of a Triton kernel return at once, compiled or interpreted."""
    from triton.runtime import interpreter, jit

    jit.JITFunction.run = _launch_nothing
    interpreter.InterpretedFunction.run = _launch_nothing


def _launch_nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing in the place of a launch."""
