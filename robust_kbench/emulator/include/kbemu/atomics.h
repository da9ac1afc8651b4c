// The atomic functions of CUDA C++, with exactly the overloads that nvcc has: what it refuses must not compile here.
#pragma once
#include "kbemu/atomic_update.h"
#include "kbemu/shared_address.h"
#include "kbemu/vector_types.h"

namespace kbemu {

// PTX: atom.add.f32 flushes subnormal inputs and results to zero in global memory, and does not in shared memory.
inline float flush_subnormal(float value) {
    return __builtin_fabsf(value) < __FLT_MIN__ ? __builtin_copysignf(0.0f, value) : value;
}

inline float atomic_add_float(float* address, float value, const Site& site) {
    if (is_shared(address)) return atomic_update(address, [=](float old) { return old + value; }, site);
    value = flush_subnormal(value);
    return atomic_update(address, [=](float old) { return flush_subnormal(flush_subnormal(old) + value); }, site);
}

}  // namespace kbemu

#define KBEMU_ATOMIC_SCOPE(NAME, T, RESULT)                                                      \
    inline T NAME(T* address, T value, KBEMU_HERE) {                                             \
        return kbemu::atomic_update(address, [=](T old) -> T { return RESULT; }, site);          \
    }

#define KBEMU_ATOMIC(NAME, T, RESULT)              \
    KBEMU_ATOMIC_SCOPE(NAME, T, RESULT)            \
    KBEMU_ATOMIC_SCOPE(NAME##_block, T, RESULT)    \
    KBEMU_ATOMIC_SCOPE(NAME##_system, T, RESULT)

KBEMU_ATOMIC(atomicAdd, int, kbemu::wrapping_add(old, value))
KBEMU_ATOMIC(atomicAdd, unsigned, old + value)
KBEMU_ATOMIC(atomicAdd, unsigned long long, old + value)
KBEMU_ATOMIC(atomicAdd, double, old + value)

KBEMU_ATOMIC(atomicSub, int, kbemu::wrapping_subtract(old, value))
KBEMU_ATOMIC(atomicSub, unsigned, old - value)

KBEMU_ATOMIC(atomicExch, int, value)
KBEMU_ATOMIC(atomicExch, unsigned, value)
KBEMU_ATOMIC(atomicExch, unsigned long long, value)
KBEMU_ATOMIC(atomicExch, float, value)

KBEMU_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
KBEMU_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)

#define KBEMU_ATOMIC_INTEGER(T)                              \
    KBEMU_ATOMIC(atomicMin, T, value < old ? value : old)    \
    KBEMU_ATOMIC(atomicMax, T, old < value ? value : old)    \
    KBEMU_ATOMIC(atomicAnd, T, old & value)                  \
    KBEMU_ATOMIC(atomicOr, T, old | value)                   \
    KBEMU_ATOMIC(atomicXor, T, old ^ value)

KBEMU_ATOMIC_INTEGER(int)
KBEMU_ATOMIC_INTEGER(unsigned)
KBEMU_ATOMIC_INTEGER(long long)
KBEMU_ATOMIC_INTEGER(unsigned long long)

#define KBEMU_ATOMIC_SWAP(NAME, T)                                                                        \
    inline T NAME(T* address, T expected, T value, KBEMU_HERE) {                                          \
        return kbemu::atomic_update(address, [=](T old) { return old == expected ? value : old; }, site); \
    }

#define KBEMU_ATOMIC_CAS(T)                \
    KBEMU_ATOMIC_SWAP(atomicCAS, T)        \
    KBEMU_ATOMIC_SWAP(atomicCAS_block, T)  \
    KBEMU_ATOMIC_SWAP(atomicCAS_system, T)

KBEMU_ATOMIC_CAS(int)
KBEMU_ATOMIC_CAS(unsigned)
KBEMU_ATOMIC_CAS(unsigned long long)
KBEMU_ATOMIC_CAS(unsigned short)

#define KBEMU_ATOMIC_ADD_FLOAT(NAME)                                      \
    inline float NAME(float* address, float value, KBEMU_HERE) {          \
        return kbemu::atomic_add_float(address, value, site);             \
    }                                                                     \
    inline float2 NAME(float2* address, float2 value, KBEMU_HERE) {       \
        return {kbemu::atomic_add_float(&address->x, value.x, site),      \
                kbemu::atomic_add_float(&address->y, value.y, site)};     \
    }                                                                     \
    inline float4 NAME(float4* address, float4 value, KBEMU_HERE) {       \
        return {kbemu::atomic_add_float(&address->x, value.x, site),      \
                kbemu::atomic_add_float(&address->y, value.y, site),      \
                kbemu::atomic_add_float(&address->z, value.z, site),      \
                kbemu::atomic_add_float(&address->w, value.w, site)};     \
    }

// The vector forms belong to compute capability 9.0; each component is atomic by itself.
KBEMU_ATOMIC_ADD_FLOAT(atomicAdd)
KBEMU_ATOMIC_ADD_FLOAT(atomicAdd_block)
KBEMU_ATOMIC_ADD_FLOAT(atomicAdd_system)
