from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rotation import rotating
from specimens import make_case, make_task

from robust_kbench.cases import conjunctions, layouts
from robust_kbench.cases.suite import BUDGETS, INTERPRETED, Budget, draw_suite
from robust_kbench.errors import SpecError
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.task import ITEMSIZE, DeviceKind, FloatDType, Task, shape_of

SPECS = {name: load_task(name).spec for name in task_names()}
ALL_BUDGETS: dict[str, Budget] = {
    **{str(tier): budget for tier, budget in BUDGETS.items()},
    **{f"interpreted, {tier}": budget for tier, budget in INTERPRETED.items()},
}
SEEDS = st.integers(0, 2**53 - 1)
every_task = pytest.mark.parametrize("name", rotating(SPECS))


def _draw(
    task: Task,
    seed: int,
    *,
    budget: Budget = BUDGETS["quick"],
    dtypes: Sequence[FloatDType] | None = None,
    device: DeviceKind = "cpu",
    dense: bool = False,
    pinned: Sequence[Case] = (),
) -> Suite:
    return draw_suite(
        task, seed, budget=budget, dtypes=dtypes or task.dtypes, device=device, dense=dense, pinned=pinned
    )


def _drawn(task: Task, seed: int, **arguments: Any) -> tuple[Case, ...]:
    """Draw a suite and return its random cases. Probes and edge cases come behind them and are left out."""
    return _draw(task, seed, **arguments).checked[: arguments.get("budget", BUDGETS["quick"]).cases]


@every_task
@settings(max_examples=4)
@given(seed=SEEDS, budget=st.sampled_from(list(ALL_BUDGETS)))
def test_every_case_is_one_of_the_task_and_within_the_budget(name: str, seed: int, budget: str) -> None:
    task = SPECS[name]
    limit = ALL_BUDGETS[budget]
    cases = _draw(task, seed, budget=limit).checked
    counts = []
    for case in cases:
        shapes = [shape_of(tensor, case.axes) for tensor in task.tensors.values()]
        flops = arithmetic.evaluate(task.cost.flops, {**case.axes, "itemsize": ITEMSIZE[case.dtype]})
        assert task.misfit(case.axes) is None
        assert case.probe == "empty" or min((size for shape in shapes for size in shape), default=1) >= 1
        counts.append(sum(map(math.prod, shapes)))
        assert flops <= limit.flops
    count = len(cases) if limit.conjunctions is not None else len(cases) - len(task.dtypes)
    assert max(counts[:count]) <= limit.elements
    assert max(counts[count:], default=0) <= conjunctions.BEYOND * limit.elements


@every_task
@settings(max_examples=4)
@given(seed=SEEDS, dense=st.booleans())
def test_every_dtype_appears_in_every_applicable_layout(name: str, seed: int, dense: bool) -> None:
    task = SPECS[name]
    drawn = {(case.dtype, case.layout) for case in _draw(task, seed, dense=dense).checked}
    assert drawn == {(dtype, layout) for dtype in task.dtypes for layout in layouts.applicable(task, dense=dense)}


@every_task
@settings(max_examples=4)
@given(seed=SEEDS)
def test_a_dense_calling_convention_is_never_given_strided_tensors(name: str, seed: int) -> None:
    task = SPECS[name]
    assert {case.layout for case in _draw(task, seed, dense=True).checked} <= {"contiguous", "offset"}


@every_task
@settings(max_examples=2)
@given(seed=SEEDS)
def test_a_seed_gives_one_suite_and_another_seed_another(name: str, seed: int) -> None:
    task = SPECS[name]
    assert _draw(task, seed) == _draw(task, seed)
    assert _draw(task, seed).checked != _draw(task, seed + 1).checked


