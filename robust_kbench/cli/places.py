"""Where commands write: a place that cannot be written to is told in one line, with exit code 2, before any work.

Nothing is made and nothing is changed to find out, but a file without a name in the folder that is there.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer

from robust_kbench.errors import UsageError


def file_to_write(parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Check the value of an option that names a file to write or to add to. Raises UsageError."""
    if value is not None:
        check_file(value, _name(parameter))
    return value


def folder_to_write(parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Check the value of an option that names a folder to write into. Raises UsageError."""
    if value is not None:
        check_folder(value, _name(parameter))
    return value


def check_file(path: Path, name: str) -> None:
    """Raise UsageError if `path` is no file, or cannot be made one; `name`: what it was given as."""
    if path.is_dir():
        raise UsageError(f"{name} {path}: is a folder; name a file")
    if not path.exists():
        _check_inside(path.parent, path, name)
        return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        raise _refused(path, name, error) from None


def check_folder(path: Path, name: str) -> None:
    """Raise UsageError if `path` is no folder in which files can be made, or cannot be made one."""
    _check_inside(path, path, name)


def _check_inside(folder: Path, path: Path, name: str) -> None:
    """Make a file without a name in the nearest folder that is there."""
    there = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise _refused(path, name, error) from None


def _refused(path: Path, name: str, error: OSError) -> UsageError:
    return UsageError(f"{name} {path}: cannot be written: {error.strerror or error}; name another place")


def _name(parameter: typer.CallbackParam) -> str:
    return max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.human_readable_name
