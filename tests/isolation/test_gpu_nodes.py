"""A worker on a GPU opens no other GPU of the machine, see robust_kbench.worker.gpu_nodes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.devices import nvml
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation.pool import Allowance
from robust_kbench.worker import gpu_nodes
from robust_kbench.worker.gpu_nodes import Gpu

FIRST, SECOND = "GPU-11111111-aaaa-bbbb-cccc-dddddddddddd", "GPU-22222222-aaaa-bbbb-cccc-dddddddddddd"

OPENS_OTHER_GPUS = """
import os

NAMES = ("nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidiactl", "null", "ptmx", "kmsg", "tty0", "fuse")

def opened():
    for name in NAMES:
        try:
            os.close(os.open("/dev/" + name, {flags}))
        except OSError:
            continue
        yield name

def rmsnorm(x, weight):
    raise RuntimeError("opened: " + " ".join(opened()))
"""


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Two GPUs, of which the driver found the second one first."""
    for address, uuid, minor in (("0000:0a:00.0", FIRST, 1), ("0000:0b:00.0", SECOND, 0)):
        folder = tmp_path / "gpus" / address
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t NVIDIA X\nGPU UUID:\t {uuid}\nDevice Minor: \t {minor}\n")
    for node in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / node).touch()
    return {"driver": str(tmp_path / "gpus"), "nodes": f"{tmp_path}/nvidia*"}


@pytest.mark.parametrize(
    ("visible", "own"),
    [
        (None, "nvidia1"),
        ("0", "nvidia1"),
        ("1,0", "nvidia0"),
        (SECOND, "nvidia0"),
        (FIRST[:9], "nvidia1"),
    ],
)
def test_the_nodes_of_one_gpu_and_those_of_all(machine: dict[str, str], visible: str | None, own: str) -> None:
    environment = {} if visible is None else {gpu_nodes.VARIABLE: visible}
    found = [Path(node).name for node in gpu_nodes.openable(environment, **machine)]
    assert found == sorted([own, "nvidiactl", "nvidia-uvm"])
    uuid = {"nvidia0": SECOND, "nvidia1": FIRST}[own]
    assert gpu_nodes.named(environment, machine["driver"]) == {gpu_nodes.VARIABLE: uuid}


@pytest.mark.parametrize("visible", ["7", "", "MIG-33333333-aaaa-bbbb-cccc-dddddddddddd"])
def test_all_nodes_where_nobody_knows_which_gpu_is_meant(machine: dict[str, str], visible: str) -> None:
    environment = {gpu_nodes.VARIABLE: visible}
    assert gpu_nodes.first_visible(environment, machine["driver"]) is None
    assert gpu_nodes.named(environment, machine["driver"]) == {}
    assert len(gpu_nodes.openable(environment, **machine)) == 4


def test_a_driver_that_tells_half_is_passed_over(machine: dict[str, str]) -> None:
    (Path(machine["driver"]) / "0000:0a:00.0" / "information").write_text("GPU UUID: GPU-1\n")
    assert gpu_nodes.first_visible({}, machine["driver"]) == Gpu(SECOND, 0)


def _opened(evaluator: Evaluator, submit: Submit, flags: str) -> set[str]:
    source = OPENS_OTHER_GPUS.replace("{flags}", flags)
    record = evaluator.evaluate(submit(source), tier="quick", case=0)
    if not {"landlock", "private root"} & set(record.isolation):
        pytest.skip(f"this machine allows only {', '.join(record.isolation)}")
    found = re.search(r"opened: (.*)", record.reason)
    assert found, record.reason
    return set(found[1].split())


def test_a_worker_on_a_gpu_may_open_no_other_device(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allow(**limits: Any) -> Allowance:
        return Allowance(**{**limits, "gpu": True})

    monkeypatch.setattr(contestant, "Allowance", allow)
    allowed = {"null", "zero", "full", "random", "urandom"}
    assert {node for node in _opened(evaluator, submit, "os.O_RDONLY") if not node.startswith("nvidia")} <= allowed


@pytest.mark.skipif(not nvml.has_driver() or len(nvml.visible()) < 2, reason="there are no two GPUs")
@pytest.mark.parametrize("flags", ["os.O_RDONLY", "os.O_RDWR"])
def test_a_worker_opens_one_of_several_gpus(submit: Submit, flags: str) -> None:
    with Evaluator("cuda") as evaluator:
        opened = _opened(evaluator, submit, flags)
    assert len([node for node in opened if re.fullmatch(r"nvidia\d+", node)]) == 1
