"""Kernels of other suites as submissions. They are not executed here; a task that they belong to is imported first.

A KernelBench `ModelNew` is called by a few lines of ours, through the task's own reference.py, which hands it the same
weights as `Model`. A robust-kbench `.cu` is built as it is, or within a file that fills in the arguments
which are no inputs of the task. A flashinfer-trace solution is a folder of its sources.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.importers.definitions import Solution
from robust_kbench.importers.description import Form, Imported
from robust_kbench.importers.foreign_files import files_below, is_file, read_json, read_source
from robust_kbench.importers.writing import imported_at
from robust_kbench.registry import IGNORED_PARTS, IMPORTED_FILE, SUBMISSION_FILE, TASK_FILE, read_submission
from robust_kbench.schema.documents import parse, printable
from robust_kbench.schema.submission import Submission, SubmissionFile

FOLDER = "submissions"
_NEW = re.compile(r"^class ModelNew\b", re.MULTILINE)
_SAMPLE = re.compile(r"level_(\d+)_problem_(\d+)_sample_\w+")
_KERNEL = {".cu": "cuda"}
_DIRECTIONS = ("forward", "backward")
_FLAGS = ("-O3", "--use_fast_math")
"""Flags with which robust-kbench compiles its kernels."""
_PYTHON = {"python": "python", "pytorch": "python", "triton": "triton"}
_CUDA = ("cuda", "cuda_cpp")
_UNITS = (".cu", ".cpp", ".cc", ".cxx")
_ENTRY_PY = '''"""Calls ModelNew with the weights that are arguments, as the task's reference calls Model."""

from kernel import ModelNew
from reference import run


def kernel(*values):
    """The task's inputs to its outputs."""
    return run(ModelNew, *values)
