// CUDA's vector types: char2, float4, ... They are aggregates, as in CUDA, with the sizes and alignments of the device.
#pragma once
#include <cstddef>

#include "kbemu/dimensions.h"

namespace kbemu {

// Vectors of two and four components are aligned to their size, but never to more than a 128-bit load needs.
constexpr std::size_t vector_alignment(std::size_t bytes) {
    return bytes < 16 ? bytes : 16;
}

}  // namespace kbemu

#define KBEMU_VECTORS(Type, name)                                               \
    struct name##1 {                                                            \
        Type x;                                                                 \
    };                                                                          \
    struct alignas(kbemu::vector_alignment(2 * sizeof(Type))) name##2 {         \
        Type x, y;                                                              \
    };                                                                          \
    struct alignas(kbemu::vector_alignment(4 * sizeof(Type))) name##4 {         \
        Type x, y, z, w;                                                        \
    };                                                                          \
    constexpr name##1 make_##name##1(Type x) {                                  \
        return {x};                                                             \
    }                                                                           \
    constexpr name##2 make_##name##2(Type x, Type y) {                          \
        return {x, y};                                                          \
    }                                                                           \
    constexpr name##3 make_##name##3(Type x, Type y, Type z) {                  \
        return {x, y, z};                                                       \
    }                                                                           \
    constexpr name##4 make_##name##4(Type x, Type y, Type z, Type w) {          \
        return {x, y, z, w};                                                    \
    }

#define KBEMU_VECTORS_AND_TRIPLE(Type, name) \
    struct name##3 {                         \
        Type x, y, z;                        \
    };                                       \
    KBEMU_VECTORS(Type, name)

KBEMU_VECTORS_AND_TRIPLE(signed char, char)
KBEMU_VECTORS_AND_TRIPLE(unsigned char, uchar)
KBEMU_VECTORS_AND_TRIPLE(short, short)
KBEMU_VECTORS_AND_TRIPLE(unsigned short, ushort)
KBEMU_VECTORS_AND_TRIPLE(int, int)
KBEMU_VECTORS(unsigned, uint)  // uint3 is declared with the built-in variables
KBEMU_VECTORS_AND_TRIPLE(long, long)
KBEMU_VECTORS_AND_TRIPLE(unsigned long, ulong)
KBEMU_VECTORS_AND_TRIPLE(long long, longlong)
KBEMU_VECTORS_AND_TRIPLE(unsigned long long, ulonglong)
KBEMU_VECTORS_AND_TRIPLE(float, float)
KBEMU_VECTORS_AND_TRIPLE(double, double)

#undef KBEMU_VECTORS
#undef KBEMU_VECTORS_AND_TRIPLE

// CUDA 13's names that carry the alignment of a vector of four 64-bit components.
#define KBEMU_ALIGNED_VECTOR(Type, name, alignment)                                                      \
    struct alignas(alignment) name##4_##alignment##a {                                                   \
        Type x, y, z, w;                                                                                 \
    };                                                                                                   \
    constexpr name##4_##alignment##a make_##name##4_##alignment##a(Type x, Type y, Type z, Type w) {     \
        return {x, y, z, w};                                                                             \
    }

KBEMU_ALIGNED_VECTOR(long, long, 16)
KBEMU_ALIGNED_VECTOR(long, long, 32)
KBEMU_ALIGNED_VECTOR(unsigned long, ulong, 16)
KBEMU_ALIGNED_VECTOR(unsigned long, ulong, 32)
KBEMU_ALIGNED_VECTOR(long long, longlong, 16)
KBEMU_ALIGNED_VECTOR(long long, longlong, 32)
KBEMU_ALIGNED_VECTOR(unsigned long long, ulonglong, 16)
KBEMU_ALIGNED_VECTOR(unsigned long long, ulonglong, 32)
KBEMU_ALIGNED_VECTOR(double, double, 16)
KBEMU_ALIGNED_VECTOR(double, double, 32)

#undef KBEMU_ALIGNED_VECTOR

static_assert(sizeof(char4) == 4 && alignof(char4) == 4 && alignof(char3) == 1);
static_assert(sizeof(short2) == 4 && alignof(short2) == 4 && alignof(short4) == 8);
static_assert(sizeof(float3) == 12 && alignof(float3) == 4);
static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && alignof(float2) == 8);
static_assert(sizeof(double4) == 32 && alignof(double4) == 16 && alignof(double2) == 16);
static_assert(sizeof(double3) == 24 && alignof(double3) == 8 && alignof(longlong4) == 16);
