"""robust-kbench's task folders: func_forward.py and config_forward.json, and the same for backward.

The format is that of Lange et al. 2025, arXiv:2509.14279: six lists of keyword arguments, for inputs, for the model,
and for both; one set for a single configuration and one for several.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from robust_kbench.importers.description import Found, Request, Unread
from robust_kbench.importers.foreign_files import files_below, is_file, read_each, read_json, read_source
from robust_kbench.importers.kernelbench import op_name
from robust_kbench.schema.documents import Strict, parse

PAPER = "arXiv:2509.14279"
FAMILY = "robust_kbench"
_LEVEL = re.compile(r"level_?\d+")
_MOST_CONFIGURATIONS = 64
Option = int | float | bool | str | None
Options = dict[str, Option]
Direction = Literal["forward", "backward"]


class Configurations(Strict):
    """The content of a config_forward.json or config_backward.json."""

    single_input_configs: tuple[Options, ...]
    single_init_configs: tuple[Options, ...]
    single_shared_configs: tuple[Options, ...]
    multi_input_configs: tuple[Options, ...]
    multi_init_configs: tuple[Options, ...]
    multi_shared_configs: tuple[Options, ...]

    def pairs(self) -> list[tuple[Options, Options]]:
        """Arguments of get_inputs and of the model for every combination, those of single configurations first."""
        single = itertools.product(self.single_init_configs, self.single_input_configs, self.single_shared_configs)
        multi = itertools.product(self.multi_init_configs, self.multi_input_configs, self.multi_shared_configs)
        found: list[tuple[Options, Options]] = []
        for init, inputs, shared in itertools.islice(itertools.chain(single, multi), _MOST_CONFIGURATIONS):
            pair = {**inputs, **shared}, {**init, **shared}
            if (any(pair) or not found) and pair not in found:  # an empty one stands for the defaults
                found.append(pair)
        return found


def find(source: Path, only: str = "", unread: list[Unread] | None = None) -> list[Found]:
    """Every task that `source` is or holds, both directions of each.

    What cannot be read is added to `unread`; raises SpecError for it by default.
    """
    files = files_below(source, "func_*ward.py") if source.is_dir() else [source]
    return list(read_each([path for path in files if re.search(only, str(path))], _read, unread))


def _read(path: Path) -> Iterator[Found]:
    direction: Direction
    for direction in ("forward", "backward"):
        settings = path.with_name(f"config_{direction}.json")
        if path.name == f"func_{direction}.py" and is_file(settings):
            yield Found(str(path), "robust-kbench", _request(path, direction, read_json(settings)))


def _request(path: Path, direction: Direction, data: Mapping[str, Any]) -> Request:
    settings = parse(Configurations, data, str(path.with_name(f"config_{direction}.json")))
    title = path.parent.name
    if _LEVEL.fullmatch(path.parent.parent.name):  # where task_1 stands in several of them
        title = f"{path.parent.parent.name}_{title}"
    op = op_name(title) + ("_backward" if direction == "backward" else "")
    words = "".join(character if character.isalnum() else " " for character in title)
    return Request(
        what="gradient" if direction == "backward" else "function",
        name=f"{FAMILY}/{op}", title=f"{title}/{direction}", source=read_source(path),
        summary=f"robust-kbench {' '.join(words.split())}, {direction}."[:170],
        origin=f"robust-kbench, {PAPER}, {title}/{path.name}"[:300],
        options={"configurations": settings.pairs()},
    )  # fmt: skip
