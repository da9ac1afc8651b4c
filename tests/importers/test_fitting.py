"""Expressions over axes, from sizes that were measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from robust_kbench.importers.fitting import Sample, fit

SIZES = [16, *range(5, 16), *range(17, 30), 48, 64, 97]


def samples(function: Callable[..., int], *axes: str) -> list[Sample]:
    """Along each axis, and some together."""
    origin = dict.fromkeys(axes, SIZES[0])
    bindings = [origin, *({**origin, name: size} for name in axes for size in SIZES[1:])]
    bindings += [{name: SIZES[(3 * turn + place) % len(SIZES)] for place, name in enumerate(axes)} for turn in range(8)]
    return [Sample(binding, function(**binding)) for binding in bindings]


@pytest.mark.parametrize(
    ("function", "axes", "expression"),
    [
        (lambda a: 7, "a", 7),
        (lambda a: a, "a", "a"),
        (lambda a: 3 * a, "a", "3 * a"),
        (lambda a: a - 4, "a", "a - 4"),
        (lambda a: 100 - a, "a", "100 - a"),
        (lambda a: (a - 5) // 3 + 1, "a", "(a - 2) // 3"),
        (lambda a: ((a + 2 - 3) // 2 + 1) // 2, "a", "(a + 1) // 4"),
        (lambda a: (a // 4) ** 2 + 1, "a", "(a // 4) * (a // 4) + 1"),
        (lambda a, b: a * b, "ab", "a * b"),
        (lambda a, b: 4 * (a - 2) * ((b - 1) // 2), "ab", "4 * (a - 2) * ((b - 1) // 2)"),
        (lambda a, b: (a // 4) * (b // 4) + 1, "ab", "(a // 4) * (b // 4) + 1"),
        (lambda a, b: a + 2 * b + 5, "ab", "a + 2 * b + 5"),
        (lambda a, b: (a + 3) // 4 + b, "ab", "(a + 3) // 4 + b"),
        (lambda a, b, c: 2 * a * b * c, "abc", "2 * a * b * c"),
    ],
)
def test_a_size_is_found_as_it_is_computed(function: Callable[..., int], axes: str, expression: int | str) -> None:
    assert fit(samples(function, *axes)) == expression


@pytest.mark.parametrize(
    ("function", "axes"),
    [(lambda a, b: max(a, b), "ab"), (lambda a: a**3, "a"), (lambda a, b: a * b + a + b, "ab")],
    ids=["a maximum", "a cube", "a sum of products"],
)
def test_what_has_no_such_form_is_told_from_what_has(function: Callable[..., int], axes: str) -> None:
    assert fit(samples(function, *axes)) is None


def test_an_expression_must_be_right_where_all_axes_differ() -> None:
    line = samples(lambda a, b: a * b, "a", "b")
    assert fit([*line, Sample({"a": 50, "b": 50}, 2501)]) is None
