// Loads and stores with a cache operator. An emulated device has no caches, so only __ldcv differs: it fetches again
// each time, as a volatile load does, so that a thread may poll with it.
#pragma once
#include <type_traits>

#include "kbemu/memory_access.h"
#include "kbemu/vector_types.h"

namespace kbemu {

template <class T, class... List>
constexpr bool kOneOf = (std::is_same_v<T, List> || ...);

// The types for which CUDA declares these functions. cuda_fp16.h and cuda_bf16.h add theirs.
template <class T>
constexpr bool kHasCacheHints =
    kOneOf<T, char, signed char, short, int, long, long long, float, double> ||
    kOneOf<T, unsigned char, unsigned short, unsigned, unsigned long, unsigned long long> ||
    kOneOf<T, char2, char4, short2, short4, int2, int4, longlong2, float2, float4, double2> ||
    kOneOf<T, uchar2, uchar4, ushort2, ushort4, uint2, uint4, ulonglong2>;

template <class T>
using CacheHinted = std::enable_if_t<kHasCacheHints<T>, T>;

}  // namespace kbemu

#define KBEMU_CACHED_LOAD(NAME)                                              \
    template <class T>                                                       \
    inline kbemu::CacheHinted<T> NAME(const T* address, KBEMU_HERE) {        \
        return kbemu::load(address, site);                                   \
    }

#define KBEMU_CACHED_STORE(NAME)                                                                 \
    template <class T>                                                                           \
    inline void NAME(T* address, std::type_identity_t<kbemu::CacheHinted<T>> value, KBEMU_HERE) { \
        kbemu::store(address, value, site);                                                      \
    }

KBEMU_CACHED_LOAD(__ldg)
KBEMU_CACHED_LOAD(__ldca)
KBEMU_CACHED_LOAD(__ldcg)
KBEMU_CACHED_LOAD(__ldcs)
KBEMU_CACHED_LOAD(__ldlu)

template <class T>
inline kbemu::CacheHinted<T> __ldcv(const T* address, KBEMU_HERE) {
    kbemu::kbemu_atomic(address, sizeof(T), false, &site);
    return kbemu::unchecked_load(address);
}

KBEMU_CACHED_STORE(__stwb)
KBEMU_CACHED_STORE(__stcg)
KBEMU_CACHED_STORE(__stcs)
KBEMU_CACHED_STORE(__stwt)
