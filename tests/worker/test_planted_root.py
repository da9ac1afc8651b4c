"""A compiler that cannot be confined to its folder does not run, unless the machine has no such layer at all."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.worker import builder, kernel, landlock, private_root, sandbox, seccomp


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that would have been run. Nothing of this process is confined."""
    ran = list[list[str]]()
    for module, name in ((kernel, "die_with_parent"), (sandbox, "forbid_dumps"), (kernel, "prctl"),
                         (kernel, "drop_capabilities"), (seccomp, "install")):  # fmt: skip
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(os, "execvp", lambda name, command: ran.append(command))
    monkeypatch.setattr(landlock, "is_available", lambda: False)
    return ran


def _run(folder: Path) -> None:
    builder._become(["true"], str(folder), [], 1, 1, 1)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EEXIST, errno.ENOTDIR, errno.EMFILE])
def test_it_does_not_run_where_its_folder_was_made_to_stand_in_the_way(
    tmp_path: Path, executed: list[list[str]], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def enter(*_: Any, **__: Any) -> None:
        raise OSError(code, "planted")

    monkeypatch.setattr(private_root, "enter", enter)
    with pytest.raises(SystemExit, match="cannot be confined to its folder"):
        _run(tmp_path)
    assert executed == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
def test_it_runs_with_fewer_layers_where_the_machine_has_none(
    tmp_path: Path, executed: list[list[str]], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def enter(*_: Any, **__: Any) -> None:
        raise OSError(code, "no such layer")

    monkeypatch.setattr(private_root, "enter", enter)
    _run(tmp_path)
    assert executed == [["true"]]


def test_the_place_of_the_new_root_is_foretold_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".root").write_text("planted")
    mounted = list[str]()

    def mount(source: str, target: str, *_: Any) -> None:
        mounted.append(target)
        if target != "/":
            raise OSError(errno.EPERM, "nothing is mounted here")

    monkeypatch.setattr(kernel, "unshare", lambda flags: None)
    monkeypatch.setattr(kernel, "mount", mount)
    for _ in range(2):
        with pytest.raises(OSError, match="nothing is mounted"):
            private_root.enter(str(tmp_path))
    first, second = (place for place in mounted if place != "/")
    assert first != second
    assert all(Path(place).parent == tmp_path for place in (first, second))
