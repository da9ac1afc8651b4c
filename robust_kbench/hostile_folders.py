"""Folders that hostile code has filled: reading from them, counting what they hold, and deleting them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def discard(folder: Path) -> None:
    """Delete `folder` as far as possible; never raises.

    Python's own function recurses and has a file open for each level, and a submission may nest folders deeply. It may
    also make folders that their owner can neither list nor empty.
    """
    with suppress(RecursionError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):  # neither follows a link below the folder
            subprocess.run([*command, "--", str(folder)], capture_output=True)


def holds_more(folder: Path, most: int) -> bool:
    """Tell if there are more than `most` files and folders below `folder`, in which hostile code may still run.

    A folder that cannot be listed counts as more, since any number may be hidden in it.
    """
    count, left = 0, [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > most:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except FileNotFoundError:  # deleted meanwhile, as an honest cache does
            continue
        except OSError:
            return True
    return False


def open_left(path: Path) -> BinaryIO:
    """Open a regular file that hostile code has left in a folder of its own. Raises OSError for anything else.

    A link there may lead to a file that only the judge may read, and a pipe would make the judge wait.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path.name} is no regular file")
    return os.fdopen(descriptor, "rb")
