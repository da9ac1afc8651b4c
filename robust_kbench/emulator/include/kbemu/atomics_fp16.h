// Half precision in memory and between lanes: atomics, shuffles, loads and stores with a cache operator. Included at
// the end of cuda_fp16.h.
#pragma once
#include "kbemu/atomics.h"
#include "kbemu/fp16.h"
#include "kbemu/warp.h"

template <>
constexpr bool kbemu::kHasCacheHints<__half> = true;
template <>
constexpr bool kbemu::kHasCacheHints<__half2> = true;

KBEMU_SHUFFLES(__half)
KBEMU_SHUFFLES(__half2)

KBEMU_ATOMIC_SCOPE(atomicAdd, __half, __hadd(old, value))
// The two halves are atomic each by itself; here both together.
KBEMU_ATOMIC_SCOPE(atomicAdd, __half2, __hadd2(old, value))
