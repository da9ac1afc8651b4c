"""Run a vendor's tool that starts a submission on the CUDA device: the builder's sandbox, with what CUDA needs.

`python -I -m robust_kbench.worker.gpu_tool PARENT FOLDER -- COMMAND...`; the exit code is the command's, or 128 plus
the signal that ended it. Tried on no device yet: the filter of system calls leaves a tool only local sockets to talk to
the process that it watches.
"""

import contextlib
import os
import resource
import sys

from robust_kbench.worker import gpu_nodes, kernel, landlock, readable, sandbox, seccomp

_MAX_OUTPUT_BYTES = 256 << 20
_MAX_PROCESSES = 256


def main() -> None:
    """Enter the sandbox; its first process starts the command, and everything ends with it."""
    parent, folder = sys.argv[1:3]
    layers = sandbox.enter_namespaces()
    kernel.die_with_parent(int(parent))
    watcher = os.getpid()
    first = os.fork()
    if first == 0:
        os._exit(_lead(sys.argv[4:], folder, layers, watcher))
    sys.exit(_exit_code(first))


def _lead(command: list[str], folder: str, layers: list[str], watcher: int) -> int:
    """Process 1 of the namespace is immune to its own signals, so that the command is a child of it."""
    kernel.die_with_parent(watcher)
    if "pid namespace" in layers:
        layers = [*layers, *sandbox.mount_own_proc()]
    leader = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, folder, layers, leader)
    return _exit_code(child)


def _become(command: list[str], folder: str, layers: list[str], leader: int) -> None:
    kernel.die_with_parent(leader)
    sandbox.forbid_dumps()
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_OUTPUT_BYTES, _MAX_OUTPUT_BYTES))
    if "user namespace" in layers:  # elsewhere the count includes the user's other processes
        resource.setrlimit(resource.RLIMIT_NPROC, (_MAX_PROCESSES, _MAX_PROCESSES))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):
        kernel.drop_capabilities()
    with contextlib.suppress(OSError):
        landlock.restrict(
            folder,
            writable=[*gpu_nodes.openable(), "/proc/self/task"],
            readable=readable.paths(own_proc="mount namespace" in layers, gpu=True),
        )
    with contextlib.suppress(OSError):
        seccomp.install(allow_processes=True, allow_unix_sockets=True)
    os.execvp(command[0], command)


def _exit_code(child: int) -> int:
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main()
