// Items read through a pointer or through any iterator.
#pragma once
#include <type_traits>

#include "kbemu/memory_access.h"

namespace kbemu {

template <class T, class Iterator>
inline T read_item(Iterator items, long long index, const Site& site) {
    if constexpr (std::is_pointer_v<Iterator>) {
        return static_cast<T>(load(items + index, site));
    } else {
        return static_cast<T>(items[index]);
    }
}

template <class Iterator, class T>
inline void write_item(Iterator items, long long index, const T& value, const Site& site) {
    if constexpr (std::is_pointer_v<Iterator>) {
        using Item = std::remove_pointer_t<Iterator>;
        store(items + index, static_cast<Item>(value), site);
    } else {
        items[index] = value;
    }
}

}  // namespace kbemu
