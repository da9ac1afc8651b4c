// Votes, matches and integer reductions across a warp.
#pragma once
#include "kbemu/runtime.h"

inline unsigned __activemask(KBEMU_HERE) {
    return kbemu::kbemu_active_mask(&site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, KBEMU_HERE) {
    return kbemu::kbemu_warp_vote(mask, predicate, "__ballot_sync", &site);
}

inline int __any_sync(unsigned mask, int predicate, KBEMU_HERE) {
    return kbemu::kbemu_warp_vote(mask, predicate, "__any_sync", &site) != 0;
}

inline int __all_sync(unsigned mask, int predicate, KBEMU_HERE) {
    return kbemu::kbemu_warp_vote(mask, !predicate, "__all_sync", &site) == 0;
}

namespace kbemu {

// The values of the lanes that took part in a collective.
template <class T>
struct WarpValues {
    static_assert(__is_trivially_copyable(T), "only trivially copyable types can cross lanes");
    alignas(T) unsigned char bytes[kWarpSize * sizeof(T)];
    unsigned participants;

    WarpValues(unsigned mask, const T& value, const char* intrinsic, const Site& site) {
        participants = kbemu_warp_gather(mask, &value, sizeof(T), bytes, intrinsic, &site);
    }
    bool has(unsigned lane) const { return participants >> lane & 1; }
    T& operator[](unsigned lane) { return reinterpret_cast<T*>(bytes)[lane]; }
    const T& operator[](unsigned lane) const { return reinterpret_cast<const T*>(bytes)[lane]; }
};

// The lanes whose value has the same bits as the caller's.
template <class T>
inline unsigned matching_lanes(const WarpValues<T>& values, const T& value) {
    unsigned same = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (values.has(lane) && !__builtin_memcmp(&values[lane], &value, sizeof(T))) same |= 1u << lane;
    }
    return same;
}

template <class T>
inline unsigned match_any(unsigned mask, T value, const char* intrinsic, const Site& site) {
    return matching_lanes(WarpValues<T>(mask, value, intrinsic, site), value);
}

template <class T>
inline unsigned match_all(unsigned mask, T value, int* predicate, const char* intrinsic, const Site& site) {
    const WarpValues<T> values(mask, value, intrinsic, site);
    *predicate = matching_lanes(values, value) == values.participants;
    return *predicate ? values.participants : 0;
}

template <class T, class Combine>
inline T reduce_lanes(unsigned mask, T value, Combine combine, const char* intrinsic, const Site& site) {
    const WarpValues<T> values(mask, value, intrinsic, site);
    T result = value;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (values.has(lane) && lane != self->lane) result = combine(result, values[lane]);
    }
    return result;
}

}  // namespace kbemu

// Whether all predicates are the same.
inline int __uni_sync(unsigned mask, int predicate, KBEMU_HERE) {
    int uniform;
    kbemu::match_all(mask, predicate != 0, &uniform, "__uni_sync", site);
    return uniform;
}

#define KBEMU_MATCHES(T)                                                                       \
    inline unsigned __match_any_sync(unsigned mask, T value, KBEMU_HERE) {                     \
        return kbemu::match_any(mask, value, "__match_any_sync", site);                        \
    }                                                                                          \
    inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, KBEMU_HERE) {     \
        return kbemu::match_all(mask, value, predicate, "__match_all_sync", site);             \
    }

KBEMU_MATCHES(int)
KBEMU_MATCHES(unsigned)
KBEMU_MATCHES(long)
KBEMU_MATCHES(unsigned long)
KBEMU_MATCHES(long long)
KBEMU_MATCHES(unsigned long long)
KBEMU_MATCHES(float)
KBEMU_MATCHES(double)

#define KBEMU_REDUCTION(T, NAME, RESULT)                                                            \
    inline T NAME(unsigned mask, T value, KBEMU_HERE) {                                             \
        return kbemu::reduce_lanes(mask, value, [](T a, T b) -> T { return RESULT; }, #NAME, site); \
    }

KBEMU_REDUCTION(unsigned, __reduce_add_sync, a + b)
KBEMU_REDUCTION(unsigned, __reduce_min_sync, b < a ? b : a)
KBEMU_REDUCTION(unsigned, __reduce_max_sync, a < b ? b : a)
KBEMU_REDUCTION(unsigned, __reduce_and_sync, a & b)
KBEMU_REDUCTION(unsigned, __reduce_or_sync, a | b)
KBEMU_REDUCTION(unsigned, __reduce_xor_sync, a ^ b)
KBEMU_REDUCTION(int, __reduce_add_sync, static_cast<unsigned>(a) + static_cast<unsigned>(b))
KBEMU_REDUCTION(int, __reduce_min_sync, b < a ? b : a)
KBEMU_REDUCTION(int, __reduce_max_sync, a < b ? b : a)
