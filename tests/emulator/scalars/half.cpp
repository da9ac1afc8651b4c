// The functions of cuda_fp16.h and cuda_bf16.h that test_half.py calls, once for each format.
#include "arrays.h"
#include "kbemu/bf16.h"

#define ROUNDINGS(macro, ...) \
    macro(rn, __VA_ARGS__)    \
    macro(rz, __VA_ARGS__)    \
    macro(ru, __VA_ARGS__)    \
    macro(rd, __VA_ARGS__)
#define FROM(rounding, type, T, Word, Type) \
    ONE(type##_from_##Word##_##rounding, T, Type, __##Word##2##type##_##rounding(a))
#define TO(rounding, type, T, Word, Type) \
    ONE(type##_to_##Word##_##rounding, Type, T, __##type##2##Word##_##rounding(a))

#define FUNCTIONS(type, T, T2)                                              \
    ROUNDINGS(FROM, type, T, float, float)                                  \
    ROUNDINGS(FROM, type, T, int, int)                                      \
    ROUNDINGS(FROM, type, T, ll, long long)                                 \
    ROUNDINGS(TO, type, T, int, int)                                        \
    ROUNDINGS(TO, type, T, ushort, unsigned short)                          \
    ROUNDINGS(TO, type, T, ull, unsigned long long)                         \
    ONE(type##_to_float, float, T, __##type##2float(a))                     \
    ONE(type##_from_double, T, double, __double2##type(a))                  \
    TWO(type##_add, T, T, T, a + b)                                         \
    TWO(type##_sub, T, T, T, a - b)                                         \
    TWO(type##_mul, T, T, T, a * b)                                         \
    TWO(type##_div, T, T, T, a / b)                                         \
    THREE(type##_fma, T, T, T, T, __hfma(a, b, c))                          \
    THREE(type##_fma_sat, T, T, T, T, __hfma_sat(a, b, c))                  \
    THREE(type##_fma_relu, T, T, T, T, __hfma_relu(a, b, c))                \
    TWO(type##_max, T, T, T, __hmax(a, b))                                  \
    TWO(type##_min, T, T, T, __hmin(a, b))                                  \
    TWO(type##_max_nan, T, T, T, __hmax_nan(a, b))                          \
    TWO(type##_min_nan, T, T, T, __hmin_nan(a, b))                          \
    TWO(type##_eq, bool, T, T, __heq(a, b))                                 \
    TWO(type##_neu, bool, T, T, a != b)                                     \
    TWO(type##_ne, bool, T, T, __hne(a, b))                                 \
    TWO(type##_lt, bool, T, T, a < b)                                       \
    TWO(type##_gtu, bool, T, T, __hgtu(a, b))                               \
    TWO(type##_pair_mask, unsigned, T2, T2, __hlt2_mask(a, b))              \
    TWO(type##_pair_ones, T2, T2, T2, __hlt2(a, b))                         \
    TWO(type##_pair_all, bool, T2, T2, __hblt2(a, b))                       \
    THREE(type##_pair_fma, T2, T2, T2, T2, __hfma2(a, b, c))                \
    THREE(type##_complex, T2, T2, T2, T2, __hcmadd(a, b, c))                \
    ONE(type##_swapped, T2, T2, __lowhigh2highlow(a))                       \
    ONE(type##_exp, T, T, hexp(a))                                          \
    ONE(type##_log, T, T, hlog(a))                                          \
    ONE(type##_rsqrt, T, T, hrsqrt(a))                                      \
    ONE(type##_rcp, T, T, hrcp(a))                                          \
    ONE(type##_tanh, T, T, htanh(a))                                        \
    ONE(type##_sin, T, T, hsin(a))                                          \
    ONE(type##_rint, T, T, hrint(a))

FUNCTIONS(half, __half, __half2)
FUNCTIONS(bfloat16, __nv_bfloat16, __nv_bfloat162)
