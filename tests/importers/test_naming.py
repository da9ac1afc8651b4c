from __future__ import annotations

import pytest

from robust_kbench.importers.naming import Names


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("Relu", "relu"),
        ("3D conv", "n3d_conv"),
        ("__", "x"),
        ("lambda", "lambda_size"),
        ("fused_add_rmsnorm_of_positioning_3b_heads_h2048", "p_of_positioning_3b_heads_h2048"),
        ("in_the_one_rms_of_positioning_3b_heads_h2048", "p_rms_of_positioning_3b_heads_h2048"),
        ("x" * 50, "p_" + "x" * 34),
    ],
)
def test_a_long_name_keeps_whole_words_from_its_end(theirs: str, ours: str) -> None:
    assert Names().give(theirs) == ours


def test_no_name_is_given_twice() -> None:
    names = Names()
    assert [names.give(each) for each in ("rows", "Rows", "ROWS")] == ["rows", "rows_size", "rows_size2"]
