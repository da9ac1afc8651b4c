"""Surveys of problems: axes, weights, inputs that are no tensors, and values on which an op is well-conditioned.

The problems here are our own, so that they may be surveyed in this process.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import foreign
import pytest
import torch

from robust_kbench.cases.values import make_inputs
from robust_kbench.importers import axes, surveys
from robust_kbench.importers import survey as survey_module
from robust_kbench.importers.description import Request, Surveyed
from robust_kbench.importers.problem import ModelProblem, Refused
from robust_kbench.importers.survey import Survey
from robust_kbench.importers.surveys import surveyed
from robust_kbench.importers.trying import Trying
from robust_kbench.importers.writing import reference_text
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import parse
from robust_kbench.schema.task import Task

What = Literal["model", "function", "gradient", "definition"]


def survey(source: str, what: What = "model", **options: Any) -> list[Surveyed]:
    request = Request(
        what=what, name="made/problem", source=source, summary="A problem of these tests.", origin="these tests",
        options=options,
    )  # fmt: skip
    return list(surveyed(request, time.monotonic() + 60))


def task_of(found: Surveyed) -> Task:
    return parse(Task, {**found.task, "name": "made/problem"}, "task.yaml")


def loaded(found: Surveyed, source: str) -> LoadedTask:
    from pathlib import Path

    text = reference_text(source, found.adapter, "A problem of these tests.")
    return LoadedTask(task_of(found), Path("made/problem"), text, "sha256:0")


def answers(found: Surveyed, source: str, **axes: int) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return the inputs and the native outputs at these sizes."""
    task = loaded(found, source)
    inputs = make_inputs(task.spec, Case(axes=axes, dtype=task.spec.dtypes[0], seed=3))
    return dict(inputs.values), Reference(task).native(inputs)


def test_constants_that_are_sizes_become_axes_and_weights_become_inputs() -> None:
    (found,) = survey(foreign.AFFINE)
    task = task_of(found)
    assert {name: (axis.low, axis.high) for name, axis in task.axes.items()} == {
        "rows": (1, 4096), "columns": (1, 512), "features": (1, 256),
    }  # fmt: skip
    assert {name: (spec.shape, spec.role, spec.fan_in) for name, spec in task.inputs.items()} == {
        "x": (("rows", "columns"), "activation", 1),
        "layer_weight": (("features", "columns"), "parameter", "columns"),
        "layer_bias": (("features",), "parameter", 4),
    }
    assert task.outputs["y"].shape == ("rows", "features")
    assert (task.reduction, task.cost.flops) == ("columns", "2 * rows * columns * features")
    assert task.timed["cuda"] == ({"rows": 4096, "columns": 512, "features": 256},)
    assert found.faults == ()


def test_its_reference_computes_what_the_model_does_at_any_size() -> None:
    (found,) = survey(foreign.AFFINE)
    values, outputs = answers(found, foreign.AFFINE, rows=5, columns=7, features=3)
    expected = torch.nn.functional.linear(values["x"], values["layer_weight"], values["layer_bias"])
    assert torch.equal(outputs["y"], expected)


@pytest.mark.rotating
def test_a_size_that_must_divide_is_a_multiple_and_buffers_stay_what_they_are() -> None:
    (found,) = survey(foreign.GROUPED)
    task = task_of(found)
    assert task.axes["channels"].multiple_of == 6
    assert set(task.inputs) == {"x", "convolution_weight", "convolution_bias", "norm_weight", "norm_bias"}
    assert task.inputs["norm_weight"].shift == 1.0
    values, outputs = answers(found, foreign.GROUPED, batch=2, channels=12, height=6, width=8)
    inner = torch.nn.functional.conv2d(values["x"], values["convolution_weight"], values["convolution_bias"]) * 2
    expected = torch.nn.functional.group_norm(inner, 6, values["norm_weight"], values["norm_bias"])
    torch.testing.assert_close(outputs["y"], expected)


