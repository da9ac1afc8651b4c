// Half precision: __half, __half2 and the functions of cuda_fp16.h. The parts that bfloat16 shares are in sixteen_bit/.
#pragma once
#include "kbemu/conversions.h"
#include "kbemu/math.h"
#include "kbemu/sixteen_bit/formats.h"
#include "kbemu/vector_types.h"

struct __nv_bfloat16;

#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define KBEMU_CONVERTIBLE 0
#else
#define KBEMU_CONVERTIBLE 1
#endif

#define KBEMU_SCALAR __half
#define KBEMU_PAIR __half2
#define KBEMU_RAW_SCALAR __half_raw
#define KBEMU_RAW_PAIR __half2_raw
#define KBEMU_OTHER __nv_bfloat16
#define KBEMU_FORMAT kbemu::Binary16
#define KBEMU_NAME(before, after) before##half##after
#define KBEMU_FROM_NAME(word, suffix) __##word##2half##suffix
#define KBEMU_TO_NAME(word, suffix) __half2##word##suffix

#include "kbemu/sixteen_bit/classes.inc"
#include "kbemu/sixteen_bit/conversions.inc"
#include "kbemu/sixteen_bit/arithmetic.inc"
#include "kbemu/sixteen_bit/comparison.inc"
#include "kbemu/sixteen_bit/pairs.inc"

#ifndef __CUDA_NO_HALF_OPERATORS__
#define KBEMU_OPERATORS_OF_SCALAR
#endif
#ifndef __CUDA_NO_HALF2_OPERATORS__
#define KBEMU_OPERATORS_OF_PAIR
#endif
#include "kbemu/sixteen_bit/operators.inc"

#include "kbemu/sixteen_bit/undefine.inc"

inline __half2 __half2half2(__half a) { return {a, a}; }
inline float2 __half22float2(__half2 a) { return {kbemu::real(a.x), kbemu::real(a.y)}; }

using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;
using nv_half = __half;
using nv_half2 = __half2;
#ifndef CUDA_NO_HALF
using half = __half;
using half2 = __half2;
#endif

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7C00u))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7FFFu))
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(static_cast<unsigned short>(0x0001u))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7BFFu))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000u))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000u))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3C00u))
