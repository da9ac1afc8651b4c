from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from products import Answer, coarse_inputs, one_term_short, rounded, term_by_term, truncated, zero_element
from specimens import make_task

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import sampled, slices
from robust_kbench.oracle.freivalds import Freivalds
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.sampled import SLICES, Sampled, Together, is_costly, sample
from robust_kbench.oracle.standards import rule
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case

AXES = {"m": 200, "n": 136, "k": 96}
MATMUL: dict[str, Any] = {
    "axes": {name: {"low": 1, "high": 1 << 20} for name in AXES},
    "constraints": [],
    "inputs": {"a": {"shape": ["m", "k"]}, "b": {"shape": ["k", "n"]}},
    "outputs": {"c": {"shape": ["m", "n"]}},
    "dtypes": ["float32", "float16", "bfloat16"],
    "reduction": "k",
    "timed": {"cpu": [AXES], "cuda": [AXES]},
    "cost": {"flops": "2 * m * n * k", "bytes": "(m * k + k * n + m * n) * itemsize"},
    "probes": {"integers": {"a": "integers", "b": "integers"}},
    "independent": "m",
}
PRODUCT = "def reference(a, b):\n    return a @ b\n"
SOFTMAX = "import torch\n\ndef reference(a):\n    return torch.softmax(a, -1)\n"
ROWS: dict[str, Any] = {
    **MATMUL,
    "inputs": {"a": {"shape": ["m", "n"]}},
    "reduction": "4 * n",
    "probes": {},
}
DTYPES = ["float32", "float16", "bfloat16"]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
WORK = 2.0 * 200 * 136 * 96


def _task(source: str = PRODUCT, **changes: Any) -> LoadedTask:
    return LoadedTask(make_task(**{**MATMUL, **changes}), Path("norm/scale"), source, "sha256:0")


def _case(dtype: str = "float32", **changes: Any) -> Case:
    fields: dict[str, Any] = {"axes": AXES, "dtype": dtype, "seed": 5, **changes}
    return Case(**fields)


def _sample(task: LoadedTask, case: Case, inputs: Inputs, seed: int = 1) -> Sampled:
    found = sample(task.spec, Reference(task), case, inputs, Draw(seed, "slices"))
    assert found is not None
    return found


def _judge(wrong: Answer, case: Case, seed: int = 1) -> Judgement:
    task = _task()
    inputs = make_inputs(task.spec, case)
    a, b = inputs.tensors.values()
    return _sample(task, case, inputs, seed).standards["c"].judge(wrong(a.double() @ b.double(), a, b))


