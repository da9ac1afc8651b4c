// The one loop behind all atomic functions: blocks run on several threads of the operating system at once.
#pragma once
#include <type_traits>

#include "kbemu/memory_access.h"

namespace kbemu {

template <std::size_t size>
struct AtomicBits;
template <>
struct AtomicBits<2> {
    using Type = std::uint16_t;
};
template <>
struct AtomicBits<4> {
    using Type = std::uint32_t;
};
template <>
struct AtomicBits<8> {
    using Type = std::uint64_t;
};

// Replaces *address by update(*address) and returns the old value. Every scope and order is the strongest one: the
// runtime's checker, not the processor, finds programs that rely on more than CUDA promises.
template <class T, class Update>
inline T atomic_update(T* address, Update update, const Site& site) {
    using Bits = typename AtomicBits<sizeof(T)>::Type;
    check_alignment(address, sizeof(T), site);
    kbemu_atomic(address, sizeof(T), true, &site);
    typedef Bits Cell __attribute__((may_alias));
    Cell* cell = reinterpret_cast<Cell*>(address);
    Bits seen = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (true) {
        const T old = __builtin_bit_cast(T, seen);
        const Bits fresh = __builtin_bit_cast(Bits, static_cast<T>(update(old)));
        if (__atomic_compare_exchange_n(cell, &seen, fresh, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
}

// Integers wrap around, signed ones too.
template <class T>
inline T wrapping_add(T a, T b) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

template <class T>
inline T wrapping_subtract(T a, T b) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
}

}  // namespace kbemu
