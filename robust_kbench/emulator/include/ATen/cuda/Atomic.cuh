// torch's atomics: CUDA's for the types that have them, and compare-and-swap for the others.
#pragma once
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>
#include <type_traits>

#include "kbemu/cuda.h"

namespace kbemu::torch_atomics {

// Replaces *address by update(*address), for types of 1, 2, 4 or 8 bytes, and returns the old value.
template <class T, class Update>
inline T replace(T* address, Update update, const Site& site) {
    using Bits = std::conditional_t<
        sizeof(T) == 1, unsigned char,
        std::conditional_t<sizeof(T) == 2, unsigned short,
                           std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;
    static_assert(sizeof(T) == sizeof(Bits));
    kbemu_atomic(address, sizeof(T), true, &site);
    Bits* bits = reinterpret_cast<Bits*>(address);
    Bits found = __atomic_load_n(bits, __ATOMIC_RELAXED);
    while (true) {
        T before, after;
        std::memcpy(&before, &found, sizeof(T));
        after = update(before);
        Bits wanted;
        std::memcpy(&wanted, &after, sizeof(T));
        if (__atomic_compare_exchange_n(bits, &found, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return before;
    }
}

template <class T>
inline T larger(T a, T b) {
    return a != a ? a : b != b ? b : a < b ? b : a;
}

template <class T>
inline T lesser(T a, T b) {
    return a != a ? a : b != b ? b : b < a ? b : a;
}

}  // namespace kbemu::torch_atomics

template <class T>
inline T gpuAtomicAdd(T* address, std::type_identity_t<T> value, KBEMU_HERE) {
    return kbemu::torch_atomics::replace(address, [value](T old) { return static_cast<T>(old + value); }, site);
}

template <class T>
inline void gpuAtomicAddNoReturn(T* address, std::type_identity_t<T> value, KBEMU_HERE) {
    gpuAtomicAdd(address, value, site);
}

template <class T>
inline T gpuAtomicMul(T* address, std::type_identity_t<T> value, KBEMU_HERE) {
    return kbemu::torch_atomics::replace(address, [value](T old) { return static_cast<T>(old * value); }, site);
}

template <class T>
inline T gpuAtomicMax(T* address, std::type_identity_t<T> value, KBEMU_HERE) {
    const auto update = [value](T old) { return kbemu::torch_atomics::larger(old, value); };
    return kbemu::torch_atomics::replace(address, update, site);
}

template <class T>
inline T gpuAtomicMin(T* address, std::type_identity_t<T> value, KBEMU_HERE) {
    const auto update = [value](T old) { return kbemu::torch_atomics::lesser(old, value); };
    return kbemu::torch_atomics::replace(address, update, site);
}

// torch adds these types to CUDA's own atomicAdd.
#define KBEMU_ATOMIC_ADD(T) \
    inline T atomicAdd(T* address, T value, KBEMU_HERE) { return gpuAtomicAdd(address, value, site); }
KBEMU_ATOMIC_ADD(c10::Half)
KBEMU_ATOMIC_ADD(c10::BFloat16)
KBEMU_ATOMIC_ADD(unsigned char)
KBEMU_ATOMIC_ADD(signed char)
KBEMU_ATOMIC_ADD(short)
KBEMU_ATOMIC_ADD(long)
KBEMU_ATOMIC_ADD(bool)
#undef KBEMU_ATOMIC_ADD
