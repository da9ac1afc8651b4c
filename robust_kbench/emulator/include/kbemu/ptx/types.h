// The types of PTX under their own names, and vectors of them.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kbemu::ptx {

using pred = bool;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using b8 = u8;
using b16 = u16;
using b32 = u32;
using b64 = u64;
using f32 = float;
using f64 = double;

// Small floats are kept as their bits; formats.h gives them values.
struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};
struct tf32 {
    u32 bits;
};
struct e4m3 {
    u8 bits;
};
struct e5m2 {
    u8 bits;
};

template <class T>
struct PairOf {
    using Element = T;
    T low, high;
};
using f16x2 = PairOf<f16>;
using bf16x2 = PairOf<bf16>;
using e4m3x2 = PairOf<e4m3>;
using e5m2x2 = PairOf<e5m2>;

// Integers of four bits exist only inside matrix fragments.
struct s4;
struct u4;

template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Half = std::same_as<T, f16> || std::same_as<T, bf16>;
template <class T>
concept Pair = std::same_as<T, f16x2> || std::same_as<T, bf16x2>;

// Aligned as a memory access of this width must be.
template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
    T elements[n];

    T& operator[](int i) { return elements[i]; }
    const T& operator[](int i) const { return elements[i]; }
};

// What instructions with two destinations `d|p` return.
template <class T>
struct WithPredicate {
    T value;
    bool predicate;
};

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
    using Type = u8;
};
template <>
struct UnsignedOf<2> {
    using Type = u16;
};
template <>
struct UnsignedOf<4> {
    using Type = u32;
};
template <>
struct UnsignedOf<8> {
    using Type = u64;
};
template <class T>
using Bits = typename UnsignedOf<sizeof(T)>::Type;

}  // namespace kbemu::ptx
