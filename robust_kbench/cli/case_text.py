"""A case in one line, as `--case` takes it and as `regressions.yaml` lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robust_kbench.schema.case import Case
    from robust_kbench.schema.record import CaseResult


def line_of(case: Case | CaseResult) -> str:
    """A YAML mapping, without what is at its default."""
    axes = ", ".join(f"{name}: {size}" for name, size in case.axes.items())
    parts = {"axes": f"{{{axes}}}", "dtype": case.dtype, "layout": case.layout}
    parts |= {"probe": case.probe} if case.probe else {"distribution": case.distribution}
    usual = {"layout": "contiguous", "distribution": "normal"}
    told = [f"{key}: {value}" for key, value in parts.items() if usual.get(key) != value]
    told += [f"seed: {case.seed}", *(["role: timed"] if case.role == "timed" else [])]  # on which values depend, too
    return f"{{{', '.join(told)}}}"


def parse_case(text: str) -> int | Case:
    """The number of a case, or the case that a line describes. Raises SpecError."""
    from robust_kbench.schema.case import Case
    from robust_kbench.schema.documents import parse, read_yaml

    if text.isdecimal() and len(text) < 20:
        return int(text)
    return parse(Case, read_yaml(text, "--case"), "--case")
