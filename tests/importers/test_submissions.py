"""Kernels of other suites as submissions. Nothing of them is executed when they are imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import foreign
import pytest
from conftest import needs_compiler
from specimens import TASK

from robust_kbench.importers import submissions
from robust_kbench.importers.description import Form, Imported
from robust_kbench.importers.submissions import Written, import_submissions
from robust_kbench.importers.writing import task_text
from robust_kbench.registry import IMPORTED_FILE, read_submission

SOLUTION: dict[str, Any] = {
    "name": "mine v1", "definition": "scaled_rows_h64", "author": "somebody",
    "spec": {"languages": ["pytorch"], "target_hardware": ["LOCAL"], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "def run(x, y):\n    y.copy_(x)\n"}],
}  # fmt: skip


def write_imported(into: Path, name: str, form: Form, title: str = "", call: tuple[Any, ...] = ()) -> Path:
    folder = into / name
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(task_text({**TASK, "name": name}))
    (folder / "reference.py").write_text("def reference(x, weight):\n    return x * weight\n")
    how = Imported(form=form, place="x", title=title, call=call)
    (folder / IMPORTED_FILE).write_text(task_text(how.model_dump(mode="json")))
    return folder


def imported(form: Form, source: Path, into: Path, task: Path | None = None) -> list[Written]:
    return list(import_submissions(form, source, into, task))


def test_a_model_is_matched_with_its_problem_by_the_name_of_its_file(tmp_path: Path) -> None:
    write_imported(tmp_path / "into", "kernelbench_level1/p019_relu", "kernelbench")
    source = tmp_path / "runs/level_1_problem_19_sample_0_kernel.py"
    source.parent.mkdir()
    source.write_text(foreign.NEW_AFFINE)
    (written,) = imported("kernelbench", tmp_path / "runs", tmp_path / "into")
    assert written.folder is not None
    submission = read_submission(written.folder)
    assert submission.file.task == "kernelbench_level1/p019_relu"
    assert (submission.file.language, submission.abi, submission.file.entry_point) == (
        "python", "value", "entry.py::kernel",
    )  # fmt: skip
    assert submission.sources["kernel.py"] == foreign.NEW_AFFINE
    assert set(submission.sources) == {"entry.py", "kernel.py", "reference.py"}


def test_a_kernel_that_was_imported_is_told_again_and_another_one_does_not_take_its_place(tmp_path: Path) -> None:
    task = write_imported(tmp_path / "into", "kernelbench/affine", "kernelbench")
    source = tmp_path / "new.py"
    source.write_text(foreign.NEW_AFFINE)
    first = imported("kernelbench", source, tmp_path / "into", task)
    assert imported("kernelbench", source, tmp_path / "into", task) == first
    source.write_text(foreign.NEW_AFFINE + "# newer\n")
    (changed,) = imported("kernelbench", source, tmp_path / "into", task)
    folder = tmp_path / "into/submissions/kernelbench/affine/new"
    assert changed.error == f"{folder}: holds another kernel; remove it, or import into another folder"
    assert (folder / "kernel.py").read_text() == foreign.NEW_AFFINE


def test_a_model_that_imports_triton_is_a_submission_in_triton(tmp_path: Path) -> None:
    task = write_imported(tmp_path / "into", "kernelbench/affine", "kernelbench")
    (tmp_path / "new.py").write_text("import triton\n" + foreign.NEW_AFFINE)
    (written,) = imported("kernelbench", tmp_path / "new.py", tmp_path / "into", task)
    assert written.folder is not None
    assert read_submission(written.folder).file.language == "triton"


def test_a_model_whose_problem_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "level_1_problem_3_sample_0_kernel.py").write_text(foreign.NEW_AFFINE)
    (written,) = imported("kernelbench", tmp_path, tmp_path / "into")
    assert "has not been imported" in written.error


def extension(tmp_path: Path, call: tuple[Any, ...]) -> Written:
    write_imported(tmp_path / "into", "robust_kbench/pool_backward", "robust-kbench", "pool/backward", call)
    place = tmp_path / "highlighted/pool/backward/kernel.cu"
    place.parent.mkdir(parents=True)
    place.write_text("// a kernel\n")
    (written,) = imported("robust-kbench", tmp_path / "highlighted", tmp_path / "into")
    return written


def test_an_extension_that_takes_the_tasks_inputs_is_built_as_it_is(tmp_path: Path) -> None:
    written = extension(tmp_path, (("value", 0), ("value", 1)))
    assert written.folder is not None
    submission = read_submission(written.folder)
    assert (submission.abi, submission.file.entry_point) == ("torch", "kernel.cu::backward")
    assert submission.file.build == ("-O3", "--use_fast_math")


def test_what_is_no_input_is_filled_in_by_a_file_of_ours(tmp_path: Path) -> None:
    written = extension(tmp_path, (("tuple", [0]), ("value", 1), ("constant", None), ("constant", [2, 0.5])))
    assert written.folder is not None
    text = (written.folder / "kbench_entry.cu").read_text()
    assert (
        "function(pybind11::make_tuple(given[0]), given[1], pybind11::none(), "
        "pybind11::make_tuple(pybind11::int_(2), pybind11::float_(0.5)))"
    ) in text
    assert '#include "kernel.cu"' in text


def test_a_constant_that_is_text_cannot_be_filled_in(tmp_path: Path) -> None:
    assert "cannot be handed to a kernel in C++" in extension(tmp_path, (("constant", '"); system("'),)).error


def solution(tmp_path: Path, **changes: Any) -> Written:
    write_imported(tmp_path / "into", "flashinfer/scaled_rows_h", "flashinfer", "scaled_rows_h64", (("value", 0),))
    (tmp_path / "solution.json").write_text(json.dumps({**SOLUTION, **changes}))
    (written,) = imported("flashinfer", tmp_path / "solution.json", tmp_path / "into")
    return written


def test_a_solution_is_a_folder_of_its_sources(tmp_path: Path) -> None:
    written = solution(tmp_path)
    assert written.folder is not None
    submission = read_submission(written.folder)
    assert (submission.name, submission.file.author, submission.abi) == ("mine_v1", "somebody", "destination")
    assert submission.file.task == "flashinfer/scaled_rows_h"


def spec(**changes: Any) -> dict[str, Any]:
    return {**SOLUTION["spec"], **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spec": spec(languages=["cute_dsl"])}, "language cute_dsl: kbench has none such"),
        ({"spec": spec(languages=["cuda_cpp"], entry_point="main.cu::run")}, "writes into outputs"),
        ({"spec": spec(entry_point="other.py::run")}, "no file 'other.py'"),
        ({"spec": spec(entry_point="../main.py::run")}, "must lie inside"),
        ({"sources": [{"path": "../main.py", "content": ""}]}, "does not lie inside"),
        ({"sources": [{"path": "/etc/main.py", "content": ""}]}, "does not lie inside"),
        ({"sources": [{"path": "submission.yaml", "content": "task: a/b"}]}, "submission.yaml; rename it"),
        ({"definition": "unknown"}, "no imported definition unknown"),
    ],
    ids=["a language", "destinations", "an entry point", "its path", "a path", "a root", "our header", "a definition"],
)
def test_a_solution_that_is_none_is_told(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    written = solution(tmp_path, **changes)
    assert words in written.error
    assert not (tmp_path / "main.py").exists()


def files(*names: str) -> list[dict[str, str]]:
    return [*SOLUTION["sources"], *({"path": name, "content": "task: a/b\n"} for name in names)]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["./submission.yaml"], "called submission.yaml; rename it"),
        ([".//submission.yaml"], "called submission.yaml; rename it"),
        (["a/./submission.yaml"], "called a/submission.yaml; rename it"),
        (["SUBMISSION.yaml"], "called SUBMISSION.yaml; rename it"),
        (["submission.yaml/a.py"], "called submission.yaml/a.py; rename it"),
        (["a/../submission.yaml"], "'a/../submission.yaml' does not lie inside"),
        ([".git/hooks/a"], "called .git/hooks/a; rename it"),
        (["./main.py"], "two of its files are called 'main.py'; rename one"),
        (["a/./b.py", "a//b.py"], "two of its files are called 'a/b.py'; rename one"),
        (["\N{GRINNING FACE}" * 90 + ".py"], "no usable name of a file; rename it"),
        (["a" * 101 + ".py"], "no usable name of a file; rename it"),
        (["a\nb.py"], "no usable name of a file; rename it"),
    ],
    ids=[
        "a dot", "a double stroke", "a header below", "in capitals", "a folder", "a way up", "what is ignored",
        "the kernel", "two spellings", "many bytes", "many characters", "two lines",
    ],
)  # fmt: skip
def test_a_file_of_a_solution_takes_the_place_of_no_other(tmp_path: Path, names: list[str], words: str) -> None:
    """A file replaces neither the header of an import, which states what runs and how, nor any header below it."""
    written = solution(tmp_path, sources=files(*names))
    assert words in written.error
    assert "\n" not in written.error
    assert not list((tmp_path / "into/submissions").rglob("*.yaml"))


def test_a_file_of_ours_beside_a_kernel_is_not_taken_from_it(tmp_path: Path) -> None:
    sources = [{"path": "kbench_entry.cu", "content": "// theirs"}, {"path": "k.cu", "content": "// a kernel"}]
    how = spec(languages=["cuda"], entry_point="k.cu::run", destination_passing_style=False)
    assert "called kbench_entry.cu; rename it" in solution(tmp_path, spec=how, sources=sources).error


def test_paths_of_a_solution_are_spelt_as_a_folder_has_them(tmp_path: Path) -> None:
    sources = [{"path": "./src//./main.py", "content": "def run(x, y):\n    y.copy_(x)\n"}]
    written = solution(tmp_path, spec=spec(entry_point="src/./main.py::run"), sources=sources)
    assert written.folder is not None, written.error
    submission = read_submission(written.folder)
    assert (submission.file.entry_point, list(submission.sources)) == ("src/main.py::run", ["src/main.py"])


def test_what_cannot_be_imported_leaves_nothing_and_costs_no_other_solution(tmp_path: Path) -> None:
    write_imported(tmp_path / "into", "flashinfer/scaled_rows_h", "flashinfer", "scaled_rows_h64", (("value", 0),))
    source = tmp_path / "theirs"
    source.mkdir()
    (source / "a.json").write_text('{"definition": ' + "1" * 5000 + "}")
    (source / "b.json").write_text(json.dumps({**SOLUTION, "sources": [{"path": "main.py", "content": "\ud800"}]}))
    (source / "c.json").write_text(json.dumps({**SOLUTION, "spec": spec(entry_point="other.py::run")}))
    (source / "d.json").write_text(json.dumps({**SOLUTION, "spec": 1}))
    (source / "e.json").symlink_to("e" * 300)
    (source / "f.json").write_text(json.dumps({**SOLUTION, "name": "the good one"}))
    *bad, good = imported("flashinfer", source, tmp_path / "into")
    assert [(Path(each.place).name, bool(each.error)) for each in bad] == [(f"{name}.json", True) for name in "abcd"]
    assert good.folder is not None
    assert [folder.name for folder in good.folder.parent.iterdir()] == ["the_good_one"]


def test_a_disk_that_does_not_take_a_kernel_is_told_of_that_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(submissions, "read_submission", full)
    written = solution(tmp_path)
    assert written.error.endswith("mine_v1: cannot be written: No space left on device")
    assert not list((tmp_path / "into/submissions").rglob("main.py"))


@pytest.mark.parametrize("name", ["..py", "...py", "a\nb.py"])
def test_names_of_models_lead_nowhere_else(name: str, tmp_path: Path) -> None:
    task = write_imported(tmp_path / "into", "kernelbench/affine", "kernelbench")
    (tmp_path / name).write_text(foreign.NEW_AFFINE)
    (written,) = imported("kernelbench", tmp_path / name, tmp_path / "into", task)
    assert written.folder is not None
    assert written.folder.resolve().parent == tmp_path / "into/submissions/kernelbench/affine"
    assert written.folder.name.isprintable()


def test_names_of_solutions_lead_nowhere_else(tmp_path: Path) -> None:
    written = solution(tmp_path, name="../../../evil")
    assert written.folder is not None
    assert written.folder.parent == tmp_path / "into/submissions/flashinfer/scaled_rows_h"


@pytest.mark.slow
def test_an_imported_model_passes_on_an_imported_problem(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/1_Affine.py").write_text(foreign.AFFINE)
    (tmp_path / "level1/level_1_problem_1_sample_0_kernel.py").write_text(foreign.NEW_AFFINE)
    kbench = [sys.executable, "-m", "robust_kbench"]
    done = subprocess.run(
        [*kbench, "import", "kernelbench", "level1", "--into", "into"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    command = [*kbench, "evaluate", "submissions", "--tasks", ".", "--device", "cpu", "--tier", "quick"]
    done = subprocess.run(command, cwd=tmp_path / "into", capture_output=True, text=True)
    assert "PASSED" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@needs_compiler
def test_an_extension_with_what_is_no_input_passes_on_its_task(tmp_path: Path) -> None:
    foreign.write_task_folder(
        tmp_path / "tasks/affine", foreign.BACKWARD, "backward",
        single_input_configs=[{"rows": 48}], single_shared_configs=[{"columns": 32, "features": 24}],
        multi_input_configs=[{}], multi_shared_configs=[{}], single_init_configs=[{}], multi_init_configs=[{}],
    )  # fmt: skip
    (tmp_path / "tasks/affine/backward").mkdir()
    (tmp_path / "tasks/affine/backward/kernel.cu").write_text(foreign.BACKWARD_KERNEL)
    kbench = [sys.executable, "-m", "robust_kbench"]
    done = subprocess.run(
        [*kbench, "import", "robust-kbench", "tasks", "--into", "into"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "submission    into/submissions/robust_kbench/affine_backward/" in done.stdout, done.stdout + done.stderr
    command = [*kbench, "evaluate", "submissions", "--tasks", ".", "--device", "cpu", "--tier", "quick"]
    done = subprocess.run(command, cwd=tmp_path / "into", capture_output=True, text=True)
    assert "PASSED" in done.stdout, done.stdout + done.stderr
