"""Launches become calls, wherever they are written, and kernels keep their names and bounds."""

from __future__ import annotations

import pytest
from rewritten import launch, rewritten

from robust_kbench.emulator.rewrite import rewrite
from robust_kbench.errors import Unsupported


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("k<<<g, b>>>(x, y);", launch("k", "g, b", ", x, y") + ";"),
        ("k<<<g, b>>>();", launch("k", "g, b") + ";"),
        ("k<<<g, b, 4 * n>>>(x);", launch("k", "g, b, 4 * n", ", x") + ";"),
        ("k<<<g, b, 0, stream>>>(x);", launch("k", "g, b, 0, stream", ", x") + ";"),
        ("k <<< g, b >>> (x);", " " + launch("k", " g, b ", ", x") + ";"),
        ("k<int><<<g, b>>>(x);", launch("k<int>", "g, b", ", x", "k") + ";"),
        ("a::k<B<C>, D><<<g, b>>>(x);", launch("a::k<B<C>, D>", "g, b", ", x", "k") + ";"),
        ("::a::k<<<g, b>>>(x);", launch("::a::k", "g, b", ", x", "k") + ";"),
        ("A<B>::k<<<g, b>>>(x);", launch("A<B>::k", "g, b", ", x", "k") + ";"),
        ("A<B>::template k<3><<<g, b>>>(x);", launch("A<B>::template k<3>", "g, b", ", x", "k") + ";"),
        ("(k<T>)<<<g, b>>>(x);", launch("(k<T>)", "g, b", ", x", "k") + ";"),
        ("(f ? k : l)<<<g, b>>>(x);", launch("(f ? k : l)", "g, b", ", x", "f?k:l") + ";"),
        ("table[i]<<<g, b>>>(x);", launch("table[i]", "g, b", ", x") + ";"),
        ("choose<T>(n)<<<g, b>>>(x);", launch("choose<T>(n)", "g, b", ", x") + ";"),
        ("plan.k<<<g, b>>>(x);", launch("plan.k", "g, b", ", x") + ";"),
        ("this->k<<<g, b>>>(x);", launch("this->k", "g, b", ", x") + ";"),
        ('map["a"]<<<g, b>>>(x);', launch('map["a"]', "g, b", ", x", r"map[\"a\"]") + ";"),
        ("if (n) k<<<g, b>>>(x);", "if (n) " + launch("k", "g, b", ", x") + ";"),
        ("if (n) (k)<<<g, b>>>(x);", "if (n) " + launch("(k)", "g, b", ", x", "k") + ";"),
        ("else k<<<g, b>>>(x);", "else " + launch("k", "g, b", ", x") + ";"),
        ("(void)k<<<g, b>>>(x);", "(void)" + launch("k", "g, b", ", x") + ";"),
        ("k<<<dim3{1, 2}, {3}>>>(x);", launch("k", "dim3{1, 2}, {3}", ", x") + ";"),
        ("k<<<f(a, (b)), dim3(c[d])>>>(x);", launch("k", "f(a, (b)), dim3(c[d])", ", x") + ";"),
        ("k<<<n > 3 ? 1 : 2, (a >> 1)>>>(x);", launch("k", "n > 3 ? 1 : 2, (a >> 1)", ", x") + ";"),
        ("k<<<n < 3 ? 1 : 2, b>>>(x);", launch("k", "n < 3 ? 1 : 2, b", ", x") + ";"),
        ("k<<<g, sizeof(A<B<C<int>>>)>>>(x);", launch("k", "g, sizeof(A<B<C<int>>>)", ", x") + ";"),
        ("k<<<g, A<int>::n>>>(x);", launch("k", "g, A<int>::n", ", x") + ";"),
        ("k<<<g, A<B<C<int>>>::n>>>(x);", launch("k", "g, A<B<C<int>>>::n", ", x") + ";"),
        ("k<<<g, A<B<C<int>>>(1)>>>(x);", launch("k", "g, A<B<C<int>>>(1)", ", x") + ";"),
        ("k<(N > 1)><<<g, b>>>(x);", launch("k<(N > 1)>", "g, b", ", x", "k") + ";"),
        ("k<sizeof(A<int>)><<<g, b>>>(x);", launch("k<sizeof(A<int>)>", "g, b", ", x", "k") + ";"),
        ("k<<<g, b>>>(NULL, f(NULL), x);", launch("k", "g, b", ", nullptr, f(nullptr), x") + ";"),
        ('k<<<g, b>>>(x, "NULL");', launch("k", "g, b", ', x, "NULL"') + ";"),
        ("k<<<g, b>>>(f(l<<<1, 2>>>()));", launch("k", "g, b", ", f(" + launch("l", "1, 2") + ")") + ";"),
        ("[&] { k<<<g, b>>>(x); }();", "[&] { " + launch("k", "g, b", ", x") + "; }();"),
        ("k /* a */ <T> /* b */<<<g, b>>>(x);", " /* b */" + launch("k <T>", "g, b", ", x", "k") + ";"),
        ("k<<<g, /* >>>( */ b>>>(x /* ) */);", launch("k", "g, /* >>>( */ b", ", x /* ) */") + ";"),
    ],
)
def test_a_launch_becomes_a_call(source: str, expected: str) -> None:
    assert rewritten(source) == expected


