"""Machine around the worker, at this moment: cores, load, memory, disk, clocks, caches."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from robust_kbench.devices import machine
from robust_kbench.doctor.diagnosis import Diagnosis
from robust_kbench.schema.record import MAX_FOREIGN_LOAD

_GROUP = "machine"
_WINDOW_S = 0.5
_SYSTEM = Path("/sys/devices/system/cpu")
_ENOUGH_MEMORY_BYTES, _LEAST_MEMORY_BYTES = 6 << 30, 1 << 30
_ENOUGH_DISK_BYTES, _LEAST_DISK_BYTES = 2 << 30, 64 << 20


def inspect() -> Iterator[Diagnosis]:
    """Diagnose everything on the host that can spoil a measurement or an evaluation."""
    yield cores(sorted(os.sched_getaffinity(0)))
    foreign, swapped = activity(_WINDOW_S)
    yield load(foreign)
    yield swap(swapped)
    yield memory(machine.free_bytes())
    temporary = tempfile.gettempdir()
    yield disk(temporary, shutil.disk_usage(temporary).free)
    yield governor(_SYSTEM)
    yield turbo(_SYSTEM)
    yield inductor_cache()


def cores(usable: list[int]) -> Diagnosis:
    """Count the usable cores. Judge and worker spin on two; on one they wake each other: 40 us instead of 0.4."""
    if len(usable) > 1:
        found = f"{len(usable)}: the judge spins on core {usable[0]}, workers run on core {usable[-1]}"
        return Diagnosis(_GROUP, "cores", "ok", found)
    found = "1: judge and worker wake each other through a pipe, and every time includes some 40 us of that"
    return Diagnosis(_GROUP, "cores", "warn", found, "give this process two cores: taskset -c 0,1, docker run --cpus 2")


def activity(window_s: float) -> tuple[float, int]:
    """Measure, over a moment, the cores' worth of time that others used and the pages swapped in or out."""
    busy, own, pages, started = machine.busy_seconds(), time.process_time(), _swapped_pages(), time.monotonic()
    time.sleep(window_s)
    used = machine.busy_seconds() - busy - (time.process_time() - own)
    return max(0.0, used / (time.monotonic() - started)), _swapped_pages() - pages


def load(foreign: float) -> Diagnosis:
    """Compare the load of others now with the load that a session may have."""
    found = f"others use {foreign:.0%} of a core"
    if foreign <= MAX_FOREIGN_LOAD:
        return Diagnosis(_GROUP, "load", "ok", found)
    found += f": above {MAX_FOREIGN_LOAD:.0%} a session is repeated, and in the end not ranked"
    return Diagnosis(_GROUP, "load", "warn", found, "stop what else runs here; to see it: top -o %CPU")


def swap(pages: int) -> Diagnosis:
    """Tell if memory is being paged at this moment."""
    if pages == 0:
        return Diagnosis(_GROUP, "swap", "ok", "no page moved")
    found = f"{pages} pages moved within {_WINDOW_S:g} s: measurements wait for the disk"
    return Diagnosis(_GROUP, "swap", "warn", found, "end what fills the memory, or: sudo swapoff -a")


def memory(free_bytes: int) -> Diagnosis:
    """Compare the free memory with a worker's allowance."""
    found = f"{free_bytes / 2**30:.1f} GiB free"
    remedy = "end what fills the memory, or raise the container's limit: docker run --memory"
    if free_bytes < _LEAST_MEMORY_BYTES:
        return Diagnosis(_GROUP, "memory", "missing", f"{found}: too little for a worker", remedy, is_required=True)
    if free_bytes < _ENOUGH_MEMORY_BYTES:
        return Diagnosis(_GROUP, "memory", "warn", f"{found}: large cases may not run", remedy)
    return Diagnosis(_GROUP, "memory", "ok", found)


def disk(folder: str, free_bytes: int) -> Diagnosis:
    """Tell if there is room for builds and workers' scratch folders."""
    found = f"{free_bytes / 2**30:.1f} GiB free in {folder}"
    remedy = "free some space, or choose another disk: export TMPDIR=/path/with/space"
    if free_bytes < _LEAST_DISK_BYTES:
        return Diagnosis(_GROUP, "disk", "missing", f"{found}: too little for a build", remedy, is_required=True)
    if free_bytes < _ENOUGH_DISK_BYTES:
        return Diagnosis(_GROUP, "disk", "warn", f"{found}: torch extensions may not build", remedy)
    return Diagnosis(_GROUP, "disk", "ok", found)


def governor(system: Path) -> Diagnosis:
    """Tell how the operating system chooses clocks, where it says."""
    named = {path.read_text().strip() for path in system.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    found = ", ".join(sorted(named)) or "not shown (usual in a virtual machine)"
    if not named or named == {"performance"}:
        return Diagnosis(_GROUP, "governor", "ok", found)
    found += ": clocks ramp up during a call, and intervals get wider"
    return Diagnosis(_GROUP, "governor", "warn", found, "sudo cpupower frequency-set -g performance")


def turbo(system: Path) -> Diagnosis:
    """Tell if clocks rise while the chip is cool. Pairs cancel most of that, so this is never a warning."""
    for place, on in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
        if (path := system / place).is_file():
            is_on = path.read_text().strip() == on
            return Diagnosis(_GROUP, "turbo", "ok", "on: clocks depend on the temperature" if is_on else "off")
    return Diagnosis(_GROUP, "turbo", "ok", "not shown (usual in a virtual machine)")


def inductor_cache() -> Diagnosis:
    """Tell where compiled baselines are kept between evaluations, and if that folder can be written."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "robust-kbench" / f"inductor-{metadata.version('torch')}"
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        found = f"{existing} cannot be written: torch.compile starts from nothing in every evaluation"
        return Diagnosis(_GROUP, "inductor", "warn", found, "export XDG_CACHE_HOME=/path/that/is/yours")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Diagnosis(_GROUP, "inductor", "ok", f"{size / 2**20:.0f} MiB of compiled baselines in {folder}")


def _swapped_pages() -> int:
    path = Path("/proc/vmstat")
    lines = (line.split() for line in path.read_text().splitlines()) if path.is_file() else ()
    return sum(int(count) for name, count in lines if name in ("pswpin", "pswpout"))
