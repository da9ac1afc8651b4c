from __future__ import annotations

from typing import Any

import pytest
import torch
from relations import (
    MATMUL,
    ROWS,
    Kernel,
    case_of,
    every_dtype,
    relation_of,
    run,
    violation,
    violations,
)
from specimens import make_task

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.properties import relate, relations
from robust_kbench.schema.task import Property


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.float() @ b.float()).to(a.dtype)


def _reversed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.float().flip(1) @ b.float().flip(0)).to(a.dtype)


def _without_last_term(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _matmul(a[:, :-1], b[:-1])


def _one_element_zero(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = _matmul(a, b)
    answer[4, 5] = 0
    return answer


def _plus_a_constant(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.float() @ b.float() + 0.01).to(a.dtype)


def _remembered() -> Kernel:
    """Answers every call with its first answer."""
    memory: list[torch.Tensor] = []

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        memory.append(_matmul(a, b))
        return memory[0]

    return kernel


def _softmax(a: torch.Tensor) -> torch.Tensor:
    return torch.softmax(a.float(), -1).to(a.dtype)


def _softmax_by_exp2(a: torch.Tensor) -> torch.Tensor:
    scaled = a.float() * 1.4426950408889634
    power = torch.exp2(scaled - scaled.amax(-1, keepdim=True))
    return (power / power.sum(-1, keepdim=True)).to(a.dtype)


def _softmax_without_maximum(a: torch.Tensor) -> torch.Tensor:
    power = a.exp()
    return power / power.sum(-1, keepdim=True)


def _cumsum(a: torch.Tensor) -> torch.Tensor:
    return a.float().cumsum(-1).to(a.dtype)


def _cumsum_one_ahead(a: torch.Tensor) -> torch.Tensor:
    return a.float().roll(-1, -1).cumsum(-1).to(a.dtype)


LINEAR = [
    Property(kind="homogeneous", inputs=("a",)),
    Property(kind="homogeneous", inputs=("a", "b"), degree=2),
    Property(kind="additive", inputs=("a",)),
    Property(kind="additive", inputs=("b",)),
    Property(kind="permutes", axis="m"),
    Property(kind="permutes", axis="n"),
    Property(kind="symmetric", axis="k"),
]


@every_dtype
@pytest.mark.parametrize("kernel", [_matmul, _reversed], ids=["in order", "reversed"])
@pytest.mark.parametrize("prop", LINEAR, ids=str)
def test_a_product_of_matrices_has_every_property_of_one(prop: Property, kernel: Kernel, dtype: str) -> None:
    assert violations(make_task(**MATMUL), prop, kernel, dtype=dtype) == []


@every_dtype
@pytest.mark.parametrize(
    ("prop", "kernel"),
    [
        (Property(kind="homogeneous", inputs=("a",)), _plus_a_constant),
        (Property(kind="homogeneous", inputs=("a", "b"), degree=1), _matmul),
        (Property(kind="additive", inputs=("a",)), _plus_a_constant),
        (Property(kind="additive", inputs=("a",)), lambda a, b: _matmul(a, b).relu()),
        (Property(kind="permutes", axis="m"), _one_element_zero),
        (Property(kind="permutes", axis="n"), _one_element_zero),
        (Property(kind="symmetric", axis="k"), _without_last_term),
    ],
    ids=["constant", "degree", "constant added", "rectified", "zero in a row", "zero in a column", "lost term"],
)
def test_an_answer_without_the_property_is_found(prop: Property, kernel: Kernel, dtype: str) -> None:
    assert violations(make_task(**MATMUL), prop, kernel, dtype=dtype)


@pytest.mark.parametrize("prop", LINEAR[:6], ids=str)
def test_an_answer_that_was_remembered_is_found(prop: Property) -> None:
    assert violation(make_task(**MATMUL), prop, _remembered())


def test_scaling_must_be_exact_in_the_last_bit() -> None:
    def scales_with_noise(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        answer = _matmul(a, b)
        return torch.nextafter(answer, answer + 1) if float(a.abs().max()) > 64 else answer

    prop = Property(kind="homogeneous", inputs=("a",))
    found = violations(make_task(**MATMUL), prop, scales_with_noise)
    assert found
    assert all(f"{9 * 17} of {9 * 17} wrong" in line for line in found)


def test_a_kernel_that_adds_atomically_is_held_to_the_limits_instead() -> None:
    calls = iter(range(10**6))

    def wavering(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return _matmul(a, b) if next(calls) % 2 else _reversed(a, b)

    prop = Property(kind="homogeneous", inputs=("a",))
    axes = {"m": 9, "n": 17, "k": 4000}
    assert violation(make_task(**MATMUL), prop, wavering, axes=axes)
    assert violations(make_task(**MATMUL), prop, wavering, axes=axes, is_deterministic=False) == []
    assert violations(make_task(**MATMUL), prop, _plus_a_constant, is_deterministic=False)


@pytest.mark.parametrize(("dtype", "distribution"), [("float16", "lognormal"), ("bfloat16", "large")])
def test_results_that_overflow_or_vanish_violate_nothing(dtype: str, distribution: str) -> None:
    def extreme(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        answer = a.float() @ b.float()
        answer[::2] *= 2.0**12 if dtype == "float16" else 2.0**120
        answer[1::2] *= 2.0**-22 if dtype == "float16" else 2.0**-134
        return answer.to(a.dtype)

    prop = Property(kind="homogeneous", inputs=("a",))
    assert violations(make_task(**MATMUL), prop, extreme, dtype=dtype, distribution=distribution) == []


def test_numbers_that_are_flushed_to_zero_violate_nothing() -> None:
    def flushing(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        answer = (a @ b) * 2.0**-126
        return torch.where(answer.abs() < torch.finfo(torch.float32).smallest_normal, 0.0, answer)

    assert violations(make_task(**MATMUL), Property(kind="homogeneous", inputs=("a",)), flushing) == []


@every_dtype
@pytest.mark.parametrize("k", [1, 63, 1000, 4096])
def test_sums_of_integers_add_up_over_any_length(k: int, dtype: str) -> None:
    axes = {"m": 9, "n": 17, "k": k}
    for prop in LINEAR[2:4]:
        assert violation(make_task(**MATMUL), prop, _matmul, dtype=dtype, axes=axes) is None
        assert violation(make_task(**MATMUL), prop, _plus_one_where_positive, dtype=dtype, axes=axes)


def _plus_one_where_positive(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = a.float() @ b.float()
    return (answer + (answer > 0)).to(a.dtype)


@pytest.mark.parametrize(
    "changes", [{"precision": "any_halfacc"}, {"precision": "fp8"}, {"reduction": "k * 30000"}], ids=str
)
def test_additivity_says_nothing_where_sums_need_not_be_exact(changes: dict[str, Any]) -> None:
    task = make_task(**{**MATMUL, **changes})
    assert relation_of(task, Property(kind="additive", inputs=("a",)), case_of()) is None


@every_dtype
@pytest.mark.parametrize("kernel", [_softmax, _softmax_by_exp2], ids=["exp", "exp2"])
@pytest.mark.parametrize(
    "prop",
    [
        Property(kind="shift_invariant", inputs=("a",)),
        Property(kind="sums_to"),
        Property(kind="permutes", axis="m"),
        Property(kind="permutes", axis="k"),
    ],
    ids=str,
)
def test_a_softmax_has_every_property_of_one(prop: Property, kernel: Kernel, dtype: str) -> None:
    task = make_task(**{**ROWS, "reduction": "4 * k"})
    for distribution in ("normal", "large", "sparse"):
        assert violations(task, prop, kernel, dtype=dtype, distribution=distribution) == []


@every_dtype
def test_a_softmax_that_does_not_subtract_the_maximum_is_found(dtype: str) -> None:
    prop = Property(kind="shift_invariant", inputs=("a",))
    assert violations(make_task(**ROWS), prop, _softmax_without_maximum, dtype=dtype)


@every_dtype
@pytest.mark.parametrize(
    "kernel",
    [torch.zeros_like, torch.exp, lambda a: _softmax(a) * 1.05, lambda a: _softmax(a) * (a < 0)],
    ids=["zeros", "not normalised", "scaled", "half of it"],
)
def test_rows_that_do_not_sum_to_one_are_found(kernel: Kernel, dtype: str) -> None:
    assert len(violations(make_task(**ROWS), Property(kind="sums_to"), kernel, dtype=dtype)) == 8


def test_a_row_may_sum_to_another_value() -> None:
    task, doubled = make_task(**ROWS), lambda a: 2 * _softmax(a)
    assert violations(task, Property(kind="sums_to", value=2.0), doubled) == []
    assert violations(task, Property(kind="sums_to"), doubled)


@every_dtype
def test_later_positions_change_nothing_in_earlier_ones_bit_for_bit(dtype: str) -> None:
    task, prop = make_task(**ROWS), Property(kind="causal", axis="k")
    assert violations(task, prop, _cumsum, dtype=dtype) == []
    found = violations(task, prop, _cumsum_one_ahead, dtype=dtype)
    assert found
    assert all("with other values from k=" in line for line in found)


def test_a_look_at_the_next_position_that_is_far_below_the_limits_is_found() -> None:
    def peeking(a: torch.Tensor) -> torch.Tensor:
        return a.cumsum(-1) + 1e-6 * a.roll(-1, -1)

    assert violations(make_task(**ROWS), Property(kind="causal", axis="k"), peeking)


def test_integers_of_any_kernel_must_be_equal() -> None:
    spec = {**MATMUL, "inputs": ROWS["inputs"], "outputs": {"c": {"shape": ["m"], "dtype": "int64"}}}
    task, prop = make_task(**spec), Property(kind="symmetric", axis="k")
    assert violations(task, prop, lambda a: (a > 0).sum(-1)) == []
    assert violations(task, prop, lambda a: (a[:, 1:] > 0).sum(-1))


def test_the_limits_of_the_case_itself_widen_what_is_allowed() -> None:
    task, prop = make_task(**MATMUL), Property(kind="symmetric", axis="k")
    relation = relation_of(task, prop, case_of())
    assert relation is not None
    first, second = (run(task, _matmul, inputs) for inputs in relation.calls)
    off = {"c": second["c"] * 1.001}
    assert relation.violation([first, off], {})
    assert relation.violation([first, off], {"c": (1e-3, 1e-3, 1e-3)}) is None
    assert relation.violation([first, off], {"c": (1e-4, 1e-4, 1e-4)})
    assert relation.violation([first, off], {"c": (9.0,)}), "a limit in ulps says nothing about the three errors"


@pytest.mark.parametrize("kind", ["permutes", "symmetric", "causal"])
def test_an_axis_of_one_says_nothing(kind: Any) -> None:
    spec = MATMUL if kind == "symmetric" else ROWS
    task = make_task(**spec)
    assert relation_of(task, Property(kind=kind, axis="k"), case_of(axes={"m": 4, "n": 4, "k": 1})) is None


@pytest.mark.parametrize(
    "changes",
    [{"axes": {"m": 0, "n": 3, "k": 3}}, {"probe": "nonfinite"}, {"layout": "expanded"}],
    ids=["empty", "probe", "expanded"],
)
@pytest.mark.parametrize("prop", LINEAR, ids=str)
def test_special_cases_are_left_alone(prop: Property, changes: dict[str, Any]) -> None:
    task = make_task(**MATMUL)
    assert relation_of(task, prop, case_of(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "prop", "words"),
    [
        ({}, Property(kind="symmetric", axis="m"), "the output 'c' has that axis"),
        ({}, Property(kind="permutes", axis="k"), "no output has that axis"),
        ({"outputs": {"c": {"shape": ["m", "2 * n"]}}}, Property(kind="permutes", axis="n"), "'2 [*] n' mixes it"),
        ({"inputs": {"a": {"shape": ["m", "k"]}}}, Property(kind="symmetric", axis="n"), "no input has that axis"),
    ],
    ids=["not summed", "summed", "mixed", "absent"],
)
def test_a_property_that_does_not_fit_the_shapes_is_refused(
    changes: dict[str, Any], prop: Property, words: str
) -> None:
    task = make_task(**{**MATMUL, **changes})
    with pytest.raises(SpecError, match=words):
        relate(task, prop, case_of(), make_inputs(task, case_of()), Draw(1))


def test_the_answer_to_the_case_itself_is_used_again() -> None:
    task = make_task(**MATMUL)
    case = case_of()
    inputs = make_inputs(task, case)
    for prop in LINEAR:
        relation = relate(task, prop, case, inputs, Draw(1))
        assert relation is not None
        assert (relation.calls[0] is inputs) == (prop.kind != "additive")
        assert len(relation.calls) == (3 if prop.kind == "additive" else 2)


def test_every_declared_property_gives_a_relation() -> None:
    declared = [{"kind": "homogeneous", "inputs": ["a"]}, {"kind": "permutes", "axis": "m"}]
    task = make_task(**{**MATMUL, "properties": declared})
    found = list(relations(task, case_of(), make_inputs(task, case_of()), Draw(1)))
    assert [relation.prop for relation in found] == list(task.properties)


def test_related_inputs_are_the_same_for_the_same_draw_and_leave_the_originals_alone() -> None:
    task = make_task(**MATMUL)
    case = case_of()
    inputs = make_inputs(task, case)
    before = inputs.digest
    for prop in LINEAR:
        pairs = [relate(task, prop, case, inputs, Draw(seed)) for seed in (1, 1, 2)]
        one, same, other = ([call.digest for call in pair.calls] for pair in pairs if pair is not None)
        assert one == same
        assert one != other
    assert inputs.digest == before


def test_a_violation_names_the_property_the_place_and_both_values() -> None:
    found = violation(make_task(**MATMUL), Property(kind="symmetric", axis="k"), _without_last_term)
    assert found is not None
    assert found.startswith("symmetric along k: c[")
    assert " wrong" in found


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "offset"])
def test_related_inputs_fit_every_other_layout(layout: str) -> None:
    task = make_task(**MATMUL)
    relation = relation_of(task, LINEAR[0], case_of(layout=layout))
    assert relation is not None
    assert [call.tensors["a"].shape for call in relation.calls] == [(9, 40), (9, 40)]


def _softmax_of(digits: int) -> Kernel:
    return lambda a: torch.softmax(rounded(a, digits).float(), -1).to(a.dtype)


@pytest.mark.parametrize(("precision", "digits"), [("tf32_ok", 11), ("half_fp32acc", 8), ("any_halfacc", 8)])
def test_a_softmax_of_logits_that_the_contract_lets_be_rounded_is_shift_invariant(precision: str, digits: int) -> None:
    prop = Property(kind="shift_invariant", inputs=("a",))
    task = make_task(**{**ROWS, "precision": precision})
    assert violations(task, prop, _softmax_of(digits)) == []
    assert violations(task, prop, _softmax_without_maximum)
    assert violations(make_task(**ROWS), prop, _softmax_of(digits))


def test_a_shift_says_nothing_to_logits_of_four_digits() -> None:
    task = make_task(**{**ROWS, "precision": "fp8"})
    assert relation_of(task, Property(kind="shift_invariant", inputs=("a",)), case_of()) is None


def _per_tensor_e4m3(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Scaled so that the largest element just fits."""

    def kept(x: torch.Tensor) -> torch.Tensor:
        scale = x.abs().max().float() / 448
        return (x.float() / scale).to(torch.float8_e4m3fn).float() * scale

    return (kept(a) @ kept(b)).to(a.dtype)


def _in_float16(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.half().float() @ b.half().float()).to(a.dtype)


@pytest.mark.parametrize(("precision", "kernel"), [("fp8", _per_tensor_e4m3), ("half_fp32acc", _in_float16)])
def test_scaling_is_held_to_the_rule_where_the_contract_allows_formats_of_little_range(
    precision: str, kernel: Kernel
) -> None:
    prop = Property(kind="homogeneous", inputs=("a",))
    task = make_task(**{**MATMUL, "precision": precision})
    assert violations(task, prop, kernel, distribution="small") == []
    assert violations(task, prop, _plus_one_where_positive, distribution="small")


def test_later_positions_may_change_the_scale_of_a_tensor_in_e4m3() -> None:
    def kernel(a: torch.Tensor) -> torch.Tensor:
        scale = a.abs().max() / 448
        return ((a / scale).to(torch.float8_e4m3fn).float() * scale).cumsum(-1)

    prop = Property(kind="causal", axis="k")
    assert violations(make_task(**{**ROWS, "precision": "fp8"}), prop, kernel) == []
    assert violations(make_task(**ROWS), prop, kernel)
    assert violations(make_task(**{**ROWS, "precision": "fp8"}), prop, _cumsum_one_ahead)
