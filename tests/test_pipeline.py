"""evaluate() end to end on the cpu device: real kernels, real processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import NO_COMPILER, Submit
from specimens import load_made_task, make_ceilings

from robust_kbench.devices import ceilings, limits
from robust_kbench.errors import HarnessError, SpecError, UsageError
from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.isolation.process import Worker
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import RunRecord, Status, decode_samples
from robust_kbench.scoring import score

HONEST = """
import torch

def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""
ZEROING = """
import torch

def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    x.zero_()
    return y
"""
WRONG = "def rmsnorm(x, weight):\n    return x * 0\n"
NEITHER = {"read_bytes_per_s": 1.0, "fill_bytes_per_s": 1.0}
DESTINATION = """
import torch

def rmsnorm(x, weight, y):
    torch.mul(x * torch.rsqrt(x.double().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype), weight, out=y)
"""
SLOW = HONEST.replace("    return", "    for _ in range(8): x.double().exp_()\n    return")
TRITON_ALL = (data_folder("baselines") / "norm/rmsnorm/triton_tile/kernel.py").read_text()


@pytest.fixture(scope="module")
def honest_record(evaluator: Evaluator) -> RunRecord:
    if NO_COMPILER:
        pytest.skip("no g++ on the PATH; Debian: apt-get install g++")
    kernel = read_submission(data_folder("baselines") / "norm/rmsnorm/cpp_simd")
    return evaluator.evaluate(kernel, tier="quick")


@pytest.mark.rotating
def test_a_published_cpp_kernel_passes_in_all_its_dtypes(honest_record: RunRecord) -> None:
    assert honest_record.status is Status.PASSED, honest_record.reason
    assert honest_record.clock == "judge"
    assert honest_record.dtypes == ("float32", "float16", "bfloat16")
    assert {case.dtype for case in honest_record.cases} == set(honest_record.dtypes)


def test_every_dtype_is_timed_against_eager_with_equally_many_samples(honest_record: RunRecord) -> None:
    assert {timing.dtype for timing in honest_record.timings} == set(honest_record.dtypes)
    for timing in honest_record.timings:
        samples = {name: decode_samples(text) for name, text in timing.sessions[0].samples.items()}
        assert set(samples) - {"reference"} == {"candidate", "eager"}  # which is dropped where eager is clearly faster
        assert len(samples["candidate"]) == len(samples["eager"]) >= 6
        assert min(samples["candidate"] + samples["eager"]) > 1000


def test_the_timed_shape_is_checked_with_every_distribution(honest_record: RunRecord) -> None:
    timed = [case for case in honest_record.cases if case.role == "timed"]
    assert {case.distribution for case in timed} == set(load_task("norm/rmsnorm").spec.distributions)


def test_the_record_says_where_the_time_went(honest_record: RunRecord) -> None:
    seconds = honest_record.seconds
    assert 0 < seconds.build < seconds.total
    assert 0 < seconds.kernels + seconds.inputs + seconds.judging < seconds.check + seconds.timing
    assert seconds.harness == pytest.approx(
        seconds.total - seconds.build - seconds.kernels - seconds.inputs - seconds.judging
    )


def test_a_quick_record_is_never_rankable(honest_record: RunRecord) -> None:
    assert not honest_record.is_rankable


@pytest.mark.rotating
def test_a_value_submission_sees_every_layout(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(HONEST), tier="quick")
    assert record.status is Status.PASSED, record.reason
    layouts = {case.layout for case in record.cases if case.role == "check"}
    assert layouts == {"contiguous", "offset", "transposed", "strided", "pitched"}


def test_an_abi_c_submission_sees_dense_tensors_only(honest_record: RunRecord) -> None:
    assert {case.layout for case in honest_record.cases} == {"contiguous", "offset"}


def test_a_destination_submission_passes(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(DESTINATION, abi="destination"), tier="quick", seed=3, case=0)
    assert record.status is Status.PASSED, record.reason


