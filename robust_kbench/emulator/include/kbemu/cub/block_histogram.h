// cub::BlockHistogram, by atomic counting.
#pragma once
#include "kbemu/atomics.h"
#include "kbemu/cub/storage.h"

namespace cub {

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <class T, int BlockDimX, int ItemsPerThread, int Bins, BlockHistogramAlgorithm Algorithm = BLOCK_HISTO_SORT,
          int BlockDimY = 1, int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockHistogram {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;

public:
    using TempStorage = kbemu::NoStorage;
    explicit BlockHistogram() {}
    explicit BlockHistogram(TempStorage&) {}

    template <class Counter>
    void InitHistogram(Counter (&histogram)[Bins], KBEMU_HERE) {
        kbemu::check_block_size(kThreads, site);
        for (int bin = kbemu::self->linear; bin < Bins; bin += kThreads) {
            kbemu::store(histogram + bin, Counter(0), site);
        }
    }
    template <class Counter>
    void Composite(T (&items)[ItemsPerThread], Counter (&histogram)[Bins], KBEMU_HERE) {
        for (const T& item : items) {
            kbemu::atomic_update(&histogram[item], [](Counter old) -> Counter { return old + 1; }, site);
        }
    }
    template <class Counter>
    void Histogram(T (&items)[ItemsPerThread], Counter (&histogram)[Bins], KBEMU_HERE) {
        InitHistogram(histogram, site);
        __syncthreads(site);
        Composite(items, histogram, site);
    }
};

}  // namespace cub