@every_task
@settings(max_examples=2)
@given(seed=SEEDS, device=st.sampled_from(get_args(DeviceKind)))
def test_every_timed_case_is_a_binding_of_the_device_in_every_dtype(name: str, seed: int, device: DeviceKind) -> None:
    task = SPECS[name]
    timed = _draw(task, seed, budget=BUDGETS["full"], device=device).timed
    assert {case.role for case in timed} == {"timed"}
    assert all(task.misfit(case.axes) is None for case in timed)
    wanted = [(dtype, tuple(axes.items())) for dtype in task.dtypes for axes in task.timed[device]]
    assert sorted((case.dtype, tuple(case.axes.items())) for case in timed) == sorted(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
def test_in_a_full_suite_every_dtype_meets_every_distribution(dense: bool) -> None:
    met = {
        (name, dtype): {case.distribution for case in _drawn(task, 11, budget=BUDGETS["full"], dense=dense)
                        if case.dtype == dtype}
        for name, task in SPECS.items() for dtype in task.dtypes
    }  # fmt: skip
    assert {key: set(SPECS[key[0]].distributions) - found for key, found in met.items()} == dict.fromkeys(met, set())


@pytest.mark.rotating
@pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
def test_even_a_quick_suite_meets_every_distribution(dense: bool) -> None:
    met = {name: {case.distribution for case in _drawn(task, 11, dense=dense)} for name, task in SPECS.items()}
    assert {name: set(SPECS[name].distributions) - found for name, found in met.items()} == dict.fromkeys(met, set())


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
def test_a_dtype_in_a_layout_meets_no_distribution_twice_before_it_has_met_all(dense: bool) -> None:
    repeated = []
    for name, task in SPECS.items():
        checked = _drawn(task, 11, budget=BUDGETS["full"], dense=dense)
        for pair in {(case.dtype, case.layout) for case in checked}:
            met = [case.distribution for case in checked if (case.dtype, case.layout) == pair]
            if len(set(met)) < min(len(met), len(task.distributions)):
                repeated.append((name, *pair, sorted(set(met))))
    assert repeated == []


COUNTS = {"quick": 24, "full": 72, "final": 96, "interpreted, quick": 24, "interpreted, full": 24}
RARE = {"quick": 4, "full": 10, "final": 10, "interpreted, quick": 4, "interpreted, full": 4}
"""Number of rare cases. For two axes and dtypes: the pair, a multiple of 96 of each, another round size of one; or for
each, two large cases and two with an axis as long as it can be.
"""


@pytest.mark.parametrize(("budget", "count"), COUNTS.items())
def test_a_suite_holds_the_number_of_drawn_cases_of_its_budget(budget: str, count: int) -> None:
    task = make_task(nonfinite="none", axes={"rows": {"low": 2, "high": 512}, "cols": {"low": 2, "high": 512}})
    assert len(_draw(task, 3, budget=ALL_BUDGETS[budget]).checked) == count + RARE[budget]


def test_a_budget_of_fewer_cases_than_combinations_still_covers_each() -> None:
    tight = Budget(cases=1, elements=1 << 16, flops=1e6, timed_bindings=0)
    met = {(case.dtype, case.layout) for case in _draw(make_task(), 3, budget=tight).checked[: 2 * 5]}
    assert len(met) == 2 * 5


def test_only_the_declared_dtypes_are_drawn() -> None:
    suite = _draw(SPECS["norm/rmsnorm"], 3, dtypes=["bfloat16"])
    assert {case.dtype for case in (*suite.checked, *suite.timed)} == {"bfloat16"}


def test_tier_quick_times_the_binding_that_moves_least_and_the_interpreter_none() -> None:
    assert [case.axes for case in _draw(make_task(), 3).timed] == [{"rows": 8, "cols": 64}] * 2
    assert _draw(make_task(), 3, budget=INTERPRETED["full"]).timed == ()


def test_no_two_cases_share_a_seed() -> None:
    suite = _draw(SPECS["norm/rmsnorm"], 3, budget=BUDGETS["final"])
    cases = (*suite.checked, *suite.timed)
    assert len({case.seed for case in cases}) == len(cases)


def test_a_new_version_of_a_task_gets_other_cases() -> None:
    assert _draw(make_task(), 3).checked != _draw(make_task(version=2), 3).checked


def test_sizes_lie_on_both_sides_of_powers_of_two_and_are_often_odd() -> None:
    drawn = [case.axes["cols"] for seed in range(20) for case in _drawn(SPECS["norm/rmsnorm"], seed)]
    assert {1, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025} <= set(drawn)
    assert sum(size % 2 for size in drawn) > len(drawn) / 2
    assert max(drawn) > 4096


def test_an_axis_with_values_takes_each_of_them() -> None:
    drawn = {case.axes["window"] for case in _draw(SPECS["pool/max_pool2d"], 3).checked}
    assert drawn == {2, 3}


@settings(max_examples=20)
@given(seed=SEEDS)
def test_an_axis_of_multiples_gives_multiples(seed: int) -> None:
    task = make_task(axes={"rows": {"low": 3, "high": 500, "multiple_of": 8}, "cols": {"high": 64}}, timed=_timed(64))
    sizes = [case.axes["rows"] for case in _draw(task, seed).checked]
    assert all(size % 8 == 0 and 8 <= size <= 496 for size in sizes)


def test_an_axis_that_may_be_empty_is_never_drawn_empty() -> None:
    task = make_task(axes={"rows": {"low": 0, "high": 3}, "cols": {"high": 64}}, timed=_timed(3))
    assert {case.axes["rows"] for case in _draw(task, 3).checked if case.probe != "empty"} == {1, 2, 3}


@pytest.mark.parametrize(
    "changes",
    [{"constraints": ["rows * cols > 100000"], "timed": None}, {"cost": {"flops": 10**12, "bytes": 1}}],
    ids=["too large", "too dear"],
)
def test_a_task_without_an_affordable_case_is_refused(changes: dict[str, Any]) -> None:
    if "timed" in changes:
        changes = {**changes, "timed": {"cpu": [{"rows": 512, "cols": 512}], "cuda": [{"rows": 512, "cols": 512}]}}
    tight = Budget(cases=24, elements=1 << 10, flops=1e6, timed_bindings=0)
    with pytest.raises(SpecError, match="norm/scale: found no sizes within the constraints and 1,024 elements"):
        _draw(make_task(**changes), 3, budget=tight)


def test_the_first_cases_of_a_seed_stay_what_they_were() -> None:
    # Whoever changes the generator changes the cases of every published seed: raise the versions of the tasks then.
    suite = _draw(make_task(), 20260101)
    assert [f"{case} {case.seed}" for case in suite.checked[:6]] == [
        "rows=23 cols=8 float32 offset sparse 1902860645323647608",
        "rows=257 cols=32 float16 strided integers 4159872275701606936",
        "rows=97 cols=33 float32 pitched uneven 8100819469853924697",
        "rows=1 cols=65 float32 transposed needles 1365269153216371812",
        "rows=257 cols=65 float16 transposed sorted 1864282139221791948",
        "rows=2 cols=8 float32 contiguous constant 194187414261249376",
    ]
    assert [f"{case} {case.seed}" for case in suite.timed] == [
        "rows=8 cols=64 float32 contiguous normal 5818477484454687521",
        "rows=8 cols=64 float16 contiguous normal 1932447456115737985",
    ]


def _timed(rows: int) -> dict[str, list[dict[str, int]]]:
    return {"cpu": [{"rows": rows, "cols": 64}], "cuda": [{"rows": rows, "cols": 64}]}


PROBING = {
    "axes": {"rows": {"low": 1, "high": 512}, "cols": {"low": 1, "high": 4096}},
    "constraints": [],
    "reduction": "cols",
    "probes": {
        "integers": {"x": "integers", "weight": "integers"},
        "stall": {"x": "stall", "weight": "ones"},
        "range": {"x": "powers_of_two"},
    },
}


def _probes(suite: Suite) -> dict[tuple[str, str], list[Case]]:
    found: dict[tuple[str, str], list[Case]] = {}
    for case in suite.checked:
        if case.probe is not None:
            found.setdefault((case.probe, case.dtype), []).append(case)
    return found


@pytest.mark.parametrize(("tier", "sizes", "spoilt"), [("quick", 1, 1), ("full", 3, 4), ("final", 3, 4)])
def test_every_dtype_meets_every_probe_as_often_as_the_tier_says(tier: Any, sizes: int, spoilt: int) -> None:
    found = _probes(_draw(make_task(**PROBING), 3, budget=BUDGETS[tier]))
    expected = {(probe, dtype): sizes for probe in PROBING["probes"] for dtype in ("float32", "float16")}
    expected |= {("nonfinite", dtype): spoilt for dtype in ("float32", "float16")}
    assert {key: len(cases) for key, cases in found.items()} == expected


def test_an_interpreted_kernel_meets_each_probe_on_one_dtype() -> None:
    found = _probes(_draw(make_task(**PROBING), 3, budget=INTERPRETED["full"]))
    assert sorted(probe for probe, _ in found) == ["integers", "nonfinite", "range", "stall"]
    assert {dtype for _, dtype in found} == {"float32", "float16"}


def test_probes_span_short_and_long_reductions_and_one_alone_is_long() -> None:
    task = make_task(**PROBING)
    for cases in _probes(_draw(task, 3, budget=BUDGETS["full"])).values():
        lengths = [case.axes["cols"] for case in cases]
        assert cases[0].probe == "nonfinite" or (lengths == sorted(lengths) and lengths[0] < 40 < 400 < lengths[-1])
    assert all(cases[0].axes["cols"] > 400 for key, cases in _probes(_draw(task, 3)).items() if key[0] != "nonfinite")


@pytest.mark.rotating
def test_a_range_has_a_large_row_a_small_one_and_one_between() -> None:
    """A kernel with one scale for a whole factor passed on a product of a single row, in one seed of sixty."""
    found = [_probes(_draw(SPECS["matmul/matmul"], seed)) for seed in range(200)]
    assert min(probes["range", "float32"][0].axes["m"] for probes in found) == 3
    assert min(probes["stall", "float32"][0].axes["m"] for probes in found) == 1


def test_where_no_size_has_room_for_three_rows_a_range_has_fewer() -> None:
    axes = {"rows": {"low": 1, "high": 2}, "cols": {"low": 1, "high": 4096}}
    timed = [{"rows": 2, "cols": 64}]
    task = make_task(**{**PROBING, "axes": axes, "timed": {"cpu": timed, "cuda": timed}})
    assert len(_probes(_draw(task, 3))["range", "float32"]) == 1


def test_a_probe_is_no_longer_than_its_sums_are_exact() -> None:
    task = make_task(**{**PROBING, "reduction": "16 * cols"})
    found = [_probes(_draw(task, seed, budget=BUDGETS["full"])) for seed in range(8)]
    assert max(case.axes["cols"] for probes in found for case in probes["integers", "float16"]) * 16 < 65504
    assert max(case.axes["cols"] for probes in found for case in probes["range", "float16"]) * 16 > 40000


def test_a_probe_and_a_nonfinite_case_are_never_expanded() -> None:
    layouts = ["contiguous", "expanded", "pitched"]
    task = make_task(
        **PROBING, inputs={"x": {"shape": ["rows", "cols"], "layouts": layouts}, "weight": {"shape": ["cols"]}}
    )
    found = {
        case.layout for seed in range(8) for case in _draw(task, seed, budget=BUDGETS["full"]).checked if case.probe
    }
    assert "expanded" not in found
    assert {"contiguous", "pitched"} <= found


def test_a_nonfinite_case_has_room_beside_a_nan() -> None:
    found = [_probes(_draw(make_task(), seed))["nonfinite", "float32"][0] for seed in range(20)]
    assert sum(min(case.axes.values()) >= 4 for case in found) == 20


def test_a_task_whose_inputs_are_finite_has_no_nonfinite_case() -> None:
    assert _probes(_draw(make_task(nonfinite="none"), 3)) == {}


def test_every_axis_is_once_of_size_one_and_once_empty_where_it_can_be() -> None:
    axes = {"rows": {"low": 0, "high": 512}, "cols": {"values": [1, 8, 64]}}
    edges = _draw(make_task(axes=axes, nonfinite="none"), 3).checked[24 : -len(("pair", "multiple of 96", "round"))]
    assert [(case.axes["rows"] == 0, case.probe) for case in edges if 0 in case.axes.values()] == [(True, "empty")]
    assert edges[0].axes["rows"] == 1
    assert edges[-1].axes["cols"] == 1


def test_an_axis_that_is_never_one_or_empty_has_no_such_case() -> None:
    axes = {"rows": {"low": 2, "high": 512}, "cols": {"low": 8, "high": 512, "multiple_of": 8}}
    assert len(_draw(make_task(axes=axes, nonfinite="none"), 3).checked) == 24 + RARE["quick"]


def test_a_constraint_that_an_empty_axis_breaks_forbids_the_empty_case() -> None:
    changes = {"axes": {"rows": {"low": 0, "high": 512}, "cols": {"high": 64}}, "constraints": ["rows * cols >= 4"]}
    assert "empty" not in {case.probe for case in _draw(make_task(**changes), 3).checked}


def test_an_index_into_nothing_is_no_case() -> None:
    index = {"shape": ["rows"], "dtype": "int64", "role": "index", "below": "cols"}
    inputs = {"x": {"shape": ["rows", "cols"]}, "index": index}
    task = make_task(inputs=inputs, axes={"rows": {"low": 0, "high": 64}, "cols": {"low": 0, "high": 64}})
    empty = [case.axes for case in _draw(task, 3).checked if case.probe == "empty"]
    assert [axes["rows"] for axes in empty] == [0]


PINNED = (
    make_case(seed=1),
    make_case(seed=2, layout="transposed"),
    make_case(seed=3, dtype="float16"),
    make_case(seed=4, axes={"rows": 512, "cols": 128}),
)


def test_pinned_cases_come_last_and_unchanged() -> None:
    assert _draw(make_task(), 3, pinned=PINNED).checked[-4:] == PINNED
    assert _draw(make_task(), 3, pinned=PINNED).checked[:-4] == _draw(make_task(), 3).checked


def test_a_pinned_case_of_another_dtype_or_above_the_budget_is_left_out() -> None:
    small = Budget(cases=1, elements=1 << 10, flops=1e6, timed_bindings=0)
    checked = _draw(make_task(), 3, budget=small, dtypes=["float32"], pinned=PINNED).checked
    assert [case.seed for case in checked if case.seed < 9] == [1, 2]


def test_a_pinned_layout_that_the_calling_convention_does_not_know_becomes_contiguous() -> None:
    checked = _draw(make_task(), 3, dense=True, pinned=PINNED[:2]).checked
    assert checked[-2:] == (PINNED[0], PINNED[1].model_copy(update={"layout": "contiguous"}))


def test_probes_and_pinned_cases_do_not_change_what_is_drawn_or_timed() -> None:
    plain = make_task(**{**PROBING, "probes": {}})
    one, two = _draw(plain, 3), _draw(make_task(**PROBING), 3, pinned=PINNED)
    assert one.checked[:24] == two.checked[:24]
    assert one.timed == two.timed
