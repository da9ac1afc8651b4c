// The protocol of CUB's device-wide functions: a call without storage asks how much is needed. They run at once, on the
// host, one item after another.
#pragma once
#include <type_traits>
#include <utility>

#include "kbemu/cub/items.h"
#include "kbemu/streams.h"

namespace kbemu {

template <class Work>
inline cudaError_t device_call(void* storage, std::size_t& storage_bytes, Work work) {
    if (storage) {
        work();
    } else {
        storage_bytes = 1;
    }
    return cudaSuccess;
}

template <class Iterator>
using ItemOf = std::remove_cvref_t<decltype(*std::declval<Iterator>())>;

// Lets the checker know that device memory now holds values.
template <class Iterator>
inline void device_wrote(Iterator items, long long count) {
    if constexpr (std::is_pointer_v<Iterator>) kbemu_host_wrote(items, count * sizeof(*items));
}

}  // namespace kbemu