def test_integers_are_indices_below_what_they_were_drawn_below() -> None:
    (found,) = survey(foreign.LOSS)
    spec = task_of(found).inputs["targets"]
    assert (spec.role, spec.dtype, spec.below) == ("index", "int64", "classes")


def test_truth_values_are_masks_and_numbers_are_scalars() -> None:
    (found,) = survey(foreign.MASKED)
    task = task_of(found)
    assert (task.inputs["mask"].role, task.inputs["mask"].dtype) == ("mask", "uint8")
    factor = task.inputs["factor"]
    assert (factor.role, factor.choices, factor.between) == ("scalar", (2.5,), (1.25, 5.0))
    values, outputs = answers(found, foreign.MASKED, shape_0=4, shape_1=9)
    assert torch.equal(outputs["y"], values["x"] * values["mask"] * values["factor"])


def test_the_structure_of_a_matrix_is_imposed_by_the_reference() -> None:
    (found,) = survey(foreign.TRIANGLES)
    values, outputs = answers(found, foreign.TRIANGLES, n=6)
    assert float(values["a"].tril(-1).abs().max()) > 0.0
    torch.testing.assert_close(outputs["y"], (values["a"].triu() @ values["b"].triu()).triu())


@pytest.mark.slow
def test_random_numbers_that_a_model_draws_become_inputs() -> None:
    (found,) = survey(foreign.RECURRENT)
    task = task_of(found)
    assert [name for name in task.inputs if name.startswith("draw")] == ["draw_0", "draw_1"]
    assert task.inputs["draw_0"].shape == (1, "batch", "hidden")
    assert found.faults == ()


def test_a_model_that_is_random_in_another_way_has_a_fault() -> None:
    (found,) = survey(foreign.DROPPING)
    assert found.faults == (
        "two calls with the same values give different answers: it draws random numbers, or keeps a state",
    )


@pytest.mark.parametrize("source", [foreign.CENTRED, foreign.OVERWRITTEN], ids=["differentiable", "overwritten"])
def test_weights_without_influence_are_left_out(source: str) -> None:
    (found,) = survey(source)
    assert set(task_of(found).inputs) == {"x", "layer_weight", "norm_weight", "norm_bias"}
    assert any("layer.bias" in note for note in found.notes)


def test_an_axis_begins_where_the_answer_is_a_number() -> None:
    (found,) = survey(foreign.SPREAD)
    axes = task_of(found).axes
    assert (axes["rows"].low, axes["columns"].low) == (1, 2)
    assert "smaller sizes are ill-conditioned: columns < 2" in found.notes


def test_no_axis_begins_above_the_size_that_the_problem_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trying, "_fails", lambda self, sizes, seeds=(): sizes["rows"] < 8)
    (found,) = survey(foreign.FEW_ROWS)
    task = task_of(found)  # it refuses timed sizes that are none of the axis
    assert task.axes["rows"].low == 3
    assert [binding["rows"] for bindings in task.timed.values() for binding in bindings] == [3, 3]


def test_a_processor_is_timed_at_no_size_that_is_ill_conditioned() -> None:
    task = {"axes": {"rows": {"low": 1, "high": 64}}, "timed": {"cpu": [{"rows": 4}], "cuda": [{"rows": 64}]}}
    assert surveys._raise_sizes(task, {"rows": 8}) == ["smaller sizes are ill-conditioned: rows < 8"]
    assert task == {"axes": {"rows": {"low": 8, "high": 64}}, "timed": {"cpu": [{"rows": 8}], "cuda": [{"rows": 64}]}}


def test_groups_hold_more_than_the_one_number_that_the_smallest_sizes_leave() -> None:
    (found,) = survey(foreign.GROUPS)
    task = task_of(found)
    assert (task.axes["features"].multiple_of, task.axes["features"].high) == (256, 4096)
    low = task.axes["features"].low
    assert low is not None
    assert low > 256
    assert {"normal", "uniform", "lognormal"} <= set(task.distributions)
    assert found.faults == ()


