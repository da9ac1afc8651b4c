// Integer arithmetic: results wrap around, nothing traps.
#pragma once
#include <algorithm>
#include <bit>
#include <limits>

#include "kbemu/ptx/types.h"

namespace kbemu::ptx {

template <class T>
struct WideOf;
template <>
struct WideOf<u16> {
    using Type = u32;
};
template <>
struct WideOf<s16> {
    using Type = s32;
};
template <>
struct WideOf<u32> {
    using Type = u64;
};
template <>
struct WideOf<s32> {
    using Type = s64;
};
template <>
struct WideOf<u64> {
    using Type = unsigned __int128;
};
template <>
struct WideOf<s64> {
    using Type = __int128;
};
// Twice as wide, of the same signedness.
template <class T>
using wide = typename WideOf<T>::Type;

template <Integer T>
inline T add(T a, T b) {
    return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b));
}

template <Integer T>
inline T sub(T a, T b) {
    return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b));
}

// The nearest value that fits.
template <Integer T>
inline T clamped(s64 value) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<s64>(value, Limits::min(), Limits::max()));
}

inline s32 add_saturating(s32 a, s32 b) { return clamped<s32>(s64(a) + b); }
inline s32 sub_saturating(s32 a, s32 b) { return clamped<s32>(s64(a) - b); }

template <Integer T>
inline T mul_lo(T a, T b) {
    return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}

template <Integer T>
inline wide<T> mul_wide(T a, T b) {
    return static_cast<wide<T>>(a) * static_cast<wide<T>>(b);
}

template <Integer T>
inline T mul_hi(T a, T b) {
    return static_cast<T>(mul_wide(a, b) >> (8 * sizeof(T)));
}

template <Integer T>
inline T mad_lo(T a, T b, T c) {
    return add(mul_lo(a, b), c);
}

template <Integer T>
inline T mad_hi(T a, T b, T c) {
    return add(mul_hi(a, b), c);
}

template <Integer T>
inline wide<T> mad_wide(T a, T b, wide<T> c) {
    return add(mul_wide(a, b), c);
}

// --- arithmetic of several words: an instruction may take the carry of the one before, and leave one --------------

template <bool in, bool out, Integer T>
inline T add_carry(T a, T b, bool& carry) {
    const auto sum = static_cast<unsigned __int128>(static_cast<Bits<T>>(a)) + static_cast<Bits<T>>(b) + (in && carry);
    if (out) carry = sum >> (8 * sizeof(T)) != 0;
    return static_cast<T>(sum);
}

template <bool in, bool out, Integer T>
inline T sub_carry(T a, T b, bool& borrow) {
    const auto taken = static_cast<unsigned __int128>(static_cast<Bits<T>>(b)) + (in && borrow);
    if (out) borrow = static_cast<Bits<T>>(a) < taken;
    return static_cast<T>(static_cast<Bits<T>>(a) - taken);
}

struct part_lo {
    template <class T>
    static T product(T a, T b) {
        return mul_lo(a, b);
    }
};
struct part_hi {
    template <class T>
    static T product(T a, T b) {
        return mul_hi(a, b);
    }
};

template <class Part, bool in, bool out, Integer T>
inline T mad_carry(T a, T b, T c, bool& carry) {
    return add_carry<in, out>(Part::product(a, b), c, carry);
}

// --- the rest -------------------------------------------------------------------------------------------------------

// The low 24 bits with their sign.
inline s64 low24(s32 a) { return static_cast<s32>(static_cast<u32>(a) << 8) >> 8; }
inline u64 low24(u32 a) { return a & 0xffffff; }

template <Integer T>
inline T mul24_lo(T a, T b) {
    return static_cast<T>(low24(a) * low24(b));
}

template <Integer T>
inline T mul24_hi(T a, T b) {
    return static_cast<T>((low24(a) * low24(b)) >> 16);
}

template <Integer T>
inline T mad24_lo(T a, T b, T c) {
    return add(mul24_lo(a, b), c);
}

template <Integer T>
inline T sad(T a, T b, T c) {
    return add(c, a < b ? sub(b, a) : sub(a, b));
}

// PTX leaves a division by zero open; an H200 returns all ones for quotient and remainder.
template <Integer T>
inline T div(T a, T b) {
    if (b == 0) return static_cast<T>(~T(0));
    return std::is_signed_v<T> && b == T(-1) ? sub(T(0), a) : static_cast<T>(a / b);
}

template <Integer T>
inline T rem(T a, T b) {
    if (b == 0) return static_cast<T>(~T(0));
    return std::is_signed_v<T> && b == T(-1) ? T(0) : static_cast<T>(a % b);
}

template <Integer T>
inline T negate(T a) {
    return sub(T(0), a);
}

template <Integer T>
inline T absolute(T a) {
    return a < 0 ? negate(a) : a;
}

template <Integer T>
inline T minimum(T a, T b) {
    return std::min(a, b);
}

template <Integer T>
inline T maximum(T a, T b) {
    return std::max(a, b);
}

// Byte or half `index` of a register, extended as the type A says.
template <class A, int width>
inline s32 part(b32 a, int index) {
    const u32 moved = a << (32 - width - width * index);
    return std::is_signed_v<A> ? static_cast<s32>(moved) >> (32 - width) : static_cast<s32>(moved >> (32 - width));
}

template <class A, class B>
inline b32 dp4a(b32 a, b32 b, b32 c) {
    for (int i = 0; i < 4; ++i) c += static_cast<u32>(part<A, 8>(a, i) * part<B, 8>(b, i));
    return c;
}

// Two halves of `a` with the bytes of `b` from `first` on.
template <int first, class A, class B>
inline b32 dp2a(b32 a, b32 b, b32 c) {
    for (int i = 0; i < 2; ++i) c += static_cast<u32>(part<A, 16>(a, i) * part<B, 8>(b, first + i));
    return c;
}

}  // namespace kbemu::ptx
