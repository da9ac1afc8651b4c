// Where memory accesses enter the runtime: atomics and fences from the headers, and in checked builds every load and
// store, through the calls that -fsanitize=thread inserts. We define those ourselves and do not link libtsan.
#include <cstring>

#include "checker.h"
#include "memory.h"

using namespace kbemu;

namespace {

constexpr unsigned kLooksBeforeYielding = 4;

std::uint64_t value_at(const volatile void* address, std::size_t size) {
    const void* plain = const_cast<const void*>(address);
    switch (size) {
        case 1: return __atomic_load_n(static_cast<const std::uint8_t*>(plain), __ATOMIC_RELAXED);
        case 2: return __atomic_load_n(static_cast<const std::uint16_t*>(plain), __ATOMIC_RELAXED);
        case 4: return __atomic_load_n(static_cast<const std::uint32_t*>(plain), __ATOMIC_RELAXED);
        default: return __atomic_load_n(static_cast<const std::uint64_t*>(plain), __ATOMIC_RELAXED);
    }
}

// A thread that finds the same value at the same address time after time waits for somebody else.
void give_way_if_spinning(ThreadState& thread, const volatile void* address, std::size_t size, const Place& place) {
    if (reinterpret_cast<std::uintptr_t>(address) % (size < 8 ? size : 8) != 0) return;
    const std::uint64_t value = value_at(address, size);
    Spin& spin = thread.spin;
    if (spin.address != address || spin.value != value) {
        spin = {address, value, 0};
        return;
    }
    if (++spin.looks < kLooksBeforeYielding) return;
    thread.arrival.place = place;
    kbemu_yield();
}

bool in_shared_memory(const volatile void* address) {
    return engine->current().block->shared.owns(const_cast<void*>(address));
}

void synchronise(const volatile void* address, std::size_t size, bool writes, const Place& place) {
    ThreadState& thread = engine->current();
    if (settings.checked) {
        check_access({address, size, writes, true, place});
        checker_acquires(thread, address);
        if (writes) checker_publishes(thread, address);
    }
    give_way_if_spinning(thread, address, size, place);
    if (settings.checked) checker_acquires(thread, address);
}

void plain(const volatile void* address, std::size_t size, bool writes, const void* counter) {
    if (engine && settings.checked) check_access({address, size, writes, false, Place::at(counter)});
}

// Flags in global memory are polled through volatile; volatile shared memory is the old warp-synchronous style, which
// relies on an order that nothing promises.
void volatile_access(const volatile void* address, std::size_t size, bool writes, const void* counter) {
    if (!engine) return;
    if (size > 8 || engine->fibre().owns(const_cast<void*>(address))) return;
    if (in_shared_memory(address)) {
        plain(address, size, writes, counter);
        if (!writes) give_way_if_spinning(engine->current(), address, size, Place::at(counter));
    } else {
        synchronise(address, size, writes, Place::at(counter));
    }
}

}  // namespace

extern "C" {

void kbemu_atomic(const volatile void* address, std::size_t size, bool writes, const Site* site) {
    if (!engine) return;
    engine->count_work();
    synchronise(address, size, writes, Place::of(site));
}

void kbemu_access(const volatile void* address, std::size_t size, bool writes, const Site* site) {
    if (engine && settings.checked) check_access({address, size, writes, false, Place::of(site)});
}

void kbemu_fence(FenceScope scope) {
    if (engine && settings.checked) checker_fences(engine->current(), scope);
}

// --- the calls of -fsanitize=thread ---------------------------------------------------------------------------------

#define KBEMU_COUNTER (static_cast<const char*>(__builtin_return_address(0)) - 1)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, std::size_t size) { plain(address, size, false, KBEMU_COUNTER); }
void __tsan_write_range(void* address, std::size_t size) { plain(address, size, true, KBEMU_COUNTER); }

#define KBEMU_ACCESSES(SIZE)                                                                                      \
    void __tsan_read##SIZE(void* address) { plain(address, SIZE, false, KBEMU_COUNTER); }                         \
    void __tsan_write##SIZE(void* address) { plain(address, SIZE, true, KBEMU_COUNTER); }                         \
    void __tsan_unaligned_read##SIZE(void* address) { plain(address, SIZE, false, KBEMU_COUNTER); }               \
    void __tsan_unaligned_write##SIZE(void* address) { plain(address, SIZE, true, KBEMU_COUNTER); }               \
    void __tsan_volatile_read##SIZE(void* address) { volatile_access(address, SIZE, false, KBEMU_COUNTER); }      \
    void __tsan_volatile_write##SIZE(void* address) { volatile_access(address, SIZE, true, KBEMU_COUNTER); }      \
    void __tsan_unaligned_volatile_read##SIZE(void* address) { volatile_access(address, SIZE, false, KBEMU_COUNTER); } \
    void __tsan_unaligned_volatile_write##SIZE(void* address) { volatile_access(address, SIZE, true, KBEMU_COUNTER); }
KBEMU_ACCESSES(1)
KBEMU_ACCESSES(2)
KBEMU_ACCESSES(4)
KBEMU_ACCESSES(8)
KBEMU_ACCESSES(16)

// Atomic operations were announced by kbemu_atomic; here they only have to happen.
#define KBEMU_ATOMICS(BITS, T)                                                                                    \
    T __tsan_atomic##BITS##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }       \
    void __tsan_atomic##BITS##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }       \
    T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_and(volatile T* p, T v, int) { return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_or(volatile T* p, T v, int) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T v, int) { return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST); } \
    T __tsan_atomic##BITS##_fetch_nand(volatile T* p, T v, int) { return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST); } \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {                       \
        return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }                                                                                                             \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* e, T v, int, int) {                         \
        return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }                                                                                                             \
    T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T e, T v, int, int) {                             \
        __atomic_compare_exchange_n(p, &e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
        return e;                                                                                                 \
    }
KBEMU_ATOMICS(8, std::uint8_t)
KBEMU_ATOMICS(16, std::uint16_t)
KBEMU_ATOMICS(32, std::uint32_t)
KBEMU_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { kbemu_fence(kFenceDevice); }
void __tsan_atomic_signal_fence(int) {}
}