def test_groups_hold_four_numbers_where_two_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The need for four depends on the processor: on some, PyTorch's own variance of two numbers is coarse."""
    monkeypatch.setattr(Trying, "_fails", lambda self, sizes, seeds=(): sizes["features"] < 4 * 256)
    (found,) = survey(foreign.GROUPS)
    assert task_of(found).axes["features"].low == 4 * 256
    assert "smaller sizes are ill-conditioned: features < 1024" in found.notes


def test_sizes_that_only_work_when_they_are_equal_are_one_axis() -> None:
    (found,) = survey(foreign.TIED)
    task = task_of(found)
    assert [task.inputs[name].shape for name in ("scores", "signs")] == [("rows", "rows"), ("rows",)]
    assert (task.axes["rows"].low, task.axes["rows"].high) == (1, 20000)
    _, outputs = answers(found, foreign.TIED, rows=7)
    assert outputs["y"].shape == ()


def test_a_problem_without_sizes_has_one_fixed_case() -> None:
    (found,) = survey(foreign.FIXED)
    task = task_of(found)
    assert (task.axes["one"].values, task.inputs["x"].shape) == ((1,), (3, 3))
    assert task.summary.endswith("(fixed shapes)")


def test_in_float64_nothing_is_rounded_though_the_source_asks_for_it() -> None:
    (found,) = survey(foreign.FORWARD, "function", configurations=[[{"rows": 64, "columns": 32}, {"columns": 32}]])
    task = loaded(found, foreign.FORWARD)
    inputs = make_inputs(task.spec, Case(axes={"columns": 8, "rows": 4}, dtype="float32", seed=1))
    x, weight, eps = (inputs.values[name] for name in ("x", "weight", "eps"))
    wide, factor = x.double(), weight.double()  # type: ignore[union-attr]
    expected = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * factor
    assert torch.equal(Reference(task).exact(inputs)["y"], expected)


def test_the_arguments_of_an_injected_function_are_the_inputs() -> None:
    configurations = [[{"rows": 64, "columns": 32}, {"columns": 32}], [{"rows": 200, "columns": 96}, {"columns": 96}]]
    (found,) = survey(foreign.FORWARD, "function", configurations=configurations)
    task = task_of(found)
    assert list(task.inputs) == ["x", "weight", "eps", "stride"]
    assert task.inputs["weight"].role == "parameter"
    assert (task.inputs["stride"].value, task.inputs["eps"].choices) == (1, (0.001,))
    assert task.timed["cuda"] == ({"columns": 32, "rows": 64}, {"columns": 96, "rows": 200})
    assert task.axes["rows"].high >= 200


def test_a_configuration_that_differs_in_more_than_sizes_is_a_task_of_its_own() -> None:
    configurations = [[{}, {"stride": 1}], [{}, {"stride": 2}]]
    first, second = survey(foreign.FORWARD, "function", configurations=configurations)
    assert (task_of(first).inputs["stride"].value, task_of(second).inputs["stride"].value) == (1, 2)


def test_a_configuration_that_does_not_run_costs_no_other() -> None:
    configurations = [[{}, {"eps": "none"}], [{}, {"stride": 2}]]
    (found,) = survey(foreign.FORWARD, "function", configurations=configurations)
    assert task_of(found).inputs["stride"].value == 2
    assert any(note.startswith("configurations that do not run: 1, such as by ") for note in found.notes)


def test_where_no_configuration_runs_the_last_error_is_told() -> None:
    with pytest.raises(Refused, match="unsupported operand"):
        survey(foreign.FORWARD, "function", configurations=[[{}, {"eps": "none"}]])


def test_widths_of_layers_are_axes_and_their_number_is_none() -> None:
    (found,) = survey(foreign.PERCEPTRON)
    assert {"layer_sizes_0", "layer_sizes_1"} <= set(task_of(found).axes)
    assert "num_layers" not in task_of(found).axes