@pytest.fixture(params=["short of memory", "slow"])
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slice is held to float64, a few at a time, or a sample of them where the work is over the threshold."""
    if request.param == "slow":
        monkeypatch.setattr(sampled, "COSTLY_FLOPS", WORK / 2)
    else:
        monkeypatch.setattr(sampled, "_CHUNK_BYTES", 1 << 16)


@pytest.fixture
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "COSTLY_FLOPS", 1.0)
    monkeypatch.setattr(sampled, "_choose", lambda task, case, draw: _some(case, draw))


def _some(case: Case, draw: Draw) -> torch.Tensor:
    """64 slices however costly."""
    return torch.tensor(sorted(draw.shuffled(range(case.axes["m"]))[:SLICES]))


def _split(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    wide, tall = a.float(), b.float()
    return (wide[:, ::2] @ tall[::2] + wide[:, 1::2] @ tall[1::2]).to(a.dtype)


def _zero_tile(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = exact.to(a.dtype)
    answer[-8:, -8:] = 0
    return answer


def _last_row_missing(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = exact.to(a.dtype)
    answer[-1] = answer[0]
    return answer


def _one_term_short_in_one_row(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = exact.clone()
    answer[150] -= a[150, -1].double() * b[-1].double()
    return answer.to(a.dtype)


@pytest.mark.usefixtures("_each_way")
@every_dtype
@pytest.mark.parametrize("honest", [rounded, truncated, term_by_term, _split])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "lognormal"])
def test_an_honest_product_is_accepted(dtype: str, honest: Answer, distribution: Any) -> None:
    judgement = _judge(honest, _case(dtype, distribution=distribution))
    assert judgement.is_accepted, judgement.demand
    assert judgement.ratio < 0.9


@pytest.mark.usefixtures("_each_way")
@every_dtype
@pytest.mark.parametrize("wrong", [zero_element, _zero_tile, _last_row_missing, one_term_short, coarse_inputs])
def test_a_wrong_product_is_refused(dtype: str, wrong: Answer) -> None:
    judgement = _judge(wrong, _case(dtype))
    assert not judgement.is_accepted
    assert judgement.ratio > 1
    assert judgement.demand


@pytest.mark.usefixtures("_each_way")
@every_dtype
@pytest.mark.parametrize("wrong", [one_term_short, _one_term_short_in_one_row, zero_element])
def test_on_integers_one_missing_term_shows_in_every_dtype(dtype: str, wrong: Answer) -> None:
    case = _case(dtype, probe="integers")
    assert _judge(rounded, case).is_accepted
    assert not _judge(wrong, case).is_accepted


@pytest.mark.usefixtures("_slow")
@every_dtype
def test_on_integers_every_element_must_equal_the_neighbour(dtype: str) -> None:
    task, case = _task(), _case(dtype, probe="integers")
    inputs = make_inputs(task.spec, case)
    standard = _sample(task, case, inputs).standards["c"]
    assert _kinds(standard)[:2] == ["Exact", "OfSlices"]
    answer = (inputs.tensors["a"].float() @ inputs.tensors["b"].float()).to(inputs.tensors["a"].dtype)
    assert standard.judge(answer).is_accepted
    answer[100, 5] = torch.nextafter(answer[100, 5], torch.tensor(math.inf, dtype=answer.dtype))
    assert standard.is_wrong(answer).nonzero().tolist() == [[100, 5]]
    assert not standard.judge(answer).is_accepted


@pytest.mark.usefixtures("_slow")
@every_dtype
def test_its_verdict_is_as_strict_as_that_of_the_whole_reference(dtype: str) -> None:
    """An error has at least half as many limits as by the full rule, whose references cost float64 of the whole."""
    task, case = _task(), _case(dtype)
    inputs = make_inputs(task.spec, case)
    reference = Reference(task)
    full = rule(task.spec, "c", case, inputs, reference.exact(inputs), reference.native(inputs))
    standard = _sample(task, case, inputs).standards["c"]
    a, b = inputs.tensors.values()
    for wrong in (zero_element, _zero_tile, one_term_short, coarse_inputs):
        answer = wrong(a.double() @ b.double(), a, b)
        assert 0.45 < standard.judge(answer).ratio / full.judge(answer).ratio < 1.1


@pytest.mark.usefixtures("_each_way")
@every_dtype
def test_rows_of_an_op_that_is_not_linear_are_held_to_slices_and_neighbour(dtype: str) -> None:
    task, case = _task(SOFTMAX, **ROWS), _case(dtype, distribution="normal")
    inputs = make_inputs(task.spec, case)
    standard = _sample(task, case, inputs).standards["c"]
    a = inputs.tensors["a"]
    right = torch.softmax(a.double(), -1)
    assert standard.judge(right.to(a.dtype)).is_accepted
    assert standard.judge(torch.softmax(a.float(), -1).to(a.dtype)).is_accepted
    late = right.clone()
    late[-3:] = 0
    for wrong in (right * 1.05, right.roll(1, 0), torch.zeros_like(right), late):
        assert not standard.judge(wrong.to(a.dtype)).is_accepted


@pytest.mark.usefixtures("_each_way")
@every_dtype
@pytest.mark.parametrize("distribution", ["normal", "sparse"])
def test_an_op_that_is_judged_in_ulps_bounds_no_average(dtype: str, distribution: Any) -> None:
    outputs = {"c": {"shape": ["m", "n"], "compare": "ulp"}}
    source = "import torch\n\ndef reference(a):\n    return torch.nn.functional.silu(a)\n"
    task, case = _task(source, **{**ROWS, "outputs": outputs, "reduction": 1}), _case(dtype, distribution=distribution)
    inputs = make_inputs(task.spec, case)
    standard = _sample(task, case, inputs).standards["c"]
    a = inputs.tensors["a"]
    exact = torch.nn.functional.silu(a.double())
    assert standard.judge(truncated(exact, a, a)).is_accepted
    assert not standard.judge((exact * 1.05).to(a.dtype)).is_accepted
    assert not standard.judge(zero_element(exact, a, a)).is_accepted


@pytest.mark.usefixtures("_each_way")
def test_pytorchs_own_cancellation_in_a_gelu_is_accepted() -> None:
    outputs = {"c": {"shape": ["m", "n"], "compare": "ulp"}}
    source = "import torch\n\ndef reference(a):\n    return a * 0.5 * (1 + torch.erf(a * 0.5**0.5))\n"
    task = _task(source, **{**ROWS, "outputs": outputs, "reduction": 1})
    for seed in range(10):
        case = _case(axes={"m": 300, "n": 2, "k": 1}, seed=seed)
        inputs = make_inputs(task.spec, case)
        answer = Reference(task).native(inputs)["c"]
        assert _sample(task, case, inputs, seed).standards["c"].judge(answer).is_accepted


def _kinds(standard: Standard) -> list[str]:
    assert isinstance(standard, Together)
    return [type(part).__name__ for part in standard.parts]


@pytest.mark.usefixtures("_slow")
def test_only_linear_axes_of_many_slices_are_combined() -> None:
    task = _task()
    for axes, count in ((AXES, 2), ({**AXES, "n": 64}, 1), ({"m": 3, "n": 3, "k": 3}, 0)):
        case = _case(axes=axes)
        standard = _sample(task, case, make_inputs(task.spec, case)).standards["c"]
        assert _kinds(standard) == ["Neighbour", "OfSlices"] + ["Freivalds"] * count
    rows = _task(SOFTMAX, **ROWS)
    standard = _sample(rows, _case(), make_inputs(rows.spec, _case())).standards["c"]
    assert _kinds(standard) == ["Neighbour", "OfSlices"]


@pytest.mark.usefixtures("_slow")
@pytest.mark.parametrize("row", [0, 77, 199])
def test_a_reference_in_float32_that_is_wrong_itself_is_found_out(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour that shares the answer's fault excuses it; float64 on the combinations does not."""
    task, case = _task(), _case()
    inputs = make_inputs(task.spec, case)
    right = Reference(task).exact(inputs)["c"].float()
    wrong = right.clone()
    wrong[row] = 0
    honest = slices.in_chunks

    def broken(*arguments: Any) -> dict[str, torch.Tensor]:
        near = honest(*arguments)
        near["c"][row] = 0
        return near

    monkeypatch.setattr(slices, "in_chunks", broken)
    standard = _sample(task, case, inputs).standards["c"]
    assert isinstance(standard, Together)
    assert not any(part.judge(wrong).is_accepted for part in standard.parts if isinstance(part, Freivalds))
    assert not standard.judge(wrong).is_accepted


