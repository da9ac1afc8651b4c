"""Warm pool: processes that have imported torch once and fork a worker in milliseconds.

One warm process per flavour, started when first asked for: `torch` (python, cpp, cuda), `triton` (the interpreter,
which must be chosen before triton is imported) and `inductor` (compiled baselines). Each is exec'ed with an environment
of its own making, so that nothing of the judge's environment can be read in /proc/self/environ.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from robust_kbench.errors import HarnessError, remedy
from robust_kbench.hostile_folders import discard
from robust_kbench.isolation.memfd import sealed_memfd
from robust_kbench.isolation.process import Worker
from robust_kbench.own_modules import confined_python
from robust_kbench.worker import gpu_nodes, landlock, sandbox, wire

if TYPE_CHECKING:  # importing torch takes a second, in which a warm process can start
    from robust_kbench.isolation.arena import Slots

Flavour = Literal["torch", "triton", "inductor"]
WORKER_COMMAND = tuple(confined_python("robust_kbench.worker"))
_START_TIMEOUT_S = 120.0
_PREFIX = "kbench-"
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # What every kernel's first call pays for, the warm-up has paid; all of PyTorch's at once would take seconds.
    "CUDA_MODULE_LOADING": "LAZY",
    # Without it, importing inductor asks the driver itself, after which no forked process can use the device.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # Memory that was freed is kept: else every call of eager PyTorch pays for the page faults of its results, or does
    # not, at the whim of the allocator, and its times have two modes three times apart.
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    # And the same memory is handed out again. What aligning a result splits off would else wait in caches of small
    # blocks, no freed result would fit its hole, and results would wander: by cold memory a call takes twice as long.
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0",
}
_FLAVOUR_ENVIRONMENT: dict[Flavour, dict[str, str]] = {
    "torch": {},
    "triton": {"TRITON_INTERPRET": "1"},
    "inductor": {"TORCHINDUCTOR_COMPILE_THREADS": "1"},
}
# A context is created in half the time with two channels for copies in place of eight.
_GPU_ENVIRONMENT = {"CUDA_DEVICE_MAX_COPY_CONNECTIONS": "2"}
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", gpu_nodes.VARIABLE, "CC", "CXX")


def flavour_of(language: str, device: str) -> Flavour:
    """Choose the warm process for a submission in `language`: Triton is interpreted only on the cpu device."""
    return "triton" if language == "triton" and device != "cuda" else "torch"


@dataclass(frozen=True)
class Allowance:
    """Limits of a worker. The defaults fit kernels; a compiled baseline gets processes too."""

    memory_bytes: int = 6 << 30
    file_bytes: int = 1 << 30
    processes: int = 64
    allow_processes: bool = False
    gpu: bool = False
    core: int | None = None
    readable: tuple[Path, ...] = ()
    """Paths that it may read beside its scratch folder and the paths of all workers: see worker.readable."""


class WarmPool:
    """Pool that starts workers; a context manager. Leaving it ends every process and deletes every temporary folder."""

    def __init__(self) -> None:
        self._warm: dict[tuple[Flavour, bool], _WarmProcess] = {}
        self._lock = threading.Lock()  # several threads may start workers
        _remove_stale_folders()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._inductor_cache = _inductor_cache(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the warm processes; their workers die with them."""
        for process in self._warm.values():
            process.close()
        self._warm.clear()
        discard(self._folder)

    def warm_up(self, flavour: Flavour, *, gpu: bool) -> None:
        """Start the warm process of `flavour` in the background, so that the first worker need not wait for it.

        `gpu`: its workers may use a GPU.
        """
        self._process(flavour, gpu=gpu)

    def scratch(self) -> Path:
        """Make a fresh private folder that lives as long as the pool."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    @contextlib.contextmanager
    def worker(self, flavour: Flavour, arena: Slots, allowance: Allowance) -> Iterator[Worker]:
        """Yield a fresh worker. It is killed with all that it has started when the block ends."""
        worker = self.start(flavour, arena, allowance)
        try:
            yield worker
        finally:
            worker.close()

    def start(self, flavour: Flavour, arena: Slots, allowance: Allowance) -> Worker:
        """Start a fresh worker process with nothing loaded; the caller closes it."""
        scratch = self.scratch()
        control = sealed_memfd("kbench-control", wire.CONTROL_BYTES)
        ours, theirs = socket.socketpair()
        log_read, log_write = os.pipe()
        status_read, status_write = os.pipe()
        limits: sandbox.Limits = {
            "memory_bytes": allowance.memory_bytes + arena.host_bytes,
            "file_bytes": allowance.file_bytes,
            "processes": allowance.processes,
            "allow_processes": allowance.allow_processes,
            "gpu": allowance.gpu,
            "core": allowance.core,
            "scratch": str(scratch),
            "writable": [str(self._inductor_cache)] if flavour == "inductor" else [],
            "readable": [str(path) for path in allowance.readable],
        }
        with contextlib.ExitStack() as stack:
            stack.callback(theirs.close)
            for descriptor in (log_write, status_write):
                stack.callback(os.close, descriptor)
            lent = arena.lend()
            stack.callback(os.close, lent)
            fds = [theirs.fileno(), control, lent, log_write, status_write]
            self._process(flavour, gpu=allowance.gpu).fork(limits, fds)
            return Worker(ours, control, log_read, status_read, scratch, allowance, arena)

    def _process(self, flavour: Flavour, *, gpu: bool) -> _WarmProcess:
        with self._lock:
            process = self._warm.get((flavour, gpu))
            if process is None or not process.is_alive():
                process = _WarmProcess(flavour, self._folder, self._inductor_cache, gpu=gpu)
                self._warm[flavour, gpu] = process
            return process


class _WarmProcess:
    """Warm process: one `python -I -m robust_kbench.worker`."""

    def __init__(self, flavour: Flavour, folder: Path, inductor_cache: Path, *, gpu: bool) -> None:
        self._flavour = flavour
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        home = tempfile.mkdtemp(dir=folder)
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment = _ENVIRONMENT | inherited | _FLAVOUR_ENVIRONMENT[flavour] | {"HOME": home, "TMPDIR": home}
        # On a machine that has a GPU, PyTorch would plan with it, and be told only later that it may not.
        environment |= {**gpu_nodes.named(), **_GPU_ENVIRONMENT} if gpu else {gpu_nodes.VARIABLE: ""}
        if flavour == "torch" and gpu:
            environment |= {"TRITON_HOME": str(inductor_cache)}  # for what Triton itself needs, not for its kernels
        if flavour == "inductor":
            # Precompiled headers go to a folder that inductor derives from TMPDIR when it is imported, and what Triton
            # compiles to one in its home.
            cache = str(inductor_cache)
            environment |= {"TORCHINDUCTOR_CACHE_DIR": cache, "TMPDIR": cache, "TRITON_HOME": cache}
        command = [*WORKER_COMMAND, flavour, str(theirs.fileno()), str(os.getpid())]
        self._log = open(os.path.join(home, "log"), "w+b")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            command, env=environment, cwd=home, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self._is_ready = False
        self._lock = threading.Lock()  # while one thread waits, others may have workers of another flavour

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, limits: sandbox.Limits, descriptors: list[int]) -> None:
        """Ask for a worker; it announces itself on its own status pipe."""
        with self._lock:
            self._wait_until_ready()
            try:
                socket.send_fds(self._requests, [json.dumps(limits).encode()], descriptors)
            except OSError as error:
                raise HarnessError(f"the warm {self._flavour} process is gone: {error}; {self._words()}") from None

    def _wait_until_ready(self) -> None:
        if self._is_ready:
            return
        self._requests.settimeout(_START_TIMEOUT_S)
        started = time.monotonic()
        try:
            ready = self._requests.recv(16)
        except TimeoutError:
            ready = b""
        if not ready:
            waited = time.monotonic() - started
            words = f"the warm {self._flavour} process did not start in {waited:.0f} s; {self._words()}"
            raise HarnessError(words + remedy(words))
        self._is_ready = True

    def _words(self) -> str:
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
        return f"its last words: {last[0]}" if last else "it said nothing"

    def close(self) -> None:
        self._requests.close()
        self._process.kill()
        self._process.wait()
        self._log.close()


def _remove_stale_folders() -> None:
    """Delete folders that killed evaluators have left behind. Folders of living processes and other users stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.split("-")[1]
        with contextlib.suppress(OSError):  # somebody else may be cleaning up too
            if owner.isdigit() and not Path(f"/proc/{owner}").exists() and folder.stat().st_uid == os.getuid():
                discard(folder)


def _inductor_cache(folder: Path) -> Path:
    """Return the folder that keeps compiled baselines between evaluations.

    Inductor's own keys name source, dtype and version. The folder lies outside every scratch folder. Landlock keeps
    submissions from writing there, so without it the cache lives no longer than the pool.
    """
    if not landlock.is_available():
        return Path(tempfile.mkdtemp(dir=folder))
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = home / "robust-kbench" / f"inductor-{metadata.version('torch')}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return cache
    except OSError:  # nobody may write in this user's home: `kbench doctor` says so
        return Path(tempfile.mkdtemp(dir=folder))
