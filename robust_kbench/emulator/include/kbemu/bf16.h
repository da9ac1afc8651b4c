// bfloat16: __nv_bfloat16, __nv_bfloat162 and the functions of cuda_bf16.h. The parts that half precision shares are in
// sixteen_bit/.
#pragma once
#include "kbemu/fp16.h"

#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define KBEMU_CONVERTIBLE 0
#else
#define KBEMU_CONVERTIBLE 1
#endif

#define KBEMU_SCALAR __nv_bfloat16
#define KBEMU_PAIR __nv_bfloat162
#define KBEMU_RAW_SCALAR __nv_bfloat16_raw
#define KBEMU_RAW_PAIR __nv_bfloat162_raw
#define KBEMU_OTHER __half
#define KBEMU_FORMAT kbemu::Bfloat16
#define KBEMU_NAME(before, after) before##bfloat16##after
#define KBEMU_FROM_NAME(word, suffix) __##word##2bfloat16##suffix
#define KBEMU_TO_NAME(word, suffix) __bfloat162##word##suffix

#include "kbemu/sixteen_bit/classes.inc"
#include "kbemu/sixteen_bit/conversions.inc"
#include "kbemu/sixteen_bit/arithmetic.inc"
#include "kbemu/sixteen_bit/comparison.inc"
#include "kbemu/sixteen_bit/pairs.inc"

#ifndef __CUDA_NO_BFLOAT16_OPERATORS__
#define KBEMU_OPERATORS_OF_SCALAR
#endif
#ifndef __CUDA_NO_BFLOAT162_OPERATORS__
#define KBEMU_OPERATORS_OF_PAIR
#endif
#include "kbemu/sixteen_bit/operators.inc"

#include "kbemu/sixteen_bit/undefine.inc"

// Between the two formats.
#ifndef __CUDA_NO_HALF_CONVERSIONS__
inline __half::__half(__nv_bfloat16 value) : __x(kbemu::encoded<__half>(kbemu::real(value)).__x) {}
#endif
#ifndef __CUDA_NO_BFLOAT16_CONVERSIONS__
inline __nv_bfloat16::__nv_bfloat16(__half value) : __x(kbemu::encoded<__nv_bfloat16>(kbemu::real(value)).__x) {}
#endif

inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {kbemu::real(a.x), kbemu::real(a.y)}; }

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F80u))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7FFFu))
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0001u))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F7Fu))
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x8000u))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000u))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3F80u))
