"""Python and the packages that this one asks for, against its own metadata and the pair of releases that is tested."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import robust_kbench
from robust_kbench.doctor.diagnosis import Diagnosis

_GROUP = "packages"
_NAMED = ("torch", "triton")
_DISPENSABLE = ("matplotlib", "nvidia-ml-py", "pandas", "pytest", "triton")
"""Packages without which some kernels, commands or facts are missing, but kernels can be judged."""
_IMPORT_TIMEOUT_S = 120

VersionOf = Callable[[str], str | None]


def inspect() -> Iterator[Diagnosis]:
    """Diagnose Python, PyTorch and Triton one by one, and the other requirements together."""
    try:
        about = metadata.metadata("robust-kbench")
    except metadata.PackageNotFoundError:
        remedy = "pip install -c constraints.txt -e ."
        yield Diagnosis(_GROUP, "robust-kbench", "missing", "not installed", remedy, is_required=True)
        return
    yield python(platform.python_version(), about["Requires-Python"] or ">=3.11")
    checkout = Path(robust_kbench.__file__).resolve().parent.parent
    yield from requirements(about.get_all("Requires-Dist") or [], pins(checkout / "constraints.txt"), _version)


def python(version: str, wanted: str) -> Diagnosis:
    """Compare the interpreter's version with the range that the package declares."""
    if version in SpecifierSet(wanted, prereleases=True):
        return Diagnosis(_GROUP, "python", "ok", version)
    remedy = "make clean && make test PYTHON=python3.12"
    return Diagnosis(_GROUP, "python", "missing", f"{version}, but {wanted} is needed", remedy, is_required=True)


def pins(path: Path) -> dict[str, str]:
    """Read the releases that a checkout is tested with; none where there is no checkout."""
    lines = path.read_text().splitlines() if path.is_file() else []
    return dict(re.findall(r"^([\w-]+)==([\w.]+)$", "\n".join(lines), re.MULTILINE))


def requirements(lines: Sequence[str], pinned: Mapping[str, str], version_of: VersionOf) -> Iterator[Diagnosis]:
    """Yield one diagnosis for each named package, one for each that is wrong, and one for the others."""
    wanted = [each for each in map(Requirement, lines) if each.marker is None or each.marker.evaluate({"extra": ""})]
    fine = 0
    for requirement in wanted:
        found = _requirement(requirement, pinned.get(requirement.name), version_of(requirement.name))
        if requirement.name in _NAMED or found.status != "ok":
            yield found
        else:
            fine += 1
    yield Diagnosis(_GROUP, "others", "ok", f"{fine} packages in the ranges that are asked for")


def _requirement(wanted: Requirement, pin: str | None, version: str | None) -> Diagnosis:
    remedy = f"pip install '{wanted.name}{wanted.specifier}'"
    if version is None or not wanted.specifier.contains(version, prereleases=True):
        found = f"{version}, but {wanted.specifier} is needed" if version else "not installed"
        is_required = wanted.name not in _DISPENSABLE
        return Diagnosis(_GROUP, wanted.name, "missing", found, remedy, is_required=is_required)
    if pin and Version(pin).public != Version(version).public:
        found = f"{version}; tests run on {pin}"
        return Diagnosis(_GROUP, wanted.name, "warn", found, f"pip install '{wanted.name}=={pin}'")
    return Diagnosis(_GROUP, wanted.name, "ok", version)


def inspect_torch(program: str = "import torch") -> Diagnosis:
    """Tell if PyTorch can be imported. Another process tries it, since a broken PyTorch may end the process."""
    command = [sys.executable, "-I", "-c", program]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_IMPORT_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        words, code = f"did not finish within {_IMPORT_TIMEOUT_S} s", 1
    else:
        code = done.returncode
        words = (done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {code}"])[-1]
    if code == 0:
        return Diagnosis(_GROUP, "import torch", "ok", "works")
    remedy = "pip install --force-reinstall torch"
    return Diagnosis(_GROUP, "import torch", "missing", words[:300], remedy, is_required=True)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
