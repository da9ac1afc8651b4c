"""Variables of the device are declared to the runtime; functions and others are not."""

from __future__ import annotations

import pytest
from rewritten import rewritten


def symbol(name: str) -> str:
    return f'static const bool kbemu_symbol_{name} = ::kbemu::symbol("{name}", &{name}, sizeof({name}));'


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__constant__ float c[10];", ["c"]),
        ("__device__ int counter = 0;", ["counter"]),
        ("__device__ int a = f<1, 2>(3), *b, c[2][3] = {{1}}, d{4};", ["a", "b", "c", "d"]),
        ("static __device__ const float table[] = {1, 2};", ["table"]),
        ("const float __constant__ pi = 3;", ["pi"]),
        ("__device__ __managed__ unsigned long long total;", ["total"]),
        ("__device__ constexpr int n = 3;", ["n"]),
        ("__constant__ struct { int x; } parameters;", ["parameters"]),
        ("__device__ A<int, 3>::B b;", ["b"]),
        ("__device__ float (*pointer)(float, int) = f;", ["pointer"]),
        ("__device__ __align__(16) float a[4];", ["a"]),
    ],
)
def test_device_variables_are_declared_to_the_runtime(source: str, names: list[str]) -> None:
    for place in ("{}", "namespace a {{ {} int b; }}", 'extern "C" {{ {} }}', "struct A {{ int x; }}; {}"):
        expected = " ".join([source, *map(symbol, names)])
        assert rewritten(place.format(source)) == place.format(expected)


@pytest.mark.parametrize(
    "source",
    [
        "__device__ float f(float x);",
        "__device__ __forceinline__ float f(float x) { return x; }",
        "__host__ __device__ inline T operator+(T a, T b) { return a; }",
        "__device__ auto f() -> float { return 1; }",
        "__device__ A::A() : x(1) { }",
        "extern __constant__ float c[];",
        "template <class T> __device__ T zero = 0;",
        "template <class T> __device__ void f(T x);",
        "struct A { static __device__ int x; __device__ int f(); };",
        "__global__ void k() { static __device__ int x; }",
        "auto f = [] __device__ (int i) { return i; };",
        "typedef __device__ int number;",
        "__device__;",
        "__global__ void k(__constant__ int x);",
    ],
)
def test_what_is_no_device_variable_is_not_declared(source: str) -> None:
    assert rewritten(source) == source


def test_device_variables_in_macros_are_declared() -> None:
    assert rewritten("#define TABLE(T, name) __constant__ T name[4];\n") == (
        "#define TABLE(T, name) __constant__ T name[4]; static const bool kbemu_symbol_##name = "
        "::kbemu::symbol(#name, &name, sizeof(name));\n"
    )
