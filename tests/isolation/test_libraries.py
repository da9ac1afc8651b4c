"""Addresses of a library's pages are drawn anew for each worker."""

from __future__ import annotations

from pathlib import Path

from conftest import Submit, needs_compiler

from robust_kbench import contestant
from robust_kbench.devices import open_device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.registry import load_task

KERNEL = """#include <cstdint>
extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
"""
TASK = load_task("norm/rmsnorm").spec
MIB = 1 << 20


def _mapped(pid: int, name: str) -> set[tuple[str, str]]:
    """Return the device and inode of every mapping of a file of this name."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return {(line[3], line[4]) for line in lines if line[-1].endswith(name)}


@needs_compiler
def test_each_worker_maps_a_library_of_its_own_which_goes_with_it(submit: Submit) -> None:
    device = open_device("cpu")
    with WarmPool() as pool:
        arena = Arena(MIB)
        built = contestant.build(
            "candidate", submit(KERNEL, language="cpp", abi="c"), TASK, ["float32"], device, pool.scratch()
        )
        artefact = built.built["float32"].path
        workers = [built.start(pool, arena, device, "float32") for _ in range(2)]
        mapped = [_mapped(worker.pid, artefact.name) for worker in workers]
        copies = [worker.scratch / "float32" / artefact.name for worker in workers]
        same = [copy.read_bytes() == artefact.read_bytes() for copy in copies]
        for worker in workers:
            worker.close()
        left = [copy for copy in copies if copy.exists()]
        arena.close()
    assert [len(files) for files in mapped] == [1, 1]
    assert mapped[0].isdisjoint(mapped[1])
    assert same == [True, True]
    assert left == []
