"""Workloads of flashinfer-trace: lines of JSON. A broken line is told with its place, and costs no other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from robust_kbench.errors import SpecError
from robust_kbench.importers.definitions import Definition, Workload
from robust_kbench.importers.description import Unread
from robust_kbench.importers.foreign_files import check_path, files_below, is_file, parse_json, read_content, unread_at
from robust_kbench.schema.documents import parse

_MOST_WORKLOADS = 4096
_MOST_LINES = 10_000  # of a file, which has at most a mebibyte
_MOST_TOLD = 20
"""Most lines of a file that are told. A file of something else may have thousands that are none of ours."""
_NAMED = re.compile(r'"definition"\s*:\s*"([^"\\]{1,300})"')


@dataclass(frozen=True)
class _Line:
    path: Path
    number: int
    """Number of the line from one; 0 stands for the whole file."""
    definition: str | None
    """Definition that the line names, also if the line is broken otherwise."""
    data: Any = None
    error: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}" if self.number else str(self.path)


class WorkloadLines:
    """Workloads below a folder. A line that cannot be read is added to `unread`, once.

    Raises SpecError for such a line where `unread` is None.
    """

    def __init__(self, root: Path, unread: list[Unread] | None) -> None:
        self._root, self._unread = root, unread
        self._files: dict[Path, list[_Line]] = {}
        self._by_definition: dict[str, list[_Line]] | None = None
        self._works: dict[str, Workload | str] = {}
        self._told: set[str] = set()
        self._told_of: Counter[Path] = Counter()

    def of(self, path: Path, definition: Definition) -> list[Workload]:
        """Return the workloads of the definition in file `path`: from lines beside it, else from all that name it."""
        beside = [each for each in sorted(path.parent.glob("*.jsonl")) if is_file(each)]
        if beside:
            lines = [line for file in beside for line in self._lines(file)]
            own = [line for line in lines if line.definition in (None, definition.name)]
        else:
            own = self._elsewhere().get(definition.name, [])
        return list(islice(self._workloads(own, definition), _MOST_WORKLOADS))

    def finish(self, only: str) -> None:
        """Tell the lines with errors, of files in whose path `only` is found, and how many were not told.

        The definition that such a line names may not have been asked for.
        """
        for path, lines in self._files.items():
            for line in lines if re.search(only, str(path)) else []:
                if line.error:
                    self._tell(line, line.error)
        for path, count in self._told_of.items():
            if count > _MOST_TOLD and self._unread is not None:
                self._unread.append(unread_at(str(path), f"{count - _MOST_TOLD} more of its lines cannot be read"))

    def _workloads(self, lines: list[_Line], definition: Definition) -> Iterator[Workload]:
        for line in lines:
            try:
                yield self._workload(line, definition)
            except SpecError as error:
                self._tell(line, f"workload of {definition.name}: {error}")

    def _workload(self, line: _Line, definition: Definition) -> Workload:
        """Parse a line once, however many definitions it may belong to. Raises SpecError, without the line's place."""
        if line.place not in self._works:
            self._works[line.place] = _parsed_work(line)
        work = self._works[line.place]
        if isinstance(work, str):
            raise SpecError(work)
        for name, axis in definition.axes.items():
            if axis.type == "var" and name not in work.axes:
                raise SpecError(f"axes.{name}: missing; this key is required")
        return work

    def _tell(self, line: _Line, error: str) -> None:
        if self._unread is None:
            raise SpecError(f"{line.place}: {error}")
        if line.place in self._told:
            return
        self._told.add(line.place)
        self._told_of[line.path] += 1
        if self._told_of[line.path] <= _MOST_TOLD:
            self._unread.append(unread_at(line.place, error))

    def _lines(self, path: Path) -> list[_Line]:
        if path not in self._files:
            self._files[path] = list(_read(path))
        return self._files[path]

    def _elsewhere(self) -> dict[str, list[_Line]]:
        """Return all lines by the definition that they name. If they name none, their file does, as in datasets."""
        if self._by_definition is None:
            self._by_definition = {}
            for path in files_below(self._root, "*.jsonl"):
                for line in self._lines(path) if is_file(path) else []:
                    self._by_definition.setdefault(line.definition or path.stem, []).append(line)
        return self._by_definition


def _read(path: Path) -> Iterator[_Line]:
    try:
        check_path(path)
        lines = read_content(path).split(b"\n")
    except SpecError as error:
        yield _Line(path, 0, None, error=_without(error, str(path)))
        return
    written = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, line in written[:_MOST_LINES]:
        yield _parsed(path, number, line)
    if len(written) > _MOST_LINES:
        number, _ = written[_MOST_LINES]
        yield _Line(path, number, None, error=f"lines from here on are not read: a file may have {_MOST_LINES:,}")


def _parsed(path: Path, number: int, line: bytes) -> _Line:
    text = line.decode(errors="replace")
    named = _NAMED.search(text)
    try:
        data = parse_json(line.decode(), "")
    except UnicodeDecodeError:
        error = "not UTF-8 text"
    except SpecError as reason:
        error = _without(reason, "")
    else:
        definition = data.get("definition") if isinstance(data, dict) else None
        if isinstance(definition, str):
            return _Line(path, number, definition, data)
        if isinstance(data, dict) and "definition" not in data:
            return _Line(path, number, None, data)
        error = "its definition is no name" if isinstance(data, dict) else "not a mapping of keys to values"
    return _Line(path, number, named[1] if named else None, error=error)


def _parsed_work(line: _Line) -> Workload | str:
    """Parse a line; return the error in words if it cannot be parsed."""
    if line.error:
        return line.error
    try:
        return parse(Workload, line.data.get("workload", line.data), "")
    except SpecError as error:
        return _without(error, "")


def _without(error: SpecError, place: str) -> str:
    return str(error).removeprefix(f"{place}: ")
