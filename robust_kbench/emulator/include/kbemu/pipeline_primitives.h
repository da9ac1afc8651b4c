// __pipeline_memcpy_async and its companions: asynchronous copies as functions of C.
#pragma once
#include "kbemu/async_copy.h"

// The last `zero_fill` bytes are not read but become zero.
inline void __pipeline_memcpy_async(
    void* to, const void* from, std::size_t bytes, std::size_t zero_fill = 0, KBEMU_HERE) {
    const unsigned size = static_cast<unsigned>(bytes);
    kbemu::async_copies().start(to, from, size, size - static_cast<unsigned>(zero_fill), site);
}

inline void __pipeline_commit() {
    kbemu::async_copies().commit();
}

// Waits for all commits but the last `pending`.
inline void __pipeline_wait_prior(std::size_t pending) {
    kbemu::async_copies().wait(static_cast<unsigned>(pending));
}
