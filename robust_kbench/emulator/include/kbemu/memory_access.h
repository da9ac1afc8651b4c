// Memory accesses of our own headers, charged to the line of the user who called them. In a checked build the
// compiler's instrumentation would name a line of this directory instead, so it is told to look away.
#pragma once
#include "kbemu/runtime.h"

namespace kbemu {

#ifdef __SANITIZE_THREAD__

inline void check_alignment(const volatile void* address, std::size_t alignment, const Site& site) {
    if (reinterpret_cast<std::uintptr_t>(address) % alignment == 0) return;
    kbemu_finding("misaligned_access", "an access at an address that is not a multiple of the type's alignment", &site);
}

template <class T>
__attribute__((noinline, no_sanitize("thread", "undefined"))) T unchecked_load(const T* address) {
    return *address;
}

template <class T>
__attribute__((noinline, no_sanitize("thread", "undefined"))) void unchecked_store(T* address, const T& value) {
    *address = value;
}

template <class T>
inline T load(const T* address, const Site& site) {
    check_alignment(address, alignof(T), site);
    kbemu_access(address, sizeof(T), false, &site);
    return unchecked_load(address);
}

template <class T>
inline void store(T* address, const T& value, const Site& site) {
    check_alignment(address, alignof(T), site);
    kbemu_access(address, sizeof(T), true, &site);
    unchecked_store(address, value);
}

#else

inline void check_alignment(const volatile void*, std::size_t, const Site&) {}

template <class T>
inline __attribute__((always_inline)) T unchecked_load(const T* address) {
    return *address;
}

template <class T>
inline __attribute__((always_inline)) T load(const T* address, const Site&) {
    return *address;
}

template <class T>
inline __attribute__((always_inline)) void store(T* address, const T& value, const Site&) {
    *address = value;
}

#endif

}  // namespace kbemu
