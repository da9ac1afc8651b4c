import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_compiler
from host_program import HostProgram

pytestmark = needs_compiler

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_DEVICE, INVALID_HANDLE = 1, 9, 101, 400


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    return HostProgram("api", tmp_path_factory.mktemp("api"))


def test_values_travel_to_the_device_through_a_kernel_and_back(api: HostProgram) -> None:
    values = np.arange(100, dtype=np.float32)
    assert api("doubled", values, 100) == 0
    assert values.tolist() == [2.0 * i for i in range(100)]
    assert api.findings == []


def test_a_kernel_is_launched_with_an_array_of_arguments(api: HostProgram) -> None:
    values = np.arange(10, dtype=np.float32)
    assert api("launched_by_function", values, 10) == 0
    assert values.tolist() == [3.0 * i for i in range(10)]


def test_constant_and_device_variables_are_copied_by_symbol(api: HostProgram) -> None:
    values, factors = np.ones(8, dtype=np.float32), np.arange(8, dtype=np.float32)
    assert api("symbols", values, factors) == 6
    assert values.tolist() == factors.tolist()


@pytest.mark.parametrize(
    ("function", "mark"), [("copy_beyond", "copy"), ("set_beyond", "set"), ("symbol_beyond", "symbol")]
)
def test_a_range_that_leaves_its_allocation_is_found(api: HostProgram, function: str, mark: str) -> None:
    assert api(function) == INVALID_VALUE
    assert api.kinds() == ["out_of_bounds_global"]
    assert api.lines() == [api.line(mark)]


def test_memory_is_freed_once(api: HostProgram) -> None:
    assert api("freed_twice") == INVALID_VALUE
    assert api.lines() == [api.line("free")]


def test_a_refused_launch_leaves_an_error_that_is_told_once(api: HostProgram) -> None:
    assert api("too_many_threads", np.zeros(1, dtype=np.float32)) == INVALID_CONFIGURATION


def test_the_error_of_a_faulty_kernel_stays(api: HostProgram) -> None:
    # In a process of its own: the fault is the device's from then on.
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from pathlib import Path; from host_program import HostProgram; import tempfile\n"
        "print(HostProgram('api', Path(tempfile.mkdtemp()))('fault_is_kept'))"
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", program, str(here), str(here.parents[1])], capture_output=True, text=True, check=True,
        env=dict(os.environ),
    )  # fmt: skip
    assert done.stdout.strip() == "1"


@pytest.mark.parametrize(
    ("attribute", "value"),
    [(1, 1024), (8, 48 << 10), (10, 32), (16, 108), (39, 2048), (75, 8), (76, 0), (97, 163 << 10), (95, 1)],
)
def test_attributes_are_those_of_compute_capability_8_0(api: HostProgram, attribute: int, value: int) -> None:
    assert api("attribute", attribute) == value


def test_properties_say_the_same(api: HostProgram) -> None:
    assert [api("property", which) for which in range(5)] == [8, 108, 32, 163 << 10, 65535]


@pytest.mark.parametrize(
    ("threads", "shared", "blocks"),
    [(256, 0, 8), (1024, 0, 2), (32, 0, 32), (33, 0, 32), (128, 48 << 10, 3), (256, 163 << 10, 1), (2048, 0, 0)],
)
def test_occupancy_follows_from_threads_and_shared_memory(
    api: HostProgram, threads: int, shared: int, blocks: int
) -> None:
    assert api("resident_blocks", threads, shared) == blocks


def test_the_best_block_fills_a_multiprocessor(api: HostProgram) -> None:
    assert 2048 % api("best_block") == 0


def test_shared_memory_can_be_raised_to_a_devices_limit(api: HostProgram) -> None:
    assert api("allow_shared", 163 << 10) == 0
    assert api("allow_shared", (227 << 10) + 1) == INVALID_VALUE


def test_events_measure_time_once_recorded(api: HostProgram) -> None:
    assert api("events") == INVALID_HANDLE


def test_errors_have_names_and_texts(api: HostProgram) -> None:
    assert api("error_name", 700, returns=ctypes.c_char_p) == b"cudaErrorIllegalAddress"
    assert api("error_string", 2, returns=ctypes.c_char_p) == b"out of memory"


def test_there_is_one_device(api: HostProgram) -> None:
    assert api("second_device") == INVALID_DEVICE
