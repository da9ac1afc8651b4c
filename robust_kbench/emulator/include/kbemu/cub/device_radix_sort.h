// cub::DeviceRadixSort.
#pragma once
#include <algorithm>
#include <vector>

#include "kbemu/cub/device_call.h"
#include "kbemu/cub/operators.h"
#include "kbemu/cub/radix_order.h"

namespace kbemu {

// Where each place of the sorted sequence takes its item from.
template <class KeyAt>
inline std::vector<int> sorted_places(int count, KeyAt key_at, const RadixOrder& order) {
    std::vector<int> places(count);
    for (int i = 0; i < count; ++i) places[i] = i;
    const auto earlier = [&](int a, int b) { return order.digits(key_at(a)) < order.digits(key_at(b)); };
    std::stable_sort(places.begin(), places.end(), earlier);
    return places;
}

}  // namespace kbemu

namespace cub {

// Two buffers of which the sort may use both; the result is in the current one.
template <class T>
struct DoubleBuffer {
    T* d_buffers[2] = {nullptr, nullptr};
    int selector = 0;

    DoubleBuffer() = default;
    DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
    T* Current() { return d_buffers[selector]; }
    T* Alternate() { return d_buffers[selector ^ 1]; }
};

class DeviceRadixSort {
public:
    template <class Key, class Count>
    static cudaError_t SortKeys(void* storage, std::size_t& storage_bytes, const Key* from, Key* to, Count count,
                                int begin = 0, int end = 8 * sizeof(Key), cudaStream_t = nullptr) {
        return sort<Key, NullType>(storage, storage_bytes, from, to, nullptr, nullptr, count, {false, begin, end});
    }
    template <class Key, class Count>
    static cudaError_t SortKeysDescending(void* storage, std::size_t& storage_bytes, const Key* from, Key* to,
                                          Count count, int begin = 0, int end = 8 * sizeof(Key),
                                          cudaStream_t = nullptr) {
        return sort<Key, NullType>(storage, storage_bytes, from, to, nullptr, nullptr, count, {true, begin, end});
    }
    template <class Key, class Value, class Count>
    static cudaError_t SortPairs(void* storage, std::size_t& storage_bytes, const Key* from, Key* to,
                                 const Value* values_from, Value* values_to, Count count, int begin = 0,
                                 int end = 8 * sizeof(Key), cudaStream_t = nullptr) {
        return sort(storage, storage_bytes, from, to, values_from, values_to, count, {false, begin, end});
    }
    template <class Key, class Value, class Count>
    static cudaError_t SortPairsDescending(void* storage, std::size_t& storage_bytes, const Key* from, Key* to,
                                           const Value* values_from, Value* values_to, Count count, int begin = 0,
                                           int end = 8 * sizeof(Key), cudaStream_t = nullptr) {
        return sort(storage, storage_bytes, from, to, values_from, values_to, count, {true, begin, end});
    }
    template <class Key, class Count>
    static cudaError_t SortKeys(void* storage, std::size_t& storage_bytes, DoubleBuffer<Key>& keys, Count count,
                                int begin = 0, int end = 8 * sizeof(Key), cudaStream_t stream = nullptr) {
        return SortKeys(storage, storage_bytes, keys.Current(), keys.Current(), count, begin, end, stream);
    }
    template <class Key, class Value, class Count>
    static cudaError_t SortPairs(void* storage, std::size_t& storage_bytes, DoubleBuffer<Key>& keys,
                                 DoubleBuffer<Value>& values, Count count, int begin = 0, int end = 8 * sizeof(Key),
                                 cudaStream_t stream = nullptr) {
        return SortPairs(storage, storage_bytes, keys.Current(), keys.Current(), values.Current(), values.Current(),
                         count, begin, end, stream);
    }

private:
    template <class Key, class Value>
    static cudaError_t sort(void* storage, std::size_t& storage_bytes, const Key* from, Key* to,
                            const Value* values_from, Value* values_to, long long count, kbemu::RadixOrder order) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            const std::vector<Key> keys(from, from + count);
            const std::vector<int> places = kbemu::sorted_places(count, [&](int i) { return keys[i]; }, order);
            for (long long i = 0; i < count; ++i) to[i] = keys[places[i]];
            kbemu::device_wrote(to, count);
            if (!values_to) return;
            const std::vector<Value> values(values_from, values_from + count);
            for (long long i = 0; i < count; ++i) values_to[i] = values[places[i]];
            kbemu::device_wrote(values_to, count);
        });
    }
};

}  // namespace cub