@pytest.mark.parametrize("width", [1 << 10, 1 << 16, 1 << 28])
def test_the_neighbour_is_the_same_in_chunks_of_any_size(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "_CHUNK_BYTES", width)
    task, case = _task(SOFTMAX, **ROWS), _case("bfloat16")
    inputs = make_inputs(task.spec, case)
    near = _sample(task, case, inputs).near["c"]
    assert near.dtype == torch.bfloat16
    assert torch.equal(near, torch.softmax(inputs.tensors["a"], -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_float64_is_not_spent_where_it_is_the_work_that_costs(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, torch.dtype]] = []

    class Watched(Reference):
        def _run(self, arguments: Any, function: Any = None) -> dict[str, torch.Tensor]:
            seen.append((len(arguments["a"]), arguments["a"].dtype))
            return super()._run(arguments)

    monkeypatch.setattr(sampled, "COSTLY_FLOPS", WORK / 2)
    task, case = _task(SOFTMAX, **ROWS), _case(dtype)
    sample(task.spec, Watched(task), case, make_inputs(task.spec, case), Draw(1))
    assert max(count for count, kind in seen if kind == torch.float64) == SLICES
    assert (200, torch.float32) in seen


def test_slices_are_many_different_and_secret() -> None:
    task, case = _task().spec, _case(axes={**AXES, "m": 1000})
    first, again, other = (sampled._choose(task, case, Draw(seed)) for seed in (1, 1, 2))
    assert len(set(first.tolist())) == len(first) == SLICES
    assert int(first.min()) >= 0
    assert int(first.max()) < 1000
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(("m", "count"), [(1, 1), (40, 40), (64, 64), (65, 64)])
def test_an_axis_with_few_slices_is_checked_whole(m: int, count: int) -> None:
    assert len(sampled._choose(_task().spec, _case(axes={**AXES, "m": m}), Draw(1))) == count


def test_fewer_slices_are_checked_where_each_of_them_is_costly() -> None:
    axes = {"m": 100, "n": 1 << 17, "k": 1 << 17}
    assert len(sampled._choose(_task().spec, _case(axes=axes), Draw(1))) == 3


@pytest.mark.parametrize(
    ("axes", "is_over"),
    [
        (AXES, False),
        ({"m": 4096, "n": 4096, "k": 4096}, False),
        ({"m": 5120, "n": 5120, "k": 5120}, True),
        ({"m": 1 << 20, "n": 1 << 9, "k": 1}, True),
        ({"m": 1 << 20, "n": 1 << 8, "k": 1}, False),
    ],
    ids=["small", "below", "flops", "bytes", "fits"],
)
def test_a_case_is_costly_by_its_work_or_its_size(axes: dict[str, int], is_over: bool) -> None:
    assert is_costly(_task().spec, _case(axes=axes)) == is_over


def test_a_task_without_an_independent_axis_cannot_be_sampled() -> None:
    task = _task(independent=None)
    assert sample(task.spec, Reference(task), _case(), make_inputs(task.spec, _case()), Draw(1)) is None


@pytest.mark.usefixtures("_each_way")
def test_an_independent_axis_may_be_another_dimension_of_the_output() -> None:
    changes = {"outputs": {"c": {"shape": ["n", "m"]}}, "probes": {}}
    task = _task("def reference(a, b):\n    return (a @ b).T\n", **changes)
    inputs = make_inputs(task.spec, _case())
    standard = _sample(task, _case(), inputs).standards["c"]
    right = (inputs.tensors["a"] @ inputs.tensors["b"]).T.contiguous()
    assert standard.judge(right).is_accepted
    wrong = right.clone()
    wrong[3, 4] += 1
    assert not standard.judge(wrong).is_accepted
    assert standard.is_wrong(wrong).nonzero().tolist() == [[3, 4]]


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_are_exact_however_large(dtype: str) -> None:
    changes = {**ROWS, "outputs": {"c": {"shape": ["m", "n"], "compare": "exact"}}}
    task = _task("def reference(a):\n    return a.sort(-1).values\n", **changes)
    inputs = make_inputs(task.spec, _case(dtype))
    standard = _sample(task, _case(dtype), inputs).standards["c"]
    right = inputs.tensors["a"].sort(-1).values
    assert standard.judge(right).is_accepted
    wrong = right.clone()
    wrong[100, [5, 6]] = wrong[100, [6, 5]]
    assert standard.judge(wrong).is_accepted == bool(right[100, 5] == right[100, 6])
    assert not standard.judge(right.roll(1, 0)).is_accepted


@pytest.mark.usefixtures("_each_way")
def test_indices_may_point_at_any_equal_value_however_large() -> None:
    outputs = {"c": {"shape": ["m"], "dtype": "int64", "compare": "indices", "indexes": "a"}}
    task = _task("def reference(a):\n    return a.argmax(-1)\n", **{**ROWS, "outputs": outputs})
    case = _case(distribution="integers")
    inputs = make_inputs(task.spec, case)
    a = inputs.tensors["a"]
    standard = _sample(task, case, inputs).standards["c"]
    assert standard.judge(a.argmax(-1)).is_accepted
    assert standard.judge(a.shape[1] - 1 - a.flip(1).argmax(-1)).is_accepted
    assert not standard.judge(a.argmin(-1)).is_accepted
