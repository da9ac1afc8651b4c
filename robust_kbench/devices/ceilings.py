"""Measured ceilings of the device at hand: rates that plain copies, reductions and matrix products reach on it.

Calibration measures them in a process of its own, because the judge never initialises CUDA and keeps its threads. A
file per device and release of torch keeps them. That file is an input like any other: a value that is not positive and
finite, or that belongs to another device, is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from robust_kbench import machine_lock
from robust_kbench.devices import machine
from robust_kbench.devices.peaks import Peaks, Unit
from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.schema.documents import Strict, parse
from robust_kbench.schema.record import MAX_FOREIGN_LOAD
from robust_kbench.schema.task import DeviceKind

if TYPE_CHECKING:
    from robust_kbench.devices import Device

CPU_SAFETY = {"bytes": 2.0, "flops": 4.0}
"""Factors by which a kernel may exceed a processor's ceilings before its time is impossible: no datasheet tells.

Bytes: PyTorch's loops leave a part of a core's bandwidth unused, and a cache that is not purely least-recently-used
keeps a part of the data that was cleared from it. Flops: on some processors the library behind PyTorch uses vectors of
half the width that they have, and a core's clock may be half as high again while the others idle.
"""
_TIMEOUT_S = 60
_MAX_DOCUMENT_BYTES = 1 << 16
_MEMORY_RATES = ("copy_bytes_per_s", "read_bytes_per_s", "fill_bytes_per_s")

Rate = Annotated[float, Field(gt=0, lt=1e18)]


class Ceilings(Strict):
    """Rates in bytes/s and flop/s. Units that the device does not have, or has only in software, are absent."""

    device: str
    kind: DeviceKind
    torch: str
    cache_bytes: int = Field(gt=0)
    copy_bytes_per_s: Rate = Field(description="bytes read plus bytes written")
    read_bytes_per_s: Rate
    fill_bytes_per_s: Rate
    flops_per_s: dict[Unit, Rate]

    def peaks(self) -> Peaks:
        """Return the best measured rate of each kind. A kernel that is faster than this is suspicious."""
        return self._peaks(f"measured on {self.device}", 1.0, 1.0)

    def bounds(self) -> Peaks:
        """Return the peaks with `CPU_SAFETY`: faster than this is impossible, where no datasheet says so."""
        return self._peaks(f"measured on {self.device}, with a margin", CPU_SAFETY["bytes"], CPU_SAFETY["flops"])

    def or_higher(self, other: Ceilings) -> Ceilings:
        """Return these ceilings with the higher of both rates everywhere."""
        rates = {name: max(getattr(self, name), getattr(other, name)) for name in _MEMORY_RATES}
        flops = {unit: max(rate, other.flops_per_s.get(unit, 0.0)) for unit, rate in self.flops_per_s.items()}
        return self.model_copy(update={**rates, "flops_per_s": flops})

    def _peaks(self, source: str, bytes_factor: float, flops_factor: float) -> Peaks:
        best = max(self.copy_bytes_per_s, self.read_bytes_per_s, self.fill_bytes_per_s)
        return Peaks(
            source=source,
            bytes_per_s=best * bytes_factor,
            flops_per_s={unit: rate * flops_factor for unit, rate in self.flops_per_s.items()},
            cache_bytes=self.cache_bytes,
        )


def cached(device: Device) -> Ceilings | None:
    """Return the ceilings that were measured earlier, or None. Raises SpecError when their file cannot be trusted."""
    return read(_path(device), device)


def measured(device: Device, earlier: Ceilings | None = None) -> Ceilings:
    """Measure now, alone on the machine, and keep the result. Takes up to 20 s.

    No rate is below that of `earlier`. Raises HarnessError, also when others were at work: ceilings that are too low
    make honest kernels look impossible.
    """
    with machine_lock.quiet():
        started, before = time.monotonic(), _foreign_seconds()
        found = _ask(device)
        load = (_foreign_seconds() - before) / (time.monotonic() - started)
    if load > MAX_FOREIGN_LOAD:
        raise HarnessError(
            f"ceilings of {device.kind}: others used {load:.0%} of a core meanwhile; stop what else runs here"
        )
    found = found.or_higher(earlier) if earlier else found
    write(_path(device), found)
    return found


def read(path: Path, device: Device) -> Ceilings | None:
    """Read the ceilings in `path`; None without such a file. Raises SpecError when they are not of this device."""
    if not path.is_file():
        return None
    remedy = "; delete the file, or measure again: kbench doctor --measure"
    try:
        with open(path, "rb") as file:
            document = file.read(_MAX_DOCUMENT_BYTES + 1)
        ceilings = parse(Ceilings, _mapping(document, str(path)), str(path))
    except (OSError, SpecError) as error:
        raise SpecError(f"{error}{remedy}") from None
    if (ceilings.kind, ceilings.device) != (device.kind, _name(device)):
        raise SpecError(f"{path}: ceilings of {ceilings.device!r}, but this is {_name(device)!r}{remedy}")
    return ceilings


def write(path: Path, ceilings: Ceilings) -> None:
    """Replace `path` in one step, so that no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(descriptor, "w") as file:
            file.write(ceilings.model_dump_json(indent=1) + "\n")
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _foreign_seconds() -> float:
    """Return the processor seconds of all processes but this one and its children that were waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return machine.busy_seconds() - time.process_time() - children.ru_utime - children.ru_stime


def _ask(device: Device) -> Ceilings:
    core = "" if device.worker_core is None else str(device.worker_core)
    command = [sys.executable, "-I", "-m", "robust_kbench.devices.calibration", device.kind, core]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except subprocess.TimeoutExpired:
        raise HarnessError(f"ceilings of {device.kind}: not measured within {_TIMEOUT_S} s; is it busy?") from None
    except subprocess.CalledProcessError as error:
        words = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        raise HarnessError(f"ceilings of {device.kind}: the measuring process failed: {words:.300}") from None
    about = {"device": _name(device), "kind": device.kind, "torch": metadata.version("torch")}
    try:
        return parse(Ceilings, {**_mapping(done.stdout.encode(), "calibration"), **about}, "calibration")
    except SpecError as error:
        raise HarnessError(f"ceilings of {device.kind}: {error}") from None


def _mapping(document: bytes, where: str) -> dict[str, object]:
    if len(document) > _MAX_DOCUMENT_BYTES:
        raise SpecError(f"{where}: more than {_MAX_DOCUMENT_BYTES:,} bytes; a few hundred are expected")
    try:
        data = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{where}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise SpecError(f"{where}: expected a JSON object, got {type(data).__name__}")
    return data


def _name(device: Device) -> str:
    return device.facts()["device"]


def _path(device: Device) -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = "\n".join((device.kind, _name(device), metadata.version("torch")))
    return home / "robust-kbench" / f"ceilings-{device.kind}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"
