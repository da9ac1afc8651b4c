// CUDA's global min, max and abs. The list of overloads is CUDA's, so that a call is ambiguous here where it is there.
//
// Of two floating-point arguments a NaN gives way to the number, as in fminf and fmaxf. (The C library's fminf and
// fmaxf return NaN for a signalling NaN, where a GPU makes no difference between NaNs.)
#pragma once
#include <math.h>
#include <stdlib.h>  // abs

namespace kbemu {

template <class T>
constexpr T smaller(T a, T b) {
    return b < a ? b : a;
}

template <class T>
constexpr T larger(T a, T b) {
    return a < b ? b : a;
}

// The larger one, where +0 is larger than -0.
template <class Real>
constexpr Real larger_number(Real a, Real b) {
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

template <class Real>
constexpr Real smaller_number(Real a, Real b) {
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

}  // namespace kbemu

#define KBEMU_INTEGER_EXTREMA(Result, A, B)                               \
    constexpr Result min(A a, B b) { return kbemu::smaller<Result>(a, b); } \
    constexpr Result max(A a, B b) { return kbemu::larger<Result>(a, b); }

// A signed argument beside an unsigned one is converted, as in C.
#define KBEMU_EXTREMA_OF(Signed, Unsigned)              \
    KBEMU_INTEGER_EXTREMA(Signed, Signed, Signed)       \
    KBEMU_INTEGER_EXTREMA(Unsigned, Unsigned, Unsigned) \
    KBEMU_INTEGER_EXTREMA(Unsigned, Signed, Unsigned)   \
    KBEMU_INTEGER_EXTREMA(Unsigned, Unsigned, Signed)

KBEMU_EXTREMA_OF(int, unsigned)
KBEMU_EXTREMA_OF(long, unsigned long)
KBEMU_EXTREMA_OF(long long, unsigned long long)

#undef KBEMU_EXTREMA_OF
#undef KBEMU_INTEGER_EXTREMA

#define KBEMU_REAL_EXTREMA(Result, A, B)                                         \
    constexpr Result min(A a, B b) { return kbemu::smaller_number<Result>(a, b); } \
    constexpr Result max(A a, B b) { return kbemu::larger_number<Result>(a, b); }

KBEMU_REAL_EXTREMA(float, float, float)
KBEMU_REAL_EXTREMA(double, double, double)
KBEMU_REAL_EXTREMA(double, float, double)
KBEMU_REAL_EXTREMA(double, double, float)

#undef KBEMU_REAL_EXTREMA

constexpr unsigned umin(unsigned a, unsigned b) { return kbemu::smaller(a, b); }
constexpr unsigned umax(unsigned a, unsigned b) { return kbemu::larger(a, b); }
constexpr long long llmin(long long a, long long b) { return kbemu::smaller(a, b); }
constexpr long long llmax(long long a, long long b) { return kbemu::larger(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return kbemu::smaller(a, b); }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return kbemu::larger(a, b); }
