"""A submission's files are read before anything of it runs: each defect is refused with the file and the place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robust_kbench.errors import SpecError
from robust_kbench.registry import read_submission

HEADER = "task: norm/rmsnorm\nlanguage: python\nentry_point: kernel.py::rmsnorm\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission that would be accepted."""
    (tmp_path / "submission.yaml").write_text(HEADER)
    (tmp_path / "kernel.py").write_text("def rmsnorm(x, weight, y): pass\n")
    return tmp_path


def refusal(folder: Path) -> str:
    """The message with which the submission is refused, from the file's name on."""
    with pytest.raises(SpecError) as caught:
        read_submission(folder)
    message = str(caught.value)
    assert message.startswith(f"{folder}/")
    return message.removeprefix(f"{folder}/")


def test_the_submission_that_these_tests_break_is_accepted(folder: Path) -> None:
    assert list(read_submission(folder).sources) == ["kernel.py"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param("", ": expected a mapping of keys to values, got nothing", id="empty"),
        pytest.param("# nothing\n", ": expected a mapping of keys to values, got nothing", id="only a comment"),
        pytest.param("- task\n", ": expected a mapping of keys to values, got list", id="list"),
        pytest.param("task\n", ": expected a mapping of keys to values, got str", id="word"),
        pytest.param(
            "task: a/b\n\tlanguage: python\n", ":2: found character '\\t' that cannot start any token", id="tab"
        ),
        pytest.param("task: 'a/b\n", ":2: found unexpected end of stream", id="open quote"),
        pytest.param("task: {a: b\n", ":2: expected ',' or '}'", id="open bracket"),
        pytest.param(
            f"{HEADER}author: @me\n", ":4: found character '@' that cannot start any token", id="reserved sign"
        ),
        pytest.param(f"{HEADER}language: cpp\n", ":4: duplicate key 'language'; remove one", id="duplicate key"),
        pytest.param(f"{HEADER}---\n{HEADER}", ":4: but found another document", id="two documents"),
        pytest.param(f"{HEADER}author: 1e-6\n", ":4: '1e-6' is read as text by YAML 1.1; write 1.0e-06", id="1e-6"),
        pytest.param(f"{HEADER}author: no\n", ":4: 'no' is read as a boolean by YAML 1.1", id="no"),
        pytest.param(f"{HEADER}author: &me x\nprecision: *me\n", ":5: aliases (*name) are not allowed", id="alias"),
        pytest.param(f"{HEADER}author: &me [*me]\n", ":4: aliases (*name) are not allowed", id="alias of itself"),
        pytest.param(f"{HEADER}author: !!python/object/apply:os.getpid []\n", ":4: could not determine", id="object"),
        pytest.param(
            f"{HEADER}author: 2020-01-01\n", ":4: '2020-01-01' is read as a date by YAML 1.1; quote it", id="date"
        ),
        pytest.param(
            f"{HEADER}author: !!binary aGVsbG8=\n",
            ":4: 'aGVsbG8=' is read as binary by YAML 1.1; quote it",
            id="binary",
        ),
        pytest.param(f"{HEADER}author: 2020-13-45\n", ":4: '2020-13-45' is read as a date", id="no date"),
        pytest.param(f"{HEADER}author: {'9' * 5000}\n", ":4: ", id="endless number"),
        pytest.param(f"{HEADER}author: a\7b\n", ":4: ", id="control character"),
        pytest.param(f"{HEADER}author: 010\n", ":4: '010' is read as octal, binary or base 60", id="octal"),
        pytest.param(f"{HEADER}author:\n", ": author: Input should be a valid string, got None", id="no value"),
        pytest.param(f"{HEADER}1: x\n", ":4: keys are plain words", id="number as key"),
        pytest.param(f"{HEADER}? [a, b]\n: x\n", ":4: ", id="list as key"),
        pytest.param(f"{HEADER}? {{a: b}}\n: x\n", ":4: ", id="mapping as key"),
        pytest.param(f"{HEADER}autor: me\n", ": autor: unknown key; did you mean 'author'?", id="misspelt key"),
        pytest.param(f"{HEADER}speed: 9\n", ": speed: unknown key; known keys: task, language, abi", id="unknown key"),
        pytest.param("task: norm/rmsnorm\n", ": language: missing; this key is required", id="missing key"),
        pytest.param(f"{HEADER}abi: c\n", ": abi 'c' does not exist for python; use value or destination", id="abi"),
        pytest.param(f"{HEADER}build: [-O3]\n", ": build: python is not compiled, remove the flags", id="flags"),
        pytest.param(f"{HEADER}dtypes: []\n", ": dtypes: name each dtype once, and at least one", id="no dtype"),
        pytest.param(f"{HEADER}dtypes: [float33]\n", ": dtypes.0: Input should be 'float32'", id="unknown dtype"),
    ],
)
def test_a_broken_header_is_refused_with_its_line_or_key(header: str, message: str, folder: Path) -> None:
    (folder / "submission.yaml").write_text(header)
    assert refusal(folder).startswith(f"submission.yaml{message}")


