"""Facts in prompts about a task and a machine: all that is public about them, and the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from rotation import rotating

from robust_kbench.agents import brief
from robust_kbench.agents.brief import HINTS, brief_for
from robust_kbench.agents.judging import Form
from robust_kbench.agents.starts import form_of
from robust_kbench.devices import Device
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.errors import SpecError
from robust_kbench.registry import baselines_of, load_task, read_submission, task_names
from robust_kbench.schema.submission import Language

ONE_OF_EACH = ("attention/causal", "index/topk", "norm/rmsnorm", "random/dropout")


class Clocked:
    """A CUDA device that is warmer each time it is asked."""

    kind = "cuda"

    def __init__(self) -> None:
        self.degrees = 40

    def facts(self) -> dict[str, str]:
        self.degrees += 1
        changing = {name: str(self.degrees) for name in ("temperature", "sm_clock", "memory_clock", "power")}
        return {"device": "A GPU", "memory": "80 GiB", "capability": "9.0", "uuid_hash": "1234", **changing}


@pytest.mark.parametrize("language", ["cpp", "cuda", "python", "triton"])
@pytest.mark.parametrize("name", rotating(task_names()))
def test_the_contract_holds_axes_dtypes_tensors_and_the_reference(name: str, language: Language) -> None:
    task = load_task(name)
    form = Form(form_of(task, language))
    text = brief_for(task, form, CpuDevice()).task
    assert task.reference.rstrip() in text
    assert form.start.symbol in text
    for dtype in form.start.file.dtypes or ():
        assert dtype in text
    for each, axis in task.spec.axes.items():
        sizes = ", ".join(map(str, axis.values)) if axis.values else f"{each} {axis.low} to {axis.high}"
        assert sizes in text
    for tensor, spec in task.spec.tensors.items():
        assert f"{tensor} {spec.dtype}" in text
    for rule in task.spec.constraints:
        assert rule in text
    for binding in task.spec.timed["cpu"]:
        assert ", ".join(f"{axis} {size}" for axis, size in binding.items()) in text


def test_a_c_function_is_declared_as_the_compiler_will_see_it() -> None:
    task = load_task("norm/rmsnorm")
    text = brief_for(task, Form(form_of(task, "cpp")), CpuDevice()).task
    declared = 'extern "C" void rmsnorm(\n    const KBENCH_T* x,\n    const KBENCH_T* weight,\n    KBENCH_T* y,\n'
    assert declared in text
    assert "T is float32." in text
    assert "strided" not in text


@pytest.mark.parametrize("language", ["python", "triton"])
def test_python_kernels_are_told_of_layouts(language: Language) -> None:
    task = load_task("norm/rmsnorm")
    text = brief_for(task, Form(form_of(task, language)), CpuDevice()).task
    assert "may be contiguous, offset, pitched, strided, transposed." in text
    assert "KBENCH_T" not in text


def test_what_a_launched_kernel_and_its_other_files_need_stands_in_the_contract() -> None:
    (folder,) = (each for each in baselines_of("norm/rmsnorm") if each.name == "cuda_launch_plan")
    launched = read_submission(folder)
    more = launched.model_copy(update={"sources": {**launched.sources, "more.cuh": "// ``` more"}})
    text = brief_for(load_task("norm/rmsnorm"), Form(more), cast(Device, Clocked())).task
    assert launched.file.launches[0].kernel in text
    assert "````\n// ``` more\n````" in text


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_timed_shapes_are_those_of_the_device(name: str) -> None:
    task = load_task(name)
    text = brief_for(task, Form(form_of(task, "cuda")), cast(Device, Clocked())).task
    for binding in task.spec.timed["cuda"]:
        assert ", ".join(f"{axis} {size}" for axis, size in binding.items()) in text


def test_the_hardware_is_what_does_not_change() -> None:
    task, device = load_task("norm/rmsnorm"), cast(Device, Clocked())
    first, second = (brief_for(task, Form(form_of(task, "cuda")), device) for _ in range(2))
    assert first == second
    assert "- device: A GPU\n" in first.hardware
    assert "1234" not in first.hardware
    assert first.hints == HINTS


def test_a_processor_is_told_with_its_vectors_and_the_compiler() -> None:
    task = load_task("norm/rmsnorm")
    text = brief_for(task, Form(form_of(task, "cpp")), CpuDevice()).hardware
    assert "- compiler: g++ -std=c++17 -O3 -march=native" in text
    assert "- vector instructions: " in text


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_brief_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    told = brief_for(task, Form(form_of(task, "cpp")), CpuDevice())
    brief.write(told, tmp_path / "brief.json")
    assert brief.read(tmp_path / "brief.json") == told


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"task": 1, "hardware": "", "fence": "", "hints": []}', "[" * 100_000, "\udcff"]
)
def test_a_brief_that_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "brief.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SpecError, match=r"brief\.json: does not hold what a run tells"):
        brief.read(tmp_path / "brief.json")
