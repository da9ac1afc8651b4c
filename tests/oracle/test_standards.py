from __future__ import annotations

from typing import Any

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.categorical import Categorical
from robust_kbench.oracle.dropout import Dropout
from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.indices import Indices
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.standards import standard_for
from robust_kbench.oracle.three_metrics import ThreeMetrics
from robust_kbench.oracle.ulps import Ulps
from robust_kbench.registry import load_task
from robust_kbench.schema.task import Task

SEED = {"dtype": "int64", "role": "scalar", "choices": [1, 2]}
INPUTS: dict[str, Any] = {
    "x": {"shape": ["rows", "cols"]},
    "logits": {"shape": ["rows", "cols"]},
    "p": {"dtype": "float64", "role": "scalar", "choices": [0.4]},
    "seed": SEED,
}
X = torch.randn(16, 32, generator=torch.Generator().manual_seed(3))
VALUES = Inputs({"x": X, "logits": X, "p": 0.4, "seed": 1})


def _task(precision: str = "ieee", variable: str = "float32", nonfinite: str = "contain", **output: Any) -> Task:
    shaped = {"shape": ["rows", "cols"], **output}
    return load_made_task(
        inputs=INPUTS,
        outputs={"y": shaped},
        precision=precision,
        dtypes=[variable],
        nonfinite=nonfinite,
        reduction="cols",
    ).spec


def _standard(task: Task, exact: torch.Tensor, native: torch.Tensor | None = None, **case: Any) -> Standard:
    """Make the standard for outputs that PyTorch gets as right as its dtype allows."""
    dtype = getattr(torch, task.dtype_of(task.outputs["y"], task.dtypes[0]))
    made = make_case(axes={"rows": 16, "cols": 32}, dtype=task.dtypes[0], **case)
    answers = {"y": exact.to(dtype) if native is None else native}
    return standard_for(task, "y", made, VALUES, {"y": exact}, answers)


def _judged(task: Task, answer: torch.Tensor, exact: torch.Tensor, **case: Any) -> Judgement:
    return _standard(task, exact, **case).judge(answer)


@pytest.mark.parametrize(
    ("output", "exact", "kind"),
    [
        ({}, X.double(), ThreeMetrics),
        ({"compare": "rule"}, X.double(), ThreeMetrics),
        ({"compare": "ulp"}, X.double(), Ulps),
        ({"compare": "exact"}, X.double(), Exact),
        ({"dtype": "int64"}, X.argsort(), Exact),
        ({"dtype": "int64", "compare": "rule"}, X.argsort(), Exact),
        ({"dtype": "int64", "compare": "indices", "indexes": "x"}, X.argsort(), Indices),
        ({"compare": "random", "law": "dropout"}, X.double(), Dropout),
        ({"dtype": "int64", "compare": "random", "law": "categorical"}, X.argmax(-1), Categorical),
    ],
)
def test_an_output_is_held_to_what_the_task_declares(
    output: dict[str, str], exact: torch.Tensor, kind: type[Standard]
) -> None:
    assert type(_standard(_task(**output), exact)) is kind


