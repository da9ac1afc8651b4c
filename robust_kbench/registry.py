"""Find tasks and submissions, on disk or in the installed package, and read them strictly."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.folders import data_folder
from robust_kbench.schema.admission import Admission
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import Strict, parse, printable, read_yaml
from robust_kbench.schema.submission import (
    MAX_FILE_BYTES,
    MAX_FILES,
    SUFFIXES,
    Submission,
    SubmissionFile,
    usual_symbol,
)
from robust_kbench.schema.task import Task

TASK_FILE = "task.yaml"
TASKS_VARIABLE = "KBENCH_TASKS"
"""Variable that names folders of tasks beside the registry's, which its user trusts; joined like those of PATH."""
_IMPORTED_SUBMISSIONS = "submissions"
"""Folder for the submissions of an import, beside its tasks; it is never a family of tasks."""
PINNED_FILE = "regressions.yaml"
ADMISSION_FILE = "admission.yaml"
IMPORTED_FILE = "imported.yaml"
SUBMISSION_FILE = "submission.yaml"
_LANGUAGE_OF = {".py": "python", **dict.fromkeys(SUFFIXES["cpp"], "cpp"), ".cu": "cuda"}
IGNORED_PARTS = {"__pycache__", ".git"}
"""Folders whose files are no sources of a submission."""


@dataclass(frozen=True)
class LoadedTask:
    """Task with the source text of its reference, its pinned cases, and the digest of all three."""

    spec: Task
    folder: Path
    reference: str
    digest: str
    pinned: tuple[Case, ...] = ()
    admission: Admission | None = None

    @property
    def objection(self) -> str:
        """Reason why the audit did not admit the task; empty if it did, and for a task of the registry."""
        return "" if self.admission is None else self.admission.objection(self.digest)


class _Pinned(Strict):
    """The content of a `regressions.yaml`: cases on which a kernel once failed, run in every suite of the task."""

    cases: tuple[Case, ...]


def task_folders(root: Path | None = None) -> list[Path]:
    """List every folder below `root` (default: the registry) that holds a task, in order of their names."""
    return sorted(path.parent for path in (root or data_folder("tasks")).glob(f"*/*/{TASK_FILE}"))


def task_names() -> list[str]:
    """List the names of all tasks of the registry."""
    return ["/".join(folder.parts[-2:]) for folder in task_folders()]


def load_task(name: str) -> LoadedTask:
    """Load the task that a user calls `name` (family/op), or the one in a folder of that path.

    Its reference will be executed, so that a submission must not name a path: see `task_of`. Raises UsageError and
    SpecError.
    """
    if (folder := _trusted_folder(name) or Path(name)) and (folder / TASK_FILE).is_file():
        return read_task(folder)
    raise _unknown(name)


def task_of(name: str) -> LoadedTask:
    """Load the task that a submission or a record calls `name`: one of the registry, or of KBENCH_TASKS.

    A task that lies elsewhere, or with a submission, is never loaded: the submission's author could have put it there.
    The judge executes a task's reference, which also says what is right. Raises UsageError and SpecError.
    """
    if (folder := _trusted_folder(name)) is not None:
        return read_task(folder)
    raise _unknown(name)


def _trusted_folder(name: str) -> Path | None:
    """Find the folder of a task where its user has said that tasks are; None if it is not there."""
    family, _, op = name.partition("/")
    is_name = family.isidentifier() and op.isidentifier() and family != _IMPORTED_SUBMISSIONS
    roots = [data_folder("tasks"), *map(Path, filter(None, os.environ.get(TASKS_VARIABLE, "").split(os.pathsep)))]
    found = (root for root in roots if is_name and (root / name / TASK_FILE).is_file())
    return next((root / name for root in found if not _is_of_a_submission(root, root / name)), None)


def _is_of_a_submission(root: Path, folder: Path) -> bool:
    """Tell if the author of a submission may have put a task there, or a link that leads there."""
    place, end = folder.resolve(), root.resolve()
    if not place.is_relative_to(end):
        return True
    return any((each / SUBMISSION_FILE).exists() for each in (place, *place.parents) if each.is_relative_to(end))


def _unknown(name: str) -> UsageError:
    near = get_close_matches(name, task_names(), 1)
    hint = f"did you mean {near[0]!r}?" if near else "`kbench tasks` lists all tasks"
    if (Path(name) / TASK_FILE).is_file():
        hint = (
            "the one in this folder is used, and its code executed, only where --tasks DIR names it "
            "(here: --tasks .), and where no submission lies around it"
        )
    return UsageError(f"no task {name!r}; {hint}")


def read_task(folder: Path) -> LoadedTask:
    """Read the files of one folder: a task, its reference, its pinned cases and its admission. Raises SpecError."""
    where = str(folder / TASK_FILE)
    text = (folder / TASK_FILE).read_text(encoding="utf-8")
    spec = parse(Task, read_yaml(text, where), where)
    if spec.name != "/".join(folder.resolve().parts[-2:]):
        raise SpecError(f"{where}: name: {spec.name!r} does not match the folder {folder}")
    reference = folder / "reference.py"
    if not reference.is_file():
        raise SpecError(f"{reference}: missing; it must define reference({', '.join(spec.inputs)})")
    source = reference.read_text(encoding="utf-8")
    regressions = folder / PINNED_FILE
    texts = [text, source] + ([regressions.read_text(encoding="utf-8")] if regressions.is_file() else [])
    pinned = _read_pinned(spec, texts[2], str(regressions)) if len(texts) > 2 else ()
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return LoadedTask(spec, folder, source, f"sha256:{digest}", pinned, _read_admission(folder))


