"""Properties in the audit: what only they can see is killed, and honest variants keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from written_task import BANK, write_task

from robust_kbench.audit.examine import examine
from robust_kbench.audit.setting import Setting
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case

INPUTS: dict[str, Any] = {
    "x": {"shape": ["rows", "cols"]},
    "p": {"dtype": "float64", "role": "scalar", "choices": [0.25, 0.5]},
    "seed": {"dtype": "int64", "role": "scalar", "choices": [0, 1, 2]},
}
OUTPUTS = {"y": {"shape": ["rows", "cols"], "compare": "random", "law": "dropout"}}
REFERENCE = """
import torch

def reference(x, p, seed):
    kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= p
    return torch.where(kept, x / (1 - p), 0.0)
"""


def dropout(folder: Path, *properties: dict[str, str]) -> LoadedTask:
    return write_task(folder, REFERENCE, None, inputs=INPUTS, outputs=OUTPUTS, properties=list(properties))


@pytest.mark.rotating
def test_a_variant_that_ignores_its_seed_passes_where_each_answer_stands_alone(tmp_path: Path) -> None:
    found = examine(dropout(tmp_path), "float32").faults
    assert any(fault.startswith("non-answer seed_ignored passes") for fault in found)


def test_a_property_kills_it_and_spares_the_honest_ones(tmp_path: Path) -> None:
    found = examine(dropout(tmp_path, {"kind": "reseeded"}), "float32")
    tallies = {tally.name: tally for tally in found.trial.tallies}
    assert {outcome.prop for outcome in tallies["seed_ignored"].refused} == {"reseeded"}
    assert sum(outcome.prop == "reseeded" for outcome in tallies["pytorch"].outcomes) == 6
    assert not tallies["pytorch"].refused
    assert not any("seed_ignored" in fault for fault in found.faults)


def test_a_property_that_the_reference_does_not_have_refuses_the_task(tmp_path: Path) -> None:
    task = write_task(tmp_path, bank=BANK, properties=[{"kind": "sums_to", "value": 1.0}])
    assert any("honest pytorch is refused" in fault and "sums_to" in fault for fault in examine(task, "float32").faults)


def test_a_setting_beside_another_expects_the_answer_to_its_own_inputs(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    setting = Setting.of(task, Reference(task), Case(axes={"rows": 4, "cols": 5}, dtype="float32", seed=1))
    other = setting.beside(Inputs({**setting.inputs.values, "x": setting.inputs.tensors["x"] * 2}))
    assert (other.native["y"] == 2 * setting.native["y"]).all()
    assert setting.beside(setting.inputs) is setting
