"""Built submissions and baselines, and the start of workers that have them loaded."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robust_kbench import languages
from robust_kbench.baselines import COMPILE
from robust_kbench.devices import Device
from robust_kbench.errors import HarnessError, WorkerCrashed, WorkerError
from robust_kbench.hostile_folders import discard, open_left
from robust_kbench.isolation.compiled import Compiled
from robust_kbench.isolation.pool import Allowance, WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.protocol import Raised
from robust_kbench.languages import compiler, cuda
from robust_kbench.languages.built import Built, write_files
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType, Precision, Task

if TYPE_CHECKING:
    from robust_kbench.isolation.arena import Slots  # imports torch

LOAD_TIMEOUT_S = 60.0
_BUILD_THREADS = max(2, min(8, (os.cpu_count() or 2) // 2))


@dataclass(frozen=True)
class Contestant:
    """Contestant in a measurement: a submission or a baseline, with an artefact for each dtype."""

    name: str
    submission: Submission
    built: dict[FloatDType, Built]
    precision: Precision = "ieee"
    """Precision contract of the task, to which PyTorch in the worker is set."""
    instrument: Callable[[FloatDType], Built] | None = None
    """Function that builds for the emulator's checker; None where kernels are not emulated."""
    compiled: Compiled = field(default_factory=Compiled, compare=False)
    """Code that its workers have compiled so far."""
    folder: Path | None = field(default=None, compare=False)
    """Folder of everything that was built."""

    @property
    def abi(self) -> str:
        """Calling convention. Kernels that are launched for a submission get the arguments of a function of abi c."""
        return "c" if self.submission.abi == "launch" else self.submission.abi

    @property
    def execution(self) -> Literal["native", "interpreted", "emulated"]:
        """Way in which the kernels run on this machine."""
        return next(iter(self.built.values())).execution

    def discard(self) -> None:
        """Delete the build: a large one would take up the room of later builds."""
        if self.folder is not None:
            discard(self.folder)

    def warm_up(self, pool: WarmPool, device: Device, dtype: FloatDType) -> None:
        """Have the pool start the process that workers of `dtype` are started from."""
        pool.warm_up(self.built[dtype].flavour, gpu=device.kind == "cuda")

    def start(
        self,
        pool: WarmPool,
        arena: Slots,
        device: Device,
        dtype: FloatDType,
        built: Built | None = None,
        memory_bytes: int = 0,
        heap_bytes: int = 0,
        padding_bytes: int = 0,
        *,
        few_queues: bool = False,
    ) -> Worker:
        """Start a worker with the artefact of `dtype`, or `built`, loaded; the caller closes it.

        `memory_bytes`: limit on its memory, if its calls need more than the usual limit. `few_queues`: set for a worker
        that is never timed; its streams on a CUDA device may wait for each other. For the other arguments see `load`.
        Raises WorkerCrashed or WorkerTimedOut when the submission cannot be imported, HarnessError when the device
        cannot be opened.
        """
        worker = self.open(pool, arena, device, [dtype], built, memory_bytes)
        if device.kind == "cuda":
            try:
                worker.open(device.kind, few_queues=few_queues, spin=False, timeout_s=LOAD_TIMEOUT_S)
            except WorkerError as error:  # no code of a submission has run in it
                worker.close()
                raise HarnessError(f"a worker cannot open the device: {error}") from None
        self.load(worker, device, [dtype], built, heap_bytes, padding_bytes)
        return worker

    def open(
        self,
        pool: WarmPool,
        arena: Slots,
        device: Device,
        dtypes: Sequence[FloatDType],
        built: Built | None = None,
        memory_bytes: int = 0,
    ) -> Worker:
        """Start a worker with nothing loaded, for artefacts of `dtypes`; the caller closes it."""
        artefacts = [built] if built else [self.built[dtype] for dtype in dtypes]
        allowance = Allowance(
            allow_processes=artefacts[0].compiles_at_run_time,
            gpu=device.kind == "cuda",
            # What is never timed may use every core.
            core=None if artefacts[0].execution == "emulated" else device.worker_core,
            readable=tuple(dict.fromkeys(folder for artefact in artefacts for folder in artefact.needs)),
        )
        if memory_bytes > allowance.memory_bytes:
            allowance = replace(allowance, memory_bytes=memory_bytes)
        return pool.start(artefacts[0].flavour, arena, allowance)

    def load(
        self,
        worker: Worker,
        device: Device,
        dtypes: Sequence[FloatDType],
        built: Built | None = None,
        heap_bytes: int = 0,
        padding_bytes: int = 0,
    ) -> None:
        """Load the artefacts of `dtypes`, or `built`, into a worker, which is closed if that fails.

        `heap_bytes`: size of its heap, whose pages are there before the first call. `padding_bytes`: distance of its
        addresses from those that it inherits. Raises WorkerCrashed or WorkerTimedOut.
        """
        memory = {"heap_bytes": heap_bytes, "padding_bytes": padding_bytes}
        try:
            # What is never timed can have the core on which the judge would wait.
            spin = device.handshake == "spin" and self.execution == "native"
            artefacts = list(self._artefacts(dtypes, built))
            if self._compiles(device):
                self.compiled.hand_out(worker.scratch)
            # All are copied before any is loaded: its code may put a link where the next one goes.
            paths = [self._private(artefact, worker.scratch / served[0]) for artefact, served in artefacts]
            for (artefact, served), path in zip(artefacts, paths, strict=True):
                request = {**artefact.load_request(device.kind), **memory, "precision": self.precision}
                request |= {"path": str(path), "dtypes": served}
                answer = worker.load(request, spin=spin, timeout_s=LOAD_TIMEOUT_S)
                if isinstance(answer, Raised):
                    raise WorkerCrashed(f"{answer} (while it was imported)", worker.log)
        except BaseException:
            worker.close()
            raise

    def collect(self, worker: Worker, device: Device) -> None:
        """Keep the code that a stopped worker has compiled, for later workers."""
        if self._compiles(device):
            self.compiled.collect(worker.scratch)

    def exchange(self, worker: Worker, device: Device) -> None:
        """Keep the code that a stopped worker has compiled, and give the worker the code that others have compiled."""
        if self._compiles(device):
            self.compiled.exchange(worker.scratch)

    def _compiles(self, device: Device) -> bool:
        """Tell if workers keep what they compile in a folder of their own."""
        return device.kind == "cuda" and self.submission.file.language in ("triton", "python") and self.name != COMPILE

    def _private(self, artefact: Built, folder: Path) -> Path:
        """Write the files that a worker loads into a folder of its own, and return the file to load.

        The access time of a file that workers share would tell a later worker what an earlier one has read.
        """
        if artefact.home is None:
            return _copied(artefact.path, folder)
        write_files(artefact.sources, folder)
        return folder / artefact.path.relative_to(artefact.home)

    def _artefacts(self, dtypes: Sequence[FloatDType], built: Built | None) -> Iterator[tuple[Built, list[FloatDType]]]:
        """Yield each distinct artefact with the dtypes that it serves."""
        if built is not None:
            yield built, list(dtypes)
            return
        for path in dict.fromkeys(self.built[dtype].path for dtype in dtypes):
            served = [dtype for dtype in dtypes if self.built[dtype].path == path]
            yield self.built[served[0]], served


