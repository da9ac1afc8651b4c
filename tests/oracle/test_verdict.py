from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from specimens import load_made_task, make_case, make_observation

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import mismatch, surroundings
from robust_kbench.oracle import verdict as verdicts
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge, Verdict, not_checked
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Ending, Observation
from robust_kbench.schema.record import CaseResult
from robust_kbench.schema.task import shape_of

TASK = load_made_task()
TWO = load_made_task(
    "def reference(x, weight):\n    return x * weight, x.sum(0)\n",
    outputs={"y": {"shape": ["rows", "cols"]}, "total": {"shape": ["cols"], "reduction": "rows"}},
)
ULPS_OUTPUTS = {"y": {"shape": ["rows", "cols"], "compare": "ulp"}}
ULPS = load_made_task(outputs=ULPS_OUTPUTS)
CASE = make_case(axes={"rows": 16, "cols": 32})


def _judge(task: LoadedTask = TASK) -> Judge:
    return Judge(task.spec, Reference(task))


def _inputs(task: LoadedTask = TASK) -> Inputs:
    return make_inputs(task.spec, CASE)


def _right(task: LoadedTask = TASK) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in Reference(task).native(_inputs(task)).items()}


def _result(task: LoadedTask = TASK, **observed: Any) -> CaseResult:
    return _judge(task).verdict(make_observation(case=CASE, **observed), _inputs(task)).result


