// bfloat16 in memory and between lanes: atomics, shuffles, loads and stores with a cache operator. Included at
// the end of cuda_bf16.h.
#pragma once
#include "kbemu/atomics.h"
#include "kbemu/bf16.h"
#include "kbemu/warp.h"

template <>
constexpr bool kbemu::kHasCacheHints<__nv_bfloat16> = true;
template <>
constexpr bool kbemu::kHasCacheHints<__nv_bfloat162> = true;

KBEMU_SHUFFLES(__nv_bfloat16)
KBEMU_SHUFFLES(__nv_bfloat162)

KBEMU_ATOMIC_SCOPE(atomicAdd, __nv_bfloat16, __hadd(old, value))
// The two values are atomic each by itself; here both together.
KBEMU_ATOMIC_SCOPE(atomicAdd, __nv_bfloat162, __hadd2(old, value))