def test_a_launch_over_several_lines_keeps_them() -> None:
    source = "kernel\n  <float,\n   4>\n  <<<grid,\n     block>>>\n  (x, // first\n   y);\nint after;"
    assert rewritten(source).split("\n") == [
        "",
        "",
        "",
        '  ::kbemu::launch("kernel", ::kbemu::Config(grid,',
        "     block), [=](auto&... kbemu_a) { kernel <float, 4>(kbemu_a...); }, ",
        "x, // first",
        "   y);",
        "int after;",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "#define LAUNCH(N) k<N><<<g, b>>>(x)\n",
            "#define LAUNCH(N) " + launch("k<N>", "g, b", ", x", "k") + "\n",
        ),
        (
            "#define LAUNCH(N)   \\\n  k<N> \\\n  <<<g, b>>>(x); \\\n  check()\nint a;",
            "#define LAUNCH(N)   \\\n   \\\n  " + launch("k<N>", "g, b", ", x", "k") + "; \\\n  check()\nint a;",
        ),
        (
            "#define LAUNCH(K, ...) K<<<g, b>>>(__VA_ARGS__)\n",
            "#define LAUNCH(K, ...) ::kbemu::launch(#K, ::kbemu::Config(g, b), [=](auto&... kbemu_a) { K(kbemu_a...); }"
            " __VA_OPT__(,) __VA_ARGS__)\n",
        ),
        (
            "#define LAUNCH(N) k##N<<<g, b>>>(x, ##__VA_ARGS__)\n",
            '#define LAUNCH(N) ::kbemu::launch("k" #N, ::kbemu::Config(g, b), '
            "[=](auto&... kbemu_a) { k##N(kbemu_a...); }, x, ##__VA_ARGS__)\n",
        ),
        ("#define LAUNCH k<<<g, b>>>(x)\n", "#define LAUNCH " + launch("k", "g, b", ", x") + "\n"),
    ],
    ids=["template argument", "continued", "kernel as argument", "pasted", "object-like"],
)
def test_a_launch_in_a_macro_becomes_a_call(source: str, expected: str) -> None:
    assert rewritten(source) == expected


def test_what_a_macro_passes_to_a_kernel_is_no_number() -> None:
    macro = "#define LAUNCH(x) k<<<1, 1>>>(x)\n#define OTHER(x) f(x)\n"
    body = rewritten(macro + "void f() { LAUNCH(NULL); OTHER(NULL); }")
    assert body.endswith("void f() { LAUNCH(nullptr); OTHER(NULL); }")


def test_a_launch_that_macros_put_together_is_unsupported() -> None:
    with pytest.raises(Unsupported, match=r"macros put together from parts at kernel.cu:2 cannot be emulated"):
        rewrite("\n#define CONFIGURED <<<g, b>>>\nvoid f() { k CONFIGURED (x); }", "kernel.cu")


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        ("__global__ void __launch_bounds__(256) k(int n)", "__global__ void  k(int n)"),
        ("__global__ __launch_bounds__(256) void k()", "__global__  void k()"),
        ("__launch_bounds__(256) __global__ void k()", " __global__ void k()"),
        ("template <int N> __global__ void __launch_bounds__(256)\nk()", "template <int N> __global__ void \nk()"),
    ],
)
def test_launch_bounds_move_into_the_kernel(head: str, rest: str) -> None:
    assert rewritten(head + " { f(); }") == rest + " { ::kbemu::launch_bounds(256); f(); }"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__device__ __noinline__ int f();", "__device__ __attribute__((noinline)) int f();"),
        ("__noinline__ __device__ int f();", "__attribute__((noinline)) __device__ int f();"),
        ("#define APART __noinline__\n", "#define APART __attribute__((noinline))\n"),
        ("__attribute__((__noinline__)) int f();", "__attribute__((__noinline__)) int f();"),
        ("__attribute__((cold, __noinline__)) int f();", "__attribute__((cold, __noinline__)) int f();"),
    ],
)
def test_a_keyword_of_cuda_is_told_from_the_attribute_that_is_spelt_like_it(source: str, expected: str) -> None:
    assert rewritten(source) == expected


