"""Ceilings of the devices at hand: measured now, measured earlier, or not measured yet."""

from __future__ import annotations

from collections.abc import Iterator

from robust_kbench.devices import Device, ceilings
from robust_kbench.devices.ceilings import Ceilings
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.doctor.diagnosis import Diagnosis
from robust_kbench.errors import HarnessError, SpecError

_GROUP = "ceilings"
_REMEDY = "kbench doctor --measure"


def inspect(*, measure: bool) -> Iterator[Diagnosis]:
    """Yield one diagnosis for each device."""
    yield device(CpuDevice(), measure=measure)
    if CudaDevice.is_present():
        yield device(CudaDevice(), measure=measure)


def device(which: Device, *, measure: bool) -> Diagnosis:
    """Report the ceilings of `which`. Faster times are suspicious; on a processor, far faster ones are impossible."""
    try:
        found = ceilings.measured(which) if measure else ceilings.cached(which)
    except (HarnessError, SpecError, OSError) as error:
        return Diagnosis(_GROUP, which.kind, "warn", str(error)[:300], _REMEDY)
    if found is None:
        return Diagnosis(_GROUP, which.kind, "warn", "not measured: times have no floor from this machine", _REMEDY)
    return Diagnosis(_GROUP, which.kind, "ok", _words(found), figures=_figures(found))


def _words(found: Ceilings) -> str:
    moved = f"{found.copy_bytes_per_s / 1e9:.0f} copying, {found.read_bytes_per_s / 1e9:.0f} reading"
    rates = ", ".join(f"{unit} {rate / 1e9:.0f}" for unit, rate in found.flops_per_s.items())
    return f"GB/s: {moved}, {found.fill_bytes_per_s / 1e9:.0f} filling; GFLOP/s: {rates}"


def _figures(found: Ceilings) -> dict[str, float]:
    moved = {name: getattr(found, name) for name in ("copy_bytes_per_s", "read_bytes_per_s", "fill_bytes_per_s")}
    return {**moved, **{f"{unit}_flops_per_s": rate for unit, rate in found.flops_per_s.items()}}
