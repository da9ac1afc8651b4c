"""Every agreement test has an attack that trips it and an honest look-alike that passes, on a simulated device."""

from __future__ import annotations

import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import SPECIMENS, Specimen
from simulator import US, Worker, calibration, machine

from robust_kbench import guards
from robust_kbench.guards import agreement
from robust_kbench.schema.agreement import Agreement
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.timing import gathering

TESTS = [f"T{number}" for number in range(1, 11)]
CALIBRATION = calibration()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "agreement.md"


def judge(worker: Worker) -> tuple[Finding, ...]:
    """All that the agreement tests say about a kernel, as they would be carried out on a device."""
    peer = Worker(lambda device, _: device.launch(700 * US), machine(1))
    nothing = Worker(lambda device, _: None, machine(2))
    peers = [peer.single() for _ in range(12)]
    told: dict[str, Any] = {
        "peer_calibration": CALIBRATION,
        "peer_gap_ns": _median(peers, "elapsed_ns") - _median(peers, "event_ns"),
        "peer_join_gap_ns": _median(peers, "join_ns") - _median(peers, "event_ns"),
        "peer_wall_gap_ns": _median(peers, "wall_ns") - _median(peers, "event_ns"),
    }
    timed = [worker.single() for _ in range(12)]
    audits = [worker.single(profile=True) for _ in range(4)]
    seen = [replace(call, **told) for call in (*timed, *audits)]
    return (*guards.inspect(seen), *agreement.inspect(_gather(worker, nothing, timed)))


def _gather(worker: Worker, nothing: Worker, timed: list[Observation]) -> Agreement:
    def first_and_again() -> tuple[int, int]:
        problem = worker.fresh()
        return worker.single(problem).elapsed_ns, worker.single(problem).elapsed_ns

    def busy_ns() -> int:
        return int(worker.machine.escaped_share * worker.machine.now_ns)

    return Agreement(
        case="norm/scale",
        calibration=CALIBRATION,
        slope=gathering.gather_slope(
            worker.batch, nothing.batch, event_ns=_median(timed, "event_ns"), host_ns=_median(timed, "host_ns")
        ),
        amortisation=gathering.gather_amortisation(worker.batch, nothing.batch, event_ns=_median(timed, "event_ns")),
        freshness=gathering.gather_freshness(first_and_again),
        idleness=gathering.gather_idleness(
            busy_ns,
            worker.machine.spend,
            lambda: worker.machine.now_ns,
            call=lambda: _called(worker),
            probe=worker.probe,
            quiet_ns=[50 * US] * 5,
        ),
    )


def _called(worker: Worker) -> None:
    worker.single()
    worker.machine.spend(60 * US)


def _median(calls: list[Observation], name: str) -> int:
    return int(statistics.median(getattr(call, name) for call in calls))


def tripped(findings: tuple[Finding, ...]) -> set[str]:
    """The tests that objected, with a `?` where they only warn."""
    return {f"{finding.evidence['test']}{'?' if finding.severity == 'warn' else ''}" for finding in findings}


every_specimen = pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)


@every_specimen
def test_each_kernel_trips_what_the_matrix_says_and_nothing_else(specimen: Specimen) -> None:
    assert tripped(judge(specimen.make())) == specimen.trips


@every_specimen
def test_an_honest_kernel_is_never_rejected(specimen: Specimen) -> None:
    if specimen.name.startswith("honest_"):
        assert all(name.endswith("?") for name in specimen.trips)


@pytest.mark.parametrize("test", TESTS)
def test_every_test_is_tripped_by_an_attack(test: str) -> None:
    assert any({test, f"{test}?"} & specimen.trips for specimen in SPECIMENS)


def test_the_matrix_in_the_documents_is_this_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|((?: [^|]*\|){10})$", PAGE.read_text(), re.MULTILINE)
    told = {name: (summary, [cell.strip() for cell in cells.split("|")[:-1]]) for name, summary, cells in rows}
    marks = {(False, False): "", (True, False): "rejects", (False, True): "warns"}
    expected = {
        each.name: (each.summary, [marks[test in each.trips, f"{test}?" in each.trips] for test in TESTS])
        for each in SPECIMENS
    }
    assert told == expected
