"""The wheel carries the tasks and the baselines, so that `kbench evaluate` works in an empty folder."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithData(build_py):
    """Copies both folders into the package that is being built; a checkout uses its own."""

    def run(self) -> None:
        """Build as usual, then add the data."""
        super().run()
        if not self.editable_mode:
            for name in ("tasks", "baselines"):
                target = Path(self.build_lib) / "robust_kbench" / name
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithData})
