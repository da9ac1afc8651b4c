// Floating-point arithmetic. The approximate instructions (ex2.approx, rcp.approx, …) return the exact value rounded to
// the type, which lies within the error that PTX allows a device.
#pragma once
#include "kbemu/directed.h"
#include "kbemu/ptx/formats.h"

namespace kbemu::ptx {

// --- modifiers ------------------------------------------------------------------------------------------------------

// .ftz: subnormal inputs and results become zero. It means nothing for the half formats, whose instructions accept it.
inline f32 flush(f32 a) { return std::fabs(a) < std::numeric_limits<f32>::min() ? std::copysign(0.0f, a) : a; }
template <class T>
inline T flush(T a) {
    return a;
}

// .sat: to [0, 1], NaN to 0.
template <Real T>
inline T saturate(T a) {
    return a > 0 ? std::min(a, T(1)) : T(0);
}
template <Half T>
inline T saturate(T a) {
    return saturated_to_one(a);
}

// .relu: negative values become 0, NaN stays.
template <Half T>
inline T relu(T a) {
    return rectified(a);
}

template <Pair T, class Function>
inline T each(Function function, T a) {
    return {function(a.low), function(a.high)};
}
template <Pair T, class Function>
inline T each(Function function, T a, T b) {
    return {function(a.low, b.low), function(a.high, b.high)};
}

template <Pair T>
inline T saturate(T a) {
    return each([](auto x) { return saturate(x); }, a);
}
template <Pair T>
inline T relu(T a) {
    return each([](auto x) { return relu(x); }, a);
}

// --- operations -----------------------------------------------------------------------------------------------------

template <Mode mode = kNearest, Real T>
inline T add(T a, T b) {
    return rounded<rounding_of(mode), Add>(a, b);
}
template <Mode mode = kNearest, Real T>
inline T sub(T a, T b) {
    return rounded<rounding_of(mode), Subtract>(a, b);
}
template <Mode mode = kNearest, Real T>
inline T mul(T a, T b) {
    return rounded<rounding_of(mode), Multiply>(a, b);
}
template <Mode mode = kNearest, Real T>
inline T fma(T a, T b, T c) {
    return rounded<rounding_of(mode), MultiplyAdd>(a, b, c);
}
template <Mode mode = kNearest, Real T>
inline T div(T a, T b) {
    return rounded<rounding_of(mode), Divide>(a, b);
}
template <Mode mode = kNearest, Real T>
inline T rcp(T a) {
    return rounded<rounding_of(mode), Reciprocal>(a);
}
template <Mode mode = kNearest, Real T>
inline T sqrt(T a) {
    return rounded<rounding_of(mode), SquareRoot>(a);
}

template <Half T>
inline T add(T a, T b) {
    return encoded<T>(wide(a) + wide(b));
}
template <Half T>
inline T sub(T a, T b) {
    return encoded<T>(wide(a) - wide(b));
}
template <Half T>
inline T mul(T a, T b) {
    return encoded<T>(wide(a) * wide(b));
}
template <Half T>
inline T fma(T a, T b, T c) {
    return multiply_add(a, b, c);
}

template <Pair T>
inline T add(T a, T b) {
    return each([](auto x, auto y) { return add(x, y); }, a, b);
}
template <Pair T>
inline T sub(T a, T b) {
    return each([](auto x, auto y) { return sub(x, y); }, a, b);
}
template <Pair T>
inline T mul(T a, T b) {
    return each([](auto x, auto y) { return mul(x, y); }, a, b);
}
template <Pair T>
inline T fma(T a, T b, T c) {
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
}

// --- signs ----------------------------------------------------------------------------------------------------------

template <Real T>
inline T negate(T a) {
    return -a;
}
template <Real T>
inline T absolute(T a) {
    return std::fabs(a);
}
template <Half T>
inline T negate(T a) {
    return encoded<T>(-real(a));
}
template <Half T>
inline T absolute(T a) {
    return encoded<T>(std::fabs(real(a)));
}
template <Pair T>
inline T negate(T a) {
    return each([](auto x) { return negate(x); }, a);
}
template <Pair T>
inline T absolute(T a) {
    return each([](auto x) { return absolute(x); }, a);
}

// b with the sign of a.
template <Real T>
inline T copysign(T a, T b) {
    return std::copysign(b, a);
}

// --- minimum and maximum --------------------------------------------------------------------------------------------

using kbemu::larger_of;
using kbemu::smaller_of;

// Of a number and a NaN it is the number, or the NaN if `nan_wins`; -0 is smaller than +0.
template <Real T>
inline T smaller_of(T a, T b, bool nan_wins) {
    if (std::isnan(a) || std::isnan(b)) return nan_wins ? a + b : std::isnan(a) ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <Real T>
inline T larger_of(T a, T b, bool nan_wins) {
    if (std::isnan(a) || std::isnan(b)) return nan_wins ? a + b : std::isnan(a) ? b : a;
    return a > b || (a == b && std::signbit(b)) ? a : b;
}

template <class T>
inline T with_product_of_signs(T magnitude, T a, T b) {
    constexpr auto sign = static_cast<Bits<T>>(Bits<T>(1) << (8 * sizeof(T) - 1));
    const auto bits = std::bit_cast<Bits<T>>(a) ^ std::bit_cast<Bits<T>>(b);
    return std::bit_cast<T>(static_cast<Bits<T>>(std::bit_cast<Bits<T>>(magnitude) | (bits & sign)));
}

// With .xorsign.abs magnitudes are compared, and the result gets the product of the signs.
template <bool nan, bool xorsign, class T>
inline T minimum(T a, T b) {
    if constexpr (Pair<T>) {
        return each([](auto x, auto y) { return minimum<nan, xorsign>(x, y); }, a, b);
    } else {
        return xorsign ? with_product_of_signs(smaller_of(absolute(a), absolute(b), nan), a, b) : smaller_of(a, b, nan);
    }
}
template <bool nan, bool xorsign, class T>
inline T maximum(T a, T b) {
    if constexpr (Pair<T>) {
        return each([](auto x, auto y) { return maximum<nan, xorsign>(x, y); }, a, b);
    } else {
        return xorsign ? with_product_of_signs(larger_of(absolute(a), absolute(b), nan), a, b) : larger_of(a, b, nan);
    }
}

// --- approximate functions ------------------------------------------------------------------------------------------

template <Real T>
inline T rsqrt(T a) {
    return static_cast<T>(1.0 / std::sqrt(static_cast<f64>(a)));
}
inline f32 sin(f32 a) { return static_cast<f32>(std::sin(static_cast<f64>(a))); }
inline f32 cos(f32 a) { return static_cast<f32>(std::cos(static_cast<f64>(a))); }
inline f32 lg2(f32 a) { return std::log2(a); }
inline f32 ex2(f32 a) { return std::exp2(a); }
inline f32 tanh(f32 a) { return std::tanh(a); }

template <Half T>
inline T ex2(T a) {
    return narrow<T>(ex2(widen(a)));
}
template <Half T>
inline T tanh(T a) {
    return narrow<T>(tanh(widen(a)));
}
template <Pair T>
inline T ex2(T a) {
    return each([](auto x) { return ex2(x); }, a);
}
template <Pair T>
inline T tanh(T a) {
    return each([](auto x) { return tanh(x); }, a);
}

// --- testp ----------------------------------------------------------------------------------------------------------

struct finite {
    bool operator()(f64 a, int) const { return std::isfinite(a); }
};
struct infinite {
    bool operator()(f64 a, int) const { return std::isinf(a); }
};
struct number {
    bool operator()(f64 a, int) const { return !std::isnan(a); }
};
struct notanumber {
    bool operator()(f64 a, int) const { return std::isnan(a); }
};
struct normal {
    bool operator()(f64, int kind) const { return kind == FP_NORMAL || kind == FP_ZERO; }
};
struct subnormal {
    bool operator()(f64, int kind) const { return kind == FP_SUBNORMAL; }
};

template <class Test, Real T>
inline pred testp(T a) {
    return Test()(a, std::fpclassify(a));
}

}  // namespace kbemu::ptx
