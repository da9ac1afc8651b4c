"""Run a compiler as its author's accomplice: in namespaces, writing to one folder, gone when the judge is gone.

`python -I -m robust_kbench.worker.builder PARENT FOLDER SECONDS MEMORY_BYTES READABLE STARTED -- COMMAND...`;
READABLE is a list of folders, joined by colons. STARTED is a descriptor, to which a byte is written once this process
has found all that it imports; 0 where nobody listens. The exit code is the compiler's, or 128 plus the signal of its
end.
"""

import contextlib
import errno
import os
import resource
import shutil
import sys

from robust_kbench.worker import kernel, landlock, private_root, readable, sandbox, seccomp

NOBODY = "0"
"""In place of STARTED."""
_MAX_OUTPUT_BYTES = 256 << 20
_CANNOT = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EINVAL}
"""Errors of a machine that has no such layer, or forbids it: compilers run with fewer layers there."""


def main() -> None:
    """Enter the sandbox, fork, and become the compiler."""
    parent, folder, seconds, memory_bytes, also_readable, started = sys.argv[1:7]
    command = sys.argv[8:]
    if started != NOBODY:
        os.write(int(started), b"!")
        os.close(int(started))
    sandbox.enter_namespaces()
    kernel.die_with_parent(int(parent))
    watcher = os.getpid()
    compiler = os.fork()
    if compiler == 0:
        _become(command, folder, also_readable.split(os.pathsep), int(seconds), int(memory_bytes), watcher)
    _, status = os.waitpid(compiler, 0)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


def _become(
    command: list[str], folder: str, also_readable: list[str], seconds: int, memory_bytes: int, watcher: int
) -> None:
    kernel.die_with_parent(watcher)
    sandbox.forbid_dumps()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_OUTPUT_BYTES, _MAX_OUTPUT_BYTES))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    itself = [os.path.realpath(found)] if (found := shutil.which(command[0])) else []
    may_read = [*readable.paths(own_proc=False, gpu=False), *also_readable, *itself]
    confine = landlock.restrict if landlock.is_available() else private_root.enter
    try:
        confine(folder, readable=may_read)
    except OSError as error:
        if error.errno not in _CANNOT:  # such as a full disk, which hostile code can bring about
            sys.exit(f"cannot be confined to its folder: {error}")
    with contextlib.suppress(OSError):
        kernel.drop_capabilities()
    with contextlib.suppress(OSError):
        seccomp.install(allow_processes=True, allow_unix_sockets=False)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
