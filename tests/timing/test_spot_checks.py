"""The contract is held at the timed sizes, too, by calls that do not tell what they are for."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from conftest import Submit
from rotation import rotating
from specimens import make_task

from robust_kbench import contestant, guards
from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import Inputs
from robust_kbench.devices import open_device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, DeviceKind
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import dealing, spot_checks
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.plan import Plan, plan_for
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession

SOURCE = "import torch\n\ndef rms(x, w):\n    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)\n\n"
HONEST = SOURCE + "rmsnorm = rms\n"
TIMED = Case(axes={"rows": 96, "cols": 64}, dtype="float32", seed=1, role="timed")
PLAN = Plan(sessions=1, min_rounds=3, max_rounds=3, max_seconds=9.0, warm_up_rounds=1, warm_up_seconds=0.0)
SOME = random.Random(3)


def drawn(kind: spot_checks.Kind, timed: Case = TIMED, *, dense: bool = False, count: int = 30) -> list[Case]:
    task = load_task("norm/rmsnorm").spec
    cases = [spot_checks.draw(task, timed, kind, dense=dense, source=SOME) for _ in range(count)]
    return [case for case in cases if case is not None]


def session(submit: Submit, source: str, *kinds: spot_checks.Kind, plan: Plan = PLAN) -> SessionResult:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    spots = [(kind, case) for kind in kinds for case in drawn(kind, count=1)]
    with WarmPool() as pool, closing(Arena(2 * spot_checks.footprint(task.spec, TIMED))) as arena:
        candidate, eager = (
            contestant.build(name, submit(text), task.spec, ["float32"], device, pool.scratch())
            for name, text in (("candidate", source), ("eager", HONEST))
        )
        return TimingSession(
            task.spec, TIMED, [candidate, eager], plan,
            judge=Judge(task.spec, Reference(task)), bank=Bank(task.spec, TIMED), pool=pool, device=device,
            arenas=Arenas(arena),
            watch=Stopwatch(), timeout_s=20, distributions=(), spots=spots,
        ).run()  # fmt: skip


def test_sizes_nearby_are_many_and_none_of_them_is_the_timed_one() -> None:
    sizes = {tuple(case.axes.values()) for case in drawn("nearby")}
    assert len(sizes) > 15
    assert (96, 64) not in sizes
    assert all(84 <= rows <= 96 and 56 <= cols <= 64 for rows, cols in sizes)


def test_layouts_are_those_that_are_not_dense_unless_the_calling_convention_has_no_strides() -> None:
    assert {case.layout for case in drawn("layout", count=80)} == {"transposed", "strided", "pitched"}
    assert {case.layout for case in drawn("layout", dense=True)} == {"offset"}


def test_probes_are_those_of_the_task_and_what_is_not_finite_is_looked_at_every_time() -> None:
    task = load_task("matmul/matmul").spec
    timed = Case(axes={"m": 64, "n": 64, "k": 64}, dtype="float32", seed=1, role="timed")
    cases = [spot_checks.draw(task, timed, "probe", dense=True, source=SOME) for _ in range(60)]
    assert {case.probe for case in cases if case} == set(task.probes) - {"nonfinite"}
    assert {case.probe for case in drawn("nonfinite")} == {"nonfinite"}


@pytest.mark.parametrize("kind", ["probe", "nonfinite"])
def test_probes_come_beside_the_values_that_they_have_in_the_suite(kind: spot_checks.Kind) -> None:
    """The probe range of a matrix product next to equal values made an honest sum over 2,048 fail."""
    assert {case.distribution for case in drawn(kind)} == {"normal"}
    timed = TIMED.model_copy(update={"distribution": "constant"})
    assert {case.distribution for case in drawn(kind, timed)} == {"normal"}


def test_a_task_that_never_has_nan_gets_none() -> None:
    task = make_task(nonfinite="none")
    timed = Case(axes={"rows": 64, "cols": 2}, dtype="float32", seed=1, role="timed")
    assert spot_checks.draw(task, timed, "nonfinite", dense=True, source=SOME) is None


def test_sums_too_long_to_be_exact_get_no_probe_of_integers() -> None:
    task = make_task(probes={"integers": {"x": "integers"}}, reduction="rows * cols", nonfinite="none")
    short, long = (
        Case(axes={"rows": 64, "cols": cols}, dtype="bfloat16", seed=1, role="timed") for cols in (2, 1 << 20)
    )
    assert spot_checks.draw(task, short, "probe", dense=True, source=SOME) is not None
    assert spot_checks.draw(task, long, "probe", dense=True, source=SOME) is None


@pytest.mark.parametrize("name", rotating(task_names()))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_task_has_something_to_look_at_and_room_for_it(name: str, device: DeviceKind) -> None:
    task = load_task(name).spec
    for axes in task.timed[device]:
        timed = Case(axes=axes, dtype=task.dtypes[0], seed=1, role="timed")
        cases = [spot_checks.draw(task, timed, kind, dense=False, source=SOME) for kind in spot_checks.KINDS]
        found = [case for case in cases if case is not None]
        assert len(found) >= 2, axes
        assert max(case_footprint(task, case) for case in found) <= spot_checks.footprint(task, timed)
        assert all(task.misfit(case.axes) is None and case.role == "check" for case in found)


@pytest.mark.parametrize(("kind", "sessions"), [("cpu", 3), ("cuda", 5)])
def test_on_a_device_more_sessions_share_the_kinds(kind: DeviceKind, sessions: int) -> None:
    assert plan_for("full", kind).sharing == sessions


def test_sessions_get_what_was_drawn_for_them_once_and_other_values_if_they_are_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dealing, "_AGAIN", 0.0)
    task = load_task("norm/rmsnorm").spec
    timed = [TIMED.model_copy(update={"dtype": dtype}) for dtype in ("float32", "float16")]
    schedule = spot_checks.Schedule(task, timed, "full", 5, dense=False)
    others = schedule.other_shapes(5)
    taken = [spot for number in range(2) for turn in range(5) for spot in schedule.take(number, turn)]
    assert set(Counter(kind for kind, _ in taken).values()) == {2}
    others_taken = {case.seed for kind, case in taken if kind in ("nearby", "layout")}
    assert others_taken == {case.seed for case in others}
    assert len(others_taken) == 4
    again = [spot for number in range(2) for turn in range(5) for spot in schedule.take(number, turn)]
    assert Counter(kind for kind, _ in again) == Counter(kind for kind, _ in taken)
    assert not {case.seed for _, case in again} & {case.seed for _, case in taken}


@pytest.mark.rotating
def test_an_honest_kernel_passes_all_of_them(submit: Submit) -> None:
    result = session(submit, HONEST, *spot_checks.KINDS)
    assert result.failure == ""
    assert [each.status for each in result.results] == ["passed"] * 6
    assert {each.role for each in result.results} == {"timed"}, "they belong to no suite"
    assert len(result.samples["candidate"]) == 3


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("kind", "cheat"),
    [
        ("nearby", "rms(x, w) if x.shape == (96, 64) or len(x) < 84 else torch.zeros_like(x)"),
        ("layout", "rms(x.as_strided(x.shape, (x.shape[1], 1)), w)"),
        ("nonfinite", "rms(x.nan_to_num(0.0, 0.0, 0.0), w)"),
    ],
)
def test_a_kernel_that_is_right_only_where_it_is_timed_fails(
    submit: Submit, kind: spot_checks.Kind, cheat: str
) -> None:
    source = SOURCE + f"def rmsnorm(x, w):\n    return {cheat}\n"
    assert session(submit, source).failure == ""
    result = session(submit, source, *[kind] * 6)
    assert result.failure != ""
    assert result.results[-1].status != "passed"


@pytest.mark.rotating
def test_a_kernel_that_answers_equal_inputs_differently_at_the_timed_size_is_seen(submit: Submit) -> None:
    source = SOURCE + (
        "calls = [0]\n\ndef rmsnorm(x, w):\n    calls[0] += 1\n    return rms(x, w) * (1 + 2.0**-21 * (calls[0] % 2))\n"
    )
    result = session(submit, source, "repeat")
    assert [finding.guard for finding in guards.inspect(result.seen) if finding.severity == "reject"] == ["determinism"]
    honest = session(submit, HONEST, "repeat")
    assert [seen.repetition is not None for seen in honest.seen].count(True) == 1
    assert not guards.inspect(honest.seen)


@pytest.mark.rotating
def test_a_property_is_held_at_the_timed_size(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_task("norm/rmsnorm")
    (homogeneous,) = (prop for prop in task.spec.properties if prop.kind == "homogeneous")
    only = replace(task, spec=task.spec.model_copy(update={"properties": (homogeneous,)}))
    monkeypatch.setitem(session.__globals__, "load_task", lambda name: only)
    source = SOURCE + "def rmsnorm(x, w):\n    return rms(x, w.clamp(-8, 8))\n"  # no weight is as large
    assert session(submit, source).failure == ""
    kinds: list[spot_checks.Kind] = ["property"] * 16
    assert "homogeneous in weight" in session(submit, source, *kinds).failure


@pytest.mark.rotating
def test_three_quarters_of_the_timed_values_are_uneven(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Counter[str] = Counter()
    draw = Bank.draw

    def draw_and_count(bank: Bank, case: Case) -> Inputs:
        drawn[case.distribution] += 1
        return draw(bank, case)

    monkeypatch.setattr(Bank, "draw", draw_and_count)
    session(submit, HONEST, plan=replace(PLAN, min_rounds=150, max_rounds=150))
    assert drawn.total() >= 300
    assert set(drawn) == set(TIMED_DISTRIBUTIONS)
    assert 0.62 < drawn["uneven"] / drawn.total() < 0.9  # calls of one round have equal ones
