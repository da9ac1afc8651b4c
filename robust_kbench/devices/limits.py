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


_failed: set[str] = set()


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
