from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specimens import make_case, make_observation

from robust_kbench import guards
from robust_kbench.guards import bounds, mutation, processes
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation, Repetition

HONEST = st.builds(
    make_observation,
    role=st.sampled_from(["check", "timed"]),
    ending=st.sampled_from(["returned", "raised", "crashed", "timed_out"]),
    elapsed_ns=st.integers(5_000, 50_000_000),
)
OBJECTIONABLE = st.builds(
    make_observation,
    role=st.sampled_from(["check", "timed"]),
    changed_inputs=st.lists(st.sampled_from(["x", "weight"]), max_size=2, unique=True).map(tuple),
    overruns=st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([-4096, -1, 1, 4096]), max_size=2),
    left_processes=st.integers(0, 3),
)
LOOKING_GUARDS: Mapping[str, Callable[[Sequence[Observation]], Any]] = {
    "mutation": mutation.inspect,
    "bounds": bounds.inspect,
    "processes": processes.inspect,
}
every_looking_guard = pytest.mark.parametrize("guard", LOOKING_GUARDS)


def _timed(count: int = 5, **changes: Any) -> list[Observation]:
    return [make_observation(role="timed", **changes) for _ in range(count)]


def _rejections(seen: Sequence[Observation]) -> list[str]:
    return [finding.guard for finding in guards.inspect(seen) if finding.severity == "reject"]


@given(st.lists(HONEST, max_size=12))
def test_honest_calls_give_no_finding(seen: list[Observation]) -> None:
    assert guards.inspect(seen) == ()


def test_nothing_seen_gives_no_finding() -> None:
    assert guards.inspect([]) == ()


@pytest.mark.parametrize(
    ("names", "words"), [(("x",), "x"), (("x", "weight"), "x, weight")], ids=["one input", "two inputs"]
)
def test_a_call_that_changed_an_input_is_rejected(names: tuple[str, ...], words: str) -> None:
    case = make_case(seed=99, layout="strided")
    (finding,) = guards.inspect([make_observation(), make_observation(case=case, changed_inputs=names)])
    assert finding == Finding(
        guard="mutation",
        severity="reject",
        message=f"the call changed its input {words}; copy it before working in place",
        case=str(case),
    )


@pytest.mark.parametrize(
    ("distance", "side"),
    [
        (1, "1 bytes behind the end of"),
        (4096, "4096 bytes behind the end of"),
        (-1, "1 bytes before the start of"),
        (-4096, "4096 bytes before the start of"),
    ],
)
def test_a_call_that_wrote_outside_a_tensor_is_rejected(distance: int, side: str) -> None:
    case = make_case(axes={"rows": 1, "cols": 33})
    (finding,) = guards.inspect([make_observation(), make_observation(case=case, overruns={"y": distance})])
    assert (finding.guard, finding.severity, finding.case) == ("bounds", "reject", str(case))
    assert finding.message == f"the call wrote {side} y; check the bounds of the last block"


def test_processes_left_behind_are_a_warning_with_their_largest_number() -> None:
    (finding,) = guards.inspect([make_observation(left_processes=count) for count in (0, 3, 1)])
    assert (finding.guard, finding.severity) == ("processes", "warn")
    assert finding.message == "3 processes were running after a call had returned"


def test_a_call_that_did_several_things_wrong_is_told_each_of_them() -> None:
    seen = [make_observation(changed_inputs=("x",), overruns={"y": 4}, left_processes=1)]
    assert [finding.guard for finding in guards.inspect(seen)] == ["mutation", "bounds", "processes"]


def test_a_call_that_crashed_is_still_held_to_what_it_did_to_its_inputs() -> None:
    assert _rejections([make_observation(ending="crashed", changed_inputs=("x",))]) == ["mutation"]


def test_a_thousand_equal_objections_give_one_finding_for_the_first_of_them() -> None:
    seen = [make_observation(case=make_case(seed=seed), changed_inputs=("x",)) for seed in range(1000)]
    assert [finding.case for finding in guards.inspect(seen)] == [str(seen[0].case)]


