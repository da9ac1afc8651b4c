// Mathematical functions for test_math.py, and expressions that must have the type that they have in CUDA.
#include <type_traits>

#include "arrays.h"
#include "kbemu/fast_math.h"

#define BOTH(name)                              \
    ONE(float_##name, float, float, name##f(a))   \
    ONE(double_##name, double, double, name(a))

BOTH(rsqrt)
BOTH(rcbrt)
BOTH(sinpi)
BOTH(cospi)
BOTH(erfinv)
BOTH(erfcinv)
BOTH(erfcx)
BOTH(normcdf)
BOTH(normcdfinv)
BOTH(cyl_bessel_i0)
BOTH(cyl_bessel_i1)

THREE(double_norm3d, double, double, double, double, norm3d(a, b, c))
THREE(double_rnorm3d, double, double, double, double, rnorm3d(a, b, c))
TWO(double_rhypot, double, double, double, rhypot(a, b))

TWO(min_float, float, float, float, min(a, b))
TWO(max_float, float, float, float, max(a, b))
TWO(min_int_unsigned, unsigned, int, unsigned, min(a, b))
TWO(max_long, long long, long long, long long, max(a, b))

ONE(fast_exp, float, float, __expf(a))
ONE(fast_exp10, float, float, __exp10f(a))
ONE(fast_log, float, float, __logf(a))
ONE(fast_log2, float, float, __log2f(a))
ONE(fast_sin, float, float, __sinf(a))
ONE(fast_cos, float, float, __cosf(a))
ONE(fast_tan, float, float, __tanf(a))
ONE(fast_tanh, float, float, __tanhf(a))
ONE(saturate, float, float, __saturatef(a))
TWO(fast_pow, float, float, float, __powf(a, b))
TWO(fast_divide, float, float, float, __fdividef(a, b))

#define HAS_TYPE(expression, Type) static_assert(std::is_same_v<decltype(expression), Type>)

HAS_TYPE(max(1, 2u), unsigned);
HAS_TYPE(max(short(1), short(2)), int);
HAS_TYPE(max(1L, 2UL), unsigned long);
HAS_TYPE(max(1LL, 2LL), long long);
HAS_TYPE(min(1.0f, 2.0f), float);
HAS_TYPE(min(1.0f, 2.0), double);
HAS_TYPE(abs(1.0f), float);
HAS_TYPE(abs(-1LL), long long);
HAS_TYPE(floor(1.5f), float);
HAS_TYPE(rsqrt(1.0f), float);
HAS_TYPE(exp10(1.0f), float);
HAS_TYPE(erfinv(0.5f), float);
HAS_TYPE(pow(1.0f, 2.0f), float);
HAS_TYPE(pow(1.0f, 2), double);
HAS_TYPE(std::fmax(1.0f, 2.0f), float);
