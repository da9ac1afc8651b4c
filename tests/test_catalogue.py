"""The list of tasks: tags, and which tasks stand for the problems of other suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.catalogue import entries, suites
from robust_kbench.folders import data_folder
from robust_kbench.registry import load_task, task_names

SUITES = suites(data_folder("tasks"))
ORIGINALS = (
    "layernorm", "llama_ffw", "llama_rmsnorm", "mnist_conv_relu_pool", "mnist_cross_entropy", "mnist_linear",
    "mnist_linear_relu", "mnist_pool", "resnet_block", "unet_conv2d", "unet_linear",
)  # fmt: skip
FORWARD_ONLY = {"llama_ffw", "resnet_block", "unet_conv2d"}


def test_all_hundred_problems_of_kernelbench_level_1_have_tasks() -> None:
    numbers = [int(problem.split()[0]) for problem in SUITES["kernelbench_level1"]]
    assert numbers == list(range(1, 101))


def test_all_eleven_of_robust_kbench_have_tasks_and_eight_have_gradients() -> None:
    backward = [f"{name} backward" for name in ORIGINALS if name not in FORWARD_ONLY]
    assert len(backward) == 8
    assert sorted(SUITES["robust_kbench"]) == sorted([*ORIGINALS, *backward])


def test_gradients_stand_for_gradients() -> None:
    for problem, tasks in SUITES["robust_kbench"].items():
        assert all(task.endswith("_backward") == problem.endswith(" backward") for task in tasks), problem


def test_evoengineers_categories_have_tasks() -> None:
    assert list(SUITES["evoengineer"]) == [
        "matmul variants", "activations", "losses", "normalisation", "convolution and pooling",
        "cumulative and attention",
    ]  # fmt: skip


@pytest.mark.parametrize("suite", SUITES)
def test_every_task_that_is_named_exists(suite: str) -> None:
    named = {task for tasks in SUITES[suite].values() for task in tasks}
    assert named <= set(task_names())
    assert all(SUITES[suite].values())


def test_tags_are_those_of_the_task_of_its_suites_and_backward(tmp_path: Path) -> None:
    for name, more in (("a/plain", ""), ("a/op_backward", "\ntags: [fused, fixed_shapes]")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "task.yaml").write_text(f"name: {name}\nsummary: Something.\ndtypes: [float32]{more}\n")
    (tmp_path / "suites.yaml").write_text("others:\n  1 thing: [a/plain, a/op_backward]\nmore:\n  that: [a/plain]\n")
    assert [entry.tags for entry in entries(tmp_path)] == [
        ("backward", "fixed_shapes", "fused", "others"),
        ("more", "others"),
    ]


def test_the_list_says_what_the_tasks_say() -> None:
    listed = {entry.name: entry for entry in entries(data_folder("tasks"))}
    for name in ("norm/rmsnorm", "quant/int8_gemm", "index/topk"):
        if name in listed:
            spec = load_task(name).spec
            assert (listed[name].summary, listed[name].dtypes, listed[name].precision) == (
                spec.summary, spec.dtypes, spec.precision,
            )  # fmt: skip