@pytest.mark.parametrize("probe", ["identity", "integers", "stall"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_must_be_exact_at_a_probe_whose_result_they_can_hold(probe: str, dtype: str) -> None:
    exact = (X * 100).round().double()
    rounded = exact.to(getattr(torch, dtype))
    off = rounded.clone()
    off[3, 3] = off[3, 3].nextafter(torch.tensor(1e4).to(off.dtype))
    assert _judged(_task(variable=dtype), off, exact).is_accepted
    assert _judged(_task(variable=dtype), rounded, exact, probe=probe).is_accepted
    assert not _judged(_task(variable=dtype), off, exact, probe=probe).is_accepted


@pytest.mark.parametrize("probe", ["integers", "stall"])
@pytest.mark.parametrize(
    ("precision", "is_accepted"),
    [("ieee", False), ("tf32_ok", False), ("half_fp32acc", False), ("any_halfacc", True), ("fp8", True)],
)
def test_sums_of_integers_are_exact_where_the_contract_has_float32_accumulators(
    probe: str, precision: str, is_accepted: bool
) -> None:
    exact = torch.full((16, 32), 1000.0, dtype=torch.float64)
    off = exact.float()
    off[3, 3] = off[3, 3].nextafter(torch.tensor(1e9))
    assert _judged(_task(precision), off, exact, probe=probe).is_accepted == is_accepted


@pytest.mark.parametrize("value", [1000.5, 2.0**24])
def test_sums_that_float32_may_round_are_held_to_the_rule(value: float) -> None:
    exact = torch.full((16, 32), value, dtype=torch.float64)
    off = exact.float()
    off[3, 3] = off[3, 3].nextafter(torch.tensor(1e9))
    assert _judged(_task(), off, exact, probe="integers").is_accepted


@pytest.mark.parametrize(
    ("precision", "bits", "is_accepted"),
    [
        ("ieee", 21, True), ("ieee", 17, False), ("ieee", 11, False), ("tf32_ok", 11, True), ("tf32_ok", 8, False),
        ("half_fp32acc", 8, True), ("any_halfacc", 8, True), ("any_halfacc", 5, False),
    ],
)  # fmt: skip
def test_a_product_with_the_identity_shows_inputs_that_were_rounded_to_fewer_bits(
    precision: str, bits: int, is_accepted: bool
) -> None:
    exact = X.double()
    spacing = torch.exp2(exact.abs().log2().floor() - bits + 1)
    rounded = (exact / spacing).round() * spacing
    # A reduction of 4096 terms has an ordinary limit of 2**-17, and PyTorch may be off by more still.
    native = (exact * (1 + 2.0**-6)).float()
    task = _task(precision).model_copy(update={"reduction": 4096})
    assert _standard(task, exact, native, probe="identity").judge(rounded.float()).is_accepted == is_accepted
    assert _standard(task, exact, native).judge(rounded.float()).is_accepted


def test_a_row_of_tiny_numbers_is_judged_by_its_own_scale_at_the_range_probe() -> None:
    exact = X.double()
    exact[0] *= 2.0**60
    exact[1] *= 2.0**-60
    answer = exact.float()
    answer[1] = 0.0
    assert _judged(_task(), answer, exact).is_accepted
    assert not _judged(_task(), answer, exact, probe="range").is_accepted
    assert _judged(_task(), exact.float(), exact, probe="range").is_accepted


@pytest.mark.parametrize("compare", ["rule", "ulp"])
@pytest.mark.parametrize(
    ("policy", "probe", "got", "is_accepted"),
    [
        ("contain", "nonfinite", torch.inf, True),
        ("contain", "nonfinite", torch.nan, True),
        ("contain", "nonfinite", 0.0, False),
        ("match", "nonfinite", torch.nan, True),
        ("match", "nonfinite", torch.inf, False),
        ("none", "nonfinite", torch.inf, False),
        ("contain", None, torch.inf, False),
        ("contain", "empty", 0.0, True),
    ],
)
def test_where_a_nan_is_due_the_task_says_what_may_stand(
    compare: str, policy: str, probe: str | None, got: float, is_accepted: bool
) -> None:
    exact = X.double()
    exact[2, 5] = torch.nan
    answer = exact.float()
    answer[2, 5] = got
    assert _judged(_task(nonfinite=policy, compare=compare), answer, exact, probe=probe).is_accepted == is_accepted


@pytest.mark.parametrize("compare", ["rule", "ulp"])
@pytest.mark.parametrize("spoilt", [torch.nan, torch.inf, 1e6])
def test_a_nan_must_not_reach_what_does_not_depend_on_it(compare: str, spoilt: float) -> None:
    exact = X.double()
    exact[2] = torch.nan
    answer = exact.float()
    answer[3, 5] = spoilt
    assert not _judged(_task(compare=compare), answer, exact, probe="nonfinite").is_accepted


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_where_zero_is_right_only_finite_inputs_are_the_yardstick(number: float) -> None:
    x = X.clone()
    x[3, 3] = number
    inputs = Inputs({"x": x})
    exact = torch.zeros(16, 32, dtype=torch.float64)
    exact[3] = torch.nan
    answer = exact.float()
    case = make_case(axes={"rows": 16, "cols": 32}, probe="nonfinite")
    standard = standard_for(_task(), "y", case, inputs, {"y": exact}, {"y": answer})
    assert standard.judge(answer).is_accepted
    assert not standard.judge(answer + 1e-3).is_accepted


def test_an_output_of_nothing_is_right() -> None:
    assert _judged(_task(), torch.empty(0, 32), torch.empty(0, 32, dtype=torch.float64), probe="empty").is_accepted


def test_the_sum_of_nothing_is_zero_and_not_what_memory_held() -> None:
    exact = torch.zeros(16, 32, dtype=torch.float64)
    assert _judged(_task(), torch.zeros(16, 32), exact, probe="empty").is_accepted
    assert not _judged(_task(), torch.full((16, 32), torch.nan), exact, probe="empty").is_accepted


def test_sums_of_uneven_terms_that_cancel_may_be_off_by_more_of_their_size() -> None:
    spec = load_task("matmul/matmul").spec
    axes = {"m": 64, "n": 256, "k": 2048}
    source = torch.Generator().manual_seed(11)
    a, b = torch.randn(64, 2048, generator=source), torch.randn(2048, 256, generator=source) - 8.0
    a[:, :512] *= 4
    a -= a.mean(1, keepdim=True)
    exact, one_by_one = a.double() @ b.double(), torch.zeros(64, 256)
    for left, right in zip(a.T.contiguous(), b, strict=True):
        one_by_one.addr_(left, right)

    def judged(**case: Any) -> Judgement:
        made = make_case(axes=axes, dtype="float32", **case)
        values, native = Inputs({"a": a, "b": b}), {"c": a @ b}
        return standard_for(spec, "c", made, values, {"c": exact}, native, excuses=False).judge(one_by_one)

    assert judged(distribution="normal").ratio > 1 > judged(distribution="uneven").ratio