def _read_admission(folder: Path) -> Admission | None:
    """Read the result of the audit of an imported task; None for any other one. Raises SpecError."""
    path = folder / ADMISSION_FILE
    if not path.is_file():
        is_imported = (folder / IMPORTED_FILE).is_file()
        return Admission(status="not admitted", reasons=("its import did not finish",)) if is_imported else None
    return parse(Admission, read_yaml(path.read_text(encoding="utf-8"), str(path)), str(path))


def _read_pinned(task: Task, text: str, where: str) -> tuple[Case, ...]:
    """Read the cases of a `regressions.yaml`. Raises SpecError for a case that is none of the task's."""
    cases = parse(_Pinned, read_yaml(text, where), where).cases
    for number, case in enumerate(cases):
        if problem := _unpinnable(task, case):
            raise SpecError(f"{where}: cases.{number}: {problem}")
    return cases


def _unpinnable(task: Task, case: Case) -> str | None:
    if case.dtype not in task.dtypes:
        return f"dtype: {task.name} has no {case.dtype}; it has {', '.join(task.dtypes)}"
    if case.role != "check":
        return "role: a pinned case is only checked; leave the key out"
    return task.misfit(case.axes)


def submission_folders(root: Path) -> list[Path]:
    """List every folder at or below `root` that holds a submission, however deep. Links to folders are not followed."""
    found, left = [], [root]
    while left:
        folder = left.pop()
        with suppress(OSError), os.scandir(folder) as entries:  # a folder that cannot be listed is passed over
            for entry in entries:
                if entry.name == SUBMISSION_FILE:
                    found.append(folder)
                elif entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
    return sorted(found)


def baselines_of(task: str) -> list[Path]:
    """List the folders of the published kernels for `task`."""
    return submission_folders(data_folder("baselines") / task)


def find_submissions(path: Path, task: str | None = None) -> list[Submission]:
    """Find the submissions that `path` names: a directory, a tree of them, or one file together with `task`.

    Raises UsageError when there is none, SpecError when one is malformed.
    """
    if path.is_file() and path.name != SUBMISSION_FILE:
        return [_from_file(path, task)]
    folder = path.parent if path.is_file() else path
    if not folder.is_dir():
        raise UsageError(f"{path}: no such file or directory")
    folders = submission_folders(folder)
    if not folders:
        raise UsageError(f"{path}: no {SUBMISSION_FILE} here or below; `kbench new TASK --language L DIR` writes one")
    return [read_submission(found) for found in folders]


def read_submission(folder: Path) -> Submission:
    """Read one submission without executing any of it. Raises SpecError."""
    try:
        return _read_submission(folder)
    except (OSError, RecursionError) as error:  # such as a link whose target is too long a name
        raise SpecError(f"{printable(str(folder))}: cannot be read: {type(error).__name__}: {error}") from None


def _read_submission(folder: Path) -> Submission:
    where = str(folder / SUBMISSION_FILE)
    _check_inside(folder / SUBMISSION_FILE, folder.resolve())
    header = _read_text(folder / SUBMISSION_FILE, where)
    file = parse(SubmissionFile, read_yaml(header, where), where)
    sources = dict(_sources(folder))
    submission = _submission(_name(folder.resolve()), file, sources, where)
    if submission.entry_file not in sources:
        near = get_close_matches(submission.entry_file, sources, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SpecError(f"{where}: entry_point: no file {submission.entry_file!r} in {folder}{hint}")
    return submission


def _from_file(path: Path, task: str | None) -> Submission:
    if task is None:
        raise UsageError(f"{path}: a single file needs --task FAMILY/OP")
    language = _LANGUAGE_OF.get(path.suffix)
    if language is None:
        raise UsageError(f"{path}: cannot tell the language from {path.suffix!r}; known: {', '.join(_LANGUAGE_OF)}")
    text = _read_text(path, str(path))
    if language == "python" and "triton" in text:
        language = "triton"
    symbol = usual_symbol(task, language)
    data = {"task": task, "language": language, "entry_point": f"{path.name}::{symbol}"}
    return _submission(path.stem, parse(SubmissionFile, data, str(path)), {path.name: text}, str(path))


def _submission(name: str, file: SubmissionFile, sources: dict[str, str], where: str) -> Submission:
    return parse(Submission, {"name": name, "file": file.model_dump(mode="json"), "sources": sources}, where)


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    count = 0
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_dir() or path.name == SUBMISSION_FILE or IGNORED_PARTS & set(relative.parts):
            continue
        _check_inside(path, root)
        _name(path)
        count += 1
        if count > MAX_FILES:
            raise SpecError(f"{folder}: more than {MAX_FILES} files; a submission holds sources only")
        yield relative.as_posix(), _read_text(path, str(path))


def _check_inside(path: Path, root: Path) -> None:
    try:
        inside = path.resolve().is_relative_to(root)
    except (RuntimeError, OSError):  # a link that leads back to itself
        inside = False
    if not inside:
        raise SpecError(f"{path}: points outside the submission's directory; copy the file into it")


def _name(path: Path) -> str:
    if printable(path.name) != path.name:
        raise SpecError(f"{printable(str(path))}: the name is not UTF-8; rename it")
    return path.name


def _read_text(path: Path, where: str) -> str:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise SpecError(f"{where}: not a regular file")
        if size > MAX_FILE_BYTES:
            raise SpecError(f"{where}: {size:,} bytes; a source file may have at most {MAX_FILE_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"{where}: not UTF-8 text; a submission holds sources only") from None
    except OSError as error:
        raise SpecError(f"{where}: {error.strerror}") from None
