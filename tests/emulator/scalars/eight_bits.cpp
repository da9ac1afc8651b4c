// The conversions of cuda_fp8.h for test_fp8.py.
#include "arrays.h"
#include "kbemu/fp8.h"

#define CONVERSIONS(kind, KIND)                                                                            \
    ONE(kind##_saturated, unsigned char, float, __nv_cvt_float_to_fp8(a, __NV_SATFINITE, KIND))            \
    ONE(kind##_unsaturated, unsigned char, float, __nv_cvt_float_to_fp8(a, __NV_NOSAT, KIND))              \
    ONE(kind##_of_double, unsigned char, double, __nv_cvt_double_to_fp8(a, __NV_SATFINITE, KIND))          \
    ONE(kind##_to_half, __half, unsigned char, __half(__nv_cvt_fp8_to_halfraw(a, KIND)))

CONVERSIONS(e4m3, __NV_E4M3)
CONVERSIONS(e5m2, __NV_E5M2)

ONE(bits_of_four_numbers, unsigned, float4, __nv_fp8x4_e4m3(a).__x)
ONE(of_integer, float, int, float(__nv_fp8_e5m2(a)))
ONE(of_half_pair, unsigned short, __half2, __nv_fp8x2_e4m3(a).__x)