@pytest.mark.parametrize("bounds", ["256, 2", "T::threads", "A<B, C>::n, f(1, 2)", "N * 32, 1"])
def test_launch_bounds_can_be_any_expressions(bounds: str) -> None:
    source = f"__global__ void __launch_bounds__({bounds}) k(T x = T{{}}) {{ }}"
    assert rewritten(source) == f"__global__ void  k(T x = T{{}}) {{ ::kbemu::launch_bounds({bounds}); }}"


def test_launch_bounds_of_a_declaration_go() -> None:
    source = "__global__ void __launch_bounds__(256) k(int n); void f() { }"
    assert rewritten(source) == "__global__ void  k(int n); void f() { }"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("k", '::kbemu::kernel("k", k)'),
        ("&k", '::kbemu::kernel("k", k)'),
        ("k<float, 4>", '::kbemu::kernel("k", k<float, 4>)'),
        ("a::k<T>", '::kbemu::kernel("k", a::k<T>)'),
        ("(void*)k", '::kbemu::kernel("k", k)'),
        ("(const void*)&k<T, 2>", '::kbemu::kernel("k", k<T, 2>)'),
        ("(void const *)(k)", '::kbemu::kernel("k", k)'),
        ("reinterpret_cast<const void*>(&k<T>)", '::kbemu::kernel("k", k<T>)'),
        ("reinterpret_cast<void *>(k)", '::kbemu::kernel("k", k)'),
    ],
)
def test_a_kernel_that_is_an_argument_keeps_its_name_and_type(argument: str, expected: str) -> None:
    kernel = "template <class T> __global__ void k(T* x);\n"
    for call in (
        "cudaFuncSetAttribute({}, attribute, 4);",
        "cudaFuncGetAttributes(&attributes, {});",
        "check(cudaOccupancyMaxPotentialBlockSize(&a, &b, {}, 0, 0));",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, {}, a < b ? c : d, 0);",
        "cudaLaunchCooperativeKernel({}, grid, block, arguments, 0, stream);",
        "cudaLaunchKernelEx(&config, {}, x, y);",
    ):
        assert rewritten(kernel + call.format(argument)) == kernel + call.format(expected)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("(void*)chosen", '::kbemu::kernel("chosen", chosen)'),
        ("(void (*)(float*))k", '::kbemu::kernel("(void(*)(float*))k", (void (*)(float*))k)'),
        ("plan.kernel", '::kbemu::kernel("plan.kernel", plan.kernel)'),
    ],
)
def test_what_is_launched_by_a_function_is_named_whatever_it_is(argument: str, expected: str) -> None:
    call = "cudaLaunchKernel({}, grid, block, arguments);"
    assert rewritten(call.format(argument)) == call.format(expected)


def test_a_kernel_that_is_a_macros_argument_is_named_by_it() -> None:
    assert rewritten("#define GO(K) cudaLaunchKernel((void*)K, g, b, a)\n") == (
        "#define GO(K) cudaLaunchKernel(::kbemu::kernel(#K, K), g, b, a)\n"
    )


@pytest.mark.parametrize("head", ["__global__ void k()", 'extern "C" __global__ void f::k(int)', "void __global__ k()"])
def test_a_kernels_attribute_is_set_by_its_name(head: str) -> None:
    rest = "; void f() {{ cudaFuncSetAttribute({}, a, 1); {}; }}"
    expected = head + rest.format('::kbemu::kernel("k", k)', launch("k", "g, b"))
    assert rewritten(head + rest.format("k", "k<<<g, b>>>()")) == expected


@pytest.mark.parametrize(
    ("argument", "launched"),
    [("pointer", "k<<<g, b>>>()"), ("k", "pointer<<<g, b>>>()"), ("k", "cudaLaunchKernel(pointer, g, b, a)")],
)
def test_an_attribute_holds_for_every_kernel_where_names_may_differ(argument: str, launched: str) -> None:
    call = f"cudaFuncSetAttribute((void*){argument}, a, 1);"
    assert call in rewritten(f"__global__ void __launch_bounds__(1) k(); void f() {{ {call} {launched}; }}")


@pytest.mark.parametrize("source", ["cudaFuncSetAttribute;", "cudaFuncGetAttributes(&a);", "cudaLaunchKernel();"])
def test_a_call_without_a_kernel_stays_as_it_is(source: str) -> None:
    assert rewritten(source) == source
