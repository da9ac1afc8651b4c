// CUDA's mathematical functions beyond those of the C library, and its overloads for float.
//
// The C library's functions are within 1 or 2 ulp, which is within the bounds that CUDA documents for its own. A float
// function here is its double form rounded: at most 1 ulp off.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>

#include "kbemu/minmax.h"
#include "kbemu/special_functions.h"

// Newer C libraries declare some of the functions below themselves.
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#define KBEMU_GLIBC_HAS(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define KBEMU_GLIBC_HAS(major, minor) 0
#endif

// A double function `name` and its float form `namef`, which rounds the same expression.
#define KBEMU_FUNCTION(name, parameter, expression)                                        \
    inline double name(parameter(double)) { return expression; }                           \
    inline float name##f(parameter(float)) { return static_cast<float>(expression); }
#define KBEMU_ONE(Real) Real x
#define KBEMU_TWO(Real) Real x, Real y
#define KBEMU_THREE(Real) Real x, Real y, Real z
#define KBEMU_FOUR(Real) Real x, Real y, Real z, Real w
#define KBEMU_MANY(Real) int size, const Real *values

#if !KBEMU_GLIBC_HAS(2, 42)
KBEMU_FUNCTION(rsqrt, KBEMU_ONE, 1.0 / std::sqrt(static_cast<double>(x)))
#endif
#if !KBEMU_GLIBC_HAS(2, 41)
KBEMU_FUNCTION(sinpi, KBEMU_ONE, kbemu::sine_of_pi(x))
KBEMU_FUNCTION(cospi, KBEMU_ONE, kbemu::cosine_of_pi(x))
#endif

KBEMU_FUNCTION(rcbrt, KBEMU_ONE, 1.0 / std::cbrt(static_cast<double>(x)))
KBEMU_FUNCTION(erfinv, KBEMU_ONE, kbemu::inverse_error(x))
KBEMU_FUNCTION(erfcinv, KBEMU_ONE, kbemu::inverse_complementary_error(x))
KBEMU_FUNCTION(erfcx, KBEMU_ONE, kbemu::scaled_complementary_error(x))
KBEMU_FUNCTION(normcdf, KBEMU_ONE, kbemu::normal_distribution(x))
KBEMU_FUNCTION(normcdfinv, KBEMU_ONE, kbemu::inverse_normal_distribution(x))
KBEMU_FUNCTION(cyl_bessel_i0, KBEMU_ONE, kbemu::modified_bessel(0, x))
KBEMU_FUNCTION(cyl_bessel_i1, KBEMU_ONE, kbemu::modified_bessel(1, x))

KBEMU_FUNCTION(rhypot, KBEMU_TWO, 1.0 / std::hypot(static_cast<double>(x), static_cast<double>(y)))
KBEMU_FUNCTION(norm3d, KBEMU_THREE, kbemu::length({x, y, z}))
KBEMU_FUNCTION(rnorm3d, KBEMU_THREE, 1.0 / kbemu::length({x, y, z}))
KBEMU_FUNCTION(norm4d, KBEMU_FOUR, kbemu::length({x, y, z, w}))
KBEMU_FUNCTION(rnorm4d, KBEMU_FOUR, 1.0 / kbemu::length({x, y, z, w}))
KBEMU_FUNCTION(norm, KBEMU_MANY, kbemu::length(values, values + size))
KBEMU_FUNCTION(rnorm, KBEMU_MANY, 1.0 / kbemu::length(values, values + size))

#undef KBEMU_FUNCTION
#undef KBEMU_ONE
#undef KBEMU_TWO
#undef KBEMU_THREE
#undef KBEMU_FOUR
#undef KBEMU_MANY
#undef KBEMU_GLIBC_HAS

inline void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
inline float fdividef(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }

// Names without a suffix take a float too.
#define KBEMU_FLOAT_OVERLOAD(name) \
    inline float name(float x) { return name##f(x); }

KBEMU_FLOAT_OVERLOAD(rsqrt)
KBEMU_FLOAT_OVERLOAD(rcbrt)
KBEMU_FLOAT_OVERLOAD(exp10)
KBEMU_FLOAT_OVERLOAD(sinpi)
KBEMU_FLOAT_OVERLOAD(cospi)
KBEMU_FLOAT_OVERLOAD(erfinv)
KBEMU_FLOAT_OVERLOAD(erfcinv)
KBEMU_FLOAT_OVERLOAD(erfcx)
KBEMU_FLOAT_OVERLOAD(normcdf)
KBEMU_FLOAT_OVERLOAD(normcdfinv)
KBEMU_FLOAT_OVERLOAD(cyl_bessel_i0)
KBEMU_FLOAT_OVERLOAD(cyl_bessel_i1)
KBEMU_FLOAT_OVERLOAD(j0)
KBEMU_FLOAT_OVERLOAD(j1)
KBEMU_FLOAT_OVERLOAD(y0)
KBEMU_FLOAT_OVERLOAD(y1)

#undef KBEMU_FLOAT_OVERLOAD

inline float jn(int order, float x) { return jnf(order, x); }
inline float yn(int order, float x) { return ynf(order, x); }
inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

// The C++ library of older compilers lacks these in std, where CUDA code likes to look for them.
namespace std {
using ::acosf, ::asinf, ::atan2f, ::atanf, ::ceilf, ::cosf, ::coshf, ::expf, ::fabsf, ::floorf, ::fmodf, ::log10f;
using ::logf, ::powf, ::sinf, ::sinhf, ::sqrtf, ::tanf, ::tanhf;
}  // namespace std
