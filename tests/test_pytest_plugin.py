"""The command `pytest tasks/`: the items that it collects, its reports, and the items that its lanes keep."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.folders import data_folder
from robust_kbench.pytest_plugin import KernelItem, deal_out, needs_checker

TASKS = data_folder("tasks")

RACING = """
__global__ void normalise(const float* x, const float* weight, float* y, int64_t cols) {
    __shared__ float total;
    float sum = 0.0f;
    for (int64_t i = 0; i < cols; ++i) sum += x[blockIdx.x * cols + i] * x[blockIdx.x * cols + i];
    total = rsqrtf(sum / cols + 1e-6f);  // both threads write the same word
    __syncthreads();
    for (int64_t i = threadIdx.x; i < cols; i += 2)
        y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] * total * weight[i];
}

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    if (rows > 0) normalise<<<rows, 2, 0, stream>>>(x, weight, y, cols);
}
"""


def run_pytest(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "robust_kbench.pytest_plugin", "-q", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a registry of one task."""
    shutil.copytree(
        TASKS / "norm/rmsnorm", tmp_path / "tasks/norm/rmsnorm", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_a_task_is_collected_as_spec_references_and_kernels(tree: Path) -> None:
    done = run_pytest("tasks", "--collect-only", cwd=tree)
    assert "tasks/norm/rmsnorm/task.yaml::spec" in done.stdout
    assert "tasks/norm/rmsnorm/task.yaml::reference[bfloat16]" in done.stdout
    assert "tasks/norm/rmsnorm/task.yaml::kernel[cpp_simd]" in done.stdout


@pytest.mark.rotating
@pytest.mark.skipif(CudaDevice.is_present(), reason="everything is timed on a GPU")
def test_kernels_that_are_timed_here_can_be_left_for_a_quiet_machine(tree: Path) -> None:
    timed, others = (
        run_pytest("tasks", "--collect-only", "-m", which, cwd=tree).stdout for which in ("timed", "not timed")
    )
    for kernel in ("cpp_simd", "python_two_pass"):
        assert f"kernel[{kernel}]" in timed
        assert f"kernel[{kernel}]" not in others
    for item in ("kernel[triton_tile]", "kernel[cuda_register_rows]", "spec", "reference[float32]"):
        assert f"::{item}" in others
        assert f"::{item}" not in timed


TELL_CORES = """
import os, pathlib

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        name = session.config.workerinput["workerid"]
        pathlib.Path(f"cores-{name}").write_text(" ".join(map(str, sorted(os.sched_getaffinity(0)))))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.parametrize(
    ("chosen", "is_shared"),
    [("spec", False), pytest.param("spec or python_two_pass", True, marks=pytest.mark.rotating)],
)
def test_side_by_side_each_process_keeps_to_cores_of_its_own_unless_one_has_to_measure(
    chosen: str, is_shared: bool, tree: Path
) -> None:
    (tree / "conftest.py").write_text(TELL_CORES)
    done = run_pytest("tasks", "-n", "2", "-k", chosen, cwd=tree)
    assert done.returncode == 0, done.stdout
    first, second = (set((tree / f"cores-gw{number}").read_text().split()) for number in (0, 1))
    assert first | second == set(map(str, os.sched_getaffinity(0)))
    assert bool(first & second) == is_shared


@pytest.mark.rotating
def test_a_sound_task_passes(tree: Path) -> None:
    done = run_pytest("tasks", "-k", "spec or float32", cwd=tree)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.rotating
def test_a_broken_spec_fails_with_one_message_and_no_traceback(tree: Path) -> None:
    path = tree / "tasks/norm/rmsnorm/task.yaml"
    path.write_text(path.read_text().replace("summary:", "sumary:"))
    done = run_pytest("tasks", cwd=tree)
    assert "sumary: unknown key; did you mean 'summary'?" in done.stdout
    assert "Traceback" not in done.stdout
    assert "1 failed" in done.stdout


@pytest.mark.rotating
def test_a_reference_with_other_arguments_than_the_spec_fails(tree: Path) -> None:
    path = tree / "tasks/norm/rmsnorm/reference.py"
    path.write_text(
        path.read_text().replace("def reference(x:", "def reference(z:").replace("return x *", "return z *")
    )
    done = run_pytest("tasks", "-k", "spec", cwd=tree)
    assert "reference(z, weight) does not take the inputs x, weight" in done.stdout


@pytest.mark.rotating
def test_a_task_that_zeros_pass_measures_nothing(tree: Path) -> None:
    path = tree / "tasks/norm/rmsnorm/reference.py"
    path.write_text(path.read_text().replace("return x *", "return 0 * x *"))
    done = run_pytest("tasks", "-k", "reference and float32", cwd=tree)
    assert "zeros is always the right answer, so the task measures nothing" in done.stdout


@pytest.mark.rotating
def test_a_submission_of_the_command_line_is_judged_with_the_task(tree: Path) -> None:
    wrong = tree / "mine"
    wrong.mkdir()
    (wrong / "kernel.py").write_text("def rmsnorm(x, weight):\n    return x.new_zeros(x.shape)\n")
    (wrong / "submission.yaml").write_text(
        "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::rmsnorm\ndtypes: [float32]\n"
    )
    done = run_pytest("tasks", "--submission", wrong, "-k", "kernel and mine", cwd=tree)
    assert done.returncode == 1
    assert "got 0, expected" in done.stdout
    assert "reproduce kbench evaluate" in done.stdout


@pytest.mark.rotating
def test_the_fast_lane_keeps_every_spec_and_a_share_of_the_rest(tree: Path) -> None:
    full = run_pytest("tasks", "--collect-only", cwd=tree).stdout.splitlines()
    fast = run_pytest("tasks", "--collect-only", "--lane", "fast", cwd=tree).stdout.splitlines()
    nodes = [[line for line in lines if "task.yaml::" in line] for lines in (full, fast)]
    assert "tasks/norm/rmsnorm/task.yaml::spec" in nodes[1]
    assert set(nodes[1]) < set(nodes[0])


@pytest.mark.rotating
def test_the_quick_lane_keeps_every_kernel_and_one_reference(tree: Path) -> None:
    full, quick = (
        [line for line in run_pytest("tasks", "--collect-only", "--lane", lane, cwd=tree).stdout.splitlines()]
        for lane in ("full", "quick")
    )
    assert [line for line in quick if "reference" not in line and "::" in line] == [
        line for line in full if "reference" not in line and "::" in line
    ]
    assert sum("::reference[" in line for line in full) == 3
    assert sum("::reference[" in line for line in quick) == 1


@pytest.mark.rotating
@pytest.mark.parametrize(("lane", "is_checked"), [("quick", False), ("fast", True), ("full", True)])
def test_the_quick_lane_judges_an_emulated_kernel_without_the_checker(lane: str, is_checked: bool, tree: Path) -> None:
    """The checker finds that two threads write the same word with nothing between them."""
    racing = tree / "racing"
    racing.mkdir()
    (racing / "kernel.cu").write_text(RACING)
    (racing / "submission.yaml").write_text(
        "task: norm/rmsnorm\nlanguage: cuda\nabi: c\nentry_point: kernel.cu::rmsnorm\ndtypes: [float32]\n"
    )
    done = run_pytest("tasks", "--submission", racing, "-k", "kernel and racing", "--lane", lane, cwd=tree)
    assert ("race" in done.stdout) == is_checked, done.stdout  # whoever gives one wants to know of it
    assert ("1 failed" if is_checked else "1 passed") in done.stdout


@pytest.mark.parametrize("day", range(8))
def test_every_day_has_as_many_timed_kernels_and_others_as_any_other(day: int) -> None:
    timed = [_item(f"timed {number}", is_timed=True) for number in range(57)]
    others = [_item(f"other {number}", is_timed=False) for number in range(180)]
    deal_out([*timed, *others])
    counts = [sum(KernelItem.is_due(item, "fast", day) for item in items) for items in (timed, others)]
    assert counts in ([7, 22], [7, 23], [8, 22], [8, 23])


def test_an_item_keeps_its_share_from_day_to_day() -> None:
    item = _item("one", is_timed=True)
    deal_out([item])
    assert [KernelItem.is_due(item, "fast", day) for day in range(800, 816)] == [True, *[False] * 7] * 2


def _item(name: str, *, is_timed: bool) -> Any:
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda marker: is_timed and marker == "timed" or None)


def test_the_checker_looks_at_every_kernel_in_full_and_at_changed_ones_in_the_fast_lane() -> None:
    lanes = [(lane, changed) for lane in ("full", "fast", "quick") for changed in (False, True)]
    found = [needs_checker(lane, has_changed=changed) for lane, changed in lanes]
    assert found == [True, True, False, True, False, False]


def test_an_item_has_changed_where_a_file_of_its_folder_has_and_where_it_was_given() -> None:
    """An item that is due and unchanged goes without the checker."""
    for watched, changed, expected in (
        (Path("kernel"), {Path("kernel/kernel.cu")}, True),
        (Path("kernel"), {Path("kernel_of_another/kernel.cu")}, False),
        (None, set[Path](), True),
    ):
        for is_due in (False, True):
            item: Any = SimpleNamespace(watched=watched, is_due=lambda lane, day, due=is_due: due)
            assert KernelItem.is_kept(item, "fast", frozenset(changed)) is (expected or is_due)
            assert item.has_changed is expected


def test_the_fast_lane_runs_what_the_last_commit_changed(tree: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for command in (
        ["init", "-q"],
        ["add", "pytest.ini"],
        ["commit", "-qm", "one"],
        ["add", "."],
        ["commit", "-qm", "two"],
    ):
        subprocess.run([*git, *command], cwd=tree, check=True)
    fast = run_pytest("tasks", "--collect-only", "--lane", "fast", cwd=tree).stdout
    for dtype in ("float32", "float16", "bfloat16"):
        assert f"task.yaml::reference[{dtype}]" in fast
