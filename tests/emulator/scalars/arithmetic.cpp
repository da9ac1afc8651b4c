// Arithmetic and conversions with a rounding in the name, for test_rounding.py.
#include "arrays.h"
#include "kbemu/conversions.h"
#include "kbemu/directed.h"

#define EACH_ROUNDING(macro, ...) \
    macro(rn, __VA_ARGS__)        \
    macro(rz, __VA_ARGS__)        \
    macro(ru, __VA_ARGS__)        \
    macro(rd, __VA_ARGS__)

#define ONE_ROUNDED(rounding, name, Result, A) ONE(name##_##rounding, Result, A, __##name##_##rounding(a))
#define TWO_ROUNDED(rounding, name, Real) TWO(name##_##rounding, Real, Real, Real, __##name##_##rounding(a, b))
#define THREE_ROUNDED(rounding, name, Real) \
    THREE(name##_##rounding, Real, Real, Real, Real, __##name##_##rounding(a, b, c))

EACH_ROUNDING(TWO_ROUNDED, fadd, float)
EACH_ROUNDING(TWO_ROUNDED, fsub, float)
EACH_ROUNDING(TWO_ROUNDED, fmul, float)
EACH_ROUNDING(TWO_ROUNDED, fdiv, float)
EACH_ROUNDING(THREE_ROUNDED, fmaf, float)
EACH_ROUNDING(ONE_ROUNDED, frcp, float, float)
EACH_ROUNDING(ONE_ROUNDED, fsqrt, float, float)
EACH_ROUNDING(TWO_ROUNDED, dadd, double)
EACH_ROUNDING(TWO_ROUNDED, dsub, double)
EACH_ROUNDING(TWO_ROUNDED, dmul, double)
EACH_ROUNDING(TWO_ROUNDED, ddiv, double)
EACH_ROUNDING(THREE_ROUNDED, fma, double)
EACH_ROUNDING(ONE_ROUNDED, dsqrt, double, double)
ONE(frsqrt_rn, float, float, __frsqrt_rn(a))

EACH_ROUNDING(ONE_ROUNDED, double2float, float, double)
EACH_ROUNDING(ONE_ROUNDED, int2float, float, int)
EACH_ROUNDING(ONE_ROUNDED, ll2float, float, long long)
EACH_ROUNDING(ONE_ROUNDED, ll2double, double, long long)
EACH_ROUNDING(ONE_ROUNDED, ull2float, float, unsigned long long)
EACH_ROUNDING(ONE_ROUNDED, float2int, int, float)
EACH_ROUNDING(ONE_ROUNDED, float2uint, unsigned, float)
EACH_ROUNDING(ONE_ROUNDED, float2ll, long long, float)
EACH_ROUNDING(ONE_ROUNDED, float2ull, unsigned long long, float)
EACH_ROUNDING(ONE_ROUNDED, double2int, int, double)
EACH_ROUNDING(ONE_ROUNDED, double2uint, unsigned, double)
EACH_ROUNDING(ONE_ROUNDED, double2ll, long long, double)

// A fused multiply-add would give another result.
THREE(product_and_sum, float, float, float, float, __fmul_rn(a, b) + c)
THREE(sum_of_product, float, float, float, float, __fadd_rn(a * b, c))
THREE(contracted, float, float, float, float, a * b + c)

ONE(high_word, int, double, __double2hiint(a))
ONE(low_word, int, double, __double2loint(a))
TWO(joined, double, int, int, __hiloint2double(a, b))
ONE(float_bits, int, float, __float_as_int(a))
ONE(float_of_bits, float, int, __int_as_float(a))
