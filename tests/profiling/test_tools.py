from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.profiling import tools


def install(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_the_path_comes_before_the_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit = install(tmp_path / "toolkit" / "bin", "ncu")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert tools.find("ncu") == str(toolkit)
    own = install(tmp_path / "own", "ncu")
    monkeypatch.setenv("PATH", str(own.parent))
    assert tools.find("ncu") == str(own)


def test_triton_brings_a_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert Path(tools.find("nvdisasm") or "").parts[-4:] == ("backends", "nvidia", "bin", "nvdisasm")


def test_what_is_absent_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert tools.find("compute-sanitizer") is None
    assert tools.absence("g++") == "no g++ on the PATH; Debian: apt-get install g++"
