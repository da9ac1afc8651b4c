// cuda::atomic_ref and cuda::atomic. All operations go through atomic_update: see there.
#pragma once
#include "kbemu/atomic_update.h"
#include "kbemu/barriers.h"
#include "kbemu/thread_scope.h"

namespace cuda {

// What both classes can do; Self says where the object lies.
template <class T, class Self>
class atomic_operations {
public:
    T load(memory_order = memory_order_seq_cst, KBEMU_HERE) const {
        kbemu::kbemu_atomic(object(), sizeof(T), false, &site);
        using Bits = typename kbemu::AtomicBits<sizeof(T)>::Type;
        typedef Bits Cell __attribute__((may_alias));
        return __builtin_bit_cast(T, Bits(__atomic_load_n(reinterpret_cast<Cell*>(object()), __ATOMIC_SEQ_CST)));
    }
    void store(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const { exchange(value, order, site); }
    T exchange(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T) { return value; }, order, site);
    }
    bool compare_exchange_strong(
        T& expected, T value, memory_order order = memory_order_seq_cst, memory_order = {}, KBEMU_HERE) const {
        const T wanted = expected;
        expected = update([=](T old) { return old == wanted ? value : old; }, order, site);
        return expected == wanted;
    }
    bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst,
                               memory_order failure = {}, KBEMU_HERE) const {
        return compare_exchange_strong(expected, value, order, failure, site);
    }
    T fetch_add(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return static_cast<T>(old + value); }, order, site);
    }
    T fetch_sub(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return static_cast<T>(old - value); }, order, site);
    }
    T fetch_and(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return static_cast<T>(old & value); }, order, site);
    }
    T fetch_or(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return static_cast<T>(old | value); }, order, site);
    }
    T fetch_xor(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return static_cast<T>(old ^ value); }, order, site);
    }
    T fetch_min(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return value < old ? value : old; }, order, site);
    }
    T fetch_max(T value, memory_order order = memory_order_seq_cst, KBEMU_HERE) const {
        return update([=](T old) { return old < value ? value : old; }, order, site);
    }
    operator T() const { return load(); }
    T operator++(int) const { return fetch_add(1); }
    T operator++() const { return fetch_add(1) + 1; }
    T operator--(int) const { return fetch_sub(1); }
    T operator--() const { return fetch_sub(1) - 1; }
    T operator+=(T value) const { return fetch_add(value) + value; }
    T operator-=(T value) const { return fetch_sub(value) - value; }

private:
    T* object() const { return static_cast<const Self*>(this)->kbemu_object(); }

    // Who releases, publishes what he wrote before; an atomic access acquires by itself.
    template <class Update>
    T update(Update change, memory_order order, const kbemu::Site& site) const {
        if (order != memory_order_relaxed) __threadfence();
        return kbemu::atomic_update(object(), change, site);
    }
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public atomic_operations<T, atomic_ref<T, Scope>> {
public:
    explicit atomic_ref(T& object) : object_(&object) {}
    T operator=(T value) const {
        this->store(value);
        return value;
    }
    T* kbemu_object() const { return object_; }

private:
    T* object_;
};

// Shared memory holds such objects without ever constructing them.
template <class T, thread_scope Scope = thread_scope_system>
class atomic : public atomic_operations<T, atomic<T, Scope>> {
public:
    atomic() = default;
    constexpr atomic(T value) : value_(value) {}
    atomic(const atomic&) = delete;
    T operator=(T value) const {
        this->store(value);
        return value;
    }
    T* kbemu_object() const { return &value_; }

private:
    mutable T value_;
};

}  // namespace cuda
