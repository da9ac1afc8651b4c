// CUDA's approximate functions: __expf, __sinf, __fdividef, ...
//
// Each is built as on the device: a step of arithmetic in single precision around a function of the special function
// unit. That function itself is computed precisely here, where the unit errs by up to 2 ulp (2^-21 absolute for sin,
// cos and log near 1; 2^-11 relative for tanh). The larger errors, which arguments far from zero cause, come from the
// arithmetic around it and are therefore those of the device:
//
//     __expf(x), __exp10f(x)   x * log2(e) is rounded: the relative error grows to |x| * 2^-24
//     __powf(x, y)             y * log2(x) is rounded likewise
//     __sinf(x), __cosf(x)     x / (2 pi) is cut off: the absolute error grows to |x| * 2^-23
//     __fdividef(x, y)         0 for 2^126 < |y| < 2^128
//
// Compared with an H200 over floats of every size, __expf, __exp10f and __fdividef are within 2 ulp, and __sinf and
// __cosf within 2^-21.
#pragma once
#include "kbemu/directed.h"
#include "kbemu/math.h"

namespace kbemu {

// x / (2 pi) as the special function unit receives it, cut off to a float.
inline double turns(float x) {
    const double exact = static_cast<double>(x) * 0.159154943f;
    const float near = static_cast<float>(exact);
    return std::fabs(near) > std::fabs(exact) ? std::nextafter(near, 0.0f) : near;
}

// tanh.approx.f32 keeps eleven bits of the result.
inline float eleven_bits(float value) {
    int exponent;
    const float fraction = std::frexp(value, &exponent);
    return std::ldexp(std::nearbyint(fraction * 2048.0f), exponent - 11);
}

}  // namespace kbemu

inline float __exp10f(float x) { return std::exp2(kbemu::uncontracted(x * 3.32192809f)); }
inline float __expf(float x) { return std::exp2(kbemu::uncontracted(x * 1.44269504f)); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log2(x) * 0.301029996f; }
inline float __logf(float x) { return std::log2(x) * 0.693147181f; }
inline float __powf(float x, float y) { return std::exp2(kbemu::uncontracted(y * std::log2(x))); }

inline float __sinf(float x) { return static_cast<float>(kbemu::sine_of_pi(2.0 * kbemu::turns(x))); }
inline float __cosf(float x) { return static_cast<float>(kbemu::cosine_of_pi(2.0 * kbemu::turns(x))); }
inline float __tanhf(float x) { return std::isfinite(x) ? kbemu::eleven_bits(std::tanh(x)) : std::tanh(x); }

inline void __sincosf(float x, float* sine, float* cosine) {
    *sine = __sinf(x);
    *cosine = __cosf(x);
}

inline float __fdividef(float x, float y) {
    const bool reciprocal_is_flushed = std::fabs(y) > 0x1p126f && std::fabs(y) <= 0x1.fffffep127f;
    return reciprocal_is_flushed ? x * std::copysign(0.0f, y) : x / y;
}

inline float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }

// NaN becomes 0.
inline float __saturatef(float x) { return min(max(x, 0.0f), 1.0f); }

// What --use_fast_math replaces. Division and sqrtf keep their precision, and denormals are kept.
#ifdef KBEMU_FAST_MATH
#define cosf __cosf
#define exp10f __exp10f
#define expf __expf
#define log10f __log10f
#define log2f __log2f
#define logf __logf
#define powf __powf
#define sincosf __sincosf
#define sinf __sinf
#define tanf __tanf
#define tanhf __tanhf
#define fdividef __fdividef
namespace std {
using ::__cosf, ::__expf, ::__log10f, ::__logf, ::__powf, ::__sinf, ::__tanf, ::__tanhf;
}
#endif
