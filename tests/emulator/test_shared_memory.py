"""Shared memory becomes references and pointers into memory of the block."""

from __future__ import annotations

import pytest
from rewritten import in_kernel, rewritten

from robust_kbench.emulator.rewrite import rewrite
from robust_kbench.errors import Unsupported


def static(name: str, declared: str, *, type_name: str = "") -> str:
    """Return the rewritten form of a declaration without alignment. `declared` has `@` in place of the type's name."""
    kind, tag = f"kbemu_type_{name}", f"kbemu_tag_{name}"
    typedef = f"typedef {declared.replace('@', kind)};"
    return f'struct {tag}; {typedef} {kind}& {name} = ::kbemu::shared<{kind}, {tag}>("{name}");'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__shared__ float a;", static("a", "float @")),
        ("__shared__ float a[32][33];", static("a", "float @[32][33]")),
        ("__shared__ float a[N], b;", static("a", "float @[N]") + " " + static("b", "float @")),
        ("__shared__ float *a[2], (*b)[4];", static("a", "float *@[2]") + " " + static("b", "float (*@)[4]")),
        ("__shared__ const float* a;", static("a", "const float *@")),
        ("static __shared__ float a;", static("a", "float @")),
        ("__shared__ static float a;", static("a", "float @")),
        ("volatile __shared__ float a[2];", static("a", "volatile float @[2]")),
        ("__shared__ volatile float a[2];", static("a", "volatile float @[2]")),
        ("__shared__ float volatile a;", static("a", "float volatile @")),
        ("float __shared__ a[2];", static("a", "float @[2]")),
        ("unsigned int __shared__ a;", static("a", "unsigned int @")),
        ("A<B, C>::D __shared__ a;", static("a", "A<B, C>::D @")),
        ("__shared__ unsigned long long a;", static("a", "unsigned long long @")),
        ("__shared__ typename T::x a[2];", static("a", "typename T::x @[2]")),
        ("__shared__ typename T::template x<3>::y a;", static("a", "typename T::template x<3>::y @")),
        ("__shared__ cub::R<float, 256>::S a;", static("a", "cub::R<float, 256>::S @")),
        ("__shared__ ::std::array<A<B>, (2 > 1)> a;", static("a", "::std::array<A<B>, (2 > 1)> @")),
        ("__shared__ struct Pair a;", static("a", "struct Pair @")),
        ("__shared__ union { int a; float b; } u;", static("u", "union { int a; float b; } @")),
        ("__shared__ decltype(x) a;", static("a", "decltype(x) @")),
        ("__shared__ TYPE(float, 2) a;", static("a", "TYPE(float, 2) @")),
        ("__shared__ float a[f(1, 2)][M > 3 ? 1 : 2];", static("a", "float @[f(1, 2)][M > 3 ? 1 : 2]")),
        ("__shared__ /* a, */ float // b;\n  a;", static("a", "float @")[:-1] + "\n;"),
    ],
)
def test_shared_memory_becomes_a_reference(source: str, expected: str) -> None:
    assert in_kernel(source).replace(" *", "*") == expected.replace(" *", "*")


@pytest.mark.parametrize(
    ("source", "attribute"),
    [
        ("__shared__ __align__(16) float a[4];", "__align__(16)"),
        ("__align__(16) __shared__ float a[4];", "__align__(16)"),
        ("__shared__ alignas(16) float a[4];", "alignas(16)"),
        ("alignas(sizeof(T) * 4) __shared__ float a[4];", "alignas(sizeof(T) * 4)"),
        ("__shared__ __attribute__((aligned(16))) float a[4];", "__attribute__((aligned(16)))"),
        ("__shared__ float __align__(16) a[4];", "__align__(16)"),
        ("__shared__ float a[4] __attribute__((aligned(16)));", "__attribute__((aligned(16)))"),
        ("[[maybe_unused]] __shared__ float a[4];", "[[maybe_unused]]"),
    ],
)
def test_an_alignment_is_kept(source: str, attribute: str) -> None:
    assert in_kernel(source) == (
        f"typedef float kbemu_type_a[4]; struct {attribute} kbemu_tag_a {{ kbemu_type_a value; }}; "
        'kbemu_type_a& a = ::kbemu::shared<kbemu_tag_a, kbemu_tag_a>("a").value;'
    )


def test_the_alignment_of_a_type_stays_with_the_type() -> None:
    assert in_kernel("__shared__ struct alignas(8) { int x; } a;") == static("a", "struct alignas(8) { int x; } @")


