"""Files of /dev that a process on a GPU may open: that GPU's, and those that all GPUs of a machine share.

A process that could open the others could compute on them, unseen, and disturb measurements there.
"""

import contextlib
import glob
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

_DRIVER = "/proc/driver/nvidia/gpus"
_NODES = "/dev/nvidia*"
_OF_ONE_GPU = re.compile(r".*/nvidia\d+")
_FACT = re.compile(r"^(GPU UUID|Device Minor):\s*(\S+)$", re.MULTILINE)
VARIABLE = "CUDA_VISIBLE_DEVICES"


class Gpu(NamedTuple):
    """GPU as the driver numbers it. CUDA_VISIBLE_DEVICES may name its `uuid`; `minor` is the number of its node."""

    uuid: str
    minor: int


def first_visible(environment: Mapping[str, str] = os.environ, driver: str = _DRIVER) -> Gpu | None:
    """Find the first GPU that CUDA_VISIBLE_DEVICES names, by its place among all or by its unique name.

    None where the driver does not tell, or where the name is that of a part of a GPU.
    """
    gpus = _installed(driver)
    name = environment.get(VARIABLE, "0").split(",")[0].strip()
    if name.isdecimal():
        return gpus[int(name)] if int(name) < len(gpus) else None
    return next((gpu for gpu in gpus if name and gpu.uuid.startswith(name)), None)


def named(environment: Mapping[str, str] = os.environ, driver: str = _DRIVER) -> dict[str, str]:
    """Return the environment variable that names the GPU to a confined process.

    The only GPU that such a process can open has another place for it. Empty where `first_visible` is None.
    """
    gpu = first_visible(environment, driver)
    return {} if gpu is None else {VARIABLE: gpu.uuid}


def openable(environment: Mapping[str, str] = os.environ, driver: str = _DRIVER, nodes: str = _NODES) -> list[str]:
    """List the nodes of `first_visible` and those that belong to no GPU; of all GPUs where it is None."""
    gpu, every = first_visible(environment, driver), sorted(glob.glob(nodes))
    if gpu is None:
        return every
    own = f"nvidia{gpu.minor}"
    return [node for node in every if not _OF_ONE_GPU.fullmatch(node) or os.path.basename(node) == own]


def _installed(driver: str) -> list[Gpu]:
    """List the GPUs in the order of their addresses on the bus, as nvidia-smi numbers them."""
    gpus = []
    for place in sorted(glob.glob(os.path.join(driver, "*", "information"))):
        with contextlib.suppress(OSError, KeyError, ValueError), open(place) as file:
            facts = dict(_FACT.findall(file.read()))
            gpus.append(Gpu(facts["GPU UUID"], int(facts["Device Minor"])))
    return gpus
