// Shared memory as PTX sees it: a window of 32-bit addresses. `__cvta_generic_to_shared` yields such an address and
// inline PTX takes it, so user code may add to it and keep it in 32 bits.
//
// Dynamic shared memory starts at 1024 (as on devices of compute capability 8.0, where the first KiB belongs to the
// system: a valid address is never zero) and static shared memory at 2^20. Both bases keep every alignment in use.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kbemu/runtime.h"

namespace kbemu {

constexpr std::uint32_t kDynamicSharedBase = 1u << 10;
constexpr std::uint32_t kStaticSharedBase = 1u << 20;

inline std::size_t distance(const void* pointer, const char* start) {
    return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(start);
}

inline bool is_static_shared(const void* pointer) {
    return distance(pointer, self->shared_static) < kStaticSharedBase;
}

// The end of the array counts: a loop may compute it without reading there.
inline bool is_dynamic_shared(const void* pointer) {
    return distance(pointer, self->shared_dynamic) <= kbemu_dynamic_shared_bytes();
}

inline bool is_shared(const void* pointer) {
    return self && (is_static_shared(pointer) || is_dynamic_shared(pointer));
}

// The address of a pointer that is not into shared memory is meaningless, as on the device.
inline std::uint32_t shared_address(const void* pointer) {
    if (is_static_shared(pointer)) {
        return static_cast<std::uint32_t>(distance(pointer, self->shared_static)) + kStaticSharedBase;
    }
    return static_cast<std::uint32_t>(distance(pointer, self->shared_dynamic)) + kDynamicSharedBase;
}

inline void* shared_pointer(std::uint32_t address) {
    if (address >= kStaticSharedBase) return self->shared_static + (address - kStaticSharedBase);
    return self->shared_dynamic + (address - kDynamicSharedBase);
}

}  // namespace kbemu
