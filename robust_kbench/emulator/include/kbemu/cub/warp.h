// cub::WarpReduce, cub::WarpScan and the free shuffle functions.
#pragma once
#include "kbemu/cub/operators.h"
#include "kbemu/cub/storage.h"
#include "kbemu/lane_tree.h"

namespace kbemu {

// The lanes of a logical warp and the caller's rank among them.
template <int Size>
struct LogicalWarp {
    static unsigned rank() { return self->lane % Size; }
    static unsigned first() { return self->lane - rank(); }
    static unsigned mask() { return (Size >= 32 ? kFullMask : (1u << (Size % 32)) - 1) << first(); }
};

}  // namespace kbemu

namespace cub {

template <class T, int LogicalWarpThreads = 32>
class WarpReduce {
    static_assert(LogicalWarpThreads >= 1 && LogicalWarpThreads <= 32);
    using Warp = kbemu::LogicalWarp<LogicalWarpThreads>;

public:
    using TempStorage = kbemu::NoStorage;
    explicit WarpReduce(TempStorage&) {}

    template <class Combine>
    T Reduce(T input, Combine combine, int valid_items, KBEMU_HERE) {
        kbemu::WarpValues<T> values(Warp::mask(), input, "cub::WarpReduce", site);
        kbemu::keep_first(values, Warp::first(), valid_items);
        return kbemu::result_for(Warp::rank() == 0, kbemu::tree_reduce(values, combine));
    }
    template <class Combine>
    T Reduce(T input, Combine combine, KBEMU_HERE) {
        return Reduce(input, combine, LogicalWarpThreads, site);
    }
    T Sum(T input, KBEMU_HERE) { return Reduce(input, cub::Sum(), site); }
    T Sum(T input, int valid_items, KBEMU_HERE) { return Reduce(input, cub::Sum(), valid_items, site); }
    T Max(T input, KBEMU_HERE) { return Reduce(input, cub::Max(), site); }
    T Max(T input, int valid_items, KBEMU_HERE) { return Reduce(input, cub::Max(), valid_items, site); }
    T Min(T input, KBEMU_HERE) { return Reduce(input, cub::Min(), site); }
    T Min(T input, int valid_items, KBEMU_HERE) { return Reduce(input, cub::Min(), valid_items, site); }
};

template <class T, int LogicalWarpThreads = 32>
class WarpScan {
    using Warp = kbemu::LogicalWarp<LogicalWarpThreads>;
    using Values = kbemu::WarpValues<T>;

public:
    using TempStorage = kbemu::NoStorage;
    explicit WarpScan(TempStorage&) {}

    template <class Combine>
    void InclusiveScan(T input, T& output, Combine combine, KBEMU_HERE) {
        T aggregate;
        InclusiveScan(input, output, combine, aggregate, site);
    }
    template <class Combine>
    void InclusiveScan(T input, T& output, Combine combine, T& aggregate, KBEMU_HERE) {
        Values values(Warp::mask(), input, "cub::WarpScan", site);
        Values copy = values;
        output = kbemu::scan_lanes(values, kbemu::self->lane, true, input, combine);
        aggregate = kbemu::scan_lanes(copy, Warp::first() + LogicalWarpThreads - 1, true, input, combine);
    }
    // Without an initial value the first lane's result is undefined.
    template <class Combine>
    void ExclusiveScan(T input, T& output, Combine combine, KBEMU_HERE) {
        Values values(Warp::mask(), input, "cub::WarpScan", site);
        const T result = kbemu::scan_lanes(values, kbemu::self->lane, false, input, combine);
        output = kbemu::result_for(Warp::rank() > 0, result);
    }
    template <class Combine>
    void ExclusiveScan(T input, T& output, T initial, Combine combine, KBEMU_HERE) {
        T aggregate;
        ExclusiveScan(input, output, initial, combine, aggregate, site);
    }
    template <class Combine>
    void ExclusiveScan(T input, T& output, T initial, Combine combine, T& aggregate, KBEMU_HERE) {
        T inclusive;
        InclusiveScan(input, inclusive, combine, aggregate, site);
        ExclusiveScan(input, output, combine, site);
        output = Warp::rank() ? combine(initial, output) : initial;
    }
    void InclusiveSum(T input, T& output, KBEMU_HERE) { InclusiveScan(input, output, Sum(), site); }
    void InclusiveSum(T input, T& output, T& aggregate, KBEMU_HERE) {
        InclusiveScan(input, output, Sum(), aggregate, site);
    }
    void ExclusiveSum(T input, T& output, KBEMU_HERE) { ExclusiveScan(input, output, T(0), Sum(), site); }
    void ExclusiveSum(T input, T& output, T& aggregate, KBEMU_HERE) {
        ExclusiveScan(input, output, T(0), Sum(), aggregate, site);
    }
    T Broadcast(T input, unsigned source_lane, KBEMU_HERE) {
        return kbemu::shuffle_from(Warp::mask(), input, Warp::first() + source_lane, "cub::WarpScan::Broadcast", site);
    }
};

template <int LogicalWarpThreads, class T>
inline T ShuffleIndex(T input, int source_lane, unsigned member_mask, KBEMU_HERE) {
    return kbemu::shuffle(
        kbemu::ShuffleMode::kIndex, member_mask, input, source_lane, LogicalWarpThreads, "cub::ShuffleIndex", site);
}

template <int LogicalWarpThreads, class T>
inline T ShuffleUp(T input, int source_offset, int first_thread, unsigned member_mask, KBEMU_HERE) {
    const int lane = kbemu::self->lane, start = kbemu::LogicalWarp<LogicalWarpThreads>::first() + first_thread;
    const int source = lane - source_offset >= start ? lane - source_offset : lane;
    return kbemu::shuffle_from(member_mask, input, source, "cub::ShuffleUp", site);
}

template <int LogicalWarpThreads, class T>
inline T ShuffleDown(T input, int source_offset, int last_thread, unsigned member_mask, KBEMU_HERE) {
    const int lane = kbemu::self->lane, end = kbemu::LogicalWarp<LogicalWarpThreads>::first() + last_thread;
    const int source = lane + source_offset <= end ? lane + source_offset : lane;
    return kbemu::shuffle_from(member_mask, input, source, "cub::ShuffleDown", site);
}

}  // namespace cub
