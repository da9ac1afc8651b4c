from __future__ import annotations

from pathlib import Path

from robust_kbench.devices.machine import facts, harness_digest


def _package(folder: Path, name: str = "judge.py", text: str = "LIMIT = 1\n") -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / name).write_text(text)
    (folder / "notes.txt").write_text("of no consequence")
    return folder


def test_the_digest_of_the_harness_tells_every_edit_and_every_name(tmp_path: Path) -> None:
    same = [harness_digest(_package(tmp_path / name)) for name in ("one", "two")]
    edited = harness_digest(_package(tmp_path / "edited", text="LIMIT = 2\n"))
    renamed = harness_digest(_package(tmp_path / "renamed", name="other.py"))
    assert same[0] == same[1]
    assert len({same[0], edited, renamed}) == 3


def test_a_record_says_which_harness_judged() -> None:
    assert facts()["harness"] == harness_digest()