def test_the_small_sizes_that_a_problem_is_tried_at_are_little_work() -> None:
    survey = Survey(ModelProblem(foreign.VOLUME))
    assert len(survey.space.origin) == 5
    assert survey.space.measure.elements <= 1 << 22
    assert survey.space.measure.flops <= 1 << 31


def test_an_axis_that_only_large_steps_fit_is_one() -> None:
    (found,) = survey(foreign.MANY_GROUPS)
    assert task_of(found).axes["channels"].multiple_of == 256


def test_sizes_of_one_are_tried_last() -> None:
    assert list(axes._smaller(64)) == [16, 32, 8, 4, 2, 1]
    assert list(axes._smaller(10)) == [5]


def test_a_problem_that_cannot_be_small_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "_MOST_ELEMENTS", 10)
    with pytest.raises(Refused, match="none of its sizes can be small, and together its tensors have"):
        survey(foreign.AFFINE)


def test_a_backward_pass_is_differentiated_and_called_as_its_kernels_are() -> None:
    configurations = [[{"rows": 48, "columns": 32}, {"columns": 32, "features": 24}]]
    (found,) = survey(foreign.BACKWARD, "gradient", configurations=configurations)
    task = task_of(found)
    assert {name: spec.role for name, spec in task.inputs.items()} == {
        "x": "activation", "weight": "parameter", "grad_output": "gradient",
    }  # fmt: skip
    assert [spec.shape for spec in task.outputs.values()] == [
        ("features",), ("rows", "columns"), ("features", "columns"),
    ]  # fmt: skip
    assert found.adapter.call[:2] == (("tuple", [0, 1]), ("value", 2))
    values, outputs = answers(found, foreign.BACKWARD, columns=5, features=3, rows=4)
    torch.testing.assert_close(outputs["y0"], values["grad_output"].sum(0))
    torch.testing.assert_close(outputs["y1"], values["grad_output"] @ values["weight"])
    torch.testing.assert_close(outputs["y2"], values["grad_output"].T @ values["x"])


def test_a_definition_keeps_its_shapes_its_dtypes_and_its_numbers() -> None:
    options = {
        "definition": foreign.DEFINITION, "sizes": {"rows": 96}, "numbers": {"eps": 0.001}, "stored": [],
        "workloads": [{"rows": 48}, {"rows": 96}],
    }  # fmt: skip
    (found,) = survey(foreign.DEFINITION["reference"], "definition", **options)
    task = task_of(found)
    assert (task.dtypes, task.outputs["scale"].dtype) == (("bfloat16",), "float32")
    assert (task.inputs["table"].dtype, task.inputs["order"].dtype, task.inputs["order"].below) == (
        "float32", "int32", "rows",
    )  # fmt: skip
    assert task.outputs["y"].shape == ("rows", 32)
    assert task.timed["cuda"] == ({"rows": 96}, {"rows": 48})


def test_halves_that_pytorch_rounds_three_times_are_no_ill_conditioned_ones() -> None:
    options = {"definition": foreign.HALVES, "sizes": {"rows": 96}, "numbers": {}, "stored": [], "workloads": []}
    (found,) = survey(foreign.HALVES["reference"], "definition", **options)
    assert found.faults == ()
    assert {"normal", "uniform", "lognormal", "sparse", "needles"} <= set(task_of(found).distributions)


def test_an_axis_reaches_to_every_size_that_is_timed() -> None:
    assert surveys._reaching({"low": 2, "high": 8, "multiple_of": 1}, [4, 1, 9]) == {
        "low": 1, "high": 9, "multiple_of": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class Model:\n    pass\n\n\ndef get_inputs():\n    return []\n", "has no attribute"),
        (foreign.AFFINE.replace("self.layer(x)", "None"), "returns no tensor"),
        (foreign.AFFINE.replace("import torch\n", "import torch\nimport no_such_package\n", 1), "no_such_package"),
    ],
    ids=["no model", "no answer", "a package that is not there"],
)
def test_a_problem_that_does_not_run_says_why(source: str, words: str) -> None:
    with pytest.raises((ValueError, AttributeError), match=words):
        survey(source)
