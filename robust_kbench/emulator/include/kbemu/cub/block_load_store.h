// cub::BlockLoad and cub::BlockStore. The transposing algorithms go through shared memory and need a barrier between
// two uses of their storage; the others touch no shared memory.
#pragma once
#include <limits.h>

#include "kbemu/cub/block_exchange.h"
#include "kbemu/cub/items.h"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int BlockDimX, int ItemsPerThread, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT,
          int BlockDimY = 1, int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockLoad {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;
    static constexpr bool kTransposes = Algorithm >= BLOCK_LOAD_TRANSPOSE;
    static constexpr bool kStriped = kTransposes || Algorithm == BLOCK_LOAD_STRIPED;
    using Exchange = BlockExchange<T, BlockDimX, ItemsPerThread, false, BlockDimY, BlockDimZ>;

public:
    using TempStorage = std::conditional_t<kTransposes, typename Exchange::TempStorage, kbemu::NoStorage>;
    explicit BlockLoad(KBEMU_HERE) : storage_(kbemu::private_storage<BlockLoad>(site)) {}
    explicit BlockLoad(TempStorage& storage) : storage_(storage) {}

    template <class Iterator>
    void Load(Iterator source, T (&items)[ItemsPerThread], KBEMU_HERE) {
        Load(source, items, INT_MAX, site);
    }
    // Items beyond the valid ones keep what they hold.
    template <class Iterator>
    void Load(Iterator source, T (&items)[ItemsPerThread], int valid_items, KBEMU_HERE) {
        for (int i = 0; i < ItemsPerThread; ++i) {
            const int index = kStriped ? i * kThreads + kbemu::self->linear : kbemu::self->linear * ItemsPerThread + i;
            if (index < valid_items) items[i] = kbemu::read_item<T>(source, index, site);
        }
        if constexpr (kTransposes) Exchange(storage_).StripedToBlocked(items, site);
    }
    template <class Iterator, class Default>
    void Load(Iterator source, T (&items)[ItemsPerThread], int valid_items, Default otherwise, KBEMU_HERE) {
        for (T& item : items) item = static_cast<T>(otherwise);
        Load(source, items, valid_items, site);
    }

private:
    TempStorage& storage_;
};

template <class T, int BlockDimX, int ItemsPerThread, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT,
          int BlockDimY = 1, int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockStore {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;
    static constexpr bool kTransposes = Algorithm >= BLOCK_STORE_TRANSPOSE;
    static constexpr bool kStriped = kTransposes || Algorithm == BLOCK_STORE_STRIPED;
    using Exchange = BlockExchange<T, BlockDimX, ItemsPerThread, false, BlockDimY, BlockDimZ>;

public:
    using TempStorage = std::conditional_t<kTransposes, typename Exchange::TempStorage, kbemu::NoStorage>;
    explicit BlockStore(KBEMU_HERE) : storage_(kbemu::private_storage<BlockStore>(site)) {}
    explicit BlockStore(TempStorage& storage) : storage_(storage) {}

    template <class Iterator>
    void Store(Iterator target, T (&items)[ItemsPerThread], KBEMU_HERE) {
        Store(target, items, INT_MAX, site);
    }
    template <class Iterator>
    void Store(Iterator target, T (&items)[ItemsPerThread], int valid_items, KBEMU_HERE) {
        if constexpr (kTransposes) Exchange(storage_).BlockedToStriped(items, site);
        for (int i = 0; i < ItemsPerThread; ++i) {
            const int index = kStriped ? i * kThreads + kbemu::self->linear : kbemu::self->linear * ItemsPerThread + i;
            if (index < valid_items) kbemu::write_item(target, index, items[i], site);
        }
    }

private:
    TempStorage& storage_;
};

}  // namespace cub
