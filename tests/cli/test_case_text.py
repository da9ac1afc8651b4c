"""A case in one line: what a report prints, `--case` takes and `regressions.yaml` lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specimens import make_case

from robust_kbench.cli.case_text import line_of, parse_case
from robust_kbench.errors import SpecError
from robust_kbench.schema.case import Case

CASES = st.builds(
    make_case,
    axes=st.dictionaries(st.sampled_from(["rows", "cols", "n", "y_size"]), st.integers(0, 2**31), min_size=1),
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    layout=st.sampled_from(["contiguous", "strided", "channels_last"]),
    seed=st.integers(0, 2**63 - 1),
)


@given(CASES, st.sampled_from(["normal", "one_hot"]), st.sampled_from([None, "integers", "nonfinite"]))
def test_what_is_written_is_read_back(case: Case, distribution: str, probe: str | None) -> None:
    changes = {"probe": probe} if probe else {"distribution": distribution}
    changed = case.model_copy(update=changes)
    assert parse_case(line_of(changed)) == changed


def test_what_is_at_its_default_is_left_out() -> None:
    assert line_of(make_case(axes={"rows": 4})) == "{axes: {rows: 4}, dtype: float32, seed: 7}"


def test_a_number_is_that_of_a_case_of_the_seed() -> None:
    assert parse_case("12") == 12


@pytest.mark.parametrize("text", ["rows=3", "{axes: {rows: 1}}", "{axes: {rows: 1}, dtype: float32, seed: -1}", "[]"])
def test_anything_else_is_refused_with_the_option_s_name(text: str) -> None:
    with pytest.raises(SpecError, match="^--case"):
        parse_case(text)
