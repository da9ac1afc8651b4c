"""Checks of the doctor, each against a machine made up for it: its words, and the command that it names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from conftest import needs_compiler
from specimens import ALL_LAYERS

from robust_kbench.devices import nvml
from robust_kbench.doctor import can_judge, compilers, examine, gpu, host, packages, sandbox
from robust_kbench.doctor.diagnosis import Diagnosis, Status, output_of
from robust_kbench.isolation import pool

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Put a shell script before everything else on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, script: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def nothing_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def statuses(found: list[Diagnosis]) -> dict[str, Status]:
    return {each.name: each.status for each in found}


# Packages


@pytest.mark.parametrize(
    ("version", "status"), [("3.11.0", "ok"), ("3.12.4", "ok"), ("3.13.0rc1", "ok"), ("3.10.14", "missing")]
)
def test_python_is_held_to_the_range_that_the_package_declares(version: str, status: Status) -> None:
    found = packages.python(version, ">=3.11")
    assert (found.status, found.is_required) == (status, status == "missing")


def test_a_package_that_is_absent_or_too_old_comes_with_the_command_that_installs_it() -> None:
    versions = {"torch": "2.10.0", "numpy": "2.1.0"}
    lines = ["torch<2.14,>=2.11", "numpy>=1.26", "scipy>=1.11", "ray>=2; extra == 'cluster'"]
    found = {each.name: each for each in packages.requirements(lines, {}, versions.get)}
    assert list(found) == ["torch", "scipy", "others"]
    assert found["torch"].found == "2.10.0, but <2.14,>=2.11 is needed"
    assert found["torch"].remedy == "pip install 'torch<2.14,>=2.11'"
    assert (found["scipy"].status, found["scipy"].found) == ("missing", "not installed")
    assert not can_judge(found.values())
    assert found["others"].found == "1 packages in the ranges that are asked for"


@pytest.mark.parametrize(
    ("name", "able"), [("nvidia-ml-py", True), ("triton", True), ("torch", False), ("numpy", False)]
)
def test_only_what_judging_takes_keeps_from_judging_when_it_is_absent(name: str, able: bool) -> None:
    (found, _) = packages.requirements([f"{name}>=1"], {}, lambda name: None)
    assert found.status == "missing"
    assert can_judge([found]) is able


@pytest.mark.parametrize(
    ("version", "status"),
    [("2.13.0", "ok"), ("2.13.0+cpu", "ok"), ("2.13.0+cu130", "ok"), ("2.12.1", "warn"), ("2.13.1", "warn")],
)
def test_another_release_than_the_tested_one_is_a_remark(version: str, status: Status) -> None:
    (found, _) = packages.requirements(["torch>=2.11"], {"torch": "2.13.0"}, {"torch": version}.get)
    assert found.status == status
    assert (found.remedy == "pip install 'torch==2.13.0'") is (status == "warn")
    assert can_judge([found])


def test_pins_are_read_from_the_constraints_of_a_checkout(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    assert packages.pins(path) == {}
    path.write_text("# torch==1.0.0 is old\ntorch==2.13.0\ntriton==3.7.1\n")
    assert packages.pins(path) == {"torch": "2.13.0", "triton": "3.7.1"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("raise ImportError('libcudart.so.13: cannot open')", "ImportError: libcudart.so.13: cannot open"),
        ("import os; os.kill(os.getpid(), 11)", "exit code -11"),
    ],
    ids=["raises", "crashes"],
)
def test_a_broken_pytorch_ends_the_examination_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, text: str, found: str
) -> None:
    broken = packages.inspect_torch(text)
    assert (broken.status, broken.found, broken.is_required) == ("missing", found, True)
    monkeypatch.setattr(packages, "inspect_torch", lambda: broken)
    everything = list(examine())
    assert everything[-1] == broken
    assert {each.group for each in everything} == {"packages"}
    assert not can_judge(everything)


# Compilers


@needs_compiler
def test_a_compiler_that_works_is_named_with_its_version() -> None:
    found = compilers.gxx()
    assert found.status == "ok"
    assert "g++" in found.found


@pytest.mark.usefixtures("nothing_on_the_path")
def test_without_compilers_python_and_triton_can_still_be_judged() -> None:
    found = list(compilers.inspect())
    assert statuses(found) == {"g++": "missing", "nvcc": "missing"}
    assert found[0].remedy == "sudo apt-get install g++"
    assert can_judge(found)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'fatal error: no libstdc++' >&2; exit 1", "fatal error: no libstdc++"),
        ("exit 0", "kernel.so"),
        ("echo text > kernel.so", "kernel.so"),
    ],
    ids=["fails", "writes nothing", "writes nonsense"],
)
def test_a_compiler_that_is_there_and_does_not_work_is_missing(program: Program, script: str, words: str) -> None:
    program("g++", script)
    found = compilers.gxx()
    assert found.status == "missing"
    assert found.found.startswith("does not build a function of one line: ")
    assert words in found.found


@needs_compiler
def test_a_compiler_whose_code_is_wrong_is_missing(program: Program) -> None:
    real = shutil.which("g++")
    program("wrong", f'echo \'extern "C" int answer() {{ return 41; }}\' > w.cpp; shift; exec {real} "$@"')
    command = ["wrong", "g++", "-shared", "-fPIC", "w.cpp", "-include", "stdlib.h"]
    found = compilers._try("g++", command, "empty.cpp", "", "remedy")
    assert found == Diagnosis("compilers", "g++", "missing", "a function that returns 42 returned 41", "remedy")


# The GPU


@pytest.mark.usefixtures("nothing_on_the_path")
def test_a_machine_without_a_gpu_has_one_line_and_can_judge() -> None:
    (found,) = gpu.inspect()
    assert (found.status, found.found.partition(":")[0]) == ("missing", "no nvidia-smi")
    assert can_judge([found])


@pytest.mark.rotating
def test_a_gpu_is_examined_with_the_tools_around_it() -> None:
    facts = {"device": "NVIDIA H200", "memory": "143771 MiB", "driver": "580.65.06", "sm_clock_max": "1980 MHz"}
    found = {each.name: each for each in gpu.examine(facts)}
    assert list(found) == ["device", "datasheet", "torch", "ncu", "counters", "compute-sanitizer"]
    assert found["device"].found == "NVIDIA H200, 143771 MiB, driver 580.65.06"
    assert found["datasheet"].figures["bfloat16_flops_per_s"] == pytest.approx(989.4e12 * 1980 / 1830)


def test_a_driver_that_shows_no_device_is_told_from_no_driver(program: Program) -> None:
    program("nvidia-smi", "exit 9")
    (found,) = gpu.inspect()
    assert found.found.startswith("nvidia-smi shows no device")


def test_a_known_gpu_is_shown_with_its_peaks_and_their_source() -> None:
    found = gpu.peaks("NVIDIA H200", 1980)
    assert found.status == "ok"
    assert found.found == "4.80 TB/s, 67.0 float32 TFLOP/s (NVIDIA H200 datasheet (2024))"
    assert found.figures["memory_bytes_per_s"] == 4.8e12
    assert found.figures["fp8_flops_per_s"] == pytest.approx(1978.9e12 * 1980 / 1830)


def test_a_gpu_that_is_not_in_the_table_is_a_remark() -> None:
    found = gpu.peaks("NVIDIA GeForce GTX 1080", None)
    assert found.status == "warn"
    assert "is not in the table" in found.found


@pytest.mark.parametrize(
    ("words", "status", "found"),
    [
        ("2.13.0+cu130 13.0 True", "ok", "2.13.0+cu130 on CUDA 13.0"),
        ("2.13.0+cpu None False", "missing", "2.13.0+cpu is a build without CUDA"),
        ("2.13.0+cu130 13.0 False", "missing", "PyTorch sees no device"),
        ("", "missing", "PyTorch sees no device"),
    ],
)
def test_pytorch_is_asked_whether_it_reaches_the_device(words: str, status: Status, found: str) -> None:
    answer = gpu.torch_sees_it(lambda command: words)
    assert answer.status == status
    assert answer.found.startswith(found)


def test_a_management_library_that_is_not_there_is_a_remark() -> None:
    assert gpu.management(nvml.Nvml(MagicMock(), "0")).status == "ok"
    found = gpu.management(nvml.Smi("0"))
    assert (found.status, found.remedy) == ("warn", "pip install nvidia-ml-py")


def test_nvidias_tools_are_looked_up_on_the_path(program: Program) -> None:
    path = program("ncu", "exit 0")
    assert gpu.tool("ncu", "profiles") == Diagnosis("gpu", "ncu", "ok", str(path))
    absent = gpu.tool("no-such-tool", "profiles")
    assert (absent.status, absent.found) == ("missing", "not on the PATH: no profiles")


@pytest.mark.parametrize(("user", "status"), [(0, "ok"), (1000, "warn")])
def test_counters_that_only_root_may_read_are_a_remark_for_everybody_else(
    tmp_path: Path, user: int, status: Status
) -> None:
    path = tmp_path / "params"
    path.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    assert gpu.counters(path, user).status == status
    path.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 0\n")
    assert gpu.counters(path, user).status == "ok"


# The sandbox


def test_a_real_worker_says_which_layers_it_is_in() -> None:
    found = list(sandbox.inspect())
    assert statuses(found)["worker"] == "ok"
    assert [each.name for each in found[1:]] == list(ALL_LAYERS)
    assert statuses(found)["seccomp"] == "ok"


def test_a_layer_that_ranking_needs_is_missing_and_another_a_remark(tmp_path: Path) -> None:
    found = {each.name: each for each in sandbox.layers(set(ALL_LAYERS) - {"landlock", "ipc namespace"}, tmp_path)}
    assert {name for name, each in found.items() if each.status != "ok"} == {"landlock", "ipc namespace"}
    assert found["landlock"].status == "missing"
    assert "not ranked" in found["landlock"].found
    assert "lsm=landlock" in found["landlock"].remedy
    assert found["ipc namespace"].status == "warn"
    assert "--security-opt" in found["ipc namespace"].remedy
    assert can_judge(found.values())


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=10000"),
    ],
)
def test_the_setting_that_forbids_namespaces_is_the_one_to_change(
    tmp_path: Path, setting: str, value: str, remedy: str
) -> None:
    path = tmp_path / setting
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    (found,) = (each for each in sandbox.layers(["own process"], tmp_path) if each.name == "user namespace")
    assert found.remedy == remedy


def test_a_worker_that_does_not_start_leaves_nothing_to_judge_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORKER_COMMAND", ("/bin/false",))
    (found,) = sandbox.inspect()
    assert (found.name, found.status, found.is_required) == ("worker", "missing", True)


# The machine


def test_one_core_is_a_remark_because_the_handshake_blocks() -> None:
    assert host.cores([0, 3]).found == "2: the judge spins on core 0, workers run on core 3"
    assert host.cores([2]).status == "warn"


@pytest.mark.parametrize(("foreign", "status"), [(0.0, "ok"), (0.05, "ok"), (0.06, "warn"), (1.5, "warn")])
def test_load_of_others_is_held_to_what_a_session_may_have(foreign: float, status: Status) -> None:
    assert host.load(foreign).status == status


def test_only_paging_that_goes_on_now_is_a_remark() -> None:
    assert (host.swap(0).status, host.swap(3).status) == ("ok", "warn")


def test_the_load_of_this_process_is_its_own() -> None:
    foreign, swapped = host.activity(0.01)
    assert foreign >= 0
    assert swapped >= 0


@pytest.mark.parametrize(
    ("free_gib", "status"),
    [(20.0, "ok"), (6.0, "ok"), (5.9, "warn"), (1.0, "warn"), (0.9, "missing"), (0.0, "missing")],
)
def test_memory_is_held_to_a_workers_allowance(free_gib: float, status: Status) -> None:
    found = host.memory(int(free_gib * 2**30))
    assert found.status == status
    assert can_judge([found]) is (status != "missing")


@pytest.mark.parametrize(("free_mib", "status"), [(4096, "ok"), (2047, "warn"), (64, "warn"), (63, "missing")])
def test_a_full_disk_leaves_no_room_to_build(free_mib: int, status: Status) -> None:
    found = host.disk("/tmp", free_mib << 20)
    assert found.status == status
    assert can_judge([found]) is (status != "missing")


@pytest.mark.parametrize(
    ("governors", "status", "words"),
    [
        ((), "ok", "not shown"),
        (("performance", "performance"), "ok", "performance"),
        (("performance", "powersave"), "warn", "performance, powersave: clocks ramp up"),
    ],
)
def test_a_governor_that_saves_power_is_a_remark(
    tmp_path: Path, governors: tuple[str, ...], status: Status, words: str
) -> None:
    for number, name in enumerate(governors):
        path = tmp_path / f"cpu{number}/cpufreq/scaling_governor"
        path.parent.mkdir(parents=True)
        path.write_text(f"{name}\n")
    found = host.governor(tmp_path)
    assert found.status == status
    assert found.found.startswith(words)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("intel_pstate/no_turbo", "0", "on:"),
        ("intel_pstate/no_turbo", "1", "off"),
        ("cpufreq/boost", "1", "on:"),
        ("cpufreq/boost", "0", "off"),
        ("elsewhere/boost", "0", "not shown"),
    ],
)
def test_turbo_is_a_fact_where_the_kernel_tells_it(tmp_path: Path, place: str, value: str, words: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    found = host.turbo(tmp_path)
    assert found.status == "ok"
    assert found.found.startswith(words)


def test_the_inductor_cache_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert host.inductor_cache().found.startswith("0 MiB")
    (found,) = tmp_path.iterdir() if any(tmp_path.iterdir()) else (tmp_path,)
    assert found == tmp_path, "looking makes no folders"


def test_a_cache_that_cannot_be_written_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    found = host.inductor_cache()
    assert (found.status, found.remedy) == ("warn", "export XDG_CACHE_HOME=/path/that/is/yours")


# Around them


@pytest.mark.parametrize(
    ("status", "required", "able"),
    [("ok", True, True), ("warn", True, True), ("missing", False, True), ("missing", True, False)],
)
def test_only_what_is_required_and_missing_keeps_kernels_from_being_judged(
    status: Status, required: bool, able: bool
) -> None:
    assert can_judge([Diagnosis("g", "n", status, "f", is_required=required)]) is able


def test_a_program_that_fails_hangs_or_is_absent_says_nothing() -> None:
    assert output_of(["echo", " words "]) == "words"
    assert output_of(["sh", "-c", "echo words; exit 1"]) == ""
    assert output_of(["sleep", "60"], timeout_s=0.01) == ""
    assert output_of(["/no/such/program"]) == ""


@pytest.mark.rotating
def test_whatever_is_not_ok_comes_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = list(examine())
    assert [each.name for each in found if each.status != "ok" and not each.remedy] == []
    assert {each.group for each in found} == {"packages", "machine", "sandbox", "compilers", "gpu", "ceilings"}
