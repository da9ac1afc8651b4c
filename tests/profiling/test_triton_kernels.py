from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench.errors import BuildError
from robust_kbench.profiling import nvcc, tools, triton_kernels
from robust_kbench.profiling.nvcc import Cubin
from robust_kbench.profiling.reports import CompilerReport
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import Submission
from robust_kbench.worker import landlock

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or tools.find("cuobjdump") is None, reason="no triton with its tools"
)
TASK = load_task("norm/rmsnorm").spec
CASES = [Case(axes={"rows": 8, "cols": 1024}, dtype="float32", seed=1)]
SOURCE = """
import torch
import triton
import triton.language as tl
{head}
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, {body}, mask=at < n)

def rmsnorm(x, weight, y):
    {host}
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(){options})
"""
ENTRY = '{"capability": 90, "name": "f", "shared_bytes": 0, "warps": 4, "stages": 3}'
OPTIONS = ", BLOCK=1024, num_warps=2"
AUTOTUNED = '@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((512, 8), (256, 4))], key=["n"])'


def kernel(
    submit: Submit,
    *,
    head: str = "",
    body: str = "tl.load(x + at, mask=at < n) * 2",
    host: str = "",
    options: str = OPTIONS,
) -> Submission:
    source = SOURCE.format(head=head, body=body, host=host or "pass", options=options)
    return submit(source, language="triton", abi="destination")


def compiled(
    submission: Submission, folder: Path, architectures: tuple[str, ...] = ("sm_90",)
) -> tuple[CompilerReport, list[Cubin]]:
    return triton_kernels.compile_kernels(submission, TASK, CASES, architectures, folder)


@pytest.mark.rotating
def test_a_launch_is_compiled_for_each_architecture_without_a_device(submit: Submit, tmp_path: Path) -> None:
    report, cubins = compiled(kernel(submit), tmp_path, ("sm_80", "sm_90"))
    assert [found.architecture for found in report.kernels] == ["sm_80", "sm_90"]
    assert {found.kernel for found in report.kernels} == {"scale (2 warps, 3 stages)"}
    assert all(list(found.occupancy) == [64] and found.registers > 0 for found in report.kernels)
    mixes = nvcc.disassemble(cubins, tmp_path, keep_listing=False).kernels
    assert [mix.kernel for mix in mixes] == ["scale", "scale"]
    assert all(128 in mix.widths["LDG"] for mix in mixes)


@pytest.mark.rotating
def test_of_an_autotuner_the_first_configuration_is_compiled(submit: Submit, tmp_path: Path) -> None:
    report, _ = compiled(kernel(submit, head=AUTOTUNED, options=""), tmp_path)
    assert [found.kernel for found in report.kernels] == ["scale (8 warps, 3 stages)"]


@pytest.mark.rotating
def test_an_error_of_the_compiler_is_a_failure(submit: Submit, tmp_path: Path) -> None:
    report, cubins = compiled(kernel(submit, body="tl.no_such_function(x)"), tmp_path)
    assert "CompilationError" in report.failure
    assert cubins == []


@pytest.mark.rotating
def test_host_code_that_wants_a_real_device_is_no_failure(submit: Submit, tmp_path: Path) -> None:
    report, _ = compiled(kernel(submit, host="assert x.is_cuda, 'needs a GPU'"), tmp_path)
    assert report.failure == ""
    assert report.notes[-1] == "not compiled ahead of time: float32: AssertionError: needs a GPU"


@pytest.mark.rotating
def test_a_submission_that_launches_nothing_is_told_so(submit: Submit, tmp_path: Path) -> None:
    report, _ = compiled(kernel(submit, host="return"), tmp_path)
    assert report.notes[-1] == "float32: the submission launches no Triton kernel"


def test_a_submission_that_ends_the_process_is_told_so(submit: Submit, tmp_path: Path) -> None:
    report, cubins = compiled(kernel(submit, host="__import__('os')._exit(0)"), tmp_path)
    assert "ended the process before its kernels were listed" in report.notes[-1]
    assert cubins == []


@pytest.mark.parametrize("forge", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo], ids=["link", "pipe"])
def test_a_list_of_kernels_is_a_regular_file(tmp_path: Path, forge: Callable[[Path], None]) -> None:
    forge(tmp_path / "kernels.json")
    with pytest.raises(BuildError, match="ended the process"):
        triton_kernels.read_manifest(tmp_path / "kernels.json")


@pytest.mark.parametrize("text", ["[{}]", "{", '[{"name": 1}]', f"[{', '.join([ENTRY] * 17)}]"])
def test_a_forged_list_of_kernels_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernels.json").write_text(text)
    with pytest.raises(BuildError, match="the list of compiled kernels is none"):
        triton_kernels.read_manifest(tmp_path / "kernels.json")


@pytest.mark.rotating
@pytest.mark.skipif(not landlock.is_available(), reason="this machine has no landlock")
def test_host_code_can_write_nowhere_but_to_the_folder_of_the_build(submit: Submit, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    report, _ = compiled(kernel(submit, host=f"open({str(tmp_path / 'outside')!r}, 'w')"), home)
    assert not (tmp_path / "outside").exists()
    assert "PermissionError" in report.notes[-1]