def test_a_type_that_is_defined_with_its_variables_is_defined_once() -> None:
    assert in_kernel("__shared__ struct { int x; } a, b;") == (
        "typedef struct { int x; } kbemu_struct_a; "
        + static("a", "kbemu_struct_a @")
        + " "
        + static("b", "kbemu_struct_a @")
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("extern __shared__ float s[];", "float* s = ::kbemu::dynamic_shared<float>();"),
        (
            "extern __shared__ __align__(16) unsigned char s[];",
            "unsigned char* s = ::kbemu::dynamic_shared<unsigned char>();",
        ),
        ("__shared__ extern float4 s[];", "float4* s = ::kbemu::dynamic_shared<float4>();"),
        ("extern T __shared__ s[];", "T* s = ::kbemu::dynamic_shared<T>();"),
        ("extern volatile __shared__ float s[];", "volatile float* s = ::kbemu::dynamic_shared<volatile float>();"),
        (
            "extern __shared__ typename A<T>::B s[];",
            "typename A<T>::B* s = ::kbemu::dynamic_shared<typename A<T>::B>();",
        ),
        ("extern __shared__ float s[32];", "float* s = ::kbemu::dynamic_shared<float>();"),
        ("extern __shared__ float* s[];", "float** s = ::kbemu::dynamic_shared<float*>();"),
        (
            "extern __shared__ float s[][4];",
            "typedef float kbemu_type_s[4]; kbemu_type_s* s = ::kbemu::dynamic_shared<kbemu_type_s>();",
        ),
        (
            "extern __shared__ int s[], t[];",
            "int* s = ::kbemu::dynamic_shared<int>(); int* t = ::kbemu::dynamic_shared<int>();",
        ),
    ],
)
def test_dynamic_shared_memory_becomes_a_pointer(source: str, expected: str) -> None:
    assert in_kernel(source) == expected


@pytest.mark.parametrize("place", ["{}", "namespace a {{ namespace b::c {{ {} }} }}", 'extern "C" {{ {} }}'])
def test_dynamic_shared_memory_of_a_file_is_asked_for_where_it_is_used(place: str) -> None:
    source = place.format("extern __shared__ float s[];")
    assert rewritten(source) == place.format("static ::kbemu::DynamicShared<float> s;")


@pytest.mark.parametrize(
    "function",
    [
        "struct S {{ __device__ operator float*() {{ {} return s; }} }};",
        "template <class T = A<(1 > 2)>> struct S : B<T> {{ __device__ float* f() const noexcept(true) {{ {} }} }};",
        "namespace a {{ auto f = [] {{ {} return s; }}; }}",
        "struct S {{ int a; S() : a{{1}}, b(2) {{ {} }} }};",
        "#ifdef X\nvoid f(int) {{\n#else\nvoid f() {{\n#endif\n{}\n}}",
    ],
)
def test_a_function_is_told_from_a_namespace(function: str) -> None:
    source = function.format("extern __shared__ float s[];")
    assert rewritten(source) == function.format("float* s = ::kbemu::dynamic_shared<float>();")


def test_behind_functions_in_branches_comes_the_file_again() -> None:
    source = "#ifdef X\nvoid f(int) {\n#else\nvoid f() {\n#endif\n}\nextern __shared__ int s[];"
    assert rewritten(source).endswith("}\nstatic ::kbemu::DynamicShared<int> s;")


def test_a_shared_variable_of_a_file_is_unsupported() -> None:
    with pytest.raises(
        Unsupported, match=r"a __shared__ variable outside of functions at kernel.cu:2 cannot be emulated"
    ):
        rewrite("namespace a {\n__shared__ int s; }", "kernel.cu")


def test_shared_memory_in_a_macro_takes_its_name_from_the_argument() -> None:
    assert rewritten("#define TILE(T, name, n) __shared__ T name[n]\n") == (
        "#define TILE(T, name, n) struct kbemu_tag_##name; typedef T kbemu_type_##name[n]; kbemu_type_##name& name = "
        "::kbemu::shared<kbemu_type_##name, kbemu_tag_##name>(#name)\n"
    )


def test_shared_memory_in_a_macro_can_have_a_pasted_name() -> None:
    assert '::kbemu::shared<kbemu_type_##t##id, kbemu_tag_##t##id>("t" #id);' in rewritten(
        "#define TILE(id) \\\n  __shared__ float t##id[4];\n"
    )


def test_a_macro_that_stands_for_the_keyword_is_seen_through() -> None:
    source = "#define SHARED volatile __shared__\nvoid f() { SHARED float a; }"
    expected = static("a", "volatile float @")
    assert rewritten(source) == f"#define SHARED volatile __shared__\nvoid f() {{ {expected} }}"


@pytest.mark.parametrize(
    ("source", "captures"),
    [
        ("[=](int i) { return a[i]; }", "[=, &a]"),
        ("[] { return a[0]; }", "[&a]"),
        ("[x]() mutable -> int { return a[x]; }", "[x, &a]"),
        ("[&](int i) { return a[i]; }", "[&]"),
        ("[&, x] { return a[x]; }", "[&, x]"),
        ("[&a] { return a[0]; }", "[&a]"),
        ("[=] { return x.a; }", "[=]"),
        ("[=] { return 1; }", "[=]"),
        ("[=] __device__ (int i) { return a[i]; }", "[=, &a]"),
    ],
)
def test_a_lambda_captures_the_shared_memory_that_it_uses(source: str, captures: str) -> None:
    body = in_kernel(f"__shared__ int a[3]; auto f = {source};")
    assert body.endswith(f"auto f = {captures}{source[source.index(']') + 1 :]};")


def test_what_only_looks_like_a_lambda_captures_nothing() -> None:
    rest = "auto& [u, v] = p; x[a](1); f(1)[a](2); y[0] = a; { int a; }"
    assert in_kernel(f"__shared__ int a; {rest}").endswith(rest)


def test_a_lambda_behind_a_condition_captures_too() -> None:
    assert in_kernel("__shared__ int a; if (x) [] { a = 1; }();").endswith("if (x) [&a] { a = 1; }();")


def test_a_lambda_outside_of_the_variables_block_captures_nothing() -> None:
    rest = "auto f = [] { return a; };"
    assert in_kernel(f"{{ __shared__ int a; }} {rest}").endswith(rest)
