"""Instructions of single threads against references in Python: see ptx_cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import ptx_bit_cases as bits
import ptx_comparison_cases as comparisons
import ptx_conversion_cases as conversions
import ptx_float_cases as floats
import ptx_half_cases as halves
import ptx_integer_cases as integers
import pytest
from conftest import needs_compiler
from ptx_cases import Case, values
from ptx_program import Program

pytestmark = needs_compiler

FAMILIES = (integers, bits, floats, comparisons, conversions, halves)
CASES = {f"case{number}": case for number, case in enumerate(case for family in FAMILIES for case in family.cases())}
THREADS = 256


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program({name: case.snippet for name, case in CASES.items()}, tmp_path_factory.mktemp("ptx"))


def agrees(found: Any, expected: Any, tolerance: float) -> bool:
    if found.dtype.kind != "f":
        return bool(found == expected)
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    if tolerance and math.isfinite(expected):
        return abs(float(found) - float(expected)) <= max(tolerance * abs(float(expected)), 1e-37)
    return bool(found == expected and np.signbit(found) == np.signbit(expected))


def explained(case: Case, inputs: Sequence[Any], found: Any) -> str:
    """Empty when the result is right."""
    with np.errstate(all="ignore"):
        operands = [value if value.dtype.kind == "f" else int(value) for value in inputs]
        expected = np.asarray(case.reference(*operands)).astype(found.dtype)[()]
    right = agrees(found, expected, case.tolerance)
    return "" if right else f"{case.snippet.template} of {operands} is {expected}, not {found}"


@pytest.mark.rotating
@pytest.mark.parametrize("name", CASES, ids=lambda name: CASES[name].snippet.template)
def test_an_instruction_computes_what_the_manual_says(name: str, program: Program) -> None:
    case = CASES[name]
    generator = np.random.default_rng(7)
    inputs = [values(operand, THREADS, generator) for operand in case.snippet.inputs]
    found = program(name, *inputs)
    wrong = [explained(case, operands, result) for *operands, result in zip(*inputs, found, strict=True)]
    assert not any(wrong), next(filter(None, wrong))
