from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from specimens import REFERENCE, TASK, nest

from robust_kbench.cases.values import Inputs
from robust_kbench.cli.collect import trust_tasks_in
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.folders import data_folder
from robust_kbench.hostile_folders import discard
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import (
    TASKS_VARIABLE,
    baselines_of,
    find_submissions,
    load_task,
    read_submission,
    read_task,
    submission_folders,
    task_folders,
    task_names,
    task_of,
)
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import MAX_FILE_BYTES, MAX_FILES

HEADER = "task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::rmsnorm\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission of one source."""
    return _write_submission(tmp_path / "mine")


@pytest.fixture
def watchdog() -> Iterator[None]:
    """Opening a FIFO waits for a writer: turn that into a failure."""

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("waited for a writer")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(5)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _write_submission(folder: Path, header: str = HEADER, **sources: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "submission.yaml").write_text(header)
    for name, text in {"kernel.py": "", **sources}.items():
        (folder / name).write_text(text)
    return folder


def _write_task(root: Path, name: str = "norm/scale", **changes: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(json.dumps({**TASK, **changes}))
    (folder / "reference.py").write_text(REFERENCE)
    return folder


def _refusal(folder: Path) -> str:
    with pytest.raises(SpecError) as caught:
        read_submission(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", task_names())
def test_every_task_of_the_registry_can_be_loaded_by_its_name(name: str) -> None:
    assert load_task(name).spec.name == name


@pytest.mark.parametrize(("x", "y"), [(-5.0, -1.4332578593959696e-06), (-10.0, -7.619853024160526e-23), (30.0, 30.0)])
def test_the_exact_gelu_keeps_its_digits_where_the_formula_cancels(x: float, y: float) -> None:
    task = load_task("activation/gelu")
    exact = Reference(task).exact(Inputs({"x": torch.tensor([[x]])}))["y"]
    assert float(exact) == pytest.approx(y, rel=1e-12, abs=0)
    assert {"large", "outliers", "lognormal", "needles", "uneven"} <= set(task.spec.distributions)


def test_tasks_are_found_two_folders_deep_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/two", "a/one", "a/deep/three"):
        _write_task(tmp_path, name)
    assert task_folders(tmp_path) == [tmp_path / "a/one", tmp_path / "b/two"]


def test_a_misspelt_task_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="^no task 'norm/rmsnrom'; did you mean 'norm/rmsnorm'\\?$"):
        load_task("norm/rmsnrom")


def test_a_task_that_resembles_none_gets_a_pointer_to_the_list() -> None:
    with pytest.raises(UsageError, match="^no task 'zzz'; `kbench tasks` lists all tasks$"):
        load_task("zzz")


def test_a_task_outside_the_registry_is_loaded_by_its_path(tmp_path: Path) -> None:
    assert load_task(str(_write_task(tmp_path))).spec.summary == TASK["summary"]


def test_a_submission_cannot_bring_its_own_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge would execute its reference, which would also say what is right."""
    _write_task(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TASKS_VARIABLE, "")
    with pytest.raises(UsageError, match="the one in this folder is used, and its code executed, only where --tasks"):
        task_of("norm/scale")
    trust_tasks_in([tmp_path])
    assert task_of("norm/scale").spec.summary == TASK["summary"]


@pytest.mark.parametrize(
    "name", ["submissions/scale", "{}/norm/scale", "../x/norm/scale", "norm/../norm/scale", "scale"]
)
def test_what_a_submission_names_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for folder in ("submissions/scale", "norm/scale"):
        _write_task(tmp_path / "x", folder)
    monkeypatch.chdir(tmp_path / "x")
    monkeypatch.setenv(TASKS_VARIABLE, str(tmp_path / "x"))
    with pytest.raises(UsageError, match="no task"):
        task_of(name.format(tmp_path / "x"))


def test_every_evaluation_looks_for_a_submissions_task_where_its_user_has_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_task(tmp_path)
    (tmp_path / "norm/scale/reference.py").write_text("open('pwned', 'w')\n" + REFERENCE)
    (tmp_path / "kernel.py").write_text("def scale(x):\n    return 2 * x\n")
    (tmp_path / "submission.yaml").write_text("task: norm/scale\nlanguage: python\nentry_point: kernel.py::scale\n")
    monkeypatch.setenv(TASKS_VARIABLE, "")
    for command in ("evaluate", "profile"):
        asked = [sys.executable, "-m", "robust_kbench", command, ".", "--device", "cpu"]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2, done.stdout
        assert "no task 'norm/scale'" in done.stderr
    assert not (tmp_path / "pwned").exists()


def test_a_folder_of_tasks_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="--tasks nowhere: no such directory"):
        trust_tasks_in([Path("nowhere")])


def test_a_task_must_lie_in_the_folder_of_its_name(tmp_path: Path) -> None:
    folder = _write_task(tmp_path, "norm/other")
    with pytest.raises(SpecError, match="task.yaml: name: 'norm/scale' does not match the folder"):
        read_task(folder)


def test_a_task_without_a_reference_is_told_what_to_define(tmp_path: Path) -> None:
    folder = _write_task(tmp_path)
    (folder / "reference.py").unlink()
    with pytest.raises(SpecError, match=r"reference.py: missing; it must define reference\(x, weight\)"):
        read_task(folder)


@pytest.mark.parametrize("file", ["task.yaml", "reference.py"])
def test_the_digest_of_a_task_changes_with_each_of_its_files(file: str, tmp_path: Path) -> None:
    folder = _write_task(tmp_path)
    before = read_task(folder).digest
    (folder / file).write_text((folder / file).read_text() + "\n")
    assert read_task(folder).digest != before


PINNED = """cases:
  # The tail of a row of 9.
  - {axes: {rows: 1, cols: 9}, dtype: float32, layout: pitched, distribution: integers, seed: 3}
  - {axes: {rows: 2, cols: 2}, dtype: float16, probe: nonfinite, seed: 0}
"""


def _pin(folder: Path, text: str) -> Path:
    (folder / "regressions.yaml").write_text(text)
    return folder


def test_a_task_without_regressions_has_no_pinned_case(tmp_path: Path) -> None:
    assert read_task(_write_task(tmp_path)).pinned == ()


def test_pinned_cases_are_read_in_their_order(tmp_path: Path) -> None:
    assert read_task(_pin(_write_task(tmp_path), PINNED)).pinned == (
        Case(axes={"rows": 1, "cols": 9}, dtype="float32", layout="pitched", distribution="integers", seed=3),
        Case(axes={"rows": 2, "cols": 2}, dtype="float16", probe="nonfinite", seed=0),
    )


def test_the_digest_of_a_task_changes_with_its_pinned_cases(tmp_path: Path) -> None:
    folder = _write_task(tmp_path)
    digests = [read_task(folder).digest]
    digests += [read_task(_pin(folder, text)).digest for text in (PINNED, PINNED.replace("seed: 3", "seed: 4"))]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases:\n- {axes: {rows: 1}, dtype: float32, seed: 0}\n", "cases.0: binds rows; the axes are rows, cols"),
        ("cases:\n- {axes: {rows: 1, cols: 0}, dtype: float32, seed: 0}\n", "cases.0: cols=0 is outside the axis"),
        (PINNED.replace("float16", "bfloat16"), "cases.1: dtype: norm/scale has no bfloat16; it has float32, float16"),
        (PINNED.replace("seed: 3", "seed: 3, role: timed"), "cases.0: role: a pinned case is only checked"),
        (PINNED.replace("layout", "layuot"), "cases.0.layuot: unknown key; did you mean 'layout'?"),
        (PINNED.replace(", seed: 0", ""), "cases.1.seed: missing; this key is required"),
        ("- 1\n", "expected a mapping of keys to values, got list"),
    ],
    ids=["axes", "size", "dtype", "role", "misspelt", "missing", "list"],
)
def test_a_pinned_case_that_is_none_of_the_task_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        read_task(_pin(_write_task(tmp_path), text))
    assert f"regressions.yaml: {message}" in str(caught.value)


def test_the_baselines_of_a_task_are_the_submissions_published_for_it() -> None:
    found = baselines_of("norm/rmsnorm")
    assert "cpp_naive" in [folder.name for folder in found]
    assert {read_submission(folder).file.task for folder in found} == {"norm/rmsnorm"}


def test_a_submission_is_named_after_its_folder_and_holds_every_source(folder: Path) -> None:
    (folder / "include").mkdir()
    (folder / "include" / "tile.h").write_text("// tile")
    submission = read_submission(folder)
    assert submission.name == "mine"
    assert submission.sources == {"kernel.py": "", "include/tile.h": "// tile"}


@pytest.mark.parametrize("ignored", ["__pycache__/kernel.pyc", ".git/HEAD", "src/__pycache__/x.pyc"])
def test_what_tools_leave_behind_is_no_source(ignored: str, folder: Path) -> None:
    (folder / ignored).parent.mkdir(parents=True)
    (folder / ignored).write_bytes(b"\xff")
    assert list(read_submission(folder).sources) == ["kernel.py"]


@pytest.mark.parametrize(
    ("entry_file", "hint"), [("kernl.py", "; did you mean 'kernel.py'?"), ("z.py", "")], ids=["near", "far"]
)
def test_an_entry_point_without_its_file_gets_the_nearest_file(entry_file: str, hint: str, tmp_path: Path) -> None:
    folder = _write_submission(tmp_path / "mine", HEADER.replace("kernel.py", entry_file))
    wanted = f"{folder}/submission.yaml: entry_point: no file {entry_file!r} in {folder}{hint}"
    assert _refusal(folder) == wanted


def test_a_submission_is_found_by_its_folder_and_by_its_header(folder: Path) -> None:
    by_folder, by_file = find_submissions(folder), find_submissions(folder / "submission.yaml")
    assert [submission.name for submission in by_folder] == ["mine"]
    assert by_file == by_folder


def test_a_tree_gives_all_its_submissions_in_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b/second", "a/first", "c"):
        _write_submission(tmp_path / name)
    assert [submission.name for submission in find_submissions(tmp_path)] == ["first", "second", "c"]


@pytest.mark.parametrize(
    ("file", "text", "language"),
    [
        ("fast.py", "import torch", "python"),
        ("fast.py", "import triton", "triton"),
        ("fast.cpp", "// triton", "cpp"),
        ("fast.cc", "", "cpp"),
        ("fast.cu", "", "cuda"),
    ],
)
def test_a_single_file_becomes_a_submission_to_the_task_that_is_named(
    file: str, text: str, language: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    (submission,) = find_submissions(tmp_path / file, "norm/rmsnorm")
    assert (submission.name, submission.file.language, submission.file.task) == ("fast", language, "norm/rmsnorm")
    assert (submission.file.entry_point, submission.sources) == (f"{file}::rmsnorm", {file: text})


def test_a_single_file_without_a_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text("")
    with pytest.raises(UsageError, match="fast.py: a single file needs --task FAMILY/OP"):
        find_submissions(tmp_path / "fast.py")


def test_a_single_file_of_an_unknown_language_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fast.rs").write_text("")
    with pytest.raises(UsageError, match="cannot tell the language from '.rs'; known: .py, .cpp, .cc, .cxx, .cu"):
        find_submissions(tmp_path / "fast.rs", "norm/rmsnorm")


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such file or directory"):
        find_submissions(tmp_path / "nowhere")


def test_a_folder_without_a_submission_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no submission.yaml here or below; `kbench new TASK"):
        find_submissions(tmp_path)


@pytest.mark.parametrize("target", ["/etc/hostname", "../secret.txt", "/dev/zero"])
def test_a_link_that_points_outside_the_submission_is_refused(target: str, folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("secret")
    (folder / "linked.h").symlink_to(target)
    wanted = f"{folder}/linked.h: points outside the submission's directory; copy the file into it"
    assert _refusal(folder) == wanted


def test_a_header_that_is_a_link_to_the_outside_is_refused(folder: Path) -> None:
    outside = folder.parent / "elsewhere.yaml"
    (folder / "submission.yaml").rename(outside)
    (folder / "submission.yaml").symlink_to(outside)
    assert "points outside the submission's directory" in _refusal(folder)


def test_a_link_within_the_submission_is_followed(folder: Path) -> None:
    (folder / "copy.py").symlink_to("kernel.py")
    assert sorted(read_submission(folder).sources) == ["copy.py", "kernel.py"]


def test_a_linked_directory_outside_adds_no_sources(folder: Path) -> None:
    (folder.parent / "private").mkdir()
    (folder.parent / "private" / "key.pem").write_text("secret")
    (folder / "sub").symlink_to("../private", target_is_directory=True)
    assert list(read_submission(folder).sources) == ["kernel.py"]


@pytest.mark.parametrize("target", ["loop.h", "missing.h"], ids=["to itself", "to nothing"])
def test_a_link_that_leads_nowhere_is_refused(target: str, folder: Path) -> None:
    (folder / "loop.h").symlink_to(target)
    assert _refusal(folder).startswith(f"{folder}/loop.h: ")


def test_a_source_at_the_size_limit_is_read(folder: Path) -> None:
    (folder / "table.h").write_text("x" * MAX_FILE_BYTES)
    assert len(read_submission(folder).sources["table.h"]) == MAX_FILE_BYTES


@pytest.mark.parametrize("name", ["table.h", "submission.yaml"])
def test_a_file_above_the_size_limit_is_refused(name: str, folder: Path) -> None:
    (folder / name).write_text("x" * (MAX_FILE_BYTES + 1))
    assert _refusal(folder) == f"{folder}/{name}: 1,048,577 bytes; a source file may have at most 1,048,576"


def test_sixty_four_sources_are_read_and_one_more_is_too_many(folder: Path) -> None:
    for number in range(MAX_FILES - 1):
        (folder / f"part{number}.h").write_text("")
    assert len(read_submission(folder).sources) == MAX_FILES
    (folder / "zzz.h").write_text("")
    assert _refusal(folder) == f"{folder}: more than 64 files; a submission holds sources only"


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "kernel.so").write_bytes(b"\x7fELF\xff\xfe")
    assert _refusal(folder) == f"{folder}/kernel.so: not UTF-8 text; a submission holds sources only"


@pytest.mark.parametrize("name", [b"mine/\xff.h", b"\xff"], ids=["source", "folder"])
def test_a_name_that_is_not_text_is_refused(name: bytes, folder: Path) -> None:
    # A record holds both, and one that cannot be read back would make its whole store unreadable.
    path = Path(os.fsdecode(os.fsencode(folder.parent) + b"/" + name))
    if name.endswith(b".h"):
        path.write_text("")
    else:
        folder = folder.rename(path)
    assert "not UTF-8" in _refusal(folder)


def test_a_source_that_may_not_be_read_is_refused_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", lambda path, *_, **__: refuse(path))
    assert _refusal(folder) == f"{folder}/submission.yaml: Permission denied"


@pytest.mark.usefixtures("watchdog")
@pytest.mark.parametrize("name", ["pipe.h", "submission.yaml"])
def test_a_pipe_among_the_sources_is_refused_without_waiting_for_it(name: str, folder: Path) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert _refusal(folder) == f"{folder}/{name}: not a regular file"


@pytest.mark.usefixtures("watchdog")
def test_a_pipe_given_as_the_submission_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(UsageError):
        find_submissions(tmp_path / "pipe.py", "norm/rmsnorm")


def test_a_directory_in_place_of_the_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "submission.yaml").mkdir()
    assert _refusal(tmp_path) == f"{tmp_path}/submission.yaml: not a regular file"


def test_one_malformed_submission_of_a_tree_is_named(tmp_path: Path) -> None:
    _write_submission(tmp_path / "good")
    _write_submission(tmp_path / "bad", HEADER + "autor: me\n")
    with pytest.raises(SpecError, match="bad/submission.yaml: autor: unknown key; did you mean 'author'"):
        find_submissions(tmp_path)


@pytest.mark.parametrize("header", ["author: !!str []", "author: !!int []", "author: !!bool []", "abi: !!float {}"])
def test_a_tag_on_the_wrong_kind_of_value_is_a_wrong_file(tmp_path: Path, header: str) -> None:
    text = f"task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::f\n{header}\n"
    (tmp_path / "submission.yaml").write_text(text)
    with pytest.raises(SpecError):
        read_submission(tmp_path)


def test_links_and_folders_beyond_all_bounds_cost_only_their_own_submission(tmp_path: Path) -> None:
    for name in ("link", "deep", "good"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "kernel.py").write_text("def f(x): ...\n")
        (folder / "submission.yaml").write_text("task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::f\n")
    (tmp_path / "link" / "more.py").symlink_to("x" * 300)
    nest(tmp_path / "deep", 1500)
    try:
        assert submission_folders(tmp_path) == [tmp_path / name for name in ("deep", "good", "link")]
        assert read_submission(tmp_path / "good").name == "good"
        for name in ("link", "deep"):
            with pytest.raises(SpecError):
                read_submission(tmp_path / name)
    finally:
        discard(tmp_path / "deep")


def test_a_task_beside_a_submission_is_used_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = data_folder("tasks") / "norm/rmsnorm"
    for name in ("mine/evil", "kb/evil"):
        shutil.copytree(task, tmp_path / name)
        text = (task / "task.yaml").read_text().replace("name: norm/rmsnorm", f"name: {name}")
        (tmp_path / name / "task.yaml").write_text(text)
    (tmp_path / "mine/submission.yaml").write_text("task: mine/evil\n")
    (tmp_path / "kb/linked").symlink_to(tmp_path / "mine/evil")
    monkeypatch.setenv(TASKS_VARIABLE, str(tmp_path))
    assert task_of("kb/evil").folder == tmp_path / "kb/evil"
    for name in ("mine/evil", "kb/linked"):
        with pytest.raises(UsageError):
            task_of(name)


def test_a_folder_of_tasks_whose_path_names_two_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one may be anybody's."""
    monkeypatch.setenv(TASKS_VARIABLE, "")
    (tmp_path / "kb:2024").mkdir()
    with pytest.raises(UsageError, match="separates folders; rename it"):
        trust_tasks_in([tmp_path / "kb:2024"])
    assert os.environ[TASKS_VARIABLE] == ""
