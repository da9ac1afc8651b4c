"""`kbench keygen`, and what a key does to `kbench evaluate`."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from command_line import kbench

from robust_kbench.signing import standing
from robust_kbench.store import parse_line, read

KERNEL = "import torch\n\ndef rmsnorm(x, weight):\n    return torch.zeros_like(x)\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def key_file(config: Path) -> Path:
    return config / "robust-kbench" / "host.key"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    header = "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::rmsnorm\ndtypes: [float32]\n"
    folder = tmp_path / "zeros"
    folder.mkdir()
    (folder / "submission.yaml").write_text(header)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def test_keygen_prints_the_public_key_and_shows_it_again(config: Path, key_file: Path) -> None:
    made = kbench("keygen", config=config)
    assert made.returncode == 0
    assert re.fullmatch(r"[0-9a-f]{64}\n", made.stdout)
    assert f"wrote {key_file}" in made.stderr
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert key_file.read_text().strip() not in made.stdout + made.stderr
    assert kbench("keygen", "--show", config=config).stdout == made.stdout


def test_keygen_never_overwrites(config: Path, key_file: Path) -> None:
    kbench("keygen", config=config)
    before = key_file.read_bytes()
    again = kbench("keygen", config=config)
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already, and a key is never overwritten" in again.stderr
    assert key_file.read_bytes() == before


def test_a_key_elsewhere_is_said_to_be_unused(config: Path, key_file: Path, tmp_path: Path) -> None:
    made = kbench("keygen", "--out", tmp_path / "spare.key", config=config)
    assert made.returncode == 0
    assert f"it is not used before it lies at {key_file}" in made.stderr
    assert not key_file.exists()


def test_without_a_key_there_is_none_to_show(config: Path) -> None:
    shown = kbench("keygen", "--show", config=config)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "no key; `kbench keygen` makes one" in shown.stderr


@pytest.mark.rotating
def test_records_are_sealed_and_signed_where_there_is_a_key(config: Path, kernel: Path, tmp_path: Path) -> None:
    plain, signed = tmp_path / "plain.jsonl", tmp_path / "signed.jsonl"
    arguments: list[str | Path] = [
        "evaluate",
        kernel,
        "--device",
        "cpu",
        "--tier",
        "quick",
        "--seed",
        "11",
        "--case",
        "0",
        "--json",
    ]
    kbench(*arguments, "--store", plain, config=config)
    public = kbench("keygen", config=config).stdout.strip()
    done = kbench(*arguments, "--store", signed, config=config)
    assert [standing(record) for record in read(plain)] == [(True, None)]
    assert [standing(record) for record in read(signed)] == [(True, public)]
    assert standing(parse_line(done.stdout.encode(), "stdout")) == (True, public)
    assert {"labels", "findings", "timings", "digest"} <= json.loads(done.stdout).keys()


def test_a_key_that_others_may_read_is_told_before_anything_is_run(config: Path, key_file: Path, kernel: Path) -> None:
    kbench("keygen", config=config)
    key_file.chmod(0o644)
    done = kbench("evaluate", kernel, "--store", config / "store.jsonl", config=config)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{key_file}: mode 0644: others may use this key; chmod 600 {key_file}" in done.stderr
    assert not (config / "store.jsonl").exists()
