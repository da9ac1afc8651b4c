"""The halves of nvcc's work, side by side, as `nvcc --dryrun` lists them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler, nvcc

LISTED = r"""#$ _SPACE_=
#$ CICC_PATH=/usr/local/cuda/nvvm/bin
#$ INCLUDES="-I/usr/local/cuda/include"
#$ rm halves/k_dlink.reg.c
#$ gcc -E k.cu -o "halves/k.cpp4.ii"
#$ cudafe++ --m64 --gen_module_id_file --module_id_file_name "halves/k.module_id" "halves/k.cpp4.ii"
#$ gcc -D__CUDA_ARCH__=900 -E k.cu -o "halves/k.cpp1.ii"
#$ "$CICC_PATH/cicc" -arch compute_90a --module_id_file_name "halves/k.module_id" "halves/k.cpp1.ii"
#$ ptxas -arch=sm_90a "halves/k.ptx" -o "halves/k.cubin"
#$ fatbinary --create="halves/k.fatbin" "--image3=kind=elf,sm=90a,file=halves/k.cubin"
#$ gcc -c -x c++ "halves/k.cudafe1.cpp" -o "halves/k.o"
#$ fatbinary --create="halves/k_dlink.fatbin"
#$ g++ "halves/k.o" -shared -o k.so
"""
TOOLS = ("gcc", "cudafe++", "nvvm/cicc", "ptxas", "fatbinary", "g++")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with tools that note how they were called; FAILS names one that fails."""
    folder = tmp_path / "tools"
    for tool in TOOLS:
        path = folder / tool
        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.name
        path.write_text(
            f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/calls\necho {name} speaks\n[ "$FAILS" != {name} ]\n'
        )
        path.chmod(0o755)
    return folder


def run_script(folder: Path, tools: Path, fails: str = "") -> tuple[int, str, list[str]]:
    """Exit code, output, and the calls of a script that is made of LISTED."""
    (folder / "halves").mkdir(exist_ok=True)
    script = nvcc.side_by_side(LISTED.replace("/usr/local/cuda/nvvm/bin", str(tools / "nvvm")))
    assert script is not None
    environment = {"PATH": f"{tools}:{os.defpath}", "FAILS": fails}
    done = subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, (folder / "calls").read_text().splitlines()


def test_every_tool_runs_once_and_after_what_it_needs(tmp_path: Path, tools: Path) -> None:
    code, output, calls = run_script(tmp_path, tools)
    assert code == 0
    due = [line.removeprefix("#$ ") for line in LISTED.splitlines() if "halves/" in line and "rm " not in line]
    due = [each.replace('"', "").replace("$CICC_PATH/", "").replace("--gen_module_id_file ", "") for each in due]
    assert sorted(calls) == sorted(due)
    assert calls.index(due[0]) < calls.index(due[1])
    assert [call for call in calls if call in due[2:6]] == due[2:6]
    assert calls[-3:] == due[-3:]
    assert output.count("gcc speaks") == 3
    assert (tmp_path / "halves/k.module_id").read_text().startswith("_")


@pytest.mark.parametrize(("fails", "told"), [("cudafe++", "cudafe++"), ("cicc", "cicc"), ("ptxas", "ptxas")])
def test_an_error_of_either_half_ends_it_and_is_told_once(tmp_path: Path, tools: Path, fails: str, told: str) -> None:
    code, output, calls = run_script(tmp_path, tools, fails)
    assert code == 1
    assert output.splitlines()[-1] == f"{told} speaks"
    assert not any(call.startswith("g++") for call in calls)
    assert ("cicc speaks" in output) is (fails != "cudafe++")


@pytest.mark.parametrize(
    "listed",
    [
        "",
        "nvcc fatal   : Unknown option '--dryrun'",
        LISTED.replace("cudafe++", "another"),
        LISTED.replace(" --gen_module_id_file", ""),
        LISTED + LISTED,
        LISTED.replace("fatbinary", "nvlink"),
        LISTED.replace('cicc" -arch compute_90a --module_id_file_name', 'cicc" -arch compute_90a'),
    ],
)
def test_what_is_listed_in_any_other_way_is_left_to_nvcc(listed: str) -> None:
    assert nvcc.side_by_side(listed) is None


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH; install the CUDA toolkit")
@pytest.mark.slow
@pytest.mark.parametrize("architectures", [("90",), ("80", "90")])
def test_one_architecture_or_several_are_compiled(tmp_path: Path, architectures: tuple[str, ...]) -> None:
    source = tmp_path / "k.cu"
    source.write_text('__global__ void k(int *x) { *x = 1; }\nextern "C" void f(int *x) { k<<<1, 1>>>(x); }\n')
    found = shutil.which("nvcc")
    assert found
    options = [f"-gencode=arch=compute_{each},code=sm_{each}" for each in architectures]
    target = tmp_path / "k.so"
    command = [found, "-shared", "-Xcompiler", "-fPIC", *options, str(source), "-o", str(target)]
    assert nvcc.run(command, tmp_path, timeout_s=100, memory_bytes=8 << 30) == ""
    assert target.exists()
    assert (tmp_path / "halves").exists() is (len(architectures) == 1)


def test_a_compiler_finds_nothing_that_the_judge_writes_to_or_reads_later(tmp_path: Path) -> None:
    """A hostile build may put a link to a file of the judge's in the place of whatever is opened after it."""
    folder, foreign = tmp_path / "build", tmp_path / "foreign"
    folder.mkdir()
    foreign.write_text("the judge's")
    before = set(folder.iterdir())
    assert compiler.run(["/bin/sh", "-c", "echo first"], folder, timeout_s=20) == "first\n"
    assert set(folder.iterdir()) == before
    links = "; ".join(f"ln -s {foreign} {name}" for name in ("compiler.log", "halves.sh", "halves.txt"))
    compiler.run(["/bin/sh", "-c", links], folder, timeout_s=20)
    with pytest.raises(BuildError):
        nvcc.run(["/bin/false"], folder, timeout_s=20, memory_bytes=1 << 30)
    assert foreign.read_text() == "the judge's"
