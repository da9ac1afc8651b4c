from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from robust_kbench.profiling import resources

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4spilPf' for 'sm_80'
ptxas info    : Function properties for _Z4spilPf
    520 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 520 bytes cumulative stack size, 4096 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Function properties for _Z5inner
    64 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compile time = 22.787 ms
ptxas info    : Compiling entry function '_Z5plainPf' for 'sm_80'
ptxas info    : Function properties for _Z5plainPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""  # noqa: E501 - a line of ptxas
USAGE = """
Resource usage:
 Common:
  GLOBAL:0
 Function _rmsnorm:
  REG:48 STACK:16 SHARED:1024 LOCAL:0 CONSTANT[0]:408 CONSTANT[2]:8 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def test_every_entry_function_has_its_registers_spills_and_memory() -> None:
    spilling, plain = resources.from_ptxas(PTXAS, "float32")
    assert (spilling.kernel, spilling.architecture, spilling.dtype) == ("_Z4spilPf", "sm_80", "float32")
    assert (spilling.registers, spilling.stack_bytes, spilling.shared_bytes) == (255, 520, 4096)
    assert (spilling.spill_store_bytes, spilling.spill_load_bytes, spilling.constant_bytes) == (12, 16, 368)
    assert (plain.registers, plain.spill_store_bytes, plain.shared_bytes, plain.constant_bytes) == (8, 0, 0, 0)


def test_shared_memory_counts_towards_occupancy() -> None:
    spilling, plain = resources.from_ptxas(PTXAS.replace("4096 bytes smem", "90000 bytes smem"), "float32")
    assert (spilling.occupancy[128].warps, spilling.occupancy[128].limit) == (4, "shared memory")
    assert plain.occupancy[128].warps == 64


def test_what_is_no_output_of_ptxas_has_no_kernels() -> None:
    assert resources.from_ptxas("Used 8 registers\nnothing else", "float32") == []


def test_machine_code_of_another_compiler_is_read_from_cuobjdump_and_its_spills_stay_unknown() -> None:
    (found,) = resources.from_usage(USAGE, "float16", "sm_90")
    assert (found.kernel, found.registers, found.stack_bytes, found.shared_bytes) == ("_rmsnorm", 48, 16, 1024)
    assert (found.constant_bytes, found.spill_store_bytes) == (416, None)


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt on the PATH; Debian: apt-get install binutils")
def test_kernels_have_the_names_that_their_author_gave_them(tmp_path: Path) -> None:
    mangled = ["_ZN12_GLOBAL__N_14normIfLi4EEEvPKT_l", "_rmsnorm", "_Z5plainPf"]
    assert list(resources.demangled(mangled, tmp_path).values()) == ["norm<float, 4>", "_rmsnorm", "plain"]


def test_names_stay_as_they_are_where_no_tool_can_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_kbench.profiling.tools.find", lambda name: None)
    assert resources.demangled(["_Z5plainPf"], tmp_path) == {"_Z5plainPf": "_Z5plainPf"}
