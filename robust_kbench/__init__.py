"""robust-kbench: verdicts on kernels that hold when their author tries to cheat."""

from robust_kbench.version import __version__

__all__ = ["__version__"]
