from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_kbench.schema.arithmetic import evaluate, names

AXES = {"rows": 7, "cols": 3}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (12, 12),
        ("12", 12),
        ("rows", 7),
        (" rows ", 7),
        ("2 * rows + cols", 17),
        ("2 * (rows + cols)", 20),
        ("rows // cols", 2),
        ("rows % cols", 1),
        ("(rows - cols) // 2 + 1", 3),
        ("cols - rows", -4),
        ("(cols - rows) // 3", -2),
        ("rows <= 7", 1),
        ("rows < 7", 0),
        ("rows >= 8", 0),
        ("rows > 6", 1),
        ("rows == 7", 1),
        ("rows != 7", 0),
    ],
)
def test_an_expression_has_the_value_that_integer_arithmetic_gives_it(expression: str | int, value: int) -> None:
    assert evaluate(expression, AXES) == value


def _joined(operands: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda a, op, b: f"({a} {op} {b})", operands, st.sampled_from(["+", "-", "*", "//", "%"]), operands
    )


@settings(max_examples=100)
@given(st.recursive(st.sampled_from(["rows", "cols", "0", "1", "64"]), _joined, max_leaves=12))
def test_any_expression_agrees_with_python(expression: str) -> None:
    try:
        expected = eval(expression, dict(AXES))
    except ZeroDivisionError:
        with pytest.raises(ValueError, match="division by zero"):
            evaluate(expression, AXES)
    else:
        assert evaluate(expression, AXES) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "2 ** 3", "rows / 2", "-rows", "+rows", "~rows", "not rows", "rows << 2", "rows | 1", "rows & 1", "rows ^ 1",
        "rows @ cols", "f(rows)", "rows.real", "rows[0]", "1.5", "1e3", "'text'", "True", "None", "lambda: 1",
        "rows and cols", "rows if cols else 1", "[rows]", "(rows, cols)", "(x := 1)", "rows in cols", "rows is cols",
        "__import__('os').getpid()", "[r for r in rows]",
    ],
)  # fmt: skip
def test_anything_but_integer_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"only integers, axes, \+ - \* // % and comparisons are allowed"):
        evaluate(expression, AXES)


@pytest.mark.parametrize("expression", ["", "rows +", "rows; cols", "rows = 1", "2rows", "rows cols", "import os"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="is not an expression"):
        evaluate(expression, AXES)


def test_a_chained_comparison_is_refused_because_it_has_two_readings() -> None:
    with pytest.raises(ValueError, match="'1 < rows < 9': chained comparisons are not allowed"):
        evaluate("1 < rows < 9", AXES)


def test_an_unknown_axis_is_named_together_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'rows \\* width': unknown axis 'width'; known: rows, cols"):
        evaluate("rows * width", AXES)


def test_a_division_by_zero_tells_the_axes_that_led_to_it() -> None:
    with pytest.raises(ValueError, match="'rows // cols': division by zero with {'rows': 7, 'cols': 0}"):
        evaluate("rows // cols", {"rows": 7, "cols": 0})


@pytest.mark.parametrize(("length", "is_allowed"), [(200, True), (201, False)])
def test_an_expression_has_at_most_two_hundred_characters(length: int, is_allowed: bool) -> None:
    expression = "1" * 50 + " " * (length - 51) + "1"
    wanted = "is not an expression" if is_allowed else "expression of 201 characters; at most 200 are allowed"
    with pytest.raises(ValueError, match=wanted):
        evaluate(expression, AXES)


@pytest.mark.parametrize(
    ("expression", "mentioned"),
    [(5, set()), ("5", set()), ("2 * rows - rows", {"rows"}), ("rows <= cols * cols", {"rows", "cols"})],
)
def test_the_names_of_an_expression_are_the_axes_that_it_mentions(expression: str | int, mentioned: set[str]) -> None:
    assert names(expression) == mentioned


def test_asking_for_the_names_of_a_call_is_refused_as_well() -> None:
    with pytest.raises(ValueError, match="only integers"):
        names("print(rows)")
