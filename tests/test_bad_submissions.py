"""Broken and greedy submissions of every kind end with one exact status, and cost the next one nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from kernels import (
    ANSWER,
    CPP_ANSWER,
    CPP_SIGNATURE,
    check_that_a_good_one_passes,
    native,
    python,
    workers,
)

from robust_kbench import checking, contestant
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation.pool import Allowance
from robust_kbench.isolation.process import Worker
from robust_kbench.languages import cpp

if TYPE_CHECKING:
    from conftest import Submit

MEMORY_BYTES = 256 << 20


@pytest.fixture(autouse=True)
def next_one(evaluator: Evaluator, submit: Submit) -> Iterator[None]:
    """Check after every test of this file that a good submission still passes."""
    yield
    check_that_a_good_one_passes(evaluator, submit)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit calls, imports and loading to one second, which is long enough for kernels that never end."""
    monkeypatch.setattr(checking, "CASE_TIMEOUT_S", {"native": 1.0})
    monkeypatch.setattr(checking, "IMPORTING_TIMEOUT_S", 1.0)
    monkeypatch.setattr(contestant, "LOAD_TIMEOUT_S", 1.0)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the memory of workers, as filling the usual allowance takes many seconds."""

    def allow(**limits: Any) -> Allowance:
        return Allowance(memory_bytes=MEMORY_BYTES, **limits)

    monkeypatch.setattr(contestant, "Allowance", allow)


@pytest.mark.parametrize(
    ("language", "source", "reason"),
    [
        pytest.param(
            "python", "def rmsnorm(x, weight)\n", "kernel.py:1: SyntaxError: expected ':'", id="python syntax"
        ),
        pytest.param(
            "python",
            "x = 1\0\n",
            "kernel.py:1: SyntaxError: source code string cannot contain null",
            id="python null byte",
        ),
        pytest.param("python", "-" * 100_000 + "1", "kernel.py:1: MemoryError", id="python that exhausts the parser"),
        pytest.param("cpp", native("float f = ;"), "error: expected primary-expression", id="cpp syntax"),
        pytest.param("cpp", 'extern "C" void other() {}', "symbol `rmsnorm' not defined", id="cpp other name"),
        pytest.param(
            "cpp", f"namespace mine {{ void rmsnorm({CPP_SIGNATURE}) {{}} }}", "`rmsnorm' not defined", id="cpp mangled"
        ),
        pytest.param("cpp", 'extern "C" void rmsnorm(float* y) {}', "conflicting declaration", id="cpp arity"),
        pytest.param("cpp", "void rmsnorm(float* y) {}", "`rmsnorm' not defined", id="cpp arity without extern"),
        pytest.param("cpp", "#error stop", "error: #error stop", id="cpp error directive"),
        pytest.param("cpp", '#include "missing.h"', "missing.h: No such file", id="cpp missing header"),
    ],
)
def test_a_submission_that_does_not_build_is_told_the_first_error(
    language: str, source: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    abi = "value" if language == "python" else "c"
    record = evaluator.evaluate(submit(source, language=language, abi=abi), tier="quick")
    assert record.status == "build_failed"
    assert reason in record.reason


def test_source_that_keeps_the_compiler_busy_for_ever_does_not_build(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp, "_TIMEOUT_S", 1)
    bomb = "template <int N, int M> struct A { static const int v = A<N - 1, 2 * M>::v + A<N - 1, 2 * M + 1>::v; };"
    end = "template <int M> struct A<0, M> { static const int v = 1; }; static_assert(A<40, 0>::v);"
    record = evaluator.evaluate(submit(f"{bomb}\n{end}", language="cpp", abi="c"), tier="quick")
    assert (record.status, record.reason) == ("build_failed", "the compiler did not finish within 1 s")


def test_source_that_keeps_the_python_compiler_busy_does_not_keep_the_judge_busy(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every keyword is compared with every other: at the size limit of a source file that takes most of a minute.
    monkeypatch.setattr("robust_kbench.languages.python._TIMEOUT_S", 1)
    call = "f(" + ",".join(f"a{number}=1" for number in range(60_000)) + ")\n"
    record = evaluator.evaluate(submit(call), tier="quick", case=0)
    assert (record.status, record.reason) == ("build_failed", "the compiler did not finish within 1 s")


NOT_A_KERNEL = [
    pytest.param("def other(x, weight): pass", "AttributeError", "kernel.py defines no 'rmsnorm'", id="missing symbol"),
    pytest.param("def rmsnorm(x): pass", "TypeError", "takes 1 positional argument but 2 were given", id="arity"),
    pytest.param("rmsnorm = 3", "TypeError", "'int' object is not callable", id="not a function"),
    pytest.param("raise OSError('no')", "OSError", "no (while it was imported)", id="raises at import"),
    pytest.param("import sys; sys.exit(0)", "SystemExit", "0 (while it was imported)", id="sys.exit at import"),
    pytest.param(python("raise SystemExit(0)"), "SystemExit", "kernel.py:6: 0", id="SystemExit"),
    pytest.param(python("raise KeyboardInterrupt"), "KeyboardInterrupt", "kernel.py:6", id="KeyboardInterrupt"),
    pytest.param(python("return rmsnorm(x, weight)"), "RecursionError", "maximum recursion depth", id="recursion"),
    pytest.param(python("raise OSError('x' * 10**7)"), "OSError", "kernel.py:6: xxxx", id="a message without end"),
]


@pytest.mark.parametrize(("source", "exception", "reason"), NOT_A_KERNEL)
def test_an_exception_that_leaves_a_submission_is_reported_as_crashed_with_its_place(
    source: str, exception: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(source), tier="quick")
    assert record.status == "crashed"
    assert record.reason.startswith(f"raised {exception} at ")
    assert reason in record.reason


DEATHS = [
    pytest.param(python("ctypes.string_at(0)"), "was killed by SIGSEGV", id="segfault"),
    pytest.param(python("os._exit(0)"), "ended by itself with exit code 0", id="exit 0"),
    pytest.param(python("pass", "os._exit(0)"), "ended by itself with exit code 0", id="exit 0 at import"),
    pytest.param(
        python("threading.Thread(target=os._exit, args=(3,)).start()\ntime.sleep(5)"),
        "ended by itself with exit code 3",
        id="exit from a thread",
    ),
    pytest.param(python("os.execv('/bin/true', ['true'])"), "ended by itself with exit code 0", id="becomes another"),
    pytest.param(
        python("os.closerange(0, 1000)"),
        "ended by itself with exit code 1|does not read its requests",
        id="closes every descriptor",
    ),
    pytest.param(python("raise E", "class E(Exception):\n    def __str__(self): raise self"), "exit code 1", id="str"),
    pytest.param(
        python("for _ in range(1024): print('x' * (1 << 20))"), "wrote more than 1 MiB to stdout", id="prints 1 GiB"
    ),
    pytest.param(
        python("for _ in range(1024): os.write(2, b'x' * (1 << 20))"), "wrote more than 1 MiB", id="1 GiB to stderr"
    ),
]


@pytest.mark.parametrize(("source", "reason"), DEATHS)
def test_a_submission_that_dies_is_reported_as_crashed_with_the_cause(
    source: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(source), tier="quick")
    assert record.status == "crashed"
    assert re.search(reason, record.reason)


def test_a_null_write_in_native_code_is_reported_as_a_segfault(evaluator: Evaluator, submit: Submit) -> None:
    source = native("*static_cast<volatile int*>(nullptr) = 1;")
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick")
    assert (record.status, record.reason) == ("crashed", "was killed by SIGSEGV")


def test_a_signal_without_a_name_is_the_submissions_affair_too(evaluator: Evaluator, submit: Submit) -> None:
    source = "import os\n\ndef rmsnorm(x, weight):\n    os.kill(os.getpid(), 40)\n"
    record = evaluator.evaluate(submit(source), tier="quick", case=0)
    assert (record.status, record.reason) == ("crashed", "was killed by signal 40")


def test_abort_is_reported_under_its_own_name(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(native("std::abort();"), language="cpp", abi="c"), tier="quick", case=0)
    assert (record.status, record.reason) == ("crashed", "was killed by SIGABRT")


def test_two_deaths_are_enough_to_stop_asking(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(python("os._exit(0)")), tier="quick")
    assert [case.status for case in record.cases].count("crashed") == 2
    assert {case.status for case in record.cases} == {"crashed", "not_checked"}


@pytest.mark.usefixtures("impatient")
def test_a_submission_cannot_kill_the_processes_that_watch_it(evaluator: Evaluator, submit: Submit) -> None:
    # A process group of its own, and a first process of the namespace that signals from inside do not reach.
    body = "for pid in (os.getppid(), -1):\n    try: os.kill(pid, 9)\n    except OSError: pass\nos._exit(7)"
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    assert (record.status, record.reason) == ("crashed", "ended by itself with exit code 7 before it had answered")


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("source", "language", "reason"),
    [
        pytest.param(python("while True: pass"), "python", "while running the kernel (1 s)", id="python"),
        pytest.param(python("time.sleep(1000)"), "python", "while running the kernel (1 s)", id="asleep"),
        pytest.param(
            python("os.execv('/bin/sleep', ['sleep', '100'])"), "python", "while running", id="another program"
        ),
        pytest.param(native('for (;;) asm volatile("");'), "cpp", "while running the kernel (1 s)", id="native"),
        pytest.param("while True: pass", "python", "while importing the submission", id="at import"),
        pytest.param(
            native("", 'struct Hang { Hang() { for (;;) asm volatile(""); } } hang;'),
            "cpp",
            "while importing",
            id="load",
        ),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_submission_that_never_ends_is_reported_as_timed_out(
    source: str, language: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    abi = "value" if language == "python" else "c"
    record = evaluator.evaluate(submit(source, language=language, abi=abi), tier="quick", case=0)
    assert record.status == "timed_out"
    assert reason in record.reason
    assert workers() == []


HUNGRY = [
    pytest.param("hold = []\nwhile True: hold.append(bytearray(1 << 24))", id="bytes"),
    pytest.param("torch.ones(1 << 40)", id="one huge tensor"),
    pytest.param(
        "if os.fork() or os.fork(): time.sleep(9)\nhold = bytearray(MEMORY * 4 // 5)\ntime.sleep(9)",
        id="fork",
        marks=pytest.mark.rotating,
    ),
    pytest.param(
        "for _ in range(2): os.write(os.memfd_create('hold'), bytes(MEMORY * 3 // 4))\n"
        "time.sleep(0.2)\n"
        f"return {ANSWER}",
        id="memory files",
    ),
]


@pytest.mark.parametrize("body", HUNGRY)
@pytest.mark.usefixtures("little_memory")
def test_a_submission_that_allocates_without_end_is_reported_as_crashed(
    body: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(python(body, f"MEMORY = {MEMORY_BYTES}")), tier="quick", case=0)
    assert record.status == "crashed"
    assert any(word in record.reason for word in ("memory", "MemoryError", "Operation not permitted"))


@pytest.mark.usefixtures("little_memory")
def test_native_code_that_allocates_without_end_is_reported_as_crashed(evaluator: Evaluator, submit: Submit) -> None:
    body = "for (;;) { void* block = std::malloc(1 << 24); std::memset(block, 1, 1 << 24); }"
    record = evaluator.evaluate(submit(native(body), language="cpp", abi="c"), tier="quick", case=0)
    assert record.status == "crashed"
    assert record.reason in ("was killed by SIGSEGV", "used more than 0.2 GiB of memory")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("while True: os.fork()", id="plain"),
        pytest.param("while True:\n    try: os.fork()\n    except OSError: pass", id="stubborn"),
    ],
)
@pytest.mark.usefixtures("little_memory")
def test_a_fork_bomb_is_reported_as_crashed_and_leaves_no_process(
    body: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    deadline = time.monotonic() + 2.0
    while workers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert record.status == "crashed"
    assert workers() == []


@pytest.mark.slow
def test_a_fork_bomb_that_costs_no_memory_is_stopped_by_the_number_of_processes(
    evaluator: Evaluator, submit: Submit
) -> None:
    body = "while True:\n    if os.fork() == 0: os.execv('/bin/sleep', ['sleep', '100'])"
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    assert record.status == "crashed"
    # A limit of the kernel's comes first, except for root.
    assert record.reason == "started more than 64 processes" or "BlockingIOError" in record.reason


def test_native_code_cannot_fork(evaluator: Evaluator, submit: Submit) -> None:
    source = native(f"errno = 0; if (fork() != -1 || errno != EPERM) return;{CPP_ANSWER}")
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick", case=0)
    assert (record.status, record.reason) == ("passed", "")


def test_a_child_that_is_left_behind_is_gone_after_the_evaluation(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    park, counts = Worker.park, []

    def spy(worker: Worker) -> None:
        park(worker)
        counts.append(len(workers()))

    monkeypatch.setattr(Worker, "park", spy)
    body = f"if os.fork() == 0:\n    while True: time.sleep(1)\nreturn {ANSWER}"
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    assert [finding.guard for finding in record.findings] == ["processes"]
    assert counts[:3] == [3, 3, 4]  # guardian, first process and worker, and then the child
    assert workers() == []
