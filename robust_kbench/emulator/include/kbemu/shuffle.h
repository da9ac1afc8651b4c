// Warp shuffles. Which lane is read follows PTX's shfl.sync: only the five low bits of an operand count, and a lane
// outside the segment of `width` lanes leaves the caller its own value.
#pragma once
#include "kbemu/runtime.h"

namespace kbemu {

enum class ShuffleMode { kIndex, kUp, kDown, kXor };

inline int shuffle_source(ShuffleMode mode, unsigned operand, int width) {
    const unsigned segment_bits = (kWarpSize - width) & 31;
    const unsigned lane = self->lane;
    const unsigned first = lane & segment_bits;
    const unsigned last = first | (31 & ~segment_bits);
    const unsigned offset = operand & 31;
    switch (mode) {
        case ShuffleMode::kIndex: return first | (offset & ~segment_bits);
        case ShuffleMode::kUp: return lane >= first + offset ? lane - offset : lane;
        case ShuffleMode::kDown: return lane + offset <= last ? lane + offset : lane;
        default: return (lane ^ offset) <= last ? lane ^ offset : lane;
    }
}

// What a lane that takes no part would have sent is undefined: all bits set is a NaN for every floating type.
template <class T>
inline void poison(T& value) {
    __builtin_memset(static_cast<void*>(&value), 0xff, sizeof value);
}

template <class T>
inline T shuffle_from(unsigned mask, T value, int source, const char* intrinsic, const Site& site) {
    static_assert(__is_trivially_copyable(T), "only trivially copyable types can be shuffled");
    const unsigned participants = kbemu_warp_shuffle(mask, &value, sizeof value, source, intrinsic, &site);
    if (participants >> source & 1) return value;
    kbemu_finding("inactive_lane", "reads the value of a lane that takes no part in the shuffle", &site);
    poison(value);
    return value;
}

template <class T>
inline T shuffle(
    ShuffleMode mode, unsigned mask, T value, unsigned operand, int width, const char* intrinsic, const Site& site) {
    return shuffle_from(mask, value, shuffle_source(mode, operand, width), intrinsic, site);
}

}  // namespace kbemu

// Overloads and no template, so that narrow types are promoted and structures are refused as by nvcc.
#define KBEMU_SHUFFLES(T)                                                                                           \
    inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, KBEMU_HERE) {                          \
        return kbemu::shuffle(kbemu::ShuffleMode::kIndex, mask, value, source, width, "__shfl_sync", site);         \
    }                                                                                                               \
    inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, KBEMU_HERE) {                   \
        return kbemu::shuffle(kbemu::ShuffleMode::kUp, mask, value, delta, width, "__shfl_up_sync", site);          \
    }                                                                                                               \
    inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, KBEMU_HERE) {                 \
        return kbemu::shuffle(kbemu::ShuffleMode::kDown, mask, value, delta, width, "__shfl_down_sync", site);      \
    }                                                                                                               \
    inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, KBEMU_HERE) {                   \
        return kbemu::shuffle(kbemu::ShuffleMode::kXor, mask, value, lane_mask, width, "__shfl_xor_sync", site);    \
    }

KBEMU_SHUFFLES(int)
KBEMU_SHUFFLES(unsigned)
KBEMU_SHUFFLES(long)
KBEMU_SHUFFLES(unsigned long)
KBEMU_SHUFFLES(long long)
KBEMU_SHUFFLES(unsigned long long)
KBEMU_SHUFFLES(float)
KBEMU_SHUFFLES(double)
