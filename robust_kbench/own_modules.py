"""Run a module of this package where its files can be read, but perhaps not the folder that holds the package.

`python -m` lists that folder to find the package. Where the package was installed from a checkout to be edited, the
folder is the checkout, which a sandbox hides; so the package is loaded by the name of its file.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).parent / "__init__.py"
_RUN = """
import importlib.util, runpy, sys
spec = importlib.util.spec_from_file_location("robust_kbench", sys.argv.pop(1))
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def confined_python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `module` of this package in a sandbox, as `python -I -m` would."""
    return [sys.executable, "-I", "-c", _RUN, str(_PACKAGE), module, *arguments]
