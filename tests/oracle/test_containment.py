from __future__ import annotations

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge

RECTIFIED = load_made_task("import torch\ndef reference(x, weight):\n    return torch.relu(x * weight)\n")
PROBE = make_case(axes={"rows": 3, "cols": 4}, probe="nonfinite")


def _inputs() -> Inputs:
    x = torch.arange(1.0, 13.0).reshape(3, 4)
    x[1, 2] = -torch.inf
    return Inputs({"x": x, "weight": torch.ones(4)})


def _is_accepted(place: tuple[int, int], value: float) -> bool:
    inputs = _inputs()
    expected = Judge(RECTIFIED.spec, Reference(RECTIFIED)).expect(PROBE, inputs)
    answer = torch.relu(inputs.tensors["x"])
    answer[place] = value
    return expected.judge({"y": answer})["y"].is_accepted


@pytest.mark.parametrize(
    ("value", "is_accepted"), [(0.0, True), (torch.nan, True), (torch.inf, True), (1.0, False), (-1.0, False)]
)
def test_where_an_infinity_cancels_the_result_may_be_right_or_not_finite(value: float, is_accepted: bool) -> None:
    assert _is_accepted((1, 2), value) == is_accepted


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 0.0])
def test_what_an_infinity_does_not_reach_must_be_right(value: float) -> None:
    assert not _is_accepted((1, 1), value)
    assert _is_accepted((1, 1), 6.0)


def test_a_mismatch_of_such_a_case_is_explained_at_its_element() -> None:
    inputs = _inputs()
    expected = Judge(RECTIFIED.spec, Reference(RECTIFIED)).expect(PROBE, inputs)
    answer = torch.relu(inputs.tensors["x"])
    answer[1, 2], answer[2, 3] = torch.nan, torch.nan
    words = expected.explain("y", {"y": answer}, expected.judge({"y": answer})["y"])
    assert words.startswith("y[2, 3]: got nan, expected 12")
    assert "1 of 12 wrong" in words


class Spreading(Reference):
    """PyTorch on a processor whose matrix products carry a NaN over into the row before."""

    def native(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        answers = super().native(inputs)
        x = inputs.tensors["x"]
        if not x.isfinite().all() and x.shape[1] % 2:
            answers["y"][0] = torch.nan
        return answers


@pytest.mark.parametrize(
    ("cols", "value", "is_accepted"),
    [
        pytest.param(5, torch.nan, True, id="where PyTorch spreads it, nobody need keep it"),
        pytest.param(5, 7.0, False, id="but what is finite must be right"),
        pytest.param(4, torch.nan, False, id="where PyTorch keeps it, so must others"),
    ],
)
def test_others_need_keep_a_nan_no_better_than_pytorch_does(cols: int, value: float, is_accepted: bool) -> None:
    x = torch.arange(1.0, 3 * cols + 1).reshape(3, cols)
    x[1, 2] = torch.nan
    inputs = Inputs({"x": x, "weight": torch.ones(cols)})
    case = make_case(axes={"rows": 3, "cols": cols}, probe="nonfinite")
    expected = Judge(RECTIFIED.spec, Spreading(RECTIFIED)).expect(case, inputs)
    answer = torch.relu(x)
    assert expected.judge({"y": answer})["y"].is_accepted
    answer[2, 1] = value
    assert expected.judge({"y": answer})["y"].is_accepted == is_accepted


def test_what_a_device_spreads_is_no_excuse_for_an_answer_that_it_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its libraries compute whole tiles; the host says what is due."""
    case = make_case(axes={"rows": 3, "cols": 5}, probe="nonfinite")
    inputs = Inputs({"x": torch.ones(3, 5).index_fill(0, torch.tensor([2]), torch.inf), "weight": torch.ones(5)})
    judge = Judge(RECTIFIED.spec, Spreading(RECTIFIED))
    answer = {"y": torch.full((3, 5), torch.nan)}
    assert judge.expect(case, inputs).judge(answer)["y"].is_accepted
    monkeypatch.setattr(Inputs, "place", "cuda")
    assert not judge.expect(case, Inputs(inputs.values)).judge(answer)["y"].is_accepted


def test_a_number_is_right_where_the_library_has_one_though_nan_is_due() -> None:
    """scaled_dot_product_attention makes zeros of a softmax over nothing but -inf."""
    source = """
import torch


def reference(x, weight):
    return torch.softmax(x, 1) * weight


def functional(x, weight):
    return torch.softmax(x, 1).nan_to_num(0.0) * weight
"""
    inputs = _inputs()
    inputs.tensors["x"][1] = -torch.inf
    answer = torch.softmax(inputs.tensors["x"], 1)
    for baselines, is_right in (({"functional": "reference.py::functional"}, True), ({}, False)):
        task = load_made_task(source, baselines=baselines)
        expected = Judge(task.spec, Reference(task)).expect(PROBE, inputs)
        zeros = answer.nan_to_num(0.0)
        assert expected.judge({"y": answer})["y"].is_accepted
        assert expected.judge({"y": zeros})["y"].is_accepted is is_right
        zeros[2, 1] = 0.0
        assert not expected.judge({"y": zeros})["y"].is_accepted
