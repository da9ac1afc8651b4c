"""Every kernel of the suite on the emulator: right at three schedules and two poisons; clean under the checker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import emulated
import emulated_build
import pytest
import suite
from description import Kernel
from emulated import Mode
from worker import Worker

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on the PATH; Debian: apt-get install g++")

Builds = dict[tuple[str, bool], "Future[Path]"]


def _cases() -> list[Any]:
    """List all kernels of the suite. The fast lane runs the first kernel of each topic that needs no torch header."""
    fast = {kernel.name.partition("/")[0]: kernel for kernel in reversed(suite.KERNELS) if kernel.abi == "c"}
    return [
        pytest.param(kernel, id=kernel.name, marks=[] if kernel in fast.values() else [pytest.mark.slow])
        for kernel in suite.KERNELS
    ]


@pytest.fixture(scope="module")
def builds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builds]:
    """Build the shared objects of the chosen tests; the cores build further ones while the first tests run."""
    folder = tmp_path_factory.mktemp("kernels")
    wanted = [_build_of(item) for item in request.session.items if item.path == Path(__file__) and _has_kernel(item)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {
            (kernel.name, checked): pool.submit(
                emulated_build.build, kernel, folder / kernel.name / f"{checked:d}", checked=checked
            )
            for kernel, checked in wanted
        }
        pool.shutdown(cancel_futures=True)


def _has_kernel(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item, "callspec")


def _build_of(item: Any) -> tuple[Kernel, bool]:
    return item.callspec.params["kernel"], item.function is test_has_no_finding_under_the_checker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as shared:
        yield shared


@pytest.mark.rotating
@pytest.mark.parametrize("kernel", _cases())
def test_agrees_with_its_reference_at_every_schedule(kernel: Kernel, builds: Builds, worker: Worker) -> None:
    _run(kernel, builds, worker, emulated.PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", _cases())
def test_has_no_finding_under_the_checker(kernel: Kernel, builds: Builds, worker: Worker) -> None:
    _run(kernel, builds, worker, emulated.CHECKED)


def _run(kernel: Kernel, builds: Builds, worker: Worker, modes: Sequence[Mode]) -> None:
    artefact = builds[kernel.name, modes[0]["checked"]].result()
    answer = worker.ask(name=kernel.name, artefact=str(artefact), device="emulated", modes=modes)
    assert answer.get("error") is None
    for mode, run in zip(modes, answer["runs"], strict=True):
        assert run["complaints"] == [], mode
        assert run["findings"] == [], mode


def test_every_source_has_a_reference_and_every_reference_a_source() -> None:
    folder = suite.KERNELS[0].source.parents[1]
    sources = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.cu")}
    assert sources == {kernel.name for kernel in suite.KERNELS}
