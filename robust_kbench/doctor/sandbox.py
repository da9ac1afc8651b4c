"""Layers around a worker: one real worker is started, and tells which of them it is in."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from robust_kbench.doctor.diagnosis import Diagnosis
from robust_kbench.errors import HarnessError, WorkerError
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.pool import Allowance, WarmPool
from robust_kbench.schema.record import FILE_LAYERS, REQUIRED_LAYERS

_GROUP = "sandbox"
_ARENA_BYTES = 1 << 20
_CONTAINER = "in a container: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
_SWITCHES: Mapping[str, tuple[str, str]] = {
    "kernel/unprivileged_userns_clone": ("0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    "user/max_user_namespaces": ("0", "sudo sysctl -w user.max_user_namespaces=10000"),
}
"""Values of kernel settings that forbid user namespaces, each with the command that allows them."""
LAYERS = (
    "own process", "user namespace", "pid namespace", "network namespace", "ipc namespace", "resource limits",
    "no new privileges", "no capabilities", "landlock", "seccomp",
)  # fmt: skip
_LANDLOCK = "boot a kernel from 5.13 on with landlock among its modules, such as: lsm=landlock,lockdown,yama,integrity"
_SECCOMP = "boot a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64"


def inspect() -> Iterator[Diagnosis]:
    """Tell if a worker starts, and diagnose each layer that our workers should be in."""
    started = time.monotonic()
    try:
        with WarmPool() as pool:
            arena = Arena(_ARENA_BYTES)
            try:
                with pool.worker("torch", arena, Allowance()) as worker:
                    found = worker.layers
            finally:
                arena.close()
    except (HarnessError, WorkerError, OSError) as error:
        remedy = "free memory and processes (free -m, ulimit -u), then try again"
        if "No module named" in str(error):
            remedy = "pip install -c constraints.txt -e ."
        yield Diagnosis(_GROUP, "worker", "missing", str(error)[:300], remedy, is_required=True)
        return
    yield Diagnosis(_GROUP, "worker", "ok", f"starts in {time.monotonic() - started:.1f} s with PyTorch imported")
    yield from layers(found)


def layers(in_force: Collection[str], settings: Path = Path("/proc/sys")) -> Iterator[Diagnosis]:
    """Yield one diagnosis for each layer, with the remedy where it is off."""
    are_files_hidden = not FILE_LAYERS.isdisjoint(in_force)
    for name in LAYERS:
        if name in in_force:
            yield Diagnosis(_GROUP, name, "ok", "in force")
        elif name in FILE_LAYERS and are_files_hidden:
            yield Diagnosis(_GROUP, name, "ok", "off: a private root takes its place")
        elif name in REQUIRED_LAYERS | FILE_LAYERS:
            yield Diagnosis(_GROUP, name, "missing", "off: records from here are not ranked", _remedy(name, settings))
        else:
            found = "off: a hostile submission reaches further"
            yield Diagnosis(_GROUP, name, "warn", found, _remedy(name, settings))


def _remedy(name: str, settings: Path) -> str:
    if name == "landlock":
        return _LANDLOCK
    if name == "seccomp":
        return _SECCOMP
    for setting, (forbids, command) in _SWITCHES.items():
        path = settings / setting
        if path.is_file() and path.read_text().strip() == forbids:
            return command
    return _CONTAINER
