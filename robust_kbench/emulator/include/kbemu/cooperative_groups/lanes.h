// Sets of lanes, and the ranks of their members: rank r is the r-th lowest lane of the set.
#pragma once
#include "kbemu/runtime.h"

namespace kbemu {

inline unsigned rank_in(unsigned lanes) {
    return __builtin_popcount(lanes & ((1u << self->lane) - 1));
}

// -1 where the set has no such member.
inline int lane_of_rank(unsigned lanes, unsigned rank) {
    for (; lanes && rank; --rank) lanes &= lanes - 1;
    return lanes ? __builtin_ctz(lanes) : -1;
}

// The same subset, with the bits at the ranks of the members.
inline unsigned lanes_to_ranks(unsigned subset, unsigned lanes) {
    unsigned ranks = 0;
    for (unsigned bit = 1; lanes; lanes &= lanes - 1, bit <<= 1) {
        if (subset & lanes & -lanes) ranks |= bit;
    }
    return ranks;
}

// `count` consecutive lanes (a power of two up to 32) that hold the caller's.
inline unsigned aligned_lanes(unsigned count) {
    const unsigned all = count == kWarpSize ? ~0u : (1u << count) - 1;
    return all << (self->lane & ~(count - 1));
}

inline unsigned threads_in_block() {
    return blockDim.x * blockDim.y * blockDim.z;
}

}  // namespace kbemu
