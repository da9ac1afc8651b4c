// Registers of an asm statement. A register is its bits; an instruction gives them a type when it reads or writes them.
#pragma once
#include <bit>
#include <tuple>

#include "kbemu/ptx/types.h"

namespace kbemu::ptx {

// --- between C++ and registers --------------------------------------------------------------------------------------

// The value of an operand of constraint "r", "l" or "h". nvcc refuses a float or a narrower integer here, too.
template <class Register, class T>
inline Register integer_operand(T value) {
    static_assert(sizeof(T) == sizeof(Register), "the type of an asm operand does not match its constraint");
    static_assert(!std::is_floating_point_v<T>, "the type of an asm operand does not match its constraint");
    return std::bit_cast<Register>(value);
}

// The value of an operand of constraint "f" or "d".
template <class Register, class T>
inline Register real_operand(T value) {
    static_assert(sizeof(T) == sizeof(Register), "the type of an asm operand does not match its constraint");
    static_assert(std::is_floating_point_v<T>, "the type of an asm operand does not match its constraint");
    return std::bit_cast<Register>(value);
}

template <class T, class Register>
inline void write_back(T& lvalue, Register bits) {
    static_assert(sizeof(T) == sizeof(Register), "the type of an asm operand does not match its constraint");
    lvalue = std::bit_cast<std::remove_cv_t<T>>(bits);
}

// --- reading --------------------------------------------------------------------------------------------------------

// A register or an immediate as a value of type T. Of a wider register the low bits count.
template <class T, class Register>
inline T get(Register bits) {
    if constexpr (std::is_same_v<T, bool>) {
        return bits != 0;
    } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<Register>) {
        return static_cast<T>(bits);
    } else {
        return std::bit_cast<T>(static_cast<Bits<T>>(bits));
    }
}

template <class T, class... Registers>
inline Vector<T, sizeof...(Registers)> get_all(Registers... registers) {
    return {get<T>(registers)...};
}

// The bits of several registers in one, the first lowest: `mov.b32 %0, {%1, %2};`
template <class T, class... Registers>
inline Bits<T> pack(Registers... registers) {
    constexpr int width = 8 * sizeof(T) / sizeof...(Registers);
    using Part = typename UnsignedOf<width / 8>::Type;
    u64 bits = 0;
    int position = 0;
    ((bits |= static_cast<u64>(static_cast<Part>(registers)) << position, position += width), ...);
    return static_cast<Bits<T>>(bits);
}

// --- writing --------------------------------------------------------------------------------------------------------

// The destination `_`.
struct Sink {};
inline constexpr Sink sink;

template <class T>
inline void set(const Sink&, const T&) {}

// Narrow integers are extended according to their sign.
template <class Register, class T>
inline void set(Register& destination, const T& value) {
    if constexpr (std::is_integral_v<T>) {
        destination = static_cast<Register>(value);
    } else {
        destination = static_cast<Register>(std::bit_cast<Bits<T>>(value));
    }
}

template <class Register, class T>
inline void set(Register& destination, const Vector<T, 1>& value) {
    set(destination, value[0]);
}

template <class Register, class T>
inline void set(Register& destination, const WithPredicate<T>& value) {
    set(destination, value.value);
}

template <class... Registers, class T, int n>
inline void set(std::tuple<Registers...> destinations, const Vector<T, n>& values) {
    static_assert(sizeof...(Registers) == n, "as many destinations as the instruction has results");
    std::apply(
        [&](auto&... destination) {
            int i = 0;
            (set(destination, values[i++]), ...);
        },
        destinations);
}

template <class First, class Second, class T>
inline void set(std::tuple<First, Second> destinations, const WithPredicate<T>& values) {
    set(std::get<0>(destinations), values.value);
    set(std::get<1>(destinations), values.predicate);
}

// The opposite of pack: `mov.b32 {%0, %1}, %2;`
template <class... Registers, Integer T>
inline void set(std::tuple<Registers...> destinations, T bits) {
    constexpr int width = 8 * sizeof(T) / sizeof...(Registers);
    using Part = typename UnsignedOf<width / 8>::Type;
    std::apply(
        [&](auto&... destination) {
            int position = 0;
            ((set(destination, static_cast<Part>(static_cast<u64>(bits) >> position)), position += width), ...);
        },
        destinations);
}

template <class T, class Register>
inline Bits<T> move(Register bits) {
    return std::bit_cast<Bits<T>>(get<T>(bits));
}

}  // namespace kbemu::ptx