'''
_ENTRY_CU = """// Calls a kernel that takes more than the task's inputs: what stays the same is filled in here.
#include <torch/extension.h>
#pragma push_macro("PYBIND11_MODULE")
#undef PYBIND11_MODULE
#define PYBIND11_MODULE(name, variable) static void kbench_define(pybind11::module_& variable)
{includes}
#pragma pop_macro("PYBIND11_MODULE")

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{
  pybind11::module_ theirs = m.def_submodule("theirs");
  kbench_define(theirs);
  pybind11::object function = theirs.attr("{symbol}");
  m.def("{entry}", [function](pybind11::args given) {{ return function({arguments}); }});
}}
"""
_ENTRY, _ENTRY_FILE = "kbench_entry", "kbench_entry.cu"


@dataclass(frozen=True)
class Written:
    """Import of one submission: where it came from, and its folder or the reason why there is none."""

    place: str
    folder: Path | None = None
    error: str = ""


def import_submissions(form: Form, source: Path, into: Path, task: Path | None, only: str = "") -> Iterator[Written]:
    """Import every kernel of that form in `source`, for tasks below `into`, or for the one in folder `task`."""
    tasks = _Tasks(into, form, task)
    files = [source] if is_file(source) else [path for path in files_below(source) if is_file(path)]
    for path in files:
        if re.search(only, str(path)):
            try:
                yield from _FORMS[form](path, tasks, into)
            except SpecError as error:
                yield Written(str(path), error=_one_line(error, path))


class _Tasks:
    """Imported tasks, by their titles in their own suites."""

    def __init__(self, into: Path, form: Form, only: Path | None) -> None:
        if only is not None and not (only / IMPORTED_FILE).is_file():
            raise UsageError(f"--task {only}: no folder of an imported task")
        folders = [only] if only is not None else sorted(path.parent for path in into.glob(f"*/*/{TASK_FILE}"))
        self.is_given = only is not None
        self._known = [(folder, how) for folder in folders if (how := imported_at(folder)) and how.form == form]

    def of(self, title: str) -> list[tuple[Path, Imported]]:
        """Return the tasks of this title; where one task was given, that one."""
        return self._known if self.is_given else [each for each in self._known if each[1].title == title]

    def numbered(self, level: str, number: int) -> list[tuple[Path, Imported]]:
        """Return KernelBench's tasks of this level and number; where one task was given, that one."""
        if self.is_given:
            return self._known
        start = f"p{number:03d}_"
        return [e for e in self._known if e[0].parent.name.endswith(f"level{level}") and e[0].name.startswith(start)]


def _models(path: Path, tasks: _Tasks, into: Path) -> Iterator[Written]:
    """Import a file with a ModelNew. The file's name says which problem it solves, as in KernelBench's own runs."""
    if path.suffix != ".py" or not _NEW.search(text := _text(path)):
        return
    sample = _SAMPLE.search(path.stem)
    known = tasks.numbered(sample[1], int(sample[2])) if sample else tasks.of("")
    if not known:
        yield Written(str(path), error="its problem has not been imported; import it first, or name it with --task")
    for folder, _ in known:
        reference = read_source(folder / "reference.py")
        sources = {"entry.py": _ENTRY_PY, "kernel.py": text, "reference.py": reference}
        language = "triton" if re.search(r"^\s*(import|from) triton\b", text, re.MULTILINE) else "python"
        header = {"language": language, "abi": "value", "entry_point": "entry.py::kernel"}
        yield _write(path, folder, into, path.stem, header, sources)


def _extensions(path: Path, tasks: _Tasks, into: Path) -> Iterator[Written]:
    """Import a kernel such as `layernorm/forward/kernel.cu` or `layernorm/forward.cu`."""
    if path.suffix not in _KERNEL:
        return
    by_file = path.stem in _DIRECTIONS
    direction = path.stem if by_file else path.parent.name
    title = f"{(path.parent if by_file else path.parent.parent).name}/{direction}"
    known = tasks.of(title)
    if not known:
        yield Written(str(path), error=f"no imported task {title}; import it first, or name it with --task")
    for folder, how in known:
        symbol = direction if direction in _DIRECTIONS else how.title.rpartition("/")[2]
        yield _extension(path, folder, into, how, {path.name: _text(path)}, symbol)


def _extension(
    path: Path, folder: Path, into: Path, how: Imported, sources: Mapping[str, str], symbol: str, name: str = ""
) -> Written:
    units = [unit for unit in sources if unit.endswith(_UNITS)]
    header: dict[str, Any] = {"language": "cuda", "abi": "torch", "build": list(_FLAGS)}
    is_plain = [each for each in how.call] == [("value", place) for place in range(len(how.call))]
    files = dict(sources)
    if is_plain and len(units) == 1:
        header["entry_point"] = f"{units[0]}::{symbol}"
    else:
        try:
            arguments = ", ".join(_in_cpp(*each) for each in how.call)
        except TypeError as error:
            return Written(str(path), error=f"{error}")
        includes = "\n".join(f'#include "{unit}"' for unit in sorted(units, key=_is_main))
        if _ENTRY_FILE in sources:
            return Written(str(path), error=f"one of its files is called {_ENTRY_FILE}; rename it")
        files[_ENTRY_FILE] = _ENTRY_CU.format(includes=includes, symbol=symbol, entry=_ENTRY, arguments=arguments)
        header["entry_point"] = f"{_ENTRY_FILE}::{_ENTRY}"
    return _write(path, folder, into, name or f"{path.parent.parent.name}_{path.stem}", header, files)


def _is_main(unit: str) -> tuple[bool, str]:
    """Return a sort key that puts device code first, so that its callers find it declared."""
    return not unit.endswith(".cu"), unit


def _in_cpp(how: str, detail: Any) -> str:
    match how, detail:
        case "value", place:
            return f"given[{place}]"
        case "tuple", places:
            return f"pybind11::make_tuple({', '.join(f'given[{place}]' for place in places)})"
    return _constant(detail)


def _constant(value: Any) -> str:
    if value is None:
        return "pybind11::none()"
    if isinstance(value, bool):
        return f"pybind11::bool_({str(value).lower()})"
    if isinstance(value, int | float):
        return f"pybind11::{'int_' if isinstance(value, int) else 'float_'}({value!r})"
    if isinstance(value, list | tuple):
        return f"pybind11::make_tuple({', '.join(map(_constant, value))})"
    raise TypeError(f"{value!r:.60} cannot be handed to a kernel in C++")


def _solutions(path: Path, tasks: _Tasks, into: Path) -> Iterator[Written]:
    """Import a JSON file with a solution of flashinfer-trace."""
    data = read_json(path) if path.suffix == ".json" else None
    if not isinstance(data, dict) or not {"definition", "spec", "sources"} <= set(data):
        return
    solution = parse(Solution, data, str(path))
    known = tasks.of(solution.definition)
    if not known:
        yield Written(str(path), error=f"no imported definition {solution.definition}; import it first")
    for folder, how in known:
        yield _solution(path, folder, into, how, solution)


def _solution(path: Path, folder: Path, into: Path, how: Imported, solution: Solution) -> Written:
    spec = solution.spec
    languages = [*spec.languages, *([spec.language] if spec.language else [])]
    file, _, symbol = spec.entry_point.partition("::")
    file = _plain(file)
    sources: dict[str, str] = {}
    for source in solution.sources:
        if (plain := _plain(source.path)) in sources:
            return Written(str(path), error=f"two of its files are called {plain!r:.80}; rename one")
        sources[plain] = source.content
    name = solution.name
    if unknown := [language for language in languages if language not in (*_PYTHON, *_CUDA)]:
        return Written(str(path), error=f"language {unknown[0]}: kbench has none such")
    if any(language in _CUDA for language in languages):
        if spec.destination_passing_style:
            return Written(
                str(path), error="CUDA that writes into outputs it is given: kbench's torch abi returns them"
            )
        return _extension(path, folder, into, how, sources, symbol, name)
    language = "triton" if "triton" in languages else "python"
    abi = "destination" if spec.destination_passing_style else "value"
    header = {"language": language, "abi": abi, "entry_point": f"{file}::{symbol}", "author": solution.author[:100]}
    return _write(path, folder, into, name, header, sources)


def _plain(name: str) -> str:
    """Spell a file's path as a folder has it: `./a//b` as a/b. A path that leads elsewhere stays as it is."""
    return str(PurePosixPath(name))


def _write(
    path: Path, task: Path, into: Path, name: str, header: Mapping[str, Any], sources: Mapping[str, str]
) -> Written:
    """Check everything as a submission is checked, then write it. An error is told in the result, not raised."""
    title = f"{task.parent.name}/{task.name}"
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:80]
    folder = into / FOLDER / task.parent.name / task.name / name
    try:
        file = {"task": title, **header}
        parse(SubmissionFile, file, str(path))
        parse(Submission, {"name": name, "file": file, "sources": dict(sources)}, str(path))
        if taken := next(filter(_is_ours, sources), None):
            raise UsageError(f"one of its files is called {taken:.80}; rename it")
        files = {SUBMISSION_FILE: _header_text(file), **sources}
        if not folder.exists():
            _write_files(folder, files)
        elif any(_text(folder / each) != text for each, text in files.items()):
            raise UsageError(f"{folder}: holds another kernel; remove it, or import into another folder")
        else:
            read_submission(folder)
    except (SpecError, UsageError, ValueError) as error:
        return Written(str(path), error=_one_line(error, path))
    except OSError as error:
        return Written(str(path), error=f"{folder}: cannot be written: {error.strerror}")
    return Written(str(path), folder)


def _is_ours(name: str) -> bool:
    """Tell if a file would be taken for a header, in whatever folder or case, or not be read as a source."""
    parts = PurePosixPath(name.casefold()).parts
    return SUBMISSION_FILE in parts or not IGNORED_PARTS.isdisjoint(parts)


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write a submission, all of it or nothing. Raises the errors of reading it, OSError and ValueError."""
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        read_submission(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _one_line(error: Exception, path: Path) -> str:
    return " ".join(str(error).removeprefix(f"{path}: ").split())


def _header_text(header: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(header), sort_keys=False, width=116, allow_unicode=True)


def _text(path: Path) -> str:
    """Return the text of a file; empty where the file cannot be a kernel."""
    try:
        return read_source(path)
    except SpecError:
        return ""


def told(written: Sequence[Written]) -> Iterator[str]:
    """Yield a line for each submission: its folder, or the reason why there is none."""
    for each in written:
        if each.folder is None:
            yield f"not imported  {printable(each.place)}: {each.error}"
        else:
            yield f"submission    {each.folder}"


_FORMS: Mapping[Form, Any] = {"kernelbench": _models, "robust-kbench": _extensions, "flashinfer": _solutions}
