"""Layers around a worker. Each is tried, none is taken for granted: the names of those in force go to the judge."""

import contextlib
import os
import resource
from typing import TypedDict

from robust_kbench.worker import gpu_nodes, kernel, landlock, private_root, readable, seccomp


class Limits(TypedDict):
    """Limits of one worker; sent by the judge with each request for a worker."""

    memory_bytes: int
    file_bytes: int
    processes: int
    allow_processes: bool
    gpu: bool
    core: int | None
    scratch: str
    writable: list[str]
    readable: list[str]


def enter_namespaces() -> list[str]:
    """Enter new user, pid, network and ipc namespaces, as far as allowed. Called by the guardian for its children."""
    layers = []
    with contextlib.suppress(OSError):
        user, group = os.getuid(), os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        layers.append("user namespace")
    for name, flag in (
        ("pid namespace", kernel.CLONE_NEWPID),
        ("network namespace", kernel.CLONE_NEWNET),
        ("ipc namespace", kernel.CLONE_NEWIPC),
    ):
        with contextlib.suppress(OSError):
            kernel.unshare(flag)
            layers.append(name)
    return layers


def mount_own_proc() -> list[str]:
    """Mount a /proc that shows the processes of this pid namespace, and only them. Called by its first process.

    CUDA does not start where /proc knows its process under another number.
    """
    with contextlib.suppress(OSError):
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc", 0)
        return ["mount namespace"]
    return []


def hide_files(limits: Limits, layers: list[str]) -> list[str]:
    """Change the root where there is no landlock. Called by the first process of a user namespace."""
    if landlock.is_available() or "user namespace" not in layers:
        return []
    with contextlib.suppress(OSError):
        may_read = [*readable.paths(own_proc=True, gpu=limits["gpu"]), *limits["readable"]]
        may_write = [*(gpu_nodes.openable() if limits["gpu"] else []), *limits["writable"]]
        private_root.enter(limits["scratch"], writable=may_write, readable=may_read)
        return ["private root"]
    return []


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def restrict(limits: Limits, layers: list[str]) -> list[str]:
    """Restrict the worker before it reads its first request. Returns the names of all layers in force."""
    _limit_resources(limits, in_user_namespace="user namespace" in layers)
    layers = [*layers, "resource limits"]
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    layers.append("no new privileges")
    with contextlib.suppress(OSError):
        kernel.drop_capabilities()
        layers.append("no capabilities")
    with contextlib.suppress(OSError):
        # CUDA names its threads, which is a write to /proc.
        devices = [*gpu_nodes.openable(), "/proc/self/task"] if limits["gpu"] else []
        own_proc = "mount namespace" in layers
        landlock.restrict(
            limits["scratch"],
            writable=[*devices, *limits["writable"]],
            readable=[*readable.paths(own_proc=own_proc, gpu=limits["gpu"]), *limits["readable"]],
        )
        layers.append("landlock")
    # The worker's memory stays readable for the judge, who fetches returned tensors from it.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    with contextlib.suppress(OSError):
        seccomp.install(
            allow_processes=limits["allow_processes"],
            allow_unix_sockets=limits["gpu"],
            may_signal_only=None if "pid namespace" in layers else os.getpid(),
        )
        layers.append("seccomp")
    return layers


def forbid_dumps() -> None:
    """Forbid dumps of memory when something crashes: one byte is too little for a file.

    With zero the kernel would still hand them to the program that core_pattern names, which it runs outside of the
    sandbox; with one it does not.
    """
    _limit(resource.RLIMIT_CORE, 1)


def _limit_resources(limits: Limits, *, in_user_namespace: bool) -> None:
    forbid_dumps()
    _limit(resource.RLIMIT_NOFILE, 1024)
    _limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    if not limits["gpu"]:  # CUDA reserves address space far beyond what it uses
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, mapped + limits["memory_bytes"])
    if in_user_namespace:  # elsewhere the count includes the user's other processes
        _limit(resource.RLIMIT_NPROC, limits["processes"])
    if limits["core"] is not None:
        os.sched_setaffinity(0, {limits["core"]})
    with contextlib.suppress(OSError):  # if memory runs out, this process goes first
        _write("/proc/self/oom_score_adj", "1000")


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))
