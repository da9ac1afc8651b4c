"""The text of imported files says what was imported, whatever that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import foreign
import pytest
import torch

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.importers.description import Adapter, Found, Request, Surveyed
from robust_kbench.importers.naming import Names
from robust_kbench.importers.writing import reference_text, task_text, write_task
from robust_kbench.schema.documents import read_yaml

NASTY = "x = '''a\\\n\"\"\"\r\n\x0cend\u2028 {y} %s\n"


def names_of(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "reference.py", "exec"), names)
    return names


@pytest.mark.parametrize("kind", ["model", "function", "gradient"])
def test_a_reference_holds_the_imported_text_letter_by_letter(kind: Any) -> None:
    names = names_of(reference_text(NASTY, Adapter(kind=kind), 'A title with """ and \\ in it.'))
    assert names["PROBLEM"] == NASTY
    assert callable(names["reference"])


def test_the_constants_of_an_adapter_are_literals() -> None:
    hostile = Adapter(kind="model", splices=((0, 1, "'); import os; ('"),), sizes=(("a\nb", 0, 1),))
    names = names_of(reference_text("", hostile, "A title."))
    assert names["SPLICES"] == ((0, 1, "'); import os; ('"),)
    assert names["SIZES"] == (("a\nb", 0, 1),)


def test_a_reference_binds_weights_by_name_and_another_model_by_shape() -> None:
    adapter = Adapter(
        kind="model", splices=((236, 244, "{rows}"),), sizes=(), arguments=(("value", 0),),
        parameters=(("layer.weight", 1), ("layer.bias", 2)),
    )  # fmt: skip
    names = names_of(reference_text(foreign.AFFINE, adapter.model_copy(update={"splices": ()}), "A title."))
    model = names_of(foreign.NEW_AFFINE)["ModelNew"]
    values = torch.randn(3, 512), torch.randn(256, 512), torch.randn(256)
    torch.testing.assert_close(names["run"](model, *values), names["reference"](*values))


def test_a_model_that_lacks_a_weight_says_which() -> None:
    adapter = Adapter(kind="model", arguments=(("value", 0),), parameters=(("layer.weight", 1),))
    names = names_of(reference_text(foreign.AFFINE, adapter, "A title."))
    model = names_of(foreign.NEW_AFFINE.replace("features, columns)", "columns, features)", 2))["ModelNew"]
    with pytest.raises(ValueError, match=r"no parameter of shape \[256, 512\] for layer.weight"):
        names["run"](model, torch.randn(3, 512), torch.randn(256, 512))


def test_default_dtype_and_arithmetic_are_restored_after_a_float64_call() -> None:
    adapter = Adapter(kind="function", entry="f", arguments=(("value", 0),))
    names = names_of(
        reference_text("import torch\n\ndef f(x):\n    return x.half() + torch.ones(1)\n", adapter, "A title.")
    )
    x = torch.full((1,), 1 + 2.0**-40, dtype=torch.float64)
    assert torch.equal(names["reference"](x), x + 1)
    assert torch.get_default_dtype() == torch.float32


def test_a_task_file_survives_the_strict_reader() -> None:
    data = {"name": "a/b", "axes": {"n": {"low": 1}}, "inputs": {"x": {"shape": ["n", 3], "shift": 1e-06}}}
    assert read_yaml(task_text(data), "task.yaml") == data


def test_names_are_short_lower_case_and_given_once() -> None:
    names = Names()
    given = [names.give(each) for each in ("N", "n", "N", "layers.0.attn.qkv.weight", "class", "2d", "é")]
    assert given == ["n", "n_size", "n_size2", "layers_0_attn_qkv_weight", "class_size", "n2d", "x"]
    long = names.give(".".join(["module"] * 20))
    assert len(long) <= 40
    assert long.isidentifier()


def write(tmp_path: Path, **changes: Any) -> Path:
    from specimens import TASK

    task = {key: value for key, value in TASK.items() if key != "name"}
    surveyed = Surveyed(task={**task, **changes}, adapter=Adapter(kind="model"))
    request = Request(what="model", name="made/scale", source="", title="theirs")
    return write_task(tmp_path, "made/scale", surveyed, Found("x.py", "kernelbench", request))


def test_a_task_is_written_where_there_is_none(tmp_path: Path) -> None:
    folder = write(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["imported.yaml", "reference.py", "task.yaml"]
    with pytest.raises(UsageError, match="already exists"):
        write(tmp_path)


def test_a_description_that_is_no_task_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="reduction"):
        write(tmp_path, reduction="__import__('os')")
    assert list(tmp_path.iterdir()) == []
