"""Rewriting of CUDA's own syntax, in which lines stay where they are."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from conftest import needs_compiler
from hypothesis import given
from hypothesis import strategies as st
from rewritten import launch, rewritten

from robust_kbench.emulator.rewrite import Rewritten, rewrite, rewrite_tree
from robust_kbench.emulator.toolchain import INCLUDE
from robust_kbench.errors import Unsupported


@pytest.mark.parametrize(
    "source",
    [
        "std::vector<std::vector<std::vector<int>>> a;",
        "// k<<<g, b>>>(x);\n/* k<<<g, b>>>(x); __shared__ int a; */",
        'const char* text = "k<<<g, b>>>(x); __shared__ int a;";',
        'const char* text = R"(k<<<g, b>>>(x);\n__launch_bounds__(1))";',
        "#if 0\nk<<<g, b>>>(x); __shared__ int a;\n#endif",
        '#ifdef USE_ROCM\nasm("s_waitcnt 0");\n#endif',
        '#if __CUDA_ARCH__ >= 900\nasm("wgmma.fence;");\n#endif',
        "#ifndef __CUDA_ARCH__\nk<<<g, b>>>(x);\n#else\n#endif",
        "#include <vector>\n#pragma unroll 4\nint a = b << 3 >> 1;",
        "operator<<<int>(a, b);",
        "<<<<<<< HEAD",
        "__device__ float f(float x) { return x; }",
        "",
        "\r\n\r\n",
    ],
)
def test_everything_else_stays_as_it_is(source: str) -> None:
    assert rewritten(source) == source


@pytest.mark.parametrize(
    "source", ["k<<<g, b(x);", "k<<<g, b>>> x;", "<<<g, b>>>(x);", "k<<<", ">>>(x)", "__shared__ ;"]
)
def test_what_is_no_cuda_is_left_to_the_compiler(source: str) -> None:
    assert rewritten(source) == source


@pytest.mark.parametrize(
    ("source", "spins"),
    [
        ("volatile int* flag;", True),
        ("#define LOAD(p) (*(volatile int*)(p))\n", True),
        ('asm volatile("" : : : "memory");', False),
        ("// volatile", False),
        ("int flag;", False),
    ],
)
def test_a_source_with_volatile_memory_may_spin(source: str, spins: bool) -> None:
    assert rewrite(source, "kernel.cu").spins is spins


def test_the_first_line_names_the_file() -> None:
    assert rewrite("int a;", 'a\\"b.cu') == Rewritten('#line 1 "a\\\\\\"b.cu"\nint a;', spins=False)


def test_all_sources_of_a_submission_are_rewritten() -> None:
    sources = {
        "kernel.cu": '#include "launch.cuh"',
        "launch.cuh": "#define GO k<<<g, b>>>()\n",
        "notes.md": "k<<<g, b>>>()",
    }
    result = rewrite_tree(sources)
    assert result["launch.cuh"].text == '#line 1 "launch.cuh"\n#define GO ' + launch("k", "g, b") + "\n"
    assert result["kernel.cu"].text == '#line 1 "kernel.cu"\n#include "launch.cuh"'
    assert result["notes.md"].text == "k<<<g, b>>>()"


LINES = [
    "int a;", "// c", "/* c", "*/", "k<T>", "<<<g, b>>>", "(x);", "k<<<g, b>>>(x);", "#define L(N) \\",
    "  k<<<N, N>>>(N)", "#if X", "#else", "#endif", "void f() {", "}", "__shared__ int s[2],", "t;", "struct S {", "};",
    "__constant__ int c = 3;", "extern __shared__ float d[];", "__launch_bounds__(1,", "2)", "cudaFuncSetAttribute(k,",
    "1, 2);", 'R"(', ')"', "[=] {", 'asm("bar.sync 0;"', ": : );", "",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join))
def test_lines_stay_where_they_are_in_any_source(source: str) -> None:
    with contextlib.suppress(Unsupported):
        assert rewritten(source).count("\n") == source.count("\n")


EVERYTHING = """#include <cuda_runtime.h>
#define LAUNCH(N) halve<N><<<grid, \\
    block>>>(x, NULL)
#define CALL(kernel, ...) kernel<<<grid, block>>>(__VA_ARGS__)
#define TILE(T, name, n) __shared__ T name[n]
namespace ns {
__constant__ float c[10], *p = nullptr;
static __device__ const float table[2] = {1, 2};
extern __shared__ float file_level[];
struct Sized { static constexpr int threads = 64; struct Storage { float x[32]; }; };
template <int N> __global__ void __launch_bounds__(Sized::threads * N, 2) halve(float* x, int* n);
template <int N> __global__ void __launch_bounds__(Sized::threads * N, 2) halve(float* x, int* n) {
    __shared__ float tile[32][33], other;
    __shared__ __align__(16) float aligned[N];
    extern __shared__ __align__(sizeof(float)) unsigned char raw[];
    extern __shared__ float rows[][32];
    volatile __shared__ int seen;
    __shared__ typename Sized::Storage
        storage;
    __shared__ struct { float a; int b; } first, second;
    TILE(float, by_macro, 3); TILE(int, by_macro_too, 3);
    auto total = [=](int i) { return tile[i][i] + other + rows[1][2] + by_macro[i] + by_macro_too[i]; };
    x[0] = total(1) + aligned[0] + raw[1] + seen + storage.x[0] + first.a + second.b + file_level[3] + c[1];
}
}
using ns::halve;
__global__ void nothing() {}
#define AT(...) [&] { __VA_ARGS__ }()
void host(float* x, int* n, dim3 grid, dim3 block, cudaStream_t stream) {
    ns::halve<3><<<dim3{1, 2}, (32 + 1) / 2, n != 0 ? 1 : 2>>>(x, n);
    (halve<3>)<<<grid, block, 0, stream>>>(x, NULL);
    nothing<<<1, {1, 2}>>>();
    if (x) (halve<3>)<<<1, 1>>>(x, n);
    LAUNCH(3); CALL(nothing); CALL(halve<4>, x, n);
    AT(
        constexpr int N = 7;
        #pragma unroll
        for (int i = 0; i < 3; ++i) halve<N><<<grid, block>>>(x, n);
    );
    cudaFuncSetAttribute((const void*)&ns::halve<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 4);
}
"""


def _compile(source: str, folder: Path) -> str:
    """Return the compiler's errors."""
    (folder / "rewritten.cu").write_text(rewrite(source, "kernel.cu").text)
    command = ["g++", "-std=gnu++20", "-fsyntax-only", "-w", f"-I{INCLUDE}", "-include", "kbemu/cuda.h", "-x", "c++"]
    done = subprocess.run([*command, str(folder / "rewritten.cu")], capture_output=True, text=True, check=False)
    return done.stderr


@needs_compiler
def test_the_compiler_takes_what_comes_out(tmp_path: Path) -> None:
    assert _compile(EVERYTHING, tmp_path) == ""


@needs_compiler
def test_an_error_is_reported_at_the_users_line(tmp_path: Path) -> None:
    assert "kernel.cu:26:" in _compile(EVERYTHING.replace("using ns::halve;", "using ns::unknown;"), tmp_path)
