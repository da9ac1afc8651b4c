"""The two bounds that times on a device are held to: what nothing there can beat, and what was measured there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_kbench.devices import ceilings, datasheets
from robust_kbench.devices.peaks import Peaks
from robust_kbench.errors import HarnessError, SpecError

if TYPE_CHECKING:
    from robust_kbench.devices import Device


@dataclass(frozen=True)
class Limits:
    """Faster than `bound` is impossible, faster than `measured` suspicious; None for what is not known."""

    bound: Peaks | None
    measured: Peaks | None


def known_limits(device: Device) -> Limits:
    """The same as `limits_of`, after measuring the ceilings of a processor for which there are none yet (6 s).

    Kept ceilings that are not to be believed count as none. Those that cannot be measured now are not tried again by
    this process: on a busy machine every evaluation would wait for them.
    """
    try:
        limits = limits_of(device)
    except SpecError:
        limits = Limits(None, None)
    name = device.facts()["device"]
    if device.kind == "cpu" and limits.measured is None and name not in _failed:
        try:
            ceilings.measured(device)
            return limits_of(device)
        except HarnessError:
            _failed.add(name)
    return limits


def measured_again(device: Device) -> Limits | None:
    """The limits of a processor after measuring its ceilings once more, of each rate the higher.

    A neighbour on the host, whom nobody sees here, may have slowed the first measurement down: it was once a fifth too
    low. None where that changes nothing: where this process has done so before, on a GPU, and on a busy machine.
    """
    name = device.facts()["device"]
    if device.kind != "cpu" or name in _repeated:
        return None
    _repeated.add(name)
    try:
        earlier = ceilings.cached(device)
        return limits_of(device) if ceilings.measured(device, earlier) != earlier else None
    except (HarnessError, SpecError):
        return None


_failed: set[str] = set()
_repeated: set[str] = set()


def limits_of(device: Device) -> Limits:
    """The datasheet's peaks of a GPU, those of a processor from its ceilings, and the ceilings as they are.

    Nothing is measured here. Raises SpecError when ceilings were kept and are not to be believed.
    """
    known = ceilings.cached(device)
    measured = known.peaks() if known else None
    if device.kind == "cpu":
        return Limits(known.bounds() if known else None, measured)
    facts = device.facts()
    return Limits(datasheets.find(facts["device"], datasheets.megahertz(facts.get("sm_clock_max", ""))), measured)
