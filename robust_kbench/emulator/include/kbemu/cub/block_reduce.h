// cub::BlockReduce. Every algorithm is emulated by the same one: warps reduce, thread 0 combines what they leave.
#pragma once
#include "kbemu/cub/operators.h"
#include "kbemu/cub/storage.h"
#include "kbemu/lane_tree.h"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};

template <class T, int BlockDimX, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BlockDimY = 1,
          int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockReduce {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;
    static constexpr int kWarps = (kThreads + 31) / 32;

public:
    struct TempStorage {
        kbemu::SharedItems<T, kWarps> of_warps;
    };
    explicit BlockReduce(KBEMU_HERE) : storage_(kbemu::private_storage<BlockReduce>(site)) {}
    explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

    // The result is defined in thread 0 only.
    template <class Combine>
    T Reduce(T input, Combine combine, int valid_threads, KBEMU_HERE) {
        kbemu::check_block_size(kThreads, site);
        const int first_of_warp = kbemu::self->linear - kbemu::self->lane;
        kbemu::WarpValues<T> values(kbemu::lanes_of_warp(), input, "cub::BlockReduce", site);
        if (kbemu::self->lane == 0 && first_of_warp < valid_threads) {
            kbemu::keep_first(values, 0, valid_threads - first_of_warp);
            storage_.of_warps.put(kbemu::self->warp, kbemu::tree_reduce(values, combine), site);
        }
        __syncthreads(site);
        if (kbemu::self->linear != 0) return kbemu::result_for(false, input);
        return combine_warps((valid_threads + 31) / 32, combine, site);
    }
    template <class Combine>
    T Reduce(T input, Combine combine, KBEMU_HERE) {
        return Reduce(input, combine, kThreads, site);
    }
    template <int Items, class Combine>
    T Reduce(T (&inputs)[Items], Combine combine, KBEMU_HERE) {
        T partial = inputs[0];
        for (int i = 1; i < Items; ++i) partial = combine(partial, inputs[i]);
        return Reduce(partial, combine, kThreads, site);
    }
    T Sum(T input, KBEMU_HERE) { return Reduce(input, cub::Sum(), kThreads, site); }
    T Sum(T input, int valid_threads, KBEMU_HERE) { return Reduce(input, cub::Sum(), valid_threads, site); }
    template <int Items>
    T Sum(T (&inputs)[Items], KBEMU_HERE) {
        return Reduce(inputs, cub::Sum(), site);
    }

private:
    template <class Combine>
    T combine_warps(int warps, Combine combine, const kbemu::Site& site) {
        T result = storage_.of_warps.get(0, site);
        for (int warp = 1; warp < warps; ++warp) result = combine(result, storage_.of_warps.get(warp, site));
        return result;
    }

    TempStorage& storage_;
};

}  // namespace cub
