"""Cells of tables: what a record words is hostile text, and inert in a CSV and on a page of Markdown."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

from robust_kbench.schema.documents import shown

# Where a spreadsheet begins to compute: at the start of a cell, which in half of the world a semicolon ends, too.
_FORMULA = re.compile(r"(^|;)([\s\"]*)([=+\-@\uff1d\uff0b\uff0d\uff20])")
_ENDS_CODE = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})


def to_csv(rows: Iterable[Mapping[str, object]], columns: Sequence[str], decimals: int = 4) -> str:
    """Comma-separated, one header line, empty where a value does not exist. Text is no formula: see `inert`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    form = f"%.{decimals}f"
    pick = _tuples(columns)
    # By exact types first: a table of 20,000 records has over a million cells.
    kinds: dict[type, Callable[[Any], object]] = {str: inert, float: partial(_number, form=form), int: _as_it_is}
    other = partial(_cell, form=form)
    writer.writerows([kinds.get(type(value), other)(value) for value in pick(row)] for row in rows)
    return text.getvalue()


def _tuples(columns: Sequence[str]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    """What a row has in `columns`, in their order."""
    pick = itemgetter(*columns)
    return pick if len(columns) > 1 else lambda row: (pick(row),)


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else form % value


def _as_it_is(value: object) -> object:
    return value


def _cell(value: object, form: str) -> object:
    if isinstance(value, str):
        return inert(value)
    return _number(value, form) if isinstance(value, float) else value


@lru_cache(maxsize=1 << 16)
def inert(text: str) -> str:
    """As one line in which no spreadsheet finds a formula: an apostrophe stands before it."""
    return _FORMULA.sub(r"\1\2'\3", shown(text))


@lru_cache(maxsize=1 << 14)
def quoted(text: str) -> str:
    """`text` as code, where a page finds no markup, link, mention or entity. What would end the code is replaced."""
    code = shown(text).translate(_ENDS_CODE).strip()
    return f"`{code}`" if code else ""
