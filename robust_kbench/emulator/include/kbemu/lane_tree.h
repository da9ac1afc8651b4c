// Reductions and scans of the values that lanes hand in. Every lane computes the result for itself after a single
// exchange: on an emulated device a switch between threads costs more than arithmetic.
#pragma once
#include "kbemu/votes.h"

namespace kbemu {

// The values of the participants, lowest lane first.
template <class T>
inline unsigned collect(WarpValues<T>& all, T* (&values)[kWarpSize]) {
    unsigned count = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (all.has(lane)) values[count++] = &all[lane];
    }
    return count;
}

// Leaves the lanes out that are not among the first `count` of a group which starts at lane `first`.
template <class T>
inline void keep_first(WarpValues<T>& all, unsigned first, unsigned count) {
    all.participants &= (count >= kWarpSize ? ~0u : (1u << count) - 1) << first;
}

// Pairs values at distance 16, 8, 4, 2, 1, as shuffles do, so that floating sums round as on a device.
template <class T, class Combine>
inline T tree_reduce(WarpValues<T>& all, Combine&& combine) {
    T* values[kWarpSize];
    const unsigned count = collect(all, values);
    for (unsigned step = kWarpSize / 2; step; step /= 2) {
        for (unsigned rank = 0; rank < step && rank + step < count; ++rank) {
            *values[rank] = combine(*values[rank], *values[rank + step]);
        }
    }
    return *values[0];
}

// The combination of the values of all participants below `lane`, and of it when `inclusive`; `none` without any.
template <class T, class Combine>
inline T scan_lanes(WarpValues<T>& all, unsigned lane, bool inclusive, const T& none, Combine&& combine) {
    T* values[kWarpSize];
    const unsigned count = collect(all, values);
    const unsigned below = __builtin_popcount(all.participants & ((1u << lane) - 1)) + inclusive;
    T result = below && count ? *values[0] : none;
    for (unsigned rank = 1; rank < below; ++rank) result = combine(result, *values[rank]);
    return result;
}

}  // namespace kbemu
