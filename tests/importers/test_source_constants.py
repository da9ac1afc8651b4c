"""Integers of a foreign source that can be replaced."""

from __future__ import annotations

import pytest

from robust_kbench.importers.source_constants import find, spliced

SOURCE = '''"""A file with é in it, and a form feed:\x0c."""
N = 2048 * 2
height = width = 512
D, H = 24, 32
shape = (16,)
mixed = (3, N, 5)
word = "é"; k: int = 7
twice = 4
twice = 9
is_on = True


def get_inputs():
    return [torch.rand(N, 3, 224, 225), torch.randint(0, 2, (N,))]
'''


def test_integers_with_names_and_those_of_the_inputs_are_found() -> None:
    assert dict(find(SOURCE).values) == {
        "N": 4096, "height": 512, "width": 512, "D": 24, "H": 32, "shape": 16, "mixed_0": 3, "mixed_2": 5, "k": 7,
        "twice": 9, "size_1": 224, "size_2": 225,
    }  # fmt: skip


def test_with_its_own_values_a_source_means_what_it_meant() -> None:
    found = find(SOURCE)
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(SOURCE, before)
    exec(spliced(SOURCE, found.splices, dict(found.values)), after)
    del before["__builtins__"], after["__builtins__"], before["get_inputs"], after["get_inputs"]
    assert before == after


def test_other_values_reach_everything_that_is_derived_from_them() -> None:
    found = find(SOURCE)
    text = spliced(SOURCE, found.splices, {name: value + 1 for name, value in found.values})
    names: dict[str, object] = {}
    exec(text, names)
    assert (names["N"], names["height"], names["width"], names["mixed"]) == (4097, 513, 513, (4, 4097, 6))
    assert "torch.rand(N, 3, 225, 226)" in text


@pytest.mark.parametrize("source", ["a = 10 ** 300", "a = 0", "a = -4", "a = f(3)", "a = [x for x in (1, 2)]"])
def test_what_is_no_size_is_left_alone(source: str) -> None:
    assert find(source).values == ()
