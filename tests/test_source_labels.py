"""Labels say what a source looks like it does; no verdict depends on them."""

from __future__ import annotations

import pytest
from conftest import Submit
from kernels import CPP_ANSWER, RIGHT, native, python

from robust_kbench.evaluate import Evaluator
from robust_kbench.labels import labels_of


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("def f(x):\n    return torch.matmul(x, x)", "calls a library"),
        ("from torch.nn.functional import softmax", "calls a library"),
        ("import threading", "uses threads"),
        ("s = torch.cuda.Stream()", "uses streams"),
        ("g = torch.cuda.CUDAGraph()", "uses graphs"),
        ("exec('1')", "compiles at run time"),
        ("import subprocess", "uses processes"),
        ("y = x.half()", "uses lower precision"),
        ("time.perf_counter()", "reads a clock"),
        ("def f():\n    global kept", "keeps state"),
        ("open('x')", "reads files"),
    ],
)
def test_python_is_labelled_by_the_names_in_it(source: str, label: str, submit: Submit) -> None:
    assert labels_of(submit(source)) == (label,)


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("cublasSgemm(handle);", "calls a library"),
        ("std::thread worker(run);", "uses threads"),
        ("cudaStreamCreateWithFlags(&s, 1);", "uses streams"),
        ("static float* kept = nullptr;", "keeps state"),
        ("atomicAdd(&y[0], 1.0f);", "uses atomics"),
        ('asm volatile("nop");', "inline assembly"),
        ("auto t = clock64();", "reads a clock"),
        ("void* h = dlopen(name, 1);", "compiles at run time"),
        ("if (fork() == 0) run();", "uses processes"),
        ("__half2 a;", "uses lower precision"),
    ],
)
def test_native_code_is_labelled_by_the_words_in_it(source: str, label: str, submit: Submit) -> None:
    assert labels_of(submit(source, language="cpp", abi="c")) == (label,)


@pytest.mark.parametrize(
    "source",
    [
        "// std::thread and fork() are not used here",
        "/* cublasSgemm( */",
        "static inline float twice(float x) { return 2 * x; }",
        "static constexpr int width = 4;",
        "int threads = 4;",
    ],
)
def test_comments_and_constants_earn_no_label(source: str, submit: Submit) -> None:
    assert labels_of(submit(source, language="cpp", abi="c")) == ()


def test_a_source_that_cannot_be_parsed_has_none(submit: Submit) -> None:
    assert labels_of(submit("def f(:")) == ()


# Each of these would keep a parser, or a pattern that backs up, busy for minutes, or end the judge's process.
@pytest.mark.parametrize(
    "source",
    [
        pytest.param("/*" * 500_000, id="comments that are never closed"),
        pytest.param("\n" * 1_000_000, id="empty lines"),
        pytest.param("static\n" * 140_000, id="half declarations"),
        pytest.param(("static " + "a" * 200 + "\n") * 4_000, id="declarations without an end"),
        pytest.param("static" + " " * 1_000_000, id="a declaration of spaces"),
        pytest.param("(" * 1_000_000, id="parentheses"),
        pytest.param("-" * 1_000_000 + "1", id="signs"),
        pytest.param("import " * 140_000, id="imports"),
        pytest.param("a" * 1_000_000, id="one word"),
        pytest.param("." * 1_000_000, id="dots"),
    ],
)
def test_no_source_keeps_the_judge_busy(source: str, submit: Submit) -> None:
    assert labels_of(submit(source)) == ()
    assert labels_of(submit(source, language="cpp", abi="c")) == ()


def test_labels_are_in_the_record_and_cost_nothing(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(python(RIGHT)), tier="quick", seed=1, case=0)
    assert (record.status, "calls a library" in record.labels) == ("passed", True)
    native_record = evaluator.evaluate(submit(native(CPP_ANSWER), language="cpp", abi="c"), tier="quick", case=0)
    assert (native_record.status, native_record.labels) == ("passed", ())
