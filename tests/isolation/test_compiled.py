"""Kernels that workers have compiled are kept for later workers, despite any content of a hostile worker's folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.isolation import compiled
from robust_kbench.isolation.compiled import CACHE, Compiled

KEY, OTHER_KEY = "A" * 52, "B" * 52
FILES = {"kernel.cubin": b"\x7fELF", "kernel.json": b'{"shared": 0}'}


def cached(scratch: Path, key: str = KEY, files: dict[str, bytes] = FILES) -> Path:
    """Make Triton's folder of one kernel, as Triton leaves it."""
    folder = scratch.joinpath(*CACHE, key)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    listed = {"child_paths": {name: str(folder / name) for name in files}}
    (folder / "__grp__kernel.json").write_text(json.dumps(listed))
    return folder


def handed_out(kept: Compiled, scratch: Path) -> dict[str, bytes]:
    """Hand out the kept kernels; return the files that a later worker finds, by key and name."""
    scratch.mkdir()
    kept.hand_out(scratch)
    root = scratch.joinpath(*CACHE)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_kernels_are_found_again_where_lists_of_files_say(tmp_path: Path) -> None:
    kept = Compiled()
    cached(tmp_path / "one")
    kept.collect(tmp_path / "one")
    found = handed_out(kept, tmp_path / "two")
    listed = json.loads(found.pop(f"{KEY}/__grp__kernel.json"))["child_paths"]
    assert found == {f"{KEY}/{name}": content for name, content in FILES.items()}
    assert {name: Path(path).read_bytes() for name, path in listed.items()} == FILES
    assert all(path.startswith(str(tmp_path / "two")) for path in listed.values())


def test_what_several_workers_have_compiled_comes_together_and_the_first_one_counts(tmp_path: Path) -> None:
    kept = Compiled()
    cached(tmp_path / "one")
    kept.collect(tmp_path / "one")
    cached(tmp_path / "two", files={"kernel.cubin": b"another"})
    cached(tmp_path / "two", OTHER_KEY)
    kept.collect(tmp_path / "two")
    found = handed_out(kept, tmp_path / "three")
    assert {name.partition("/")[0] for name in found} == {KEY, OTHER_KEY}
    assert found[f"{KEY}/kernel.cubin"] == FILES["kernel.cubin"]


def test_a_worker_that_has_compiled_nothing_leaves_nothing(tmp_path: Path) -> None:
    kept = Compiled()
    kept.collect(tmp_path)
    kept.collect(tmp_path / "missing")
    assert handed_out(kept, tmp_path / "two") == {}


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["home", "cache", "kernel"])
def test_no_link_to_a_folder_is_followed(tmp_path: Path, depth: int) -> None:
    """A judge that follows the link would hand out files that no worker may read."""
    secret = tmp_path / "secret"
    cached(secret)
    worker = tmp_path / "worker"
    names = [*CACHE, KEY]
    link = worker.joinpath(*names[: depth + 1])
    link.parent.mkdir(parents=True)
    link.symlink_to(secret.joinpath(*names[: depth + 1]))
    kept = Compiled()
    kept.collect(worker)
    assert handed_out(kept, tmp_path / "two") == {}


@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "folder"])
def test_a_kernel_with_anything_but_plain_files_of_a_single_name_is_left_alone(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"a seed")
    path = cached(tmp_path / "one") / "kernel.ptx"
    make: dict[str, Callable[[], None]] = {
        "link": lambda: path.symlink_to(secret),
        "second name": lambda: os.link(secret, path),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }
    make[kind]()
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert handed_out(kept, tmp_path / "two") == {}


def test_what_is_left_of_an_interrupted_write_does_no_harm(tmp_path: Path) -> None:
    (cached(tmp_path / "one") / "tmp.pid_7_b0").mkdir()
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert len(handed_out(kept, tmp_path / "two")) == 3


@pytest.mark.parametrize("key", ["..", "short", "a" * 52, "A" * 200])
def test_other_folders_than_kernels_are_left_alone(tmp_path: Path, key: str) -> None:
    cached(tmp_path / "one", key if key != ".." else "..B")
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert handed_out(kept, tmp_path / "two") == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[]", b"1", b"{}", b'{"child_paths": 1}', b'{"child_paths": {"../../x": "/etc/passwd"}}', b"[" * 9999],
)
def test_a_list_that_makes_no_sense_lists_nothing(tmp_path: Path, content: bytes) -> None:
    (cached(tmp_path / "one") / "__grp__kernel.json").write_bytes(content)
    kept = Compiled()
    kept.collect(tmp_path / "one")
    found = handed_out(kept, tmp_path / "two")
    assert json.loads(found[f"{KEY}/__grp__kernel.json"]) == {"child_paths": {}}


def test_a_kernel_whose_list_is_missing_is_not_complete(tmp_path: Path) -> None:
    (cached(tmp_path / "one") / "__grp__kernel.json").unlink()
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert handed_out(kept, tmp_path / "two") == {}


