"""Facts about this machine that every record carries."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from robust_kbench.version import __version__

_CONTROL_GROUP = Path("/sys/fs/cgroup")


@lru_cache(maxsize=1)
def facts() -> dict[str, str]:
    """Versions and the processor; no host name, no user name, no path."""
    versions = {name: _version(name) for name in ("torch", "triton", "numpy")}
    return {
        "kbench": __version__,
        "harness": harness_digest(),
        "python": platform.python_version(),
        **versions,
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": processor_name(),
        "cores": str(len(os.sched_getaffinity(0))),
        "byteorder": sys.byteorder,
    }


def harness_digest(root: Path = Path(__file__).parents[1]) -> str:
    """First 16 hex digits of the sha256 of our own sources, names included: what judged, down to the last edit."""
    state = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".h", ".cuh", ".cpp", ".yaml"):
            state.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


def processor_name() -> str:
    """The processor's model as the kernel names it, and where it tells them `(family-model-stepping)`.

    To a virtual machine four generations are all `AMD EPYC`, and several of Intel's are `Xeon(R) CPU @ 2.20GHz`.
    """
    told: dict[str, str] = {}
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        told.setdefault(key.strip(), value.strip())
    name = told.get("model name") or told.get("Model") or platform.processor() or "unknown"
    numbers = [told[key] for key in ("cpu family", "model", "stepping") if key in told]
    return f"{name} ({'-'.join(numbers)})" if len(numbers) == 3 else name


def last_level_cache_bytes() -> int:
    """Size of the largest cache of core 0; 32 MiB where the kernel does not say."""
    sizes = [_size(_read(path)) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max(sizes, default=0) or 32 << 20


def core_caches_bytes() -> int:
    """Size of all caches of core 0 below the last level; 2 MiB where the kernel does not say."""
    sizes = sorted(_size(_read(path)) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return sum(sizes[:-1]) or 2 << 20


def free_bytes() -> int:
    """Memory that can still be had: what the kernel calls available, or less where a control group sets a limit."""
    available = _field(Path("/proc/meminfo"), "MemAvailable:") << 10
    limit, used = (_read(_CONTROL_GROUP / name).strip() for name in ("memory.max", "memory.current"))
    if not limit.isdigit():
        return available
    reclaimable = _field(_CONTROL_GROUP / "memory.stat", "inactive_file")
    return min(available, int(limit) - int(used or 0) + reclaimable)


def _field(path: Path, name: str) -> int:
    lines = (line.split() for line in _read(path).splitlines())
    return next((int(words[1]) for words in lines if words[:1] == [name]), 0)


def busy_seconds(cores: Collection[int] | None = None) -> float:
    """Processor time that everybody has used since boot on `cores`, by default on all of this machine's."""
    names = {"cpu"} if cores is None else {f"cpu{core}" for core in cores}
    lines = (line.split() for line in _read(Path("/proc/stat")).splitlines())
    return sum(_busy_ticks(words[1:]) for words in lines if words and words[0] in names) / os.sysconf("SC_CLK_TCK")


def _busy_ticks(fields: Sequence[str]) -> int:
    user, nice, system, _, _, irq, softirq, *_ = map(int, fields)
    return user + nice + system + irq + softirq


def _size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    text = text.strip()
    return int(text[:-1]) * units[text[-1]] if text and text[-1] in units else int(text or 0)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
