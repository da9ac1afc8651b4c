// atom and red. Every scope is the widest one.
#pragma once
#include "kbemu/atomics.h"
#include "kbemu/ptx/floats.h"
#include "kbemu/ptx/integers.h"
#include "kbemu/ptx/memory.h"

namespace kbemu::ptx {

struct atom_add {
    template <class T>
    T operator()(T a, T b) const {
        return add(a, b);
    }
};
struct atom_min {
    template <class T>
    T operator()(T a, T b) const {
        return std::min(a, b);
    }
};
struct atom_max {
    template <class T>
    T operator()(T a, T b) const {
        return std::max(a, b);
    }
};
struct atom_and {
    template <class T>
    T operator()(T a, T b) const {
        return a & b;
    }
};
struct atom_or {
    template <class T>
    T operator()(T a, T b) const {
        return a | b;
    }
};
struct atom_xor {
    template <class T>
    T operator()(T a, T b) const {
        return a ^ b;
    }
};
struct atom_exch {
    template <class T>
    T operator()(T, T b) const {
        return b;
    }
};
// Counts up to b and starts again at 0, or down from b.
struct atom_inc {
    u32 operator()(u32 a, u32 b) const { return a >= b ? 0 : a + 1; }
};
struct atom_dec {
    u32 operator()(u32 a, u32 b) const { return a == 0 || a > b ? b : a - 1; }
};

template <class Operation, Order order, class T>
inline T atomic(void* pointer, T operand, KBEMU_HERE) {
    release<order>();
    auto* cell = static_cast<T*>(pointer);
    if constexpr (std::is_same_v<T, f32>) return atomic_add_float(cell, operand, site);
    return atomic_update(cell, [=](T old) { return Operation()(old, operand); }, site);
}

// The elements of a vector are atomic each by itself.
template <class Operation, Order order, class T, int n>
inline Vector<T, n> atomic(void* pointer, Vector<T, n> operands, KBEMU_HERE) {
    Vector<T, n> old;
    for (int i = 0; i < n; ++i) old[i] = atomic<Operation, order>(static_cast<T*>(pointer) + i, operands[i], site);
    return old;
}

template <Order order, class T>
inline T atomic_cas(void* pointer, T expected, T value, KBEMU_HERE) {
    release<order>();
    return atomic_update(static_cast<T*>(pointer), [=](T old) { return old == expected ? value : old; }, site);
}

}  // namespace kbemu::ptx
