"""`kbench doctor` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner, Result

from robust_kbench import doctor
from robust_kbench.cli.doctor import doctor as verb
from robust_kbench.doctor.diagnosis import Diagnosis

FINE = Diagnosis("packages", "torch", "ok", "2.13.0")
REMARK = Diagnosis("machine", "load", "warn", "others use 40% of a core", "stop what else runs here")
NO_GPU = Diagnosis("gpu", "device", "missing", "no nvidia-smi", "with a GPU: install NVIDIA's driver")
BROKEN = Diagnosis("sandbox", "worker", "missing", "does not start", "free memory", is_required=True)


def run(monkeypatch: pytest.MonkeyPatch, found: list[Diagnosis], *arguments: str) -> Result:
    def examine(*, measure: bool = False) -> Iterator[Diagnosis]:
        yield from found
        if measure:
            yield Diagnosis("ceilings", "cpu", "ok", "GB/s: 40", figures={"copy_bytes_per_s": 4e10})

    monkeypatch.setattr(doctor, "examine", examine)
    app = typer.Typer()
    app.command()(verb)
    return CliRunner().invoke(app, list(arguments))


def test_every_diagnosis_has_a_mark_and_every_fault_a_remedy_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, [FINE, REMARK, NO_GPU])
    assert result.stdout.splitlines() == [
        "packages",
        "  ok       torch   2.13.0",
        "machine",
        "  warn     load    others use 40% of a core",
        "                   -> stop what else runs here",
        "gpu",
        "  missing  device  no nvidia-smi",
        "                   -> with a GPU: install NVIDIA's driver",
        "kernels can be judged here; 2 remarks",
    ]
    assert result.exit_code == 0


def test_a_machine_that_cannot_judge_is_told_why_and_ends_in_1(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, [FINE, BROKEN, REMARK])
    assert result.stdout.splitlines()[-1] == "kernels cannot be judged here: worker"
    assert result.exit_code == 1


@pytest.mark.parametrize(("found", "able"), [([FINE, NO_GPU], True), ([BROKEN], False)])
def test_json_is_one_object_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, found: list[Diagnosis], able: bool
) -> None:
    result = run(monkeypatch, found, "--json")
    data = json.loads(result.stdout)
    assert data["can_judge"] is able
    assert [each["name"] for each in data["diagnoses"]] == [each.name for each in found]
    assert data["diagnoses"][0]["remedy"] == found[0].remedy
    assert result.exit_code == (0 if able else 1)


def test_figures_are_in_the_json_once_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, [FINE], "--json", "--measure")
    assert result.stderr.startswith("measuring, as soon as no evaluation runs here")
    assert json.loads(result.stdout)["diagnoses"][-1]["figures"] == {"copy_bytes_per_s": 4e10}


def test_what_other_programs_print_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = Diagnosis("gpu", "device", "ok", "NVIDIA \x1b[2J[red]\rH200\x07")
    assert "NVIDIA ?[2J[red]?H200?" in run(monkeypatch, [hostile]).stdout


def test_a_long_command_is_not_broken_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = "sudo " + "x" * 200
    result = run(monkeypatch, [Diagnosis("gpu", "ncu", "warn", "no", remedy)])
    assert f"-> {remedy}" in result.stdout
