"""Function of hypothesis that the search needs, with its habits of a test runner switched off."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import Phase, Verbosity, settings
from hypothesis import find as find_example
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

Item = TypeVar("Item")


def find(
    strategy: SearchStrategy[Item],
    condition: Callable[[Item], bool],
    *,
    seed: int,
    examples: int,
    phases: Sequence[Phase],
) -> Item | None:
    """Return an example that meets `condition`, the simplest one if `phases` include shrinking; None if none was found.

    There is no database and no deadline. Files that hypothesis keeps, by default below the current folder, are thrown
    away.
    """
    limits = settings(
        max_examples=examples, phases=phases, database=None, deadline=None, derandomize=False, verbosity=Verbosity.quiet
    )
    with tempfile.TemporaryDirectory(prefix="kbench-search-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            return find_example(strategy, condition, settings=limits, random=random.Random(seed))
        except NoSuchExample:
            return None
        finally:
            set_hypothesis_home_dir(None)
