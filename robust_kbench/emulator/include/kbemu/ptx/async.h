// cp.async
#pragma once
#include "kbemu/async_copy.h"
#include "kbemu/ptx/types.h"

namespace kbemu::ptx {

inline void copy_async(void* destination, const void* source, u32 size, KBEMU_HERE) {
    async_copies().start(destination, source, size, size, site);
}

// The last operand is the number of bytes to read, or a predicate that asks to read none.
template <class Operand>
inline void copy_async(void* destination, const void* source, u32 size, Operand operand, KBEMU_HERE) {
    const bool is_predicate = std::is_same_v<Operand, pred>;
    const u32 valid = is_predicate ? (operand ? 0 : size) : static_cast<u32>(operand);
    async_copies().start(destination, source, size, valid, site);
}

inline void commit_copies() { async_copies().commit(); }
inline void wait_copies(u32 pending) { async_copies().wait(pending); }
inline void wait_all_copies() { async_copies().wait_all(); }

}  // namespace kbemu::ptx
