"""Many examinations at once: in order, complete, and not slower to fail."""

from __future__ import annotations

import multiprocessing
from itertools import islice
from pathlib import Path

import pytest
from written_task import write_task

from robust_kbench.audit.session import examine_all, in_processes
from robust_kbench.errors import SpecError


@pytest.mark.rotating
@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_calls(jobs: int) -> None:
    assert list(in_processes(divmod, [(7, 2), (9, 4), (5, 5)], jobs)) == [(3, 1), (2, 1), (1, 0)]


@pytest.mark.rotating
@pytest.mark.parametrize("wanted", [1, 3], ids=["left early", "to the end"])
def test_no_process_outlives_the_results(wanted: int) -> None:
    results = in_processes(divmod, [(7, 2), (9, 4), (5, 5)], 2)
    assert len(list(islice(results, wanted))) == wanted
    results.close()
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    units = [(task, dtype) for dtype in task.spec.dtypes]
    assert list(examine_all(units, 2)) == list(examine_all(units, 1))


@pytest.mark.rotating
def test_a_malformed_bank_is_told_from_another_process_too(tmp_path: Path) -> None:
    task = write_task(tmp_path, bank="HONEST = 1")
    with pytest.raises(SpecError, match="HONEST: expected a tuple of functions"):
        list(examine_all([(task, "float32"), (task, "float16")], 2))