@pytest.mark.rotating
@pytest.mark.parametrize(("again", "status"), [(1e15, Status.PASSED), (1e6, Status.REJECTED)])
def test_a_time_that_seems_too_short_is_held_to_a_floor_that_was_measured_again(
    again: float, status: Status, evaluator: Evaluator, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(limits, "_repeated", set())
    monkeypatch.setattr(ceilings, "_foreign_seconds", lambda: 0.0)
    rates = iter([1e6, again])  # bytes a second: no kernel is that slow
    slow = make_ceilings(flops_per_s={})
    monkeypatch.setattr(
        ceilings, "_ask", lambda _: slow.model_copy(update={"copy_bytes_per_s": next(rates), **NEITHER})
    )
    record = evaluator.evaluate(submit(HONEST), tier="quick")
    assert record.status is status, record.reason
    assert any(finding.guard == "floor" for finding in record.findings) == (status is Status.REJECTED)
    assert list(rates) == []


@pytest.mark.slow
def test_a_kernel_that_wastes_time_is_slower_than_eager(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(SLOW), tier="quick")
    assert record.status is Status.PASSED, record.reason
    # Not the upper bound: one stall of the machine widens an interval of ten rounds to the slowest of them.
    assert score(record)["float32"].speedup.value < 0.5


@pytest.mark.rotating
def test_triton_is_interpreted_and_not_timed(evaluator: Evaluator, submit: Submit) -> None:
    submission = submit(TRITON_ALL, language="triton", abi="destination")
    record = evaluator.evaluate(submission, tier="quick")
    assert (record.status, record.execution, record.timings) == (Status.PASSED, "interpreted", ())
    assert not record.is_rankable
    assert max(case.axes["rows"] * case.axes["cols"] for case in record.cases) < 1 << 14  # in, and out again


def test_bfloat16_under_the_interpreter_is_neither_accepted_nor_refused(evaluator: Evaluator, submit: Submit) -> None:
    submission = submit(TRITON_ALL, language="triton", abi="destination", dtypes=("float32", "bfloat16"))
    record = evaluator.evaluate(submission, tier="quick")
    assert record.status is Status.UNSUPPORTED
    assert record.reason.startswith("bfloat16: bfloat16 cannot be judged under Triton's interpreter")
    statuses = {(case.dtype, case.status) for case in record.cases}
    assert statuses == {("float32", "passed"), ("bfloat16", "not_checked")}


@pytest.mark.slow
def test_a_replay_draws_the_same_cases_with_the_same_inputs(evaluator: Evaluator, submit: Submit) -> None:
    first = evaluator.evaluate(submit(HONEST), tier="quick")
    again = evaluator.evaluate(submit(HONEST), tier="quick", seed=first.seed)
    drawn, redrawn = ([c for c in record.cases if c.role == "check"] for record in (first, again))
    assert [case.inputs_digest for case in drawn] == [case.inputs_digest for case in redrawn]
    assert (first.replay, again.replay) == (False, True)


def test_two_evaluations_draw_different_cases(evaluator: Evaluator, submit: Submit) -> None:
    broken = submit("def rmsnorm(x, weight): return x")
    first, second = (evaluator.evaluate(broken, tier="quick") for _ in range(2))
    assert first.seed != second.seed
    assert not {c.inputs_digest for c in first.cases} & {c.inputs_digest for c in second.cases}


@pytest.mark.rotating
def test_one_case_can_be_replayed_alone(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(HONEST), tier="quick", seed=11)
    alone = evaluator.evaluate(submit(HONEST), tier="quick", seed=11, case=5)
    assert [case.inputs_digest for case in alone.cases] == [record.cases[5].inputs_digest]
    assert alone.timings == ()


def test_a_case_that_does_not_exist_is_a_wrong_request(evaluator: Evaluator, submit: Submit) -> None:
    with pytest.raises(UsageError, match=r"--case 99: seed 11 has the cases 0 to \d+"):
        evaluator.evaluate(submit(HONEST), tier="quick", seed=11, case=99)


def test_a_described_case_is_run_alone_and_is_a_replay(evaluator: Evaluator, submit: Submit) -> None:
    case = Case(axes={"rows": 3, "cols": 5}, dtype="float32", layout="strided", seed=9)
    record = evaluator.evaluate(submit(HONEST), tier="quick", case=case)
    (result,) = record.cases
    assert (result.axes, result.layout, result.seed, result.status) == (case.axes, "strided", 9, "passed")
    assert (record.replay, record.timings, record.search) == (True, (), None)


def test_a_timed_case_is_run_alone_on_values_as_timed_ones_have(evaluator: Evaluator, submit: Submit) -> None:
    timed = Case(axes={"rows": 128, "cols": 11008}, dtype="float32", distribution="uneven", seed=9, role="timed")
    for source, status in ((HONEST, "passed"), ("def rmsnorm(x, weight): return x * 0", "incorrect")):
        record = evaluator.evaluate(submit(source), tier="quick", case=timed)
        (result,) = record.cases
        assert (result.role, result.seed, result.status, record.status) == ("timed", 9, status, status)
        assert record.findings == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtype": "float16"}, "--case: dtype float16: the submission declares float32"),
        ({"axes": {"rows": 3}}, "--case: binds rows; the axes are rows, cols"),
        ({"axes": {"rows": 3, "cols": 0}}, "--case: cols=0 is outside the axis"),
    ],
    ids=["dtype", "axes", "size"],
)
def test_a_described_case_that_is_none_of_the_task_is_a_wrong_request(
    changes: dict[str, object], words: str, evaluator: Evaluator, submit: Submit
) -> None:
    fields = {"axes": {"rows": 3, "cols": 5}, "dtype": "float32", "seed": 9, **changes}
    with pytest.raises(UsageError, match=words):
        evaluator.evaluate(submit(HONEST), tier="quick", case=Case.model_validate(fields))


