// Which memory a pointer points to, and conversions between generic and shared addresses.
#pragma once
#include "kbemu/runtime.h"
#include "kbemu/shared_address.h"

inline unsigned __isShared(const void* pointer) {
    return kbemu::is_shared(pointer);
}

// Constant memory belongs to the known device memory, too: only its address space differs, and nothing here has one.
inline unsigned __isGlobal(const void* pointer) {
    return kbemu::kbemu_is_device_memory(pointer, 1);
}

inline unsigned __isLocal(const void* pointer) {
    return !__isShared(pointer) && !__isGlobal(pointer);
}

inline std::size_t __cvta_generic_to_shared(const void* pointer) {
    return kbemu::shared_address(pointer);
}

inline void* __cvta_shared_to_generic(std::size_t address) {
    return kbemu::shared_pointer(static_cast<std::uint32_t>(address));
}

#define KBEMU_SAME_ADDRESS(SPACE)                                             \
    inline std::size_t __cvta_generic_to_##SPACE(const void* pointer) {       \
        return reinterpret_cast<std::size_t>(pointer);                        \
    }                                                                         \
    inline void* __cvta_##SPACE##_to_generic(std::size_t address) {           \
        return reinterpret_cast<void*>(address);                              \
    }

KBEMU_SAME_ADDRESS(global)
KBEMU_SAME_ADDRESS(constant)
KBEMU_SAME_ADDRESS(local)
KBEMU_SAME_ADDRESS(grid_constant)
