"""Abi launch: device code and a plan. The emulator runs the same plan that a device's trusted launcher follows."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import pytest
from conftest import needs_compiler

from robust_kbench.devices import nvml
from robust_kbench.errors import SpecError
from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.languages import cuda, launches
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema import arithmetic
from robust_kbench.schema.documents import parse
from robust_kbench.schema.submission import Submission, SubmissionFile
from robust_kbench.worker.cuda import launches as launcher

FOLDER = data_folder("baselines") / "norm" / "rmsnorm" / "cuda_launch_plan"
TASK = load_task("norm/rmsnorm").spec
ONE: dict[str, Any] = {"kernel": "go", "grid": ["rows"], "block": [256], "arguments": ["x", "y"]}


def header(**keys: Any) -> SubmissionFile:
    data = {"task": "norm/rmsnorm", "language": "cuda", "abi": "launch", "entry_point": "kernel.cu::rmsnorm"}
    return parse(SubmissionFile, {**data, "launches": [ONE], **keys}, "submission.yaml")


def submission(**keys: Any) -> Submission:
    return Submission(name="mine", file=header(**keys), sources={"kernel.cu": "// nothing\n"})


@pytest.mark.rotating
@needs_compiler
def test_a_plan_of_two_kernels_with_scratch_between_them_passes_on_the_emulator(evaluator: Evaluator) -> None:
    record = evaluator.evaluate(read_submission(FOLDER), tier="quick")
    assert (record.status, record.execution, record.abi) == ("passed", "emulated", "launch"), record.reason


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        pytest.param("grid: [rows]", "grid: [1]", "rejected", id="one block for all rows", marks=pytest.mark.slow),
        pytest.param("[x, scales, cols]", "[x, scales, rows]", "incorrect", id="another axis", marks=pytest.mark.slow),
        pytest.param("4 * rows", "2 * rows", "rejected", id="scratch that is too small", marks=pytest.mark.slow),
        pytest.param("[x, scales, cols]", "[x, scales]", "build_failed", id="an argument that is missing"),
        pytest.param("kernel: row_scales", "kernel: row_scale", "build_failed", id="a kernel that does not exist"),
    ],
)
def test_a_wrong_plan_is_found(before: str, after: str, status: str, evaluator: Evaluator) -> None:
    import yaml

    text = (FOLDER / "submission.yaml").read_text()
    assert before in text
    file = parse(SubmissionFile, yaml.safe_load(text.replace(before, after)), "submission.yaml")
    wrong = Submission(name="wrong", file=file, sources={"kernel.cu": (FOLDER / "kernel.cu").read_text()})
    record = evaluator.evaluate(wrong, tier="full", seed=1)
    assert record.status == status, record.reason


@needs_compiler
def test_names_in_a_plan_may_be_those_of_variables_and_words_of_cpp(evaluator: Evaluator) -> None:
    import yaml

    plan, source = ((FOLDER / name).read_text() for name in ("submission.yaml", "kernel.cu"))
    plan = re.sub(r"\bscales\b", "double", plan)
    for before, after in (("row_scales", "cols"), ("scale_rows", "stream")):
        plan, source = plan.replace(f"kernel: {before}", f"kernel: {after}"), source.replace(f"{before}(", f"{after}(")
    file = parse(SubmissionFile, yaml.safe_load(plan), "submission.yaml")
    named = Submission(name="named", file=file, sources={"kernel.cu": source})
    record = evaluator.evaluate(named, tier="quick", seed=1, case=0)
    assert record.status == "passed", record.reason


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"launches": []}, "needs at least one launch"),
        ({"abi": "c"}, "belong to abi launch"),
        ({"launches": [{**ONE, "grid": []}]}, "launches.0.grid"),
        ({"launches": [{**ONE, "grid": ["rows ** 2"]}]}, "only integers, axes"),
        ({"launches": [{**ONE, "block": ["__import__('os')"]}]}, "only integers, axes"),
        ({"launches": [{**ONE, "kernel": "a; b"}]}, "launches.0.kernel"),
        ({"scratch": {"a b": 4}}, "is no name of an argument"),
        ({"scratch": {"part": "f(rows)"}}, "only integers, axes"),
    ],
    ids=str,
)
def test_a_malformed_plan_is_refused_at_the_door(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words.replace("(", r"\(")):
        header(**keys)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"launches": [{**ONE, "arguments": ["x", "z"]}]}, "launches.0: no 'z'; there are x, weight, y, rows, cols"),
        ({"launches": [{**ONE, "grid": ["columns"]}]}, "launches.0: no 'columns'"),
        ({"scratch": {"part": "columns"}}, "scratch.part: no axis 'columns'"),
        ({"scratch": {"x": "rows"}}, "scratch.x: norm/rmsnorm has an argument of that name"),
    ],
    ids=str,
)
def test_a_plan_that_does_not_fit_the_task_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        launches.check(submission(**keys), TASK)


@pytest.mark.parametrize("expression", ["rows", "(cols + 255) // 256", "rows - (rows > 5) * (rows - 5)", "7 % 4", 12])
def test_the_workers_programs_give_what_the_expressions_give(expression: str | int) -> None:
    axes = {"rows": 9, "cols": 1000}
    assert launcher.evaluate(arithmetic.postfix(expression), axes) == arithmetic.evaluate(expression, axes)


def test_the_launcher_follows_the_plan() -> None:
    called: list[tuple[Any, ...]] = []

    class Driver:
        def __call__(self, name: str, *arguments: Any) -> None:
            called.append((name, *arguments))

    plan = launches.plan(
        submission(
            launches=[
                {**ONE, "grid": ["rows", 2], "shared_bytes": "cols * 8", "arguments": ["y", "cols", "x"]},
                {**ONE, "grid": ["rows - 3"]},
            ]
        ),
        TASK,
    )
    launch = launcher.Launcher(Driver(), ctypes.c_void_p(), plan)  # type: ignore[arg-type]
    called.clear()
    addresses = [ctypes.c_void_p(place) for place in (16, 32, 48)]
    launch(*addresses, ctypes.c_int64(3), ctypes.c_int64(10_000), ctypes.c_void_p(99))
    assert [name for name, *_ in called] == ["cuFuncSetAttribute", "cuLaunchKernel"]  # the second grid is empty
    _, _, *sizes, stream, pointers, _ = called[1]
    assert [size.value for size in sizes] == [3, 2, 1, 256, 1, 1, 80_000]
    assert stream.value == 99
    passed = [ctypes.c_int64.from_address(pointers[number]).value for number in range(3)]
    assert passed == [48, 10_000, 16]


@pytest.mark.parametrize(
    ("architecture", "flag"),
    [
        ("sm_80", "-arch=sm_80"),
        ("sm_89", "-arch=sm_89"),
        ("sm_90", "-gencode=arch=compute_90a,code=sm_90a"),
        ("sm_120", "-gencode=arch=compute_120a,code=sm_120a"),
    ],
)
def test_nvcc_is_told_what_it_cannot_ask_in_a_sandbox(
    architecture: str, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "architecture", lambda: architecture)
    assert cuda._for_this_device() == flag
