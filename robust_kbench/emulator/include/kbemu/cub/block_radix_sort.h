// cub::BlockRadixSort: threads look up where their own items go, and swap keys and then values through shared memory.
#pragma once
#include "kbemu/cub/operators.h"
#include "kbemu/cub/radix_order.h"
#include "kbemu/cub/storage.h"

namespace cub {

template <class Key, int BlockDimX, int ItemsPerThread, class Value = NullType, int RadixBits = 4, bool Memoize = true,
          int InnerScanAlgorithm = 0, int SharedMemoryConfig = 0, int BlockDimY = 1, int BlockDimZ = 1>
class BlockRadixSort {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;
    static constexpr int kItems = kThreads * ItemsPerThread;
    static constexpr int kBits = 8 * sizeof(Key);
    static constexpr bool kHasValues = !std::is_same_v<Value, NullType>;
    using Keys = Key[ItemsPerThread];
    using Values = Value[ItemsPerThread];

public:
    struct TempStorage {
        union {
            kbemu::SharedItems<Key, kItems> keys;
            kbemu::SharedItems<Value, kItems> values;
        };
        kbemu::UseMark mark;
    };
    explicit BlockRadixSort(KBEMU_HERE) : storage_(kbemu::private_storage<BlockRadixSort>(site)) {}
    explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

    void Sort(Keys& keys, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, nullptr, {false, begin, end}, blocked, site);
    }
    void SortDescending(Keys& keys, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, nullptr, {true, begin, end}, blocked, site);
    }
    void SortBlockedToStriped(Keys& keys, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, nullptr, {false, begin, end}, striped, site);
    }
    void SortDescendingBlockedToStriped(Keys& keys, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, nullptr, {true, begin, end}, striped, site);
    }
    void Sort(Keys& keys, Values& values, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, values, {false, begin, end}, blocked, site);
    }
    void SortDescending(Keys& keys, Values& values, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, values, {true, begin, end}, blocked, site);
    }
    void SortBlockedToStriped(Keys& keys, Values& values, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, values, {false, begin, end}, striped, site);
    }
    void SortDescendingBlockedToStriped(Keys& keys, Values& values, int begin = 0, int end = kBits, KBEMU_HERE) {
        sort(keys, values, {true, begin, end}, striped, site);
    }

private:
    static int blocked(int item) { return kbemu::self->linear * ItemsPerThread + item; }
    static int striped(int item) { return item * kThreads + kbemu::self->linear; }

    void sort(Key* keys, Value* values, kbemu::RadixOrder order, int (*to)(int), const kbemu::Site& site) {
        kbemu::check_block_size(kThreads, site);
        storage_.mark.begin(site);
        for (int i = 0; i < ItemsPerThread; ++i) storage_.keys.put(blocked(i), keys[i], site);
        __syncthreads(site);
        const Key* all = storage_.keys.all(site);
        int places[ItemsPerThread];
        for (int i = 0; i < ItemsPerThread; ++i) places[i] = kbemu::place_of(all, blocked(i), kItems, order);
        move(storage_.keys, keys, places, to, site);
        if constexpr (kHasValues) {
            if (values) move(storage_.values, values, places, to, site);
        }
        storage_.mark.end(site);
    }

    template <class Storage, class Item>
    static void move(Storage& storage, Item* items, const int* places, int (*to)(int), const kbemu::Site& site) {
        __syncthreads(site);
        for (int i = 0; i < ItemsPerThread; ++i) storage.put(places[i], items[i], site);
        __syncthreads(site);
        for (int i = 0; i < ItemsPerThread; ++i) items[i] = storage.get(to(i), site);
    }

    TempStorage& storage_;
};

}  // namespace cub