def test_large_files_are_not_read_and_their_kernels_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of nothing but holes cost a submission no time, and cost the judge minutes and gigabytes."""
    monkeypatch.setattr(compiled, "_MOST_FILES", 99)
    folder = cached(tmp_path / "one")
    for number in range(24):
        (folder / f"kernel.{number}").touch()
        os.truncate(folder / f"kernel.{number}", compiled._MOST_KERNEL_BYTES // 2)
    read = list[str]()
    take = compiled._read

    def noted(name: str, *arguments: Any) -> bytes | None:
        content = take(name, *arguments)
        read.extend([name] if content else [])
        return content

    monkeypatch.setattr(compiled, "_read", noted)
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert len(read) <= 8
    before = len(read)
    kept.collect(tmp_path / "one")
    assert len(read) == before
    assert handed_out(kept, tmp_path / "two") == {}


def test_time_that_is_used_up_ends_the_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_LONGEST_S", -1.0)
    cached(tmp_path / "one")
    kept = Compiled()
    kept.collect(tmp_path / "one")
    assert handed_out(kept, tmp_path / "two") == {}


def test_a_worker_without_room_compiles_anew(tmp_path: Path) -> None:
    kept = Compiled()
    cached(tmp_path / "one")
    kept.collect(tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / CACHE[0]).write_text("no folder")
    kept.hand_out(tmp_path / "two")


def test_there_are_limits_to_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MOST_KERNEL_BYTES", 1000)
    monkeypatch.setattr(compiled, "_MOST_BYTES", 1000)
    monkeypatch.setattr(compiled, "_MOST_KEYS", 3)
    cached(tmp_path / "one", files={"kernel.cubin": bytes(2000)})
    for number in range(9):
        cached(tmp_path / "two", f"{number}" * 52)
    kept = Compiled()
    kept.collect(tmp_path / "one")
    found = handed_out(kept, tmp_path / "three")
    assert f"{KEY}/kernel.cubin" not in found
    assert kept._bytes <= 1000
    kept.collect(tmp_path / "two")
    found = handed_out(kept, tmp_path / "four")
    assert len({name.partition("/")[0] for name in found}) <= 3
    assert sum(map(len, found.values())) < 2000


def test_workers_that_run_beside_each_other_find_what_the_others_have_compiled(tmp_path: Path) -> None:
    kept, one, two = Compiled(), tmp_path / "one", tmp_path / "two"
    cached(one)
    cached(two, OTHER_KEY)
    kept.exchange(one)
    kept.exchange(two)
    found = json.loads((two.joinpath(*CACHE, KEY) / "__grp__kernel.json").read_text())["child_paths"]
    assert {name: Path(path).read_bytes() for name, path in found.items()} == FILES
    assert all(path.startswith(str(two)) for path in found.values())
    assert not one.joinpath(*CACHE, OTHER_KEY).exists()
    kept.exchange(one)
    assert one.joinpath(*CACHE, OTHER_KEY, "kernel.cubin").read_bytes() == FILES["kernel.cubin"]


def test_a_worker_that_has_compiled_nothing_yet_is_given_nothing(tmp_path: Path) -> None:
    """Triton makes the folder, and the process that makes it owns it."""
    kept, two = Compiled(), tmp_path / "two"
    two.mkdir()
    cached(tmp_path / "one")
    kept.exchange(tmp_path / "one")
    kept.exchange(two)
    assert list(two.iterdir()) == []


@pytest.mark.parametrize("depth", [0, 1], ids=["home", "cache"])
def test_nothing_is_written_where_a_workers_link_points(tmp_path: Path, depth: int) -> None:
    kept, home, worker = Compiled(), tmp_path / "home", tmp_path / "worker"
    cached(tmp_path / "one")
    kept.collect(tmp_path / "one")
    cached(home, OTHER_KEY)
    link = worker.joinpath(*CACHE[: depth + 1])
    link.parent.mkdir(parents=True)
    link.symlink_to(home.joinpath(*CACHE[: depth + 1]))
    kept.exchange(worker)
    assert [path.name for path in home.joinpath(*CACHE).iterdir()] == [OTHER_KEY]


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_what_a_worker_has_under_a_kernels_name_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    kept, home, worker = Compiled(), tmp_path / "home", tmp_path / "worker"
    cached(tmp_path / "one")
    kept.collect(tmp_path / "one")
    cached(worker, OTHER_KEY)
    home.mkdir()
    place = worker.joinpath(*CACHE, KEY)
    make: dict[str, Callable[[], object]] = {
        "link": lambda: place.symlink_to(home),
        "file": lambda: place.write_bytes(b"mine"),
        "folder": place.mkdir,
    }
    make[kind]()
    kept.exchange(worker)
    assert list(home.iterdir()) == []
    assert place.is_symlink() or place.is_file() or list(place.iterdir()) == []
    assert worker.joinpath(*CACHE, OTHER_KEY, "kernel.cubin").exists()
