// cub::BlockExchange: from items that a thread holds in a row to items a block apart, and back.
#pragma once
#include "kbemu/cub/storage.h"

namespace cub {

template <class T, int BlockDimX, int ItemsPerThread, bool WarpTimeSlicing = false, int BlockDimY = 1,
          int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockExchange {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;

public:
    struct TempStorage {
        kbemu::SharedItems<T, kThreads * ItemsPerThread> items;
    };
    explicit BlockExchange(KBEMU_HERE) : storage_(kbemu::private_storage<BlockExchange>(site)) {}
    explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

    template <class Output>
    void StripedToBlocked(const T (&input)[ItemsPerThread], Output (&output)[ItemsPerThread], KBEMU_HERE) {
        exchange(input, output, striped, blocked, site);
    }
    template <class Output>
    void BlockedToStriped(const T (&input)[ItemsPerThread], Output (&output)[ItemsPerThread], KBEMU_HERE) {
        exchange(input, output, blocked, striped, site);
    }
    template <class Output, class Rank>
    void ScatterToBlocked(const T (&input)[ItemsPerThread], Output (&output)[ItemsPerThread],
                          Rank (&ranks)[ItemsPerThread], KBEMU_HERE) {
        exchange(input, output, [&](int item) { return static_cast<int>(ranks[item]); }, blocked, site);
    }
    template <class Output, class Rank>
    void ScatterToStriped(const T (&input)[ItemsPerThread], Output (&output)[ItemsPerThread],
                          Rank (&ranks)[ItemsPerThread], KBEMU_HERE) {
        exchange(input, output, [&](int item) { return static_cast<int>(ranks[item]); }, striped, site);
    }
    void StripedToBlocked(T (&items)[ItemsPerThread], KBEMU_HERE) { StripedToBlocked(items, items, site); }
    void BlockedToStriped(T (&items)[ItemsPerThread], KBEMU_HERE) { BlockedToStriped(items, items, site); }

private:
    static int blocked(int item) { return kbemu::self->linear * ItemsPerThread + item; }
    static int striped(int item) { return item * kThreads + kbemu::self->linear; }

    template <class Output, class From, class To>
    void exchange(const T (&input)[ItemsPerThread], Output (&output)[ItemsPerThread], From from, To to,
                  const kbemu::Site& site) {
        kbemu::check_block_size(kThreads, site);
        for (int i = 0; i < ItemsPerThread; ++i) storage_.items.put(from(i), input[i], site);
        __syncthreads(site);
        for (int i = 0; i < ItemsPerThread; ++i) output[i] = storage_.items.get(to(i), site);
    }

    TempStorage& storage_;
};

}  // namespace cub
