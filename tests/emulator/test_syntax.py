"""Rewritten sources do what CUDA's do: `syntax.cu` on the emulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import SCHEDULES, Program, zeros

pytestmark = needs_compiler


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(str(Path(__file__).with_name("syntax")), tmp_path_factory.mktemp("syntax"), checked=request.param)


@pytest.mark.parametrize(
    "function",
    [
        "by_macro",
        "by_template",
        "by_pointer",
        "by_pack",
        "by_pasted_name",
        "by_function",
        "with_a_symbol",
        "with_much_dynamic_memory",
    ],
)
def test_the_kernel_runs_and_nothing_is_found(program: Program, function: str) -> None:
    for schedule in SCHEDULES:
        x = zeros(64, np.float32)
        assert program(function, x, schedule=schedule, written=[0]) == []
        assert x.tolist() == list(range(1, 65))
