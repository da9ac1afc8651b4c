"""The warm process: it imports torch once and forks a guardian for every request, which starts the worker."""

import contextlib
import gc
import json
import os
import signal
import socket
import sys

from robust_kbench.worker import kernel, sandbox, session

_FDS = ("channel", "control", "arena", "log", "status")


def main() -> None:
    """`python -I -m robust_kbench.worker FLAVOUR SOCKET_FD PARENT_PID`; serves until the judge is gone."""
    flavour, descriptor, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    kernel.die_with_parent(parent)
    _import(flavour)
    gc.freeze()  # spares the children from copying pages that only the collector's counters touch
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=descriptor)
    requests.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 65536, len(_FDS))
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _guard(json.loads(message), dict(zip(_FDS, descriptors, strict=True)))
        for fd in descriptors:
            os.close(fd)


def _import(flavour: str) -> None:
    """Import what workers of this flavour need, on one thread: a child of a process with more of them would hang."""
    import torch

    from robust_kbench.worker import arguments, devices, emulated, loaders, precision  # noqa: F401 - 10 ms in each child

    torch.set_num_threads(1)
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        import torch.utils.cpp_extension  # noqa: F401 - PyTorch looks there for include folders of any kernel
    if has_gpu and flavour != "triton":
        _load_triton()
    if flavour == "torch":
        os.environ.pop("TRITON_HOME", None)  # workers have caches of their own
    if flavour == "triton":
        import triton.language  # noqa: F401
    elif flavour == "inductor":
        import torch._dynamo
        import torch._inductor.compile_fx  # noqa: F401

        with contextlib.suppress(Exception):  # a worker that compiles meets the same obstacle, and says so
            # Not beside a GPU, which inductor would ask for its properties: after that no forked process can use it.
            _hash_sources() if has_gpu else _compile_something()


def _load_triton() -> None:
    """Import Triton and its driver, for which a C compiler builds a module: two seconds in each worker."""
    with contextlib.suppress(Exception):  # a worker that needs them meets the same obstacle, and says so
        import triton.language  # noqa: F401
        from triton.runtime import cache, driver

        cache.triton_key()  # a hash of all of its files, which the name of all that it compiles begins with
        driver.active  # noqa: B018 - made by the first look


def _compile_something() -> None:
    """The first compilation of a process spends over a second on imports and tables: here once for all workers."""
    import torch

    torch.compile(lambda x: x * x.square().mean(-1, keepdim=True).rsqrt(), dynamic=False)(torch.ones(8, 16))
    torch._dynamo.reset()


def _hash_sources() -> None:
    """The names of what is cached begin with hashes of all files of the compilers, which take a third of a second."""
    from torch._inductor.codecache import torch_key
    from torch._inductor.runtime.triton_compat import triton_key

    torch_key()
    triton_key()


def _guard(limits: sandbox.Limits, fds: dict[str, int]) -> None:
    """The guardian: enters namespaces and forks their first process, whose death ends all others in them."""
    exit_code = 1
    try:
        parent = os.getppid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        layers = ["own process", *sandbox.enter_namespaces()]
        kernel.die_with_parent(parent)
        guardian = os.getpid()
        init = os.fork()
        if init == 0:
            _lead(limits, layers, guardian, fds)
        for name in ("channel", "control", "arena", "log"):
            os.close(fds[name])
        _report(fds["status"], {"init": init, "guardian": guardian})
        _, status = os.waitpid(init, 0)
        _report(fds["status"], {"exit": os.waitstatus_to_exitcode(status)})
        exit_code = 0
    finally:
        os._exit(exit_code)


def _lead(limits: sandbox.Limits, layers: list[str], guardian: int, fds: dict[str, int]) -> None:
    """The first process of the namespaces. The worker is not it, because process 1 is immune to signals of its own.

    It reports how the worker ended and ends itself, which in a pid namespace ends whatever the worker has left behind;
    elsewhere orphans have become its children, and it kills them.
    """
    exit_code = 1
    try:
        kernel.die_with_parent(guardian)
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        init = os.getpid()
        if limits["gpu"] and "pid namespace" in layers:
            layers = [*layers, *sandbox.mount_own_proc()]
        layers = [*layers, *sandbox.hide_files(limits, layers)]
        worker = os.fork()
        if worker == 0:
            session.run(limits, layers, init, fds)
        for name in ("channel", "control", "arena", "log"):
            os.close(fds[name])
        pid, status = os.wait()
        while pid != worker:
            pid, status = os.wait()
        _report(fds["status"], {"exit": os.waitstatus_to_exitcode(status)})
        _kill_orphans()
        exit_code = 0
    finally:
        os._exit(exit_code)


def _kill_orphans() -> None:
    with contextlib.suppress(OSError):
        while True:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                children = [int(pid) for pid in file.read().split()]
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)  # raises ChildProcessError, an OSError, once there is none


def _report(fd: int, message: dict[str, int]) -> None:
    os.write(fd, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
