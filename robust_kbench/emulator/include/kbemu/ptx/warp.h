// What the lanes of a warp and the threads of a block do together.
#pragma once
#include "kbemu/control.h"
#include "kbemu/ptx/atomics.h"
#include "kbemu/shuffle.h"
#include "kbemu/votes.h"

namespace kbemu::ptx {

// --- shfl.sync: the operand c holds the last lane of a segment (low 5 bits) and which bits of a lane name the segment.

struct Segment {
    u32 lane, first, last;
    u32 within;  // the bits of a lane inside its segment

    explicit Segment(u32 c) : lane(self->lane), within(~(c >> 8) & 31) {
        first = lane & ~within;
        last = first | (c & within);
    }
};

// The lane to read from; the caller keeps its value when that lies outside the segment.
struct shfl_up {
    static constexpr const char* name = "shfl.sync.up";
    static int source(const Segment& segment, u32 b) {
        const int lane = static_cast<int>(segment.lane) - static_cast<int>(b);
        return lane >= static_cast<int>(segment.last) ? lane : -1;
    }
};
struct shfl_down {
    static constexpr const char* name = "shfl.sync.down";
    static int source(const Segment& segment, u32 b) {
        return segment.lane + b <= segment.last ? static_cast<int>(segment.lane + b) : -1;
    }
};
struct shfl_bfly {
    static constexpr const char* name = "shfl.sync.bfly";
    static int source(const Segment& segment, u32 b) {
        return (segment.lane ^ b) <= segment.last ? static_cast<int>(segment.lane ^ b) : -1;
    }
};
struct shfl_idx {
    static constexpr const char* name = "shfl.sync.idx";
    static int source(const Segment& segment, u32 b) {
        const u32 lane = segment.first | (b & segment.within);
        return lane <= segment.last ? static_cast<int>(lane) : -1;
    }
};

template <class ShuffleKind>
inline WithPredicate<b32> shfl(b32 value, u32 b, u32 c, u32 mask, KBEMU_HERE) {
    const Segment segment(c);
    const int source = ShuffleKind::source(segment, b & 31);
    const int from = source < 0 ? static_cast<int>(segment.lane) : source;
    return {shuffle_from(mask, value, from, ShuffleKind::name, site), source >= 0};
}

// --- votes and reductions -------------------------------------------------------------------------------------------

struct vote_any {
    static pred result(pred own, u32 mask, const Site& site) { return __any_sync(mask, own, site); }
};
struct vote_all {
    static pred result(pred own, u32 mask, const Site& site) { return __all_sync(mask, own, site); }
};
struct vote_uni {
    static pred result(pred own, u32 mask, const Site& site) {
        const WarpValues<pred> values(mask, own, "vote.sync.uni", site);
        return matching_lanes(values, own) == values.participants;
    }
};

template <class Vote>
inline pred vote(pred own, u32 mask, KBEMU_HERE) {
    return Vote::result(own, mask, site);
}

inline b32 ballot(pred own, u32 mask, KBEMU_HERE) { return __ballot_sync(mask, own, site); }

template <class T>
inline b32 match_any(T value, u32 mask, KBEMU_HERE) {
    return kbemu::match_any(mask, value, "match.any.sync", site);
}

template <class T>
inline WithPredicate<b32> match_all(T value, u32 mask, KBEMU_HERE) {
    int all = 0;
    const b32 lanes = kbemu::match_all(mask, value, &all, "match.all.sync", site);
    return {lanes, all != 0};
}

template <class Operation, class T>
inline T redux(T value, u32 mask, KBEMU_HERE) {
    return reduce_lanes(mask, value, Operation(), "redux.sync", site);
}

inline b32 activemask(KBEMU_HERE) { return __activemask(site); }

// Elects the lowest lane.
inline WithPredicate<b32> elect(u32 mask, KBEMU_HERE) {
    const unsigned lanes = kbemu_warp_sync(mask, "elect.sync", &site);
    const u32 leader = __builtin_ctz(lanes);
    return {leader, leader == self->lane};
}

// --- barriers -------------------------------------------------------------------------------------------------------

inline void warp_sync(u32 mask, KBEMU_HERE) { kbemu_warp_sync(mask, "bar.warp.sync", &site); }

// All threads at barrier 0: the same as __syncthreads.
inline void barrier_sync(u32 id, KBEMU_HERE) {
    if (id == 0) {
        kbemu_block_sync(kBarrierSync, 0, &site);
    } else {
        kbemu_named_barrier(id, 0, false, &site);
    }
}
inline void barrier_sync(u32 id, u32 threads, KBEMU_HERE) { kbemu_named_barrier(id, threads, false, &site); }
inline void barrier_arrive(u32 id, u32 threads, KBEMU_HERE) { kbemu_named_barrier(id, threads, true, &site); }

inline int barrier_reduce(BarrierOperation operation, u32 id, pred own, const Site& site) {
    if (id != 0) kbemu_unsupported("bar.red with another barrier than 0", &site);
    return kbemu_block_sync(operation, own, &site);
}
inline u32 barrier_count(u32 id, pred own, KBEMU_HERE) { return barrier_reduce(kBarrierCount, id, own, site); }
inline pred barrier_and(u32 id, pred own, KBEMU_HERE) { return barrier_reduce(kBarrierAnd, id, own, site); }
inline pred barrier_or(u32 id, pred own, KBEMU_HERE) { return barrier_reduce(kBarrierOr, id, own, site); }

// --- the thread itself ----------------------------------------------------------------------------------------------

inline void nanosleep(u32) { kbemu_yield(); }
inline void trap(KBEMU_HERE) { kbemu_trap("trap", &site); }
inline void exit_thread() { kbemu_exit_thread(); }

}  // namespace kbemu::ptx
