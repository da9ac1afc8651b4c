"""Files that are built once per machine, and a compiler's use of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import needs_compiler

from robust_kbench.emulator import toolchain
from robust_kbench.errors import HarnessError

pytestmark = needs_compiler
KERNEL = "#include <curand_kernel.h>\n__global__ void fill(float* y) { y[threadIdx.x] = __expf(1.f); }\n"


def headers(folder: Path, *, checked: bool, options: tuple[str, ...] = ()) -> list[str]:
    """List the files that the compiler reads for a kernel, in their order.

    `!` before a name says that the file was parsed before, `x` that its parsed form is of no use.
    """
    (folder / "kernel.cu").write_text(KERNEL)
    arguments = folder / "kernel.cu", folder / "kernel.so", folder / "never-linked.so"
    command = toolchain.commands(*arguments, checked=checked, options=options)[0]
    done = subprocess.run([*command, "-H"], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


@pytest.mark.parametrize("checked", [False, True])
def test_a_kernel_is_compiled_without_parsing_the_emulators_headers_again(tmp_path: Path, checked: bool) -> None:
    first, *others = headers(tmp_path, checked=checked, options=("-DKBENCH_T=float",))
    assert first.startswith("! ")
    read = {Path(line).name for line in others if "/kbemu/" in line}
    assert read == {"normal.h", "uniform.h", "mrg32k3a.h", "philox.h", "xorwow.h"}


def test_a_macro_that_changes_the_headers_has_them_parsed(tmp_path: Path) -> None:
    assert headers(tmp_path, checked=False, options=("-DKBEMU_FAST_MATH",))[0].startswith("x ")


@pytest.fixture
def own_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the emulator's headers by a copy, with an empty cache."""
    copy = tmp_path / "include"
    shutil.copytree(toolchain.INCLUDE, copy)
    monkeypatch.setattr(toolchain, "INCLUDE", copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return copy


def test_changed_headers_are_parsed_anew(own_headers: Path, tmp_path: Path) -> None:
    assert headers(tmp_path, checked=False)[0].startswith("! ")
    (own_headers / "kbemu" / "cuda.h").write_text("#error changed\n")
    with pytest.raises(HarnessError, match="changed"):
        headers(tmp_path, checked=False)


def test_another_checkout_with_the_same_headers_uses_what_was_parsed(
    own_headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers(tmp_path, checked=False)
    shutil.copytree(own_headers, tmp_path / "another")
    monkeypatch.setattr(toolchain, "INCLUDE", tmp_path / "another")
    first, *others = headers(tmp_path, checked=False)
    assert first.startswith("! ")
    assert not any(line.endswith("kbemu/atomics.h") for line in others)
    assert len(list((tmp_path / "cache").rglob("*.gch"))) == 1


def test_what_was_parsed_is_there_for_the_next(own_headers: Path, tmp_path: Path) -> None:
    headers(tmp_path, checked=False)
    (parsed,) = (tmp_path / "cache").rglob("*.gch")
    made = parsed.stat().st_mtime_ns
    headers(tmp_path, checked=False)
    assert [path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.gch")] == [made]
