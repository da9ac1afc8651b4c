// cub::DeviceScan. Input and output may be the same.
#pragma once
#include "kbemu/cub/device_call.h"
#include "kbemu/cub/operators.h"

namespace cub {

struct DeviceScan {
    template <class Input, class Output, class Combine, class Count>
    static cudaError_t InclusiveScan(void* storage, std::size_t& storage_bytes, Input input, Output output,
                                     Combine combine, Count count, cudaStream_t = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return kbemu::device_call(storage, storage_bytes, [&] {
            T running{};
            for (Count i = 0; i < count; ++i) {
                const T item = input[i];
                running = i ? static_cast<T>(combine(running, item)) : item;
                output[i] = running;
            }
            kbemu::device_wrote(output, count);
        });
    }
    template <class Input, class Output, class Combine, class T, class Count>
    static cudaError_t ExclusiveScan(void* storage, std::size_t& storage_bytes, Input input, Output output,
                                     Combine combine, T initial, Count count, cudaStream_t = nullptr) {
        return kbemu::device_call(storage, storage_bytes, [&] {
            T running = initial;
            for (Count i = 0; i < count; ++i) {
                const T item = input[i];
                output[i] = running;
                running = combine(running, item);
            }
            kbemu::device_wrote(output, count);
        });
    }
    template <class Input, class Output, class Count>
    static cudaError_t InclusiveSum(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                                    cudaStream_t stream = nullptr) {
        return InclusiveScan(storage, storage_bytes, input, output, cub::Sum(), count, stream);
    }
    template <class Input, class Output, class Count>
    static cudaError_t ExclusiveSum(void* storage, std::size_t& storage_bytes, Input input, Output output, Count count,
                                    cudaStream_t stream = nullptr) {
        using T = kbemu::ItemOf<Input>;
        return ExclusiveScan(storage, storage_bytes, input, output, cub::Sum(), T(0), count, stream);
    }
};

}  // namespace cub