def test_pinned_cases_are_run_and_numbered_after_the_drawn_ones(evaluator: Evaluator, submit: Submit) -> None:
    pinned = tuple(Case(axes={"rows": 1, "cols": cols}, dtype="float32", seed=7) for cols in (9, 33))
    task = replace(load_task("norm/rmsnorm"), pinned=pinned)
    wrong = submit("def rmsnorm(x, weight): return x * 0")
    record = evaluator.evaluate(wrong, task, tier="quick", seed=11)
    assert [case.axes for case in record.cases[-2:]] == [case.axes for case in pinned]
    last = len(record.cases) - 1
    alone = evaluator.evaluate(wrong, task, tier="quick", seed=11, case=last)
    assert [case.inputs_digest for case in alone.cases] == [record.cases[last].inputs_digest]


def test_a_dtype_that_the_task_lacks_is_a_wrong_file(evaluator: Evaluator, submit: Submit) -> None:
    with pytest.raises(SpecError, match="norm/rmsnorm has no float64; it has float32, float16, bfloat16"):
        evaluator.evaluate(submit(HONEST, dtypes=("float64",)), tier="quick")


def test_a_submission_that_is_caught_is_rejected_though_its_timing_came_to_nothing(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that spoils its timing on purpose could undo its rejection."""

    def spoilt(*_: object, **__: object) -> None:
        raise HarnessError("the device's clock has changed")

    monkeypatch.setattr("robust_kbench.evaluate.measure", spoilt)
    record = evaluator.evaluate(submit(ZEROING), tier="quick")
    assert (record.status, record.reason.partition(":")[0]) == (Status.REJECTED, "mutation")
    assert evaluator.evaluate(submit(HONEST), tier="quick").status is Status.HARNESS_ERROR


@pytest.mark.parametrize(
    ("source", "status"),
    [(ZEROING, Status.REJECTED), (WRONG, Status.INCORRECT), (HONEST, Status.HARNESS_ERROR)],
    ids=["changes its input", "wrong", "honest"],
)
def test_what_was_judged_before_an_error_of_the_harness_stands(
    source: str, status: Status, evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def judge(self: Judge, *arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 6:
            raise RuntimeError("CUDA error: out of memory")
        return verdict(self, *arguments, **options)

    verdict = Judge.verdict
    monkeypatch.setattr(Judge, "verdict", judge)
    record = evaluator.evaluate(submit(source), tier="quick")
    assert (record.status, bool(record.cases)) == (status, True)


def test_an_error_of_the_harness_is_never_blamed_on_the_submission(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_guard(seen: object) -> None:
        raise ZeroDivisionError("a guard of ours is broken")

    monkeypatch.setattr("robust_kbench.guards.GUARDS", (broken_guard,))
    record = evaluator.evaluate(submit(HONEST), tier="quick", seed=1, case=0)
    assert record.status is Status.HARNESS_ERROR
    assert "a guard of ours is broken" in record.reason


@pytest.mark.parametrize(
    ("source", "keys", "spins"),
    [(HONEST, {}, {True}), (TRITON_ALL, {"language": "triton", "abi": "destination"}, {False})],
    ids=["native", "interpreted"],
)
def test_the_judge_keeps_a_core_busy_only_for_what_may_be_timed(
    source: str, keys: dict[str, str], spins: set[bool], submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[bool] = set()
    load = Worker.load

    def loaded(self: Worker, request: dict[str, Any], *, spin: bool, timeout_s: float) -> Any:
        seen.add(spin)
        return load(self, request, spin=spin, timeout_s=timeout_s)

    monkeypatch.setattr(Worker, "load", loaded)
    with Evaluator("cpu") as evaluator:
        evaluator.device.handshake = "spin"
        assert evaluator.evaluate(submit(source, **keys), tier="quick", seed=1, case=0).cases
    assert seen == spins


@pytest.mark.rotating
def test_the_blocking_handshake_gives_the_same_verdict_and_no_rank(submit: Submit) -> None:
    with Evaluator("cpu") as evaluator:
        evaluator.device.handshake = "blocking"
        record = evaluator.evaluate(submit(HONEST), tier="quick")
    assert (record.status, record.handshake) == (Status.PASSED, "blocking"), record.reason


def test_outputs_are_found_without_reading_the_workers_memory(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("the judge read the worker's memory")

    with Evaluator("cpu") as evaluator:
        monkeypatch.setattr(evaluator.device, "copies_out", True)
        monkeypatch.setattr("robust_kbench.isolation.calls.read_memory", forbidden)
        record = evaluator.evaluate(submit(HONEST), tier="quick", seed=1, case=0)
    assert record.status is Status.PASSED, record.reason


@pytest.mark.slow
def test_tier_full_measures_eager_compile_and_the_library_operator(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(HONEST), tier="full")
    assert record.status is Status.PASSED, record.reason
    for timing in record.timings:
        assert 5 <= len(timing.sessions) <= 8
        assert set(timing.sessions[0].samples) == {"candidate", "eager", "reference", "compile", "control"}
        assert timing.floor_us is not None


@pytest.mark.slow
def test_a_torch_extension_is_built_and_judged(evaluator: Evaluator, submit: Submit) -> None:
    source = """
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x, torch::Tensor weight) {
    return x * torch::rsqrt(x.square().mean(-1, true) + 1e-6) * weight;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("forward", &forward); }