@pytest.mark.parametrize(
    "flag",
    [
        "-fplugin=x.so",
        "-I/etc",
        "-include/etc/passwd",
        "-Wl,-rpath,/",
        "-o/tmp/x",
        "@file",
        "-O3 -B.",
        "-DX=a",
        "",
        "-x",
    ],
)
def test_a_flag_that_does_more_than_choose_code_is_refused(flag: str, folder: Path) -> None:
    (folder / "submission.yaml").write_text(f"{HEADER.replace('python', 'cpp')}build: [-O3, '{flag}']\n")
    assert refusal(folder).startswith(f"submission.yaml: build: flag {flag!r} is not on the allow-list")


@pytest.mark.parametrize("path", ["../kernel.py", "/etc/passwd", "a/../../kernel.py", "a/../kernel.py"])
def test_an_entry_point_that_leaves_the_folder_is_refused(path: str, folder: Path) -> None:
    (folder / "submission.yaml").write_text(HEADER.replace("kernel.py", path))
    assert refusal(folder).startswith("submission.yaml: entry_point: the file must lie inside")


@pytest.mark.parametrize(
    ("entry_point", "message"),
    [
        ("kernels.py::f", ": entry_point: no file 'kernels.py' in "),
        ("submission.yaml::f", ": entry_point: 'submission.yaml' is no source of python; its name must end in .py"),
        ("kernel.py", ": entry_point: String should match pattern"),
        ("kernel.py::f()", ": entry_point: String should match pattern"),
        ("kernel.py::f::g", ": entry_point: String should match pattern"),
        ("::f", ": entry_point: String should match pattern"),
    ],
)
def test_an_entry_point_that_names_nothing_is_refused(entry_point: str, message: str, folder: Path) -> None:
    (folder / "submission.yaml").write_text(HEADER.replace("kernel.py::rmsnorm", entry_point))
    assert refusal(folder).startswith(f"submission.yaml{message}")


@pytest.mark.parametrize("name", ["kernel.py", "submission.yaml", "notes/weights.bin"])
def test_a_file_of_100_megabytes_is_refused_without_being_read(name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    os.truncate(os.open(folder / name, os.O_CREAT | os.O_WRONLY), 100 << 20)
    assert refusal(folder).startswith(f"{name}: 104,857,600 bytes; a source file may have at most 1,048,576")


@pytest.mark.parametrize("name", ["submission.yaml", "kernel.py", "library.so"])
def test_a_file_that_is_no_text_is_refused(name: str, folder: Path) -> None:
    (folder / name).write_bytes(HEADER.encode() + b"author: M\xfcller\n")
    assert refusal(folder) == f"{name}: not UTF-8 text; a submission holds sources only"


@pytest.mark.parametrize("name", ["kernel.py", "header.h", "submission.yaml"])
def test_a_link_that_leaves_the_folder_is_refused(
    name: str, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_text(HEADER)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    assert refusal(folder) == f"{name}: points outside the submission's directory; copy the file into it"


@pytest.mark.parametrize("name", ["kernel.py", "header.h", "submission.yaml"])
def test_a_link_to_itself_is_refused(name: str, folder: Path) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(folder / name)
    assert refusal(folder).startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["kernel.py", "submission.yaml", "pipe"])
def test_a_pipe_is_refused_without_waiting_for_a_writer(name: str, folder: Path) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert refusal(folder) == f"{name}: not a regular file"


def test_a_missing_header_is_refused(folder: Path) -> None:
    (folder / "submission.yaml").unlink()
    assert refusal(folder) == "submission.yaml: No such file or directory"


def test_a_thousand_files_are_refused(folder: Path) -> None:
    for number in range(1000):
        (folder / f"{number}.h").touch()
    with pytest.raises(SpecError, match=f"^{folder}: more than 64 files; a submission holds sources only"):
        read_submission(folder)


# What could end or exhaust the judge is read by a process of its own.
READ = """
import resource, sys
from pathlib import Path
from robust_kbench.errors import SpecError
from robust_kbench.registry import read_submission

resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
try:
    read_submission(Path(sys.argv[1]))
except SpecError as error:
    print(error)
"""
LAUGHS = "".join(f"{letter}: &{letter} [{', '.join([before] * 9)}]\n" for before, letter in zip(
    ("x", *(f"*{name}" for name in "abcdefgh")), "abcdefghi", strict=True
))  # fmt: skip


@pytest.mark.rotating
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(f"{HEADER}{LAUGHS}", id="a billion laughs"),
        pytest.param(f"{HEADER}author: {'[' * 5_000}{']' * 5_000}\n", id="nested"),
        pytest.param(f"{HEADER}author: {'[' * 120_000}{']' * 120_000}\n", id="nested to the size limit"),
        pytest.param(f"{HEADER}author:\n  {'- ' * 120_000}x\n", id="nested without brackets"),
    ],
)
def test_a_header_that_explodes_is_refused(header: str, folder: Path) -> None:
    (folder / "submission.yaml").write_text(header)
    finished = subprocess.run(
        [sys.executable, "-c", READ, str(folder)], capture_output=True, text=True, timeout=20, check=False
    )
    assert finished.returncode == 0, finished.stderr[-300:]
    assert finished.stdout.startswith(f"{folder}/submission.yaml:")
