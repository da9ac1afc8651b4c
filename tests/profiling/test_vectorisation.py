from __future__ import annotations

from pathlib import Path

from conftest import Submit, needs_compiler
from kernels import CPP_ANSWER, native

from robust_kbench.profiling.reports import Loop
from robust_kbench.profiling.vectorisation import compile_loops, from_remarks
from robust_kbench.registry import load_task

REMARKS = """kernel.cpp:5:31: missed: couldn't vectorize loop
kernel.cpp:5:31: missed: not vectorized: control flow in loop.
kernel.cpp:14:35: optimized: loop vectorized using 64 byte vectors
kernel.cpp:14:35: optimized:  loop versioned for vectorization because of possible aliasing
kernel.cpp:14:35: optimized: loop vectorized using 32 byte vectors
kernel.cpp:20:5: missed: couldn't vectorize loop
kbench.h:42:61: missed: not vectorized: unsupported data-type float
kernel.cpp:30:5: missed: couldn't vectorize loop
/usr/include/c++/12/cmath:464:27: missed: statement clobbers memory: _46 = __builtin_sqrtf (_11);
/usr/include/c++/12/bits/stl_algo.h:70:5: optimized: loop vectorized using 16 byte vectors
"""


def test_each_loop_has_its_widest_vectors_or_the_reason_that_follows_it() -> None:
    assert from_remarks(REMARKS, "float32", {"kernel.cpp"}) == [
        Loop("kernel.cpp", 5, "float32", 0, "control flow in loop."),
        Loop("kernel.cpp", 14, "float32", 64),
        Loop("kernel.cpp", 20, "float32", 0, "unsupported data-type float"),
        Loop("kernel.cpp", 30, "float32", 0, "no reason given"),
    ]


@needs_compiler
def test_a_real_compiler_tells_a_plain_loop_from_one_that_depends_on_itself(submit: Submit, tmp_path: Path) -> None:
    body = (
        "for (int64_t i = 0; i < cols; ++i) y[i] = x[i] + weight[i];\n"
        "for (int64_t i = 1; i < cols; ++i) y[i] = y[i - 1] * 0.5f + x[i];"
    )
    source = native(body)
    line = source.splitlines().index(body.splitlines()[0]) + 1
    submission = submit(source, language="cpp", abi="c")
    report = compile_loops(submission, load_task("norm/rmsnorm").spec, ["float32"], tmp_path)
    widths = {loop.line: loop.vector_bytes for loop in report.loops}
    assert widths[line] >= 16
    assert widths[line + 1] == 0
    assert not report.failure


@needs_compiler
def test_source_that_does_not_compile_is_reported_with_the_first_error(submit: Submit, tmp_path: Path) -> None:
    submission = submit(native(CPP_ANSWER.replace("sum = 0", "sum = nothing")), language="cpp", abi="c")
    report = compile_loops(submission, load_task("norm/rmsnorm").spec, ["float32"], tmp_path)
    assert report.failure.startswith("kernel.cpp:10:22: error:")
    assert report.loops == ()
