"""Certain and uncertain outcomes of an #if."""

from __future__ import annotations

import pytest

from robust_kbench.emulator import directives
from robust_kbench.emulator.conditions import PREDEFINED, evaluate
from robust_kbench.emulator.directives import Liveness
from robust_kbench.emulator.tokens import tokenize


def value(condition: str) -> int | None:
    return evaluate(tokenize(condition), PREDEFINED)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("0", 0), ("1", 1), ("0x10", 16), ("0b11", 3), ("1'000L", 1000), ("true", 1), ("false", 0),
        ("1 + 2 * 3 - 4 / 3 % 2", 6), ("7 - 2 - 1", 4), ("-7 / 2", -3), ("-7 % 2", -1), ("1 << 3 >> 1", 4),
        ("~0 & 6 | 1 ^ 3", 6), ("(1 + 1) * 3", 6),
        ("1 < 2 == 1", 1), ("3 <= 2 || 2 >= 2 && 1 != 1", 0), ("!0 ? 5 : 6", 5), ("0 ? 5 : 0 ? 6 : 7", 7),
        ("__CUDA_ARCH__ >= 900", 0), ("__CUDA_ARCH__ >= 700", 1), ("defined __CUDACC__", 1), ("defined(USE_ROCM)", 0),
        ("defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 600)", 0), ("!defined(__HIPCC__)", 1), ("_MSC_VER", 0),
    ],
)  # fmt: skip
def test_a_condition_of_known_values_has_one(condition: str, expected: int) -> None:
    assert value(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "UNKNOWN",
        "defined(UNKNOWN)",
        "!UNKNOWN",
        "UNKNOWN + 1",
        "UNKNOWN ? 1 : 1",
        "FUNCTION(1)",
        "__has_include(<a.h>)",
    ],
)
def test_a_condition_of_other_names_has_none(condition: str) -> None:
    assert value(condition) is None


@pytest.mark.parametrize(("condition", "expected"), [("UNKNOWN && 0", 0), ("0 && X", 0), ("X || 1", 1), ("1 || X", 1)])
def test_one_side_can_be_enough(condition: str, expected: int) -> None:
    assert value(condition) == expected


@pytest.mark.parametrize(
    "condition",
    ["", "1 +", "(1", "1 2", "1 / 0", "1 % 0", "1 << 99", "1 << -1", "'a'", "1.5", "-1 < 0u", "(" * 90, "!" * 9999],
)
def test_what_is_no_condition_or_left_to_the_compiler_has_none(condition: str) -> None:
    assert value(condition) is None


def compiled(source: str) -> str:
    """Return the names in the code that is not certainly left out."""
    tokens = tokenize(source)
    liveness, names, position = Liveness(), "", 0
    for directive in [*directives.find(tokens), None]:
        end = directive.first if directive else len(tokens)
        names += "" if liveness.dead else "".join(token.text for token in tokens[position:end] if token.significant)
        if directive:
            liveness.pass_directive(directive, tokens)
            position = directive.last + 1
    return names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a\n#if 0\nb\n#endif\nc", "ac"),
        ("#if 0\na\n#else\nb\n#endif", "b"),
        ("#if 1\na\n#else\nb\n#endif", "a"),
        ("#if 1\na\n#elif 1\nb\n#else\nc\n#endif", "a"),
        ("#if 0\na\n#elif 1\nb\n#else\nc\n#endif", "b"),
        ("#if X\na\n#else\nb\n#endif", "ab"),
        ("#if X\na\n#elif 1\nb\n#else\nc\n#endif", "ab"),
        ("#if 0\n#if 1\na\n#endif\nb\n#else\nc\n#endif", "c"),
        ("#ifdef __CUDACC__\na\n#endif\n#ifndef __CUDACC__\nb\n#endif", "a"),
        ("#ifdef USE_ROCM\na\n#elifdef __CUDACC__\nb\n#elifndef X\nc\n#endif", "b"),
        ("  #  if 0 // c\na\n# endif\nb", "b"),
        ("#if 0 \\\n || 1\na\n#endif", "a"),
        ("#if 0\na", ""),
        ("a\n#endif\n#else\nb", "ab"),
        ('#if 0\n"\n#endif\na', "a"),
        ("#define N 3\n#if N > 3\na\n#endif\n#if N == 3\nb\n#endif", "b"),
        ("#define N (2 * 2)\n#if N == 4\na\n#else\nb\n#endif", "a"),
        ("#define N\n#ifdef N\na\n#else\nb\n#endif", "a"),
        ("#define N 0\n#undef N\n#if N\na\n#endif", "a"),
        ("#if X\n#define N 0\n#endif\n#if N\na\n#endif", "a"),
        ("#define N 1\n#if X\n#undef N\n#define N 0\n#endif\n#if N\na\n#else\nb\n#endif", "ab"),
        ("#ifndef GUARD\n#define GUARD\na\n#endif", "a"),
        ("#define F(x) 0\n#if F(1)\na\n#endif", "a"),
    ],
)
def test_code_is_left_out_when_that_is_certain(source: str, names: str) -> None:
    assert compiled(source) == names