@pytest.mark.parametrize(("role", "evaluations"), [("timed", 1), ("check", 7)])
def test_what_pytorchs_luck_is_near_a_timed_call_serves_the_later_ones(
    role: str, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(TASK)
    counted = Mock(wraps=reference.exact)
    monkeypatch.setattr(reference, "exact", counted)
    judge = Judge(TASK.spec, reference)
    for seed in (1, 2):
        counted.reset_mock()
        case = make_case(role=role, dtype="float16", seed=seed)
        inputs = make_inputs(TASK.spec, case)
        answer = Reference(TASK).native(inputs)
        assert judge.look(make_observation(case=case, outputs=answer), inputs, "cpu").result.status == "passed"
    assert counted.call_count == evaluations  # of the second call, its neighbours included


@pytest.mark.parametrize(
    ("rows", "role", "fewer"), [(16, "check", 0), (16, "timed", 24), (256, "check", 0), (256, "timed", 4 + 1)]
)
def test_of_ulps_the_later_ones_of_timed_calls_look_at_no_neighbours(
    rows: int, role: str, fewer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later calls do not test either if a large op is elementwise."""
    reference = Reference(ULPS)
    counted = Mock(wraps=reference.exact)
    monkeypatch.setattr(reference, "exact", counted)
    judge = Judge(ULPS.spec, reference)
    evaluations = []
    for seed in (1, 2):
        counted.reset_mock()
        case = make_case(role=role, seed=seed, axes={"rows": rows, "cols": 32})
        judge.expect(case, make_inputs(ULPS.spec, case))
        evaluations.append(counted.call_count)
    assert evaluations[0] - evaluations[1] == fewer


def test_what_pytorch_erred_by_in_ulps_near_a_timed_call_excuses_as_much_in_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PyTorch's own answer to the later call is exact."""
    reference = Reference(ULPS)
    judge, native = Judge(ULPS.spec, reference), reference.native
    excused: list[str] = []
    for is_sloppy, role in ((True, "timed"), (False, "timed"), (False, "check")):
        case = make_case(role=role, seed=len(excused), axes=CASE.axes)
        inputs = make_inputs(ULPS.spec, case)
        answer = {"y": native(inputs)["y"] * (1 + 30 * 2.0**-23)}
        factor = 1 + is_sloppy * 20 * 2.0**-23
        monkeypatch.setattr(reference, "native", lambda given, by=factor: {"y": by * native(given)["y"]})
        excused.append(judge.look(make_observation(case=case, outputs=answer), inputs, "cpu").result.status)
    assert excused == ["passed", "passed", "incorrect"]


@pytest.mark.parametrize("role", ["timed", "check"])
@pytest.mark.parametrize(("factor", "conditions"), [(1.25, 0), (1.6, 1)], ids=["as PyTorch", "wrong"])
def test_who_errs_as_pytorch_does_needs_nothing_of_what_rounded_inputs_change(
    role: str, factor: float, conditions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(ULPS)
    native = reference.native
    monkeypatch.setattr(reference, "native", lambda given: {"y": 1.25 * native(given)["y"]})
    counted = Mock(wraps=surroundings._condition)
    monkeypatch.setattr(surroundings, "_condition", counted)
    case = make_case(axes=CASE.axes, role=role)
    inputs = make_inputs(ULPS.spec, case)
    seen = make_observation(case=case, outputs={"y": factor * native(inputs)["y"]})
    verdict = Judge(ULPS.spec, reference).verdict(seen, inputs)
    assert verdict.result.status == ("incorrect" if conditions else "passed")
    assert counted.call_count == conditions


@pytest.mark.parametrize(("is_excused", "explained"), [(True, 0), (False, 1)])
def test_nobody_explains_what_the_limits_without_excuses_refuse(
    is_excused: bool, explained: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(ULPS)
    inputs = make_inputs(ULPS.spec, CASE)
    sloppy = {name: tensor * 1.25 for name, tensor in reference.native(inputs).items()}
    if is_excused:
        monkeypatch.setattr(reference, "native", lambda _: sloppy)
    explain = Mock(wraps=mismatch.explain)
    monkeypatch.setattr(mismatch, "explain", explain)
    Judge(ULPS.spec, reference).verdict(make_observation(case=CASE, outputs=sloppy), inputs)
    assert explain.call_count == explained


Look = tuple[str, str]  # where, and what came out of it


def _looks(
    monkeypatch: pytest.MonkeyPatch,
    there: str | Exception,
    case: Case,
    task: LoadedTask = TASK,
    *,
    is_baseline: bool = False,
) -> list[Look]:
    """Judge a right answer with a device whose outcome is `there`; return the looks, the last of which counts."""
    looks: list[Look] = []
    look = Judge.look

    def looked(
        self: Judge, seen: Observation, inputs: Inputs, place: str, digested: Inputs | None = None, **how: Any
    ) -> Verdict:
        found = look(self, seen, inputs, "cpu", digested, **how)
        if place != "cpu" and isinstance(there, Exception):
            looks.append((place, "raised"))
            raise there
        status = there if place != "cpu" else found.result.status
        looks.append((place, str(status)))
        return replace(found, result=found.result.model_copy(update={"status": status}))

    monkeypatch.setattr(Judge, "look", looked)
    inputs = make_inputs(task.spec, case)
    seen = make_observation(case=case, outputs=Reference(task).native(inputs))
    verdict = Judge(task.spec, Reference(task), "cuda").verdict(seen, inputs, is_baseline=is_baseline)
    assert verdict.result.status == ("passed" if is_baseline else looks[-1][1])
    assert verdict.result.inputs_digest == inputs.digest
    return looks


TIMED = make_case(axes=CASE.axes, role="timed")


@pytest.mark.parametrize("task", [TASK, ULPS], ids=["rule", "ulp"])
def test_a_device_may_accept_an_answer_and_refuses_none(task: LoadedTask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(monkeypatch, "passed", TIMED, task) == [("cuda", "passed")]


@pytest.mark.parametrize("there", ["incorrect", torch.OutOfMemoryError(), RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")])
def test_what_a_device_does_not_accept_is_judged_on_the_host(
    there: str | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ("cpu", "passed")
    assert _looks(monkeypatch, there, TIMED) == [("cuda", "raised" if there != "incorrect" else "incorrect"), here]


@pytest.mark.parametrize(
    ("task", "problem", "places"),
    [(TASK, None, ["cuda"]), (TASK, "differs", ["cuda", "cpu"]), (ULPS, None, ["cuda", "cpu"])],
    ids=["near", "not near", "ulp"],
)
def test_a_baseline_may_be_near_pytorch_on_the_device(
    task: LoadedTask, problem: str | None, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "short_cut", lambda *_: problem)
    looks = _looks(monkeypatch, "incorrect", TIMED, task, is_baseline=True)
    assert [place for place, _ in looks] == places


@pytest.mark.parametrize(
    ("changes", "place"),
    [({"role": "check"}, "cpu"), ({"role": "check", "probe": "nonfinite"}, "cpu"), ({"probe": "nonfinite"}, "cuda")],
)
def test_small_calls_that_only_check_are_not_looked_at_on_a_device(
    changes: dict[str, Any], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _looks(monkeypatch, "passed", TIMED.model_copy(update=changes)) == [(place, "passed")]


@pytest.mark.parametrize(("least", "most", "place"), [(0, 0, "cuda"), (1, 2, "cpu"), (-2, -1, "cpu")])
def test_so_are_those_of_other_large_calls_but_not_of_the_largest(
    least: int, most: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elements = sum(math.prod(shape_of(spec, CASE.axes)) for spec in TASK.spec.tensors.values())
    monkeypatch.setattr(verdicts, "_LARGE", elements + least)
    monkeypatch.setattr(verdicts, "_TOO_LARGE", elements + most)
    assert _looks(monkeypatch, "passed", TIMED.model_copy(update={"role": "check"})) == [(place, "passed")]


def _pretend_that_inputs_are_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inputs, "place", "cuda")
    monkeypatch.setattr(Inputs, "to", lambda self, _: self)


@pytest.mark.parametrize("task", [TASK, ULPS], ids=["rule", "ulp"])
def test_on_a_device_pytorchs_own_errors_excuse_nothing(task: LoadedTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's limits, which include these errors, are at least as wide, so the device accepts nothing else."""
    inputs = make_inputs(task.spec, TIMED)
    reference = Reference(task)
    sloppy = {name: tensor * 1.25 for name, tensor in reference.native(inputs).items()}
    monkeypatch.setattr(reference, "native", lambda _: sloppy)
    seen = make_observation(case=TIMED, outputs=sloppy)
    assert Judge(task.spec, reference).look(seen, inputs, "cpu").result.status == "passed"
    _pretend_that_inputs_are_on_a_device(monkeypatch)
    assert Judge(task.spec, reference, "cuda").look(seen, inputs, "cpu").result.status == "incorrect"


@pytest.mark.parametrize("role", ["timed", "check"])
@pytest.mark.parametrize("with_digest", [False, True])
@pytest.mark.parametrize(("task", "dtype"), [(ULPS, "float32"), (TASK, "float16")], ids=["ulp", "few halves"])
@pytest.mark.parametrize(("factor", "is_surveyed"), [(1.0, False), (1.01, True)], ids=["right", "wrong"])
def test_an_answer_that_needs_no_excuse_costs_no_look_around(
    role: str,
    with_digest: bool,
    task: LoadedTask,
    dtype: str,
    factor: float,
    is_surveyed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference = Reference(task)
    counted = Mock(wraps=reference.exact)
    monkeypatch.setattr(reference, "exact", counted)
    case = make_case(role=role, dtype=dtype)
    inputs = make_inputs(task.spec, case)
    seen = make_observation(case=case, outputs={"y": factor * reference.native(inputs)["y"]})
    Judge(task.spec, reference).verdict(seen, inputs, with_digest=with_digest)
    assert (counted.call_count > 1) == is_surveyed


@pytest.mark.parametrize(("dtype", "rows"), [("float32", 16), ("float16", 4097)], ids=["wide", "many"])
def test_where_no_neighbour_is_evaluated_nobody_is_held_to_less_than_the_whole_rule(dtype: str, rows: int) -> None:
    judge = Judge(TASK.spec, Reference(TASK))
    looks = Mock(wraps=judge.look)
    judge.look = looks  # type: ignore[method-assign]
    case = make_case(dtype=dtype, axes={"rows": rows, "cols": 1})
    inputs = make_inputs(TASK.spec, case)
    judge.verdict(make_observation(case=case, outputs=Reference(TASK).native(inputs)), inputs)
    assert [look.kwargs for look in looks.call_args_list] == [{}]


def _judged_in_turn(judge: Judge, answers: list[dict[str, torch.Tensor]], case: Case) -> list[str]:
    inputs = make_inputs(TASK.spec, case)
    seen = (make_observation(case=case, outputs=answer) for answer in answers)
    return [judge.verdict(each, inputs).result.status for each in seen]


@pytest.mark.parametrize(("role", "largest", "runs"), [("timed", None, 0), ("check", 0, 0), ("check", None, 1)])
def test_a_large_call_is_first_held_to_limits_for_which_pytorch_need_not_run(
    role: str, largest: int | None, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if largest is not None:
        monkeypatch.setattr(verdicts, "_LARGE", largest)
    reference = Reference(TASK)
    counted = Mock(wraps=reference.native)
    monkeypatch.setattr(reference, "native", counted)
    case = make_case(axes=CASE.axes, role=role)
    assert _judged_in_turn(Judge(TASK.spec, reference), [_right_to(case)], case) == ["passed"]
    assert counted.call_count == runs


def _right_to(case: Case) -> dict[str, torch.Tensor]:
    return Reference(TASK).native(make_inputs(TASK.spec, case))


@pytest.mark.parametrize(("off", "status"), [(0.02, "passed"), (0.2, "incorrect")])
def test_pytorchs_errors_excuse_a_large_answer_that_keeps_no_limit_without_them(
    off: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(TASK)
    native = reference.native
    monkeypatch.setattr(reference, "native", lambda inputs: {"y": 1.015 * native(inputs)["y"]})
    answers = [{"y": (1 + off) * _right_to(TIMED)["y"]}] * 2
    assert _judged_in_turn(Judge(TASK.spec, reference), answers, TIMED) == [status] * 2


def test_after_a_short_cut_that_fails_the_limits_have_all_excuses(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference(TASK)
    native = reference.native
    monkeypatch.setattr(reference, "native", lambda inputs: {"y": 1.015 * native(inputs)["y"]})
    judge, inputs = Judge(TASK.spec, reference), make_inputs(TASK.spec, TIMED)
    seen = make_observation(case=TIMED, outputs=_right_to(TIMED))
    limits = judge.verdict(seen, inputs).limits
    assert judge.short_cut(seen, inputs, limits) is not None
    wider = judge.verdict(seen, inputs).limits
    assert judge.short_cut(seen, inputs, wider) is None


@pytest.mark.parametrize(
    ("later", "is_tried"), [({"seed": 9}, False), ({"distribution": "uniform"}, True), ({"dtype": "float16"}, True)]
)
def test_where_the_first_answer_needed_excuses_later_ones_are_held_to_wide_limits_at_once(
    later: dict[str, Any], is_tried: bool
) -> None:
    judge = Judge(ULPS.spec, Reference(ULPS))
    looks = Mock(wraps=judge.look)
    judge.look = looks  # type: ignore[method-assign]
    for factor, changes in ((1.01, {}), (1.0, later)):
        case = make_case(role="timed", **changes)
        inputs = make_inputs(ULPS.spec, case)
        looks.reset_mock()
        judge.verdict(make_observation(case=case, outputs={"y": factor * Reference(ULPS).native(inputs)["y"]}), inputs)
    (look,) = looks.call_args_list
    assert look.kwargs.get("excuses", "all") == ("none" if is_tried else "all")


@pytest.mark.parametrize("role", ["timed", "check"])
@pytest.mark.parametrize("off_by_ulps", [1, 6, 5000])
def test_a_strict_look_changes_no_verdict(off_by_ulps: int, role: str) -> None:
    task = load_made_task("def reference(x, weight):\n    return (20 * x).exp()\n", outputs=ULPS_OUTPUTS)
    case = TIMED.model_copy(update={"role": role})
    inputs = make_inputs(task.spec, case)
    answer = Reference(task).exact(inputs)["y"] * (1 + off_by_ulps * 2.0**-23)
    seen = make_observation(case=case, outputs={"y": answer.float()})
    verdict = Judge(task.spec, Reference(task)).verdict(seen, inputs)
    in_full = Judge(task.spec, Reference(task)).look(seen, inputs, "cpu")
    assert {verdict.result.status, in_full.result.status} == {"passed" if off_by_ulps == 1 else "incorrect"}


@pytest.mark.parametrize(("number", "status"), [(math.nan, "passed"), (1.0, "incorrect")], ids=["kept", "hidden"])
def test_a_strict_look_wants_a_nan_where_it_spreads_to(number: float, status: str) -> None:
    task = load_made_task("def reference(x, weight):\n    return x * 2\n", outputs=ULPS_OUTPUTS, nonfinite="contain")
    case = make_case(axes=CASE.axes, probe="nonfinite")
    inputs = make_inputs(task.spec, case)
    assert inputs.tensors["x"].isnan().any()
    due = Reference(task).native(inputs)["y"]
    answer = due.masked_fill(due.isnan(), number)
    seen = make_observation(case=case, outputs={"y": answer})
    assert Judge(task.spec, Reference(task)).verdict(seen, inputs).result.status == status


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_holds_ulps_on_a_device_stays_there(dtype: str) -> None:
    """A `meta` device stands for the real one: its tensors do not mix with the host's."""
    there = make_inputs(ULPS.spec, TIMED.model_copy(update={"dtype": dtype})).to("meta")
    reference = Reference(ULPS)
    expected = Judge(ULPS.spec, reference, "meta").expect(TIMED, there)
    wrong = expected.standards["y"].is_wrong(reference.native(there)["y"])
    assert (wrong.device.type, wrong.shape) == ("meta", (16, 32))


@pytest.mark.parametrize(("roundings", "status"), [(1, "passed"), (4, "incorrect")])
def test_on_a_device_what_rounded_inputs_change_is_excused(
    roundings: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is that of exp(x) computed as exp2(x * log2(e)), for which GPUs have an instruction."""
    task = load_made_task("def reference(x, weight):\n    return (20 * x).exp()\n", outputs=ULPS_OUTPUTS)
    inputs = make_inputs(task.spec, TIMED)
    answer = 20 * inputs.tensors["x"].double() * (1 - roundings * 2.0**-24)
    seen = make_observation(case=TIMED, outputs={"y": answer.exp().float()})
    _pretend_that_inputs_are_on_a_device(monkeypatch)
    assert Judge(task.spec, Reference(task), "cuda").look(seen, inputs, "cpu").result.status == status


def test_the_right_answer_passes_and_is_recorded_with_its_errors_and_limits() -> None:
    result = _result(outputs=_right())
    assert (result.status, result.reason, result.output) == ("passed", "", "y")
    assert result.errors is not None
    assert result.limits is not None
    assert 0 < result.errors[2] < result.limits[2] < 1e-6
    assert (result.axes, result.dtype, result.seed) == (CASE.axes, CASE.dtype, CASE.seed)


def test_a_wrong_answer_is_incorrect_and_says_where() -> None:
    outputs = _right()
    outputs["y"][3, 31] += 1
    result = _result(outputs=outputs)
    assert result.status == "incorrect"
    assert result.reason.startswith("y[3, 31]: got ")


def test_an_answer_of_nan_is_incorrect_and_has_no_errors_to_record() -> None:
    outputs = _right()
    outputs["y"][0, 0] = torch.nan
    result = _result(outputs=outputs)
    assert (result.status, result.errors, result.limits, result.error_ratio) == ("incorrect", None, None, None)


def test_problems_are_incorrect_whatever_the_outputs_are() -> None:
    result = _result(outputs=_right(), problems=("y: returned shape [1]; expected [16, 32]", "second"))
    assert (result.status, result.reason) == ("incorrect", "y: returned shape [1]; expected [16, 32]; second")


@pytest.mark.parametrize(
    ("ending", "status"), [("raised", "crashed"), ("crashed", "crashed"), ("timed_out", "timed_out")]
)
def test_a_call_that_did_not_return_never_passes_even_with_outputs(ending: Ending, status: str) -> None:
    result = _result(ending=ending, message="what happened", outputs=_right())
    assert (result.status, result.reason) == (status, "what happened")


def test_a_wrong_second_output_is_named() -> None:
    outputs = _right(TWO)
    outputs["total"][5] += 1
    result = _result(TWO, outputs=outputs)
    assert (result.status, result.output) == ("incorrect", "total")
    assert result.reason.startswith("total[5]: ")


def test_every_wrong_output_is_explained() -> None:
    outputs = {name: tensor + 1 for name, tensor in _right(TWO).items()}
    reason = _result(TWO, outputs=outputs).reason
    assert "y[" in reason
    assert "; total[" in reason


@pytest.mark.parametrize(("own", "length"), [("rows", 16), (None, 1)], ids=["its own", "the task's"])
def test_an_output_is_held_to_its_own_reduction_length(own: str | None, length: int) -> None:
    task = load_made_task(outputs={"y": {"shape": ["rows", "cols"], "reduction": own}})
    limits = _judge(task).verdict(make_observation(case=CASE, outputs=_right(task)), _inputs(task)).limits["y"]
    assert limits[2] == pytest.approx(4 * 2.0**-24 * (1 + 2 * length**0.5), rel=0.01)


def test_a_task_that_is_not_deterministic_gets_more_slack() -> None:
    source = "def reference(x, weight):\n    return x * weight * (1 + 1e-4 * (x.element_size() == 4))\n"
    limits = [
        _judge(task).verdict(make_observation(case=CASE, outputs=_right(task)), _inputs(task)).limits["y"][0]
        for task in (load_made_task(source), load_made_task(source, nondeterministic=True))
    ]
    assert limits == pytest.approx([2e-4, 3e-4], rel=0.01)


def test_a_zero_answer_is_measured_against_the_largest_input() -> None:
    task = load_made_task("def reference(x, weight):\n    return 0 * x * weight\n")
    assert _result(task, outputs={"y": torch.full((16, 32), 1e-8)}).status == "passed"
    assert _result(task, outputs={"y": torch.full((16, 32), 1e-4)}).status == "incorrect"


def test_an_error_too_large_for_a_number_is_incorrect_and_not_recorded() -> None:
    task = load_made_task(dtypes=["float64"])
    case = make_case(dtype="float64")
    inputs = make_inputs(task.spec, case)
    outputs = {"y": Reference(task).native(inputs)["y"] + 1e300}
    result = _judge(task).verdict(make_observation(case=case, outputs=outputs), inputs).result
    assert (result.status, result.errors) == ("incorrect", None)


def test_a_float64_answer_is_explained_with_the_number_that_it_had() -> None:
    task = load_made_task(dtypes=["float64"])
    case = make_case(dtype="float64")
    inputs = make_inputs(task.spec, case)
    outputs = {"y": Reference(task).native(inputs)["y"].clone()}
    outputs["y"][1, 2] = 1234.5
    result = _judge(task).verdict(make_observation(case=case, outputs=outputs), inputs).result
    assert result.reason.startswith("y[1, 2]: got 1234.5, expected ")


@pytest.mark.parametrize("ending", ["returned", "crashed"])
def test_a_result_carries_the_digest_of_its_inputs(ending: Ending) -> None:
    assert _result(ending=ending, outputs=_right()).inputs_digest == _inputs().digest


def test_a_result_that_is_not_recorded_needs_no_digest() -> None:
    seen = make_observation(case=CASE, outputs=_right())
    assert _judge().verdict(seen, _inputs(), with_digest=False).result.inputs_digest == ""


def test_a_long_reason_is_cut_to_what_a_record_holds() -> None:
    assert len(_result(ending="raised", message="x" * 5000).reason) == 1000


def test_a_case_that_was_not_run_says_why() -> None:
    result = not_checked(CASE, "not run: the worker had died 2 times")
    assert (result.status, result.reason) == ("not_checked", "not run: the worker had died 2 times")


def _short_cut(outputs: dict[str, torch.Tensor], **observed: Any) -> str | None:
    first = make_observation(case=CASE, outputs=_right(TWO))
    limits = _judge(TWO).verdict(first, _inputs(TWO)).limits
    return _judge(TWO).short_cut(make_observation(case=CASE, outputs=outputs, **observed), _inputs(TWO), limits)


def test_the_short_cut_accepts_the_answer_of_pytorch() -> None:
    assert _short_cut(_right(TWO)) is None


def test_the_short_cut_accepts_the_exact_answer_rounded() -> None:
    exact = Reference(TWO).exact(_inputs(TWO))
    assert _short_cut({name: tensor.float() for name, tensor in exact.items()}) is None


@pytest.mark.parametrize(
    ("name", "place"), [("y", (15, 31)), ("y", (0, 0)), ("total", (31,))], ids=["last", "first", "second output"]
)
@pytest.mark.parametrize("value", [0.0, 1e9, torch.nan, torch.inf], ids=str)
def test_the_short_cut_refuses_one_wrong_element(name: str, place: tuple[int, ...], value: float) -> None:
    outputs = _right(TWO)
    outputs[name][place] = value
    reason = _short_cut(outputs)
    assert reason is not None
    assert reason.startswith(f"{name}: ")


def test_the_short_cut_refuses_zeros() -> None:
    assert _short_cut({name: torch.zeros_like(tensor) for name, tensor in _right(TWO).items()}) is not None


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        ({"ending": "crashed", "message": "was killed by SIGSEGV"}, "was killed by SIGSEGV"),
        ({"ending": "timed_out", "message": "gave no answer"}, "gave no answer"),
        ({"problems": ("y: returned float16; expected float32",)}, "y: returned float16; expected float32"),
    ],
    ids=["crashed", "timed out", "problem"],
)
def test_the_short_cut_refuses_what_is_no_answer(observed: dict[str, Any], reason: str) -> None:
    assert _short_cut(_right(TWO), **observed) == reason


@pytest.mark.parametrize("missing", ["y", "total"])
def test_the_short_cut_refuses_an_answer_that_lacks_an_output(missing: str) -> None:
    outputs = {name: tensor for name, tensor in _right(TWO).items() if name != missing}
    assert _short_cut(outputs) is not None


class _Counting(Reference):
    """Reference that counts the runs of its float64 code."""

    runs = 0

    def exact(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        self.runs += 1
        return super().exact(inputs)


def test_several_answers_to_one_case_cost_one_reference() -> None:
    reference = _Counting(TASK)
    judge, inputs = Judge(TASK.spec, reference), _inputs()
    for outputs in (_right(), _right(), {"y": torch.zeros(16, 32)}):
        judge.verdict(make_observation(case=CASE, outputs=outputs), inputs)
    assert reference.runs == 1


@pytest.mark.parametrize(
    ("case", "is_same_tensor"), [(make_case(axes=CASE.axes, seed=8), True), (CASE, False)], ids=["case", "inputs"]
)
def test_another_case_and_other_inputs_are_never_judged_by_the_answer_to_the_last(
    case: Case, is_same_tensor: bool
) -> None:
    judge, inputs = _judge(), _inputs()
    first = judge.expect(CASE, inputs)
    other = inputs if is_same_tensor else Inputs({name: 2 * tensor for name, tensor in inputs.tensors.items()})
    assert judge.expect(case, other) is not first


def test_what_a_timed_call_is_held_to_is_not_kept() -> None:
    judge, inputs = _judge(), _inputs()
    timed = CASE.model_copy(update={"role": "timed"})
    assert judge.expect(timed, inputs) is not judge.expect(timed, inputs)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({}, "y: missing"),
        ({"y": torch.ones(16, 31)}, "y: returned float32 [16, 31]; expected float32 [16, 32]"),
        ({"y": torch.ones(16, 32).half()}, "y: returned float16 [16, 32]; expected float32 [16, 32]"),
    ],
    ids=["missing", "shape", "dtype"],
)
def test_an_output_that_cannot_be_compared_is_refused_and_says_why(
    outputs: dict[str, torch.Tensor], words: str
) -> None:
    expected = _judge().expect(CASE, _inputs())
    judged = expected.judge(outputs)["y"]
    assert (judged.is_accepted, judged.ratio) == (False, math.inf)
    assert expected.explain("y", outputs, judged) == words
    assert _result(outputs=outputs).status == "incorrect"


def test_what_is_expected_holds_every_output_to_a_standard_of_its_own() -> None:
    expected = _judge(TWO).expect(CASE, _inputs(TWO))
    outputs = _right(TWO)
    outputs["total"][5] += 1
    judged = expected.judge(outputs)
    assert {name: judgement.is_accepted for name, judgement in judged.items()} == {"y": True, "total": False}
    assert expected.explain("total", outputs, judged["total"]).startswith("total[5]: got ")


ULP = load_made_task(outputs={"y": {"shape": ["rows", "cols"], "compare": "ulp"}})
SORTED = load_made_task(
    "def reference(x, weight):\n    return x.sort(-1)\n",
    outputs={
        "y": {"shape": ["rows", "cols"], "compare": "exact"},
        "order": {"shape": ["rows", "cols"], "dtype": "int64", "compare": "indices", "indexes": "x"},
    },
)


def test_an_elementwise_op_is_recorded_with_its_worst_error_in_ulps() -> None:
    result = _result(ULP, outputs=_right(ULP))
    assert result.errors is not None
    assert result.limits is not None
    assert (len(result.errors), len(result.limits)) == (1, 1)
    assert 0 < result.errors[0] <= 0.5 < result.limits[0]


def test_an_elementwise_op_off_by_a_few_ulps_is_told_so() -> None:
    outputs = _right(ULP)
    outputs["y"][3, 31] *= 1 + 40 * 2.0**-23
    result = _result(ULP, outputs=outputs)
    assert result.status == "incorrect"
    assert result.reason.startswith("y[3, 31]: got ")
    assert "1 of 512 wrong" in result.reason
    assert " ulps, allowed " in result.reason


def test_a_wrong_index_is_told_with_the_one_that_was_expected() -> None:
    outputs = _right(SORTED)
    right = int(outputs["order"][3, 4])
    outputs["order"][3, 4] = 32
    reason = _result(SORTED, outputs=outputs).reason
    assert reason == (
        f"order[3, 4]: got 32, expected {right}; 1 of 512 wrong, all in column 4; "
        "indices must be in range, distinct, and point at the right values"
    )


def test_a_random_answer_is_not_compared_with_what_the_reference_happened_to_draw() -> None:
    task = load_made_task(
        "import torch\ndef reference(logits, seed):\n    return logits.argmax(-1)\n",
        inputs={
            "logits": {"shape": ["rows", "cols"]},
            "seed": {"dtype": "int64", "role": "scalar", "choices": [1]},
        },
        outputs={"y": {"shape": ["rows"], "dtype": "int64", "compare": "random", "law": "categorical"}},
    )
    outputs = {"y": torch.zeros(16, dtype=torch.int64)}
    assert _result(task, outputs=outputs).status == "passed"
    outputs["y"][3] = 99
    assert _result(task, outputs=outputs).reason == (
        "y[3]: got 99; 1 of 16 wrong, all of column 3; a class that is out of range or has no probability"
    )


def test_sorted_values_must_be_equal_to_the_last_bit() -> None:
    outputs = _right(SORTED)
    outputs["y"][0, 0] = outputs["y"][0, 0].nextafter(torch.tensor(-1e9))
    assert _result(SORTED, outputs=outputs).reason.endswith("; every element must be equal")


@pytest.mark.parametrize("task", [ULP, SORTED], ids=["ulp", "exact"])
def test_the_short_cut_knows_every_way_of_comparing(task: LoadedTask) -> None:
    judge, inputs = _judge(task), _inputs(task)
    limits = judge.verdict(make_observation(case=CASE, outputs=_right(task)), inputs).limits
    assert judge.short_cut(make_observation(case=CASE, outputs=_right(task)), inputs, limits) is None
    wrong = _right(task)
    wrong["y"][3, 3] += 0.01
    assert judge.short_cut(make_observation(case=CASE, outputs=wrong), inputs, limits) is not None


def test_what_is_wrong_is_told_from_where_and_by_how_much() -> None:
    right, spoilt, near = _right(), _right(), _right()
    spoilt["y"][3, 4] = math.nan
    near["y"][3, 4] += 0.5
    assert [_result(outputs=each).kind for each in (right, spoilt, near)] == ["", "nonfinite", "values"]
    assert _result(outputs=right, problems=("changed its input x",)).kind == "problem"


def test_a_law_is_broken_in_ways_of_its_own() -> None:
    task = load_task("random/dropout")
    case = make_case(axes={"rows": 64, "cols": 512}, seed=5)
    x, p = make_inputs(task.spec, case).tensors["x"], 0.5
    inputs = Inputs({"x": x, "p": p, "seed": 3})
    kept = (torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) >= p).float()
    few, periodic = kept * (torch.rand(x.shape) < 0.5), kept[:32].repeat(2, 1)

    def kind(mask: torch.Tensor) -> str:
        seen = make_observation(case=case, outputs={"y": x * mask / (1 - p)})
        return Judge(task.spec, Reference(task)).verdict(seen, inputs).result.kind

    kinds = [kind(kept), kind(few), kind(periodic)]
    assert kinds[0] == ""
    assert kinds[1].startswith("the number of kept elements is # standard deviations off")
    assert "the mask repeats itself" in kinds[2]
    assert not any(letter.isdigit() for letter in "".join(kinds))
