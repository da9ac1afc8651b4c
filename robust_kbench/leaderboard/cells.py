"""Cells of tables. Text of a record is hostile, and made inert for a CSV and for a page of Markdown."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import cast

from robust_kbench.schema.documents import shown

# Where a spreadsheet begins to compute: at the start of a cell, which in half of the world a semicolon ends, too.
_FORMULA = re.compile(r"(^|;)([\s\"]*)([=+\-@\uff1d\uff0b\uff0d\uff20])")
_ENDS_CODE = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})


def to_csv(rows: Iterable[Mapping[str, object]], columns: Sequence[str], decimals: int = 4) -> str:
    """Return a CSV with one header line and empty cells for missing values. Text is no formula: see `inert`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    # Column by column, as most have one type throughout: a table of 20,000 records has over a million cells.
    cells = [_column(values, f"%.{decimals}f") for values in zip(*map(_tuples(columns), rows), strict=True)]
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _tuples(columns: Sequence[str]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    """Return a function that picks the values of `columns` from a row, in their order."""
    pick = itemgetter(*columns)
    return pick if len(columns) > 1 else lambda row: (pick(row),)


def _column(values: Sequence[object], form: str) -> Iterable[object]:
    kinds = set(map(type, values))
    if kinds == {str}:
        return map(inert, cast("Sequence[str]", values))
    if kinds <= {int, NoneType}:
        return values
    if kinds <= {float, NoneType}:
        return ["" if value is None or value != value else form % value for value in values]  # noqa: PLR0124 - NaN
    return [_cell(value, form) for value in values]


def _cell(value: object, form: str) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else form % value
    return inert(value) if isinstance(value, str) else value


@lru_cache(maxsize=1 << 16)
def inert(text: str) -> str:
    """Return `text` as one line in which no spreadsheet finds a formula: an apostrophe is put before each."""
    return _FORMULA.sub(r"\1\2'\3", shown(text))


@lru_cache(maxsize=1 << 14)
def quoted(text: str) -> str:
    """Return `text` as Markdown code, without markup, link, mention or entity for a page.

    Characters that would end the code are replaced.
    """
    code = shown(text).translate(_ENDS_CODE).strip()
    return f"`{code}`" if code else ""
