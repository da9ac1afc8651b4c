"""Dependencies point one way, the worker imports nothing of the judge, and importing the package is cheap."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import robust_kbench

ROOT = Path(robust_kbench.__file__).parent
ROWS: tuple[set[str], ...] = (
    {"version", "errors", "progress", "folders", "catalogue"},
    {"machine_lock", "machine_shares", "own_modules", "freed_memory", "hostile_folders"},
    {"schema"},
    {"registry", "stopwatch", "emulator", "labels"},
    {"cases", "languages", "devices", "guards", "worker", "store", "signing"},
    {"oracle", "isolation", "emulation", "side_by_side"},
    {"baselines", "contestant", "audit"},
    {"building", "checking", "search", "timing", "doctor"},
    {"evaluate", "scoring", "profiling"},
    {"leaderboard", "plots", "redteam", "agents", "importers"},
    {"cli", "pytest_plugin", "scaffold"},
    {"__main__"},
)  # fmt: skip
"""Rows of modules, from the lowest: a module imports from its own row and from lower ones."""
ROW_OF = {name: number for number, row in enumerate(ROWS) for name in row}
# Everything that takes longer to import than to answer `kbench --help`.
HEAVY = ("torch", "pandas", "triton", "pydantic", "scipy", "numpy")


def _module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def _imports(source: str) -> Iterator[str]:
    """Yield every module of ours that `source` names, however deep and however it is written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            # `from robust_kbench import guards` names a module just as `import robust_kbench.guards` does.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("robust_kbench.") for name in names if name.startswith("robust_kbench."))


def _package(name: str) -> str:
    return name.partition(".")[0]


def test_every_module_has_its_place() -> None:
    found = {_package(module) for module in MODULES if module}
    assert found <= set(ROW_OF), "put the new module into ROWS, below everything that imports it"


@pytest.mark.parametrize("module", [module for module in MODULES if module])
def test_a_module_imports_from_its_own_row_and_from_lower_ones(module: str) -> None:
    row = ROW_OF.get(_package(module), len(ROWS))
    upwards = [name for name in _imports(MODULES[module].read_text()) if ROW_OF.get(_package(name), 0) > row]
    assert upwards == []


def test_importing_the_package_imports_no_other_module_of_it_but_the_version() -> None:
    # The package itself stands above all rows: it offers names of many of them, but only to those who ask.
    program = "import sys, robust_kbench; print([name for name in sys.modules if name.startswith('robust_kbench.')])"
    assert _printed(program) == "['robust_kbench.version']\n"


@pytest.mark.parametrize("name", robust_kbench.__all__)
def test_every_name_that_the_package_offers_exists(name: str) -> None:
    assert getattr(robust_kbench, name) is not None


@pytest.mark.parametrize("module", [module for module in MODULES if _package(module) == "worker"])
def test_what_runs_beside_a_submission_imports_nothing_of_the_judge(module: str) -> None:
    foreign = [name for name in _imports(MODULES[module].read_text()) if _package(name) != "worker"]
    assert foreign == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import robust_kbench.guards.clock", ["guards.clock"]),
        ("import os, robust_kbench.store as store", ["store"]),
        ("from robust_kbench import guards, store", ["guards", "store"]),
        ("from robust_kbench.guards import clock", ["guards.clock"]),
        ("def f():\n    if True:\n        from robust_kbench import guards", ["guards"]),
        ("try:\n    import robust_kbench.cli\nexcept ImportError:\n    pass", ["cli"]),
        ("import torch\nfrom collections import abc\nimport robust_kbench_other.x", []),
    ],
    ids=["import", "alias", "from the package", "from a module", "in a function", "in a try", "of others"],
)
def test_no_way_to_write_an_import_escapes_these_tests(source: str, found: list[str]) -> None:
    assert list(_imports(source)) == found


@pytest.mark.parametrize("module", ["robust_kbench", "robust_kbench.cli", "robust_kbench.worker.wire"])
def test_importing_it_loads_nothing_that_takes_long(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} does not exist")
    program = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    assert _printed(program) == "[]\n"


@pytest.mark.parametrize("words", ["--help", "tasks", "tasks --family norm", "doctor --help"])
def test_a_short_command_loads_nothing_that_takes_long(words: str) -> None:
    program = (
        f"import sys; sys.argv = ['kbench', *{words.split()}]; from robust_kbench.cli import main\n"
        f"try: main()\nfinally: print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert _printed(program).splitlines()[-1] == "[]"


def test_the_worker_can_be_started_without_anything_of_the_judge() -> None:
    program = (
        "import sys; import robust_kbench.worker.__main__;"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('robust_kbench.')}))"
    )
    assert _printed(program) == "['version', 'worker']\n"


def test_tables_are_made_without_the_agents_that_may_stand_in_them() -> None:
    program = (
        "import sys; from robust_kbench.leaderboard import tables;"
        "print([name for name in sys.modules if name.startswith('robust_kbench.agents') or name == 'pandas'])"
    )
    assert _printed(program) == "[]\n"


def _printed(program: str) -> str:
    """Run a program in a fresh interpreter, and return its output."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