"""
    submission = submit(source, language="cpp", abi="torch", entry_point="kernel.cpp::forward")
    record = evaluator.evaluate(submission, tier="quick", seed=1, case=0)
    assert record.status is Status.PASSED, record.reason


def test_the_store_of_a_record_reads_back_equal(honest_record: RunRecord, tmp_path: Path) -> None:
    from robust_kbench import store

    store.append(tmp_path / "records.jsonl", honest_record)
    assert list(store.read(tmp_path / "records.jsonl")) == [honest_record]


def test_a_baseline_that_does_not_build_is_our_failure(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = submit("def reference(x, weight) return x", entry_point="kernel.py::reference")
    monkeypatch.setattr("robust_kbench.evaluate.baselines_for", lambda task, tier: [broken])
    record = evaluator.evaluate(submit(HONEST), tier="quick")
    assert record.status is Status.HARNESS_ERROR
    assert record.reason.startswith("HarnessError: baseline test of norm/rmsnorm: kernel.py:1: SyntaxError")


WRONG_BUT_IN_FLOAT64 = """
def reference(x, weight):
    return wide(x, weight) * (1 if x.element_size() == 8 else 3)


def wide(x, weight):
    return (x.double() * weight.double()).to(x.dtype)
"""


@pytest.mark.parametrize(
    ("name", "dtype", "guard", "timed"),
    [
        ("float32_inside", "float16", "eager", {"candidate", "float32_inside"}),
        ("float32_inside", "float32", "accuracy", {"candidate", "float32_inside", "eager"}),
        ("other", "float16", "accuracy", {"candidate", "other", "eager"}),
    ],
)
def test_a_baseline_that_errs_is_compared_with_unless_the_task_names_what_stands_in_for_eager_in_halves(
    evaluator: Evaluator,
    submit: Submit,
    name: str,
    dtype: str,
    guard: str,
    timed: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("robust_kbench.baselines.WIDE", name)  # so that tier quick times it, whatever its name
    task = load_made_task(WRONG_BUT_IN_FLOAT64, baselines={name: "reference.py::wide"})
    kernel = "def scale(x, weight):\n    return x * weight\n"
    submission = submit(kernel, task="norm/scale", entry_point="kernel.py::scale", dtypes=(dtype,))
    record = evaluator.evaluate(submission, task, tier="quick")
    assert record.status is Status.PASSED, record.reason
    assert [set(session.samples) for timing in record.timings for session in timing.sessions] == [timed]
    assert guard in {finding.guard for finding in record.findings} <= {guard, "load"}
    assert record.disturbance != "a baseline failed"


FAILING = """
def reference(x, weight):
    return x * weight


def other(x, weight):
    raise ValueError("no such kernel here")
"""


def test_a_baseline_that_does_not_answer_is_left_out_and_costs_the_rank(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robust_kbench.baselines.WIDE", "other")  # so that tier quick times it
    task = load_made_task(FAILING, baselines={"other": "reference.py::other"})
    kernel = "def scale(x, weight):\n    return x * weight\n"
    submission = submit(kernel, task="norm/scale", entry_point="kernel.py::scale", dtypes=("float32",))
    record = evaluator.evaluate(submission, task, tier="quick")
    assert record.status is Status.PASSED, record.reason
    (lost,) = [finding.message for finding in record.findings if finding.guard == "baselines"]
    assert lost.startswith("baseline other is left out: ")
    assert "no such kernel here" in lost
    assert record.disturbance == "a baseline failed"
