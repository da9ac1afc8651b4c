from __future__ import annotations

import json

import pytest
from conftest import Submit
from kernels import CPP_ANSWER, RIGHT, native, python

from robust_kbench.devices import nvml
from robust_kbench.errors import UsageError
from robust_kbench.profiling import session, summary
from robust_kbench.profiling.architectures import USUAL, architectures
from robust_kbench.profiling.reports import (
    CompilerReport,
    CounterReport,
    DeviceActivity,
    InstructionMix,
    KernelCounters,
    OperatorTime,
    Profile,
    RunTimeReport,
    SanitizerFinding,
    SanitizerReport,
    SassReport,
)

REPORTS = {
    "compiler": CompilerReport(),
    "sass": SassReport(),
    "run_time": RunTimeReport(),
    "counters": CounterReport(),
    "sanitizer": SanitizerReport(),
}


def profiled(**reports: object) -> Profile:
    told = {"task": "norm/rmsnorm", "submission": "mine", "language": "cuda", "device": "cuda", "dtype": "float32"}
    return Profile(**told, axes={"rows": 8}, **{**REPORTS, **reports})  # type: ignore[arg-type]


@pytest.mark.rotating
def test_a_python_submission_is_profiled_in_every_section(submit: Submit) -> None:
    found = session.profile(submit(python(RIGHT)), device="cpu")
    assert found.compiler.notes == ("Python: nothing is compiled",)
    assert {row.name for row in found.run_time.operators} >= {"submission", "aten::rms_norm"}
    for report in (found.sass, found.counters, found.sanitizer):
        assert len(report.notes) == 1
    assert found.is_clean


@pytest.mark.rotating
def test_the_first_binding_is_the_default_and_others_have_numbers(submit: Submit) -> None:
    submission = submit(native(CPP_ANSWER), language="cpp", abi="c")
    first = session.profile(submission, device="cpu")
    second = session.profile(submission, device="cpu", binding=1)
    assert first.axes != second.axes
    with pytest.raises(UsageError, match="--binding 99: norm/rmsnorm has the cpu bindings 0 to"):
        session.profile(submission, device="cpu", binding=99)


def test_a_dtype_that_the_submission_does_not_declare_is_refused(submit: Submit) -> None:
    with pytest.raises(UsageError, match="--dtype float16: the submission declares float32"):
        session.profile(submit(python(RIGHT)), device="cpu", dtype="float16")


def test_what_does_not_compile_is_not_run(submit: Submit) -> None:
    found = session.profile(submit(native("nonsense;"), language="cpp", abi="c"), device="cpu")
    assert "nonsense" in found.compiler.failure
    assert found.run_time.notes == found.sanitizer.notes == (found.compiler.failure,)
    assert not found.is_clean


def test_a_profile_is_json_with_what_can_be_derived() -> None:
    activities = (DeviceActivity("kernel", "f", 0.0, 2.0), DeviceActivity("kernel", "g", 5.0, 1.0))
    data = json.loads(json.dumps(profiled(run_time=RunTimeReport(1, (), activities)).as_json()))
    assert (data["run_time"]["busy_us"], data["run_time"]["gap_us"], data["run_time"]["is_claim"]) == (3.0, 3.0, True)
    assert data["axes"] == {"rows": 8}


def test_a_finding_or_a_failure_makes_a_profile_unclean() -> None:
    assert profiled().is_clean
    assert not profiled(compiler=CompilerReport(failure="error")).is_clean
    assert not profiled(sanitizer=SanitizerReport(findings=(SanitizerFinding("memcheck", "bad"),))).is_clean


def test_the_page_has_a_section_for_each_report_and_says_what_is_only_a_claim() -> None:
    lines = list(summary.lines(profiled()))
    assert [line.split()[0] for line in lines] == [
        "norm/rmsnorm", "compiler", "machine", "run", "counters", "sanitizer",
    ]  # fmt: skip
    assert "never part of a verdict" in lines[3]


def test_the_page_shows_what_each_report_found() -> None:
    mix = InstructionMix("f", "float32", "sm_90", 3, {"global load": 3}, {"LDG": {32: 2, 128: 1}}, ("look here",))
    page = "\n".join(
        summary.lines(
            profiled(
                sass=SassReport((mix,), "// float32 sm_90\n\x1b[2JEXIT"),
                run_time=RunTimeReport(
                    5,
                    (OperatorTime("aten::mul", 10, 50.0, 60.0, 5.0),),
                    (DeviceActivity("kernel", "f", 0.0, 2.0, (8, 1, 1), (256, 1, 1)),),
                ),
                counters=CounterReport((KernelCounters("f", 12.0, 50.0, None, 20.0, None, {"barrier": 1.5}),)),
                sanitizer=SanitizerReport(("memcheck",), (SanitizerFinding("memcheck", "bad write", "", 2),)),
            )
        )
    )
    for shown in (
        "bits a thread moves: LDG 2x32 1x128", "hint: look here", "aten::mul     10          10.0           12.0",
        "one call on the device: 2.0 us busy, 0.0 us between", "grid (8, 1, 1) block (256, 1, 1)",
        "f: 12.0 us, SM 50%, L2 hits 20%", "stalls: barrier 1.5", "memcheck: bad write (2 times)", " [2JEXIT",
    ):  # fmt: skip
        assert shown in page


def test_machine_code_is_for_the_usual_architectures_unless_there_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert architectures("cpu") == USUAL
    monkeypatch.setattr(nvml, "architecture", lambda: None)
    assert architectures("cuda") == USUAL
    monkeypatch.setattr(nvml, "architecture", lambda: "sm_100")
    assert architectures("cuda") == ("sm_100",)
