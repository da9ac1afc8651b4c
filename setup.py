"""The wheel carries tasks, baselines and attacks, so that `kbench evaluate` and `kbench redteam` work anywhere."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
DATA = {"tasks": "tasks", "baselines": "baselines", "attacks": "tests/attacks", "honest": "tests/honest"}


class BuildWithData(build_py):
    """Copies these folders into the package that is being built; a checkout uses its own."""

    def run(self) -> None:
        """Build as usual, then add the data."""
        super().run()
        if not self.editable_mode:
            for name, folder in DATA.items():
                target = Path(self.build_lib) / "robust_kbench" / name
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(ROOT / folder, target, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithData})
