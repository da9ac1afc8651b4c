// Loads, stores, state spaces and fences.
#pragma once
#include "kbemu/memory_access.h"
#include "kbemu/ptx/registers.h"
#include "kbemu/shared_address.h"

namespace kbemu::ptx {

enum Space { kGeneric, kGlobal, kShared, kConstant, kLocal };
using kbemu::kFenceBlock;
using kbemu::kFenceDevice;
using kbemu::kFenceSystem;

enum Order { kWeak, kRelaxed, kAcquire, kRelease, kAcquireRelease };

// Shared memory is a window of 32-bit addresses; all other spaces have the addresses of C++.
template <Space space>
inline void* address(u64 bits) {
    if (space == kShared) return shared_pointer(static_cast<u32>(bits));
    return reinterpret_cast<void*>(bits);
}

// From a generic address to one of `space`, or back.
template <Space space, bool to, class Register>
inline Register cvta(Register bits) {
    if (space != kShared) return bits;
    if (to) return shared_address(reinterpret_cast<const void*>(static_cast<u64>(bits)));
    return static_cast<Register>(reinterpret_cast<u64>(shared_pointer(static_cast<u32>(bits))));
}

template <Space space>
inline pred isspacep(u64 bits) {
    const void* pointer = reinterpret_cast<const void*>(bits);
    if (space == kShared) return is_shared(pointer);
    const bool global = kbemu_is_device_memory(pointer, 1);
    return space == kLocal ? !global && !is_shared(pointer) : global;
}

// What moves in one access: a scalar, or a vector that must be aligned as a whole.
template <class T, int n>
struct AccessOf {
    using Type = Vector<T, n>;
};
template <class T>
struct AccessOf<T, 1> {
    using Type = T;
};
template <class T, int n>
using Access = typename AccessOf<T, n>::Type;

// What the thread did before a release is seen by who acquires; other strong accesses order nothing.
template <Order order>
inline void release() {
    if (order == kRelease || order == kAcquireRelease) kbemu_fence(kFenceDevice);
}

// Who reads strongly may wait for another thread's store, so others get their turn.
template <class T, int n, Order order>
inline Access<T, n> load(const void* pointer, KBEMU_HERE) {
    const auto* source = static_cast<const Access<T, n>*>(pointer);
    if constexpr (order == kWeak) {
        return kbemu::load(source, site);
    } else {
        kbemu_atomic(pointer, sizeof(*source), false, &site);
        Access<T, n> value;
        __atomic_load(source, &value, __ATOMIC_SEQ_CST);
        return value;
    }
}

template <class T, int n, Order order>
inline void store(void* pointer, Access<T, n> value, KBEMU_HERE) {
    auto* destination = static_cast<Access<T, n>*>(pointer);
    if constexpr (order == kWeak) {
        kbemu::store(destination, value, site);
    } else {
        release<order>();
        kbemu_atomic(pointer, sizeof(value), true, &site);
        __atomic_store(destination, &value, __ATOMIC_SEQ_CST);
    }
}

template <FenceScope scope>
inline void fence() {
    kbemu_fence(scope);
}

// Hints: they do not change what a program computes.
inline void nothing() {}
inline b64 cache_policy() { return 0; }

}  // namespace kbemu::ptx