def _copied(artefact: Path, folder: Path) -> Path:
    """Copy a library or a binary into memory of its own, which lies elsewhere for each worker; return the copy.

    Every call fetches its code from memory, and the cost depends on where the code lies. Workers that map the same file
    share that place, and so do all sessions. Builds of the same code then differed by 0.1 us, however often they were
    measured.
    """
    folder.mkdir(exist_ok=True)
    target = folder / artefact.name
    try:
        left = open_left(artefact)
    except OSError as error:
        raise WorkerCrashed(f"the library that was built cannot be loaded: {error}", "") from None
    with left as source, open(target, "xb") as copy:
        shutil.copyfileobj(source, copy)
    return target


def build(
    name: str,
    submission: Submission,
    task: Task,
    dtypes: Sequence[FloatDType],
    device: Device,
    folder: Path,
    stop: compiler.Stop | None = None,
) -> Contestant:
    """Build `submission` for every dtype in `folder`, a folder of its own that is deleted if the build fails.

    Raises BuildError or Unsupported; KeyboardInterrupt when `stop` is set.
    """
    stop = stop or compiler.Stop()

    def build_one(dtype: FloatDType) -> Built:
        target = folder / name / dtype
        target.mkdir(parents=True)
        with stop.over_this_thread():
            built = languages.build(submission, task, dtype, device.kind, target)
        return replace(built, flavour="inductor") if name == COMPILE else built

    @functools.cache
    def instrument(dtype: FloatDType) -> Built:
        target = folder / name / f"{dtype}-checked"
        target.mkdir(parents=True)
        return cuda.emulate(submission, task, dtype, target, checked=True)

    # Python and a torch extension find out at run time what they are called with.
    distinct = dtypes if submission.abi in ("c", "launch") else dtypes[:1]
    try:
        with ThreadPoolExecutor(_BUILD_THREADS) as threads:
            try:
                built = dict(zip(distinct, threads.map(build_one, distinct), strict=True))
            except KeyboardInterrupt:
                stop.set()  # the threads would wait for their compilers
                raise
    except BaseException:
        discard(folder)
        raise
    every = {dtype: built.get(dtype, built[distinct[0]]) for dtype in dtypes}
    is_emulated = built[distinct[0]].execution == "emulated"
    return Contestant(name, submission, every, task.precision, instrument if is_emulated else None, folder=folder)
