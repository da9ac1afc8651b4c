from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.judgement import Standard
from robust_kbench.oracle.mismatch import explain, pattern
from robust_kbench.oracle.three_metrics import ThreeMetrics


def _wrong(*shape: int, at: object = ()) -> torch.Tensor:
    wrong = torch.zeros(shape, dtype=torch.bool)
    wrong[at] = True  # type: ignore[index]
    return wrong


def _explanation(answer: torch.Tensor, exact: torch.Tensor, name: str = "y") -> str:
    standard: Standard = Exact(exact)
    if answer.dtype.is_floating_point:
        standard = ThreeMetrics(exact, None, dtype=answer.dtype, reduction=1)
    return explain(name, answer, exact, standard.is_wrong(answer), standard.judge(answer))


def _ones(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(shape), torch.ones(shape, dtype=torch.float64)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (_wrong(8, 16, at=...), "everything"),
        (_wrong(at=...), "everything"),
        (_wrong(8, 16, at=(slice(5), ...)), "most of it"),
        (_wrong(8, 16, at=(..., slice(14, None))), "all of the last 2 columns"),
        (_wrong(8, 16, at=(..., 15)), "all of the last column"),
        (_wrong(8, 16, at=(..., 0)), "all of column 0"),
        (_wrong(8, 16, at=(..., slice(3, 6))), "all of columns 3 to 5"),
        (_wrong(8, 16, at=(..., [1, 5, 9])), "all of 3 columns between 1 and 9"),
        (_wrong(8, 16, at=3), "all of row 3"),
        (_wrong(8, 16, at=7), "all of the last row"),
        (_wrong(8, 16, at=slice(6, None)), "all of the last 2 rows"),
        (_wrong(8, 16, at=slice(0, 3)), "all of rows 0 to 2"),
        (_wrong(8, 16, at=[0, 2]), "all of 2 rows between 0 and 2"),
        (_wrong(2, 4, 16, at=(1, 3)), "all of the last row"),
        (_wrong(8, 16, at=(slice(2, 4), slice(14, None))), "all in the last 2 columns"),
        (_wrong(8, 16, at=(2, 3)), "all in column 3"),
        (_wrong(8, 16, at=(7, slice(0, 16, 3))), "all in 6 columns between 0 and 15"),
        (_wrong(16, at=15), "all of the last column"),
        (_wrong(16, at=slice(4)), "all of columns 0 to 3"),
        (torch.eye(8, dtype=torch.bool), "scattered"),
        (torch.eye(16, dtype=torch.bool)[:8] | torch.eye(16, dtype=torch.bool)[8:], "scattered"),
    ],
)
def test_a_pattern_says_where_the_wrong_elements_lie(wrong: torch.Tensor, words: str) -> None:
    assert pattern(wrong) == words


def test_wrong_elements_in_every_column_of_some_rows_are_told_by_their_rows() -> None:
    wrong = torch.eye(8, dtype=torch.bool).repeat(2, 1)
    wrong[:8, 0] = True
    wrong[12:] = False
    wrong[0] = torch.tensor([True, False] * 4)
    wrong[1] = torch.tensor([False, True] * 4)
    assert pattern(wrong) == "all in rows 0 to 11"


def test_a_message_holds_the_worst_element_the_count_the_pattern_and_the_limits() -> None:
    answer, exact = _ones(8, 16)
    answer[:, 15] = 1.5
    answer[3, 15] = 7.25
    assert _explanation(answer, exact).startswith(
        "y[3, 15]: got 7.25, expected 1; 8 of 128 wrong, all of the last column; relative error: whole tensor 0."
    )


def test_a_message_names_every_limit_that_is_broken_and_no_other() -> None:
    answer, exact = _ones(1, 1 << 20)
    answer[0, 99] += 1e-4
    words = _explanation(answer, exact)
    assert words.startswith("y[0, 99]: got 1.0001")
    assert words.endswith(
        "; 1 of 1,048,576 wrong, all of column 99; relative error: worst element 5e-05, allowed 7.2e-07"
    )


def test_a_nan_is_the_worst_element() -> None:
    answer, exact = _ones(4, 4)
    answer[0, 0] = 1e30
    answer[2, 1] = math.nan
    words = _explanation(answer, exact)
    assert words.startswith("y[2, 1]: got nan, expected 1; 2 of 16 wrong, ")
    assert words.endswith("; 1 NaN or infinite values out of place")


def test_a_single_number_has_no_index() -> None:
    words = _explanation(torch.tensor(2.0), torch.tensor(1.0, dtype=torch.float64), "loss")
    assert words.startswith("loss: got 2, expected 1; 1 of 1 wrong, everything; ")


def test_an_error_too_small_to_see_anywhere_is_said_to_be_spread() -> None:
    answer, exact = _ones(64, 64)
    assert _explanation(answer * (1 + 3e-7), exact) == (
        "y: relative error: whole tensor 3.6e-07, allowed 1.9e-07; worst row 3.6e-07, allowed 3.2e-07; "
        "every element is near, so the error is spread over many"
    )


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (torch.tensor([1_234_568]), torch.tensor([1_234_567])),
        (torch.tensor([2**53 + 1]), torch.tensor([2**53])),
        (torch.tensor([1.000002]), torch.tensor([1.0], dtype=torch.float64)),
    ],
    ids=["integer", "large integer", "float32"],
)
def test_two_numbers_that_differ_are_printed_differently(got: torch.Tensor, expected: torch.Tensor) -> None:
    words = _explanation(got, expected)
    shown = words.partition("got ")[2].partition(";")[0].split(", expected ")
    assert shown[0] != shown[1]
