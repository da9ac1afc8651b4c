// cub::DeviceReduce and cub::DeviceSegmentedReduce.
#pragma once
#include <limits>

#include "kbemu/cub/device_call.h"
#include "kbemu/cub/operators.h"

namespace kbemu {

template <class T, class Input, class Combine>
inline T reduce_range(Input input, long long first, long long last, T result, Combine combine) {
    for (long long i = first; i < last; ++i) result = combine(result, static_cast<T>(input[i]));
    return result;
}

template <class Input, class Better>
inline cub::KeyValuePair<int, ItemOf<Input>> find_best(Input input, long long count, Better better) {
    cub::KeyValuePair<int, ItemOf<Input>> best(0, input[0]);
    for (long long i = 1; i < count; ++i) {
        best = better(best, cub::KeyValuePair<int, ItemOf<Input>>(static_cast<int>(i), input[i]));
    }
    return best;
}

}  // namespace kbemu

namespace cub {

struct DeviceReduce {
    template <class Input, class Output, class Count, class Combine, class T>
    static cudaError_t Reduce(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                              Combine combine, T initial, cudaStream_t = nullptr) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            *output = kbemu::reduce_range(input, 0, count, initial, combine);
            kbemu::device_wrote(output, 1);
        });
    }
    template <class Input, class Output, class Count>
    static cudaError_t Sum(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                           cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(storage, storage_bytes, input, output, count, cub::Sum(), T(0), stream);
    }
    template <class Input, class Output, class Count>
    static cudaError_t Max(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                           cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(
            storage, storage_bytes, input, output, count, cub::Max(), std::numeric_limits<T>::lowest(), stream);
    }
    template <class Input, class Output, class Count>
    static cudaError_t Min(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                           cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(storage, storage_bytes, input, output, count, cub::Min(), std::numeric_limits<T>::max(), stream);
    }
    template <class Input, class Output, class Count>
    static cudaError_t ArgMax(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                              cudaStream_t = nullptr) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            *output = kbemu::find_best(input, count, cub::ArgMax());
            kbemu::device_wrote(output, 1);
        });
    }
    template <class Input, class Output, class Count>
    static cudaError_t ArgMin(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                              cudaStream_t = nullptr) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            *output = kbemu::find_best(input, count, cub::ArgMin());
            kbemu::device_wrote(output, 1);
        });
    }
};

struct DeviceSegmentedReduce {
    template <class Input, class Output, class Begins, class Ends, class Combine, class T>
    static cudaError_t Reduce(void* storage, std::size_t& storage_bytes, Input input, Output output, int segments,
                              Begins begins, Ends ends, Combine combine, T initial, cudaStream_t = nullptr) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            for (int i = 0; i < segments; ++i) {
                output[i] = kbemu::reduce_range(input, begins[i], ends[i], initial, combine);
            }
            kbemu::device_wrote(output, segments);
        });
    }
    template <class Input, class Output, class Begins, class Ends>
    static cudaError_t Sum(void* storage, std::size_t& storage_bytes, Input input, Output output, int segments,
                           Begins begins, Ends ends, cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(storage, storage_bytes, input, output, segments, begins, ends, cub::Sum(), T(0), stream);
    }
    template <class Input, class Output, class Begins, class Ends>
    static cudaError_t Max(void* storage, std::size_t& storage_bytes, Input input, Output output, int segments,
                           Begins begins, Ends ends, cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(storage, storage_bytes, input, output, segments, begins, ends, cub::Max(),
                      std::numeric_limits<T>::lowest(), stream);
    }
    template <class Input, class Output, class Begins, class Ends>
    static cudaError_t Min(void* storage, std::size_t& storage_bytes, Input input, Output output, int segments,
                           Begins begins, Ends ends, cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return Reduce(storage, storage_bytes, input, output, segments, begins, ends, cub::Min(),
                      std::numeric_limits<T>::max(), stream);
    }
};

}  // namespace cub
