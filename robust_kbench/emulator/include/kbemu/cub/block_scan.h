// cub::BlockScan: warps scan, and each thread adds what the warps before its own leave in shared memory.
#pragma once
#include <type_traits>

#include "kbemu/cub/operators.h"
#include "kbemu/cub/storage.h"
#include "kbemu/lane_tree.h"

namespace kbemu {

// What precedes a whole block in a scan: nothing, or a value.
struct NoPrefix {
    static constexpr bool kExists = false;
};

template <class T>
struct InitialValue {
    static constexpr bool kExists = true;
    T value;
    T operator()(const T&) const { return value; }
};

// CUB's functions take an item or an array of items.
template <class Items>
constexpr int kItemCount = std::is_array_v<Items> ? std::extent_v<Items> : 1;

template <class Items>
inline auto& item_of(Items& items, int index) {
    if constexpr (std::is_array_v<Items>) {
        return items[index];
    } else {
        return items;
    }
}

}  // namespace kbemu

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BlockDimX, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int BlockDimY = 1,
          int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockScan {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;
    static constexpr int kWarps = (kThreads + 31) / 32;

public:
    struct TempStorage {
        kbemu::SharedItems<T, kWarps> of_warps;
        kbemu::SharedItems<T, 1> prefix;
    };
    explicit BlockScan(KBEMU_HERE) : storage_(kbemu::private_storage<BlockScan>(site)) {}
    explicit BlockScan(TempStorage& storage) : storage_(storage) {}

    // `last` is the block's aggregate, if it is a T, or a callback that turns the aggregate into the block's prefix.
    template <class Input, class Output>
    void InclusiveSum(const Input& input, Output& output, KBEMU_HERE) {
        scan(true, input, output, Sum(), kbemu::NoPrefix(), site);
    }
    template <class Input, class Output, class Last>
    void InclusiveSum(const Input& input, Output& output, Last& last, KBEMU_HERE) {
        scan_to(last, true, input, output, Sum(), kbemu::NoPrefix(), site);
    }
    template <class Input, class Output>
    void ExclusiveSum(const Input& input, Output& output, KBEMU_HERE) {
        scan(false, input, output, Sum(), kbemu::InitialValue<T>{T(0)}, site);
    }
    template <class Input, class Output, class Last>
    void ExclusiveSum(const Input& input, Output& output, Last& last, KBEMU_HERE) {
        scan_to(last, false, input, output, Sum(), kbemu::InitialValue<T>{T(0)}, site);
    }
    template <class Input, class Output, class Combine>
    void InclusiveScan(const Input& input, Output& output, Combine combine, KBEMU_HERE) {
        scan(true, input, output, combine, kbemu::NoPrefix(), site);
    }
    template <class Input, class Output, class Third, class Fourth>
    void InclusiveScan(const Input& input, Output& output, Third third, Fourth&& fourth, KBEMU_HERE) {
        scan_with_two(true, input, output, third, fourth, site);
    }
    template <class Input, class Output, class Combine>
    void InclusiveScan(const Input& input, Output& output, T initial, Combine combine, T& aggregate, KBEMU_HERE) {
        aggregate = scan(true, input, output, combine, kbemu::InitialValue<T>{initial}, site);
    }
    // Without an initial value the first thread's first result is undefined.
    template <class Input, class Output, class Combine>
    void ExclusiveScan(const Input& input, Output& output, Combine combine, KBEMU_HERE) {
        scan(false, input, output, combine, kbemu::NoPrefix(), site);
    }
    template <class Input, class Output, class Third, class Fourth>
    void ExclusiveScan(const Input& input, Output& output, Third third, Fourth&& fourth, KBEMU_HERE) {
        scan_with_two(false, input, output, third, fourth, site);
    }
    template <class Input, class Output, class Combine>
    void ExclusiveScan(const Input& input, Output& output, T initial, Combine combine, T& aggregate, KBEMU_HERE) {
        aggregate = scan(false, input, output, combine, kbemu::InitialValue<T>{initial}, site);
    }

private:
    // What a thread learns: the combination of all threads before it, unless it is the first, and of all threads.
    struct Scanned {
        bool has_before;
        T before, aggregate;
    };

    template <class Callback>
    struct CallbackPrefix {
        static constexpr bool kExists = true;
        BlockScan& scan;
        Callback& callback;
        const kbemu::Site& site;
        T operator()(const T& aggregate) const { return scan.prefix_of(callback, aggregate, site); }
    };

    // (initial value, operator) or (operator, aggregate or callback).
    template <class Input, class Output, class Third, class Fourth>
    void scan_with_two(bool inclusive, const Input& input, Output& output, Third third, Fourth& fourth,
                       const kbemu::Site& site) {
        if constexpr (std::is_convertible_v<Third, T>) {
            scan(inclusive, input, output, fourth, kbemu::InitialValue<T>{static_cast<T>(third)}, site);
        } else {
            scan_to(fourth, inclusive, input, output, third, kbemu::NoPrefix(), site);
        }
    }

    template <class Last, class Input, class Output, class Combine, class Prefix>
    void scan_to(Last& last, bool inclusive, const Input& input, Output& output, Combine combine, const Prefix& prefix,
                 const kbemu::Site& site) {
        if constexpr (std::is_same_v<Last, T>) {
            last = scan(inclusive, input, output, combine, prefix, site);
        } else {
            scan(inclusive, input, output, combine, CallbackPrefix<Last>{*this, last, site}, site);
        }
    }

    // Returns the block's aggregate, without the prefix.
    template <class Input, class Output, class Combine, class Prefix>
    T scan(bool inclusive, const Input& inputs, Output& outputs, Combine combine, const Prefix& prefix,
           const kbemu::Site& site) {
        T partial = kbemu::item_of(inputs, 0);
        for (int i = 1; i < kbemu::kItemCount<Input>; ++i) partial = combine(partial, kbemu::item_of(inputs, i));
        const Scanned scanned = scan_threads(partial, combine, site);
        bool has_running = scanned.has_before || Prefix::kExists;
        T running = scanned.before;
        if constexpr (Prefix::kExists) {
            const T start = prefix(scanned.aggregate);
            running = scanned.has_before ? static_cast<T>(combine(start, running)) : start;
        }
        for (int i = 0; i < kbemu::kItemCount<Input>; ++i) {
            const T item = kbemu::item_of(inputs, i);
            const T next = has_running ? static_cast<T>(combine(running, item)) : item;
            kbemu::item_of(outputs, i) = inclusive ? next : kbemu::result_for(has_running, running);
            running = next;
            has_running = true;
        }
        return scanned.aggregate;
    }

    template <class Combine>
    Scanned scan_threads(T partial, Combine combine, const kbemu::Site& site) {
        kbemu::check_block_size(kThreads, site);
        kbemu::WarpValues<T> values(kbemu::lanes_of_warp(), partial, "cub::BlockScan", site);
        const T before_in_warp = kbemu::scan_lanes(values, kbemu::self->lane, false, partial, combine);
        if (kbemu::self->lane == 0) {
            storage_.of_warps.put(kbemu::self->warp, kbemu::scan_lanes(values, 31, true, partial, combine), site);
        }
        __syncthreads(site);
        return with_other_warps(before_in_warp, combine, site);
    }

    template <class Combine>
    Scanned with_other_warps(T before_in_warp, Combine combine, const kbemu::Site& site) {
        const int mine = kbemu::self->warp;
        T total = storage_.of_warps.get(0, site), before = before_in_warp;
        for (int warp = 1; warp < kWarps; ++warp) {
            if (warp == mine) before = kbemu::self->lane ? static_cast<T>(combine(total, before_in_warp)) : total;
            total = combine(total, storage_.of_warps.get(warp, site));
        }
        return {kbemu::self->linear > 0, before, total};
    }

    // All lanes of the first warp call; the first lane's answer counts for the block.
    template <class Callback>
    T prefix_of(Callback& callback, const T& aggregate, const kbemu::Site& site) {
        if (kbemu::self->warp == 0) {
            const T prefix = callback(aggregate);
            if (kbemu::self->lane == 0) storage_.prefix.put(0, prefix, site);
        }
        __syncthreads(site);
        return storage_.prefix.get(0, site);
    }

    TempStorage& storage_;
};

}  // namespace cub