@pytest.mark.parametrize(
    ("changes", "is_timed"),
    [
        ({}, True),
        ({"clock": "gate"}, True),
        ({"clock": None}, False),
        ({"ending": "crashed"}, False),
        ({"role": "check"}, False),
    ],
)
def test_a_call_is_timed_where_it_is_scored_and_returned_and_its_time_is_a_sample(
    changes: dict[str, Any], is_timed: bool
) -> None:
    assert make_observation(**{"role": "timed", **changes}).is_timed is is_timed


@every_looking_guard
@given(seen=st.lists(OBJECTIONABLE, max_size=6), place=st.integers(0, 6), honest=HONEST)
def test_one_more_honest_call_changes_no_finding(
    guard: str, seen: list[Observation], place: int, honest: Observation
) -> None:
    inspect = LOOKING_GUARDS[guard]
    assert list(inspect([*seen[:place], honest, *seen[place:]])) == list(inspect(seen))


@every_looking_guard
@given(seen=st.lists(OBJECTIONABLE, max_size=6), more=OBJECTIONABLE)
def test_one_more_call_never_takes_a_finding_away(guard: str, seen: list[Observation], more: Observation) -> None:
    inspect = LOOKING_GUARDS[guard]
    assert len(list(inspect([*seen, more]))) >= len(list(inspect(seen)))


@given(st.lists(OBJECTIONABLE, max_size=12))
def test_there_is_at_most_one_finding_for_each_guard(seen: list[Observation]) -> None:
    found = [finding.guard for finding in guards.inspect(seen)]
    assert len(found) == len(set(found))


def test_a_finding_on_a_task_with_many_inputs_still_fits_a_record() -> None:
    # A guard that raises is our own failure, and the submission would not be rejected.
    names = tuple(f"a_rather_long_name_of_an_input_number_{number}" for number in range(16))
    (finding,) = guards.inspect([make_observation(changed_inputs=names)])
    assert len(finding.message) <= 500
    assert names[0] in finding.message


def test_every_module_of_the_package_is_one_of_the_guards() -> None:
    modules = {guard.__module__ for guard in guards.GUARDS}
    helpers = ("groups", "floor")  # floor looks at times of a whole run
    names = {module.name for module in pkgutil.iter_modules(guards.__path__)} - {*helpers}
    assert modules == {f"robust_kbench.guards.{name}" for name in names}


def _repeated(differing: int, ratio: float, **changes: Any) -> Observation:
    return make_observation(repetition=Repetition("y", differing, 1000, ratio, **changes))


def test_two_answers_that_differ_by_more_than_a_quarter_of_the_limit_are_rejected() -> None:
    (finding,) = guards.inspect([_repeated(0, 0.0), _repeated(17, 0.3)])
    assert (finding.guard, finding.severity) == ("determinism", "reject")
    assert finding.message == (
        "two calls on equal inputs differ in 17 of 1,000 elements of y, by 0.3 of the limit: "
        "a race, or memory that was never written"
    )
    assert finding.evidence == {"differing": 17, "elements": 1000, "ratio": 0.3}


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.25])
def test_two_answers_that_differ_by_less_are_a_warning(ratio: float) -> None:
    (finding,) = guards.inspect([_repeated(17, ratio)])
    assert (finding.guard, finding.severity) == ("determinism", "warn")
    assert finding.message.endswith("a sum, or equal values, in another order")


def test_two_equal_answers_and_a_single_answer_give_no_finding() -> None:
    assert guards.inspect([_repeated(0, 0.0), make_observation()]) == ()


@pytest.mark.parametrize("ratio", [0.3, float("inf")])
def test_a_task_that_is_declared_nondeterministic_is_warned_about_only(ratio: float) -> None:
    (finding,) = guards.inspect([_repeated(17, ratio, may_differ=True)])
    assert finding.severity == "warn"


def test_answers_that_may_not_differ_at_all_leave_no_infinity_in_the_record() -> None:
    (finding,) = guards.inspect([_repeated(1, float("inf"))])
    assert (finding.severity, "ratio" in finding.evidence) == ("reject", False)


def test_of_several_differences_the_one_that_rejects_is_told() -> None:
    (finding,) = guards.inspect([_repeated(900, 0.9, may_differ=True), _repeated(1, 0.5)])
    assert (finding.severity, finding.evidence["differing"]) == ("reject", 1)
