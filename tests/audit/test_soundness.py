"""References that are not what they say, or that cannot tell much: each is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from rotation import rotating
from written_task import write_task

from robust_kbench.audit.soundness import ailments
from robust_kbench.registry import LoadedTask, load_task, task_names
from robust_kbench.schema.case import Case


def found(task: LoadedTask, rows: int = 40, cols: int = 60) -> str:
    axes = {"rows": rows, "cols": cols}
    cases = [Case(axes=axes, dtype="float16", seed=seed) for seed in (1, 2)]
    return "\n".join(ailments(task, cases))


def reference(body: str) -> str:
    return f"import torch\n\ndef reference(x, weight):\n    return {body}\n"


def test_a_product_is_sound(tmp_path: Path) -> None:
    assert found(write_task(tmp_path)) == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("(x * weight)[:-1]", "y has shape [39, 60] in float64; declared: [40, 60]"),
        ("(x * weight).float()", "y is torch.float32 in float64; declared: float64"),
        ("(x * weight).float()", "y is torch.float32 natively; declared: float16"),
        ("x * weight / 0.0", "y is not finite in float64"),
        ("(x * weight) + 200 - 200", "y: PyTorch's own error is "),
        ("(x.float() * weight.float()).to(x.dtype)", "y: equal steps of the inputs bend the float64 answer by "),
        ("x * weight.float().exp().to(x.dtype)", "y: equal steps of the inputs bend the float64 answer by "),
        ("x[:, :1] + 0 * x * weight", "y varies along axis 1 by no more than "),
        ("x[:1] + 0 * x * weight", "y varies along axis 0 by no more than "),
        ("1 + x * weight * 0.001", "y varies between seeds by no more than "),
        ("x * weight * 2.0 ** -17", "of the elements are too small for float16"),
    ],
)
def test_a_reference_that_is_not_sound_is_found_out(tmp_path: Path, body: str, message: str) -> None:
    assert message in found(write_task(tmp_path, reference(body)))


@pytest.mark.parametrize(
    "body",
    [
        "(x * weight).relu()",
        "torch.maximum(x, weight)",
        "(x * weight).softmax(-1)",
        "(x * weight).sort(-1).values",
        "(x / 64).sort(0).values",
        "x.cumsum(-1) * weight",
    ],
)
def test_kinks_and_small_outputs_are_no_ailments(tmp_path: Path, body: str) -> None:
    assert found(write_task(tmp_path, reference(body), reduction="cols")) == ""


@pytest.mark.parametrize(("body", "is_rounded"), [
    ("(300 * x * weight).sin()", False),
    ("(300 * x * weight).sin().float().to(x.dtype)", True),
    ("(300 * x * weight).float().to(x.dtype).sin()", True),
])  # fmt: skip
def test_what_is_steep_bends_the_more_the_longer_the_step_and_what_is_rounded_does_not(
    tmp_path: Path, body: str, is_rounded: bool
) -> None:
    assert ("equal steps of the inputs bend" in found(write_task(tmp_path, reference(body)))) is is_rounded


def test_the_sizes_do_not_matter(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert found(task, 1, 1) == ""
    assert found(task, 512, 3) == ""


@pytest.mark.parametrize("name", rotating(task_names()))
def test_no_task_of_the_registry_has_an_ailment(name: str) -> None:
    from robust_kbench.audit.examine import SEED, audit_cases

    task = load_task(name)
    assert list(ailments(task, audit_cases(task, "float32", SEED))) == []
