"""Checks of places to write to: a bad place is reported in one line, with exit code 2, before any work.

Nothing is made and nothing is changed to find out, but a file without a name in the folder that is there.
"""

from __future__ import annotations

import errno
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
    """Raise UsageError if `path` is no file, or cannot be made one. `name` is its name on the command line."""
    try:
        if path.is_dir():
            raise UsageError(f"{name} {path}: is a folder; name a file")
        real = Path(os.path.realpath(path))  # a link to what is not there yet is written through
        if os.path.lexists(real):
            os.close(os.open(real, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC))
        else:
            _check_inside(real.parent, (real.name,))
    except OSError as error:
        raise _refused(path, name, error) from None


def check_folder(path: Path, name: str) -> None:
    """Raise UsageError if `path` is no folder in which files can be made, or cannot be made one."""
    try:
        _check_inside(Path(os.path.realpath(path)))
    except OSError as error:
        raise _refused(path, name, error) from None


def _check_inside(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Check that files can be made in `folder`, or in its nearest parent that is there. Raises OSError.

    A file without a name is made there. The names of all missing folders, and `names`, must not be too long.
    """
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    with tempfile.TemporaryFile(dir=there):
        pass
    longest = os.pathconf(there, "PC_NAME_MAX")
    if any(len(os.fsencode(part)) > longest for part in (*folder.relative_to(there).parts, *names)):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def _refused(path: Path, name: str, error: OSError) -> UsageError:
    return UsageError(f"{name} {path}: cannot be written: {error.strerror or error}; name another place")


def _name(parameter: typer.CallbackParam) -> str:
    return max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.human_readable_name
