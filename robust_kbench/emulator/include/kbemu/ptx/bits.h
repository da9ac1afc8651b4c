// Logic, shifts, bit fields and permutations.
#pragma once
#include <algorithm>
#include <bit>

#include "kbemu/ptx/types.h"

namespace kbemu::ptx {

struct and_ {
    bool operator()(bool a, bool b) const { return a && b; }
};
struct or_ {
    bool operator()(bool a, bool b) const { return a || b; }
};
struct xor_ {
    bool operator()(bool a, bool b) const { return a != b; }
};

template <Integer T>
inline T bit_and(T a, T b) {
    return a & b;
}

template <Integer T>
inline T bit_or(T a, T b) {
    return a | b;
}

template <Integer T>
inline T bit_xor(T a, T b) {
    return a ^ b;
}

template <Integer T>
inline T bit_not(T a) {
    return std::is_same_v<T, bool> ? !a : static_cast<T>(~a);
}

template <Integer T>
inline T cnot(T a) {
    return a == 0;
}

// Any function of three bits: bit 4a + 2b + c of the table is its value.
inline b32 lop3(b32 a, b32 b, b32 c, u32 table) {
    b32 result = 0;
    for (int row = 0; row < 8; ++row) {
        const b32 here = (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
        if (table >> row & 1) result |= here;
    }
    return result;
}

template <class Combine>
inline WithPredicate<b32> lop3_test(b32 a, b32 b, b32 c, u32 table, pred q) {
    const b32 result = lop3(a, b, c, table);
    return {result, Combine()(result != 0, q)};
}

// Shifts by the width or more are clamped to it; x86 would take the shift modulo the width.
template <Integer T>
inline T shl(T a, u32 shift) {
    return shift < 8 * sizeof(T) ? static_cast<T>(a << shift) : T(0);
}

template <Integer T>
inline T shr(T a, u32 shift) {
    if (shift < 8 * sizeof(T)) return static_cast<T>(a >> shift);
    return static_cast<T>(a < 0 ? ~T(0) : T(0));
}

struct clamp {
    static u32 shift(u32 n) { return n < 32 ? n : 32; }
};
struct wrap {
    static u32 shift(u32 n) { return n & 31; }
};

// The high half of b:a shifted to the left.
template <class Limit>
inline b32 shf_left(b32 a, b32 b, u32 shift) {
    return static_cast<b32>((static_cast<u64>(b) << 32 | a) << Limit::shift(shift) >> 32);
}

// The low half of b:a shifted to the right.
template <class Limit>
inline b32 shf_right(b32 a, b32 b, u32 shift) {
    return static_cast<b32>((static_cast<u64>(b) << 32 | a) >> Limit::shift(shift));
}

// --- prmt: each result byte is a byte of b:a. A mode says which, given the operand and the number of the byte; bit 3
// of what it returns asks for the byte's sign, eight times.

struct index {
    static u32 select(u32 c, u32 i) { return c >> (4 * i) & 15; }
};
struct f4e {
    static u32 select(u32 c, u32 i) { return (c & 3) + i; }
};
struct b4e {
    static u32 select(u32 c, u32 i) { return ((c & 3) - i) & 7; }
};
struct rc8 {
    static u32 select(u32 c, u32) { return c & 3; }
};
struct ecl {
    static u32 select(u32 c, u32 i) { return std::max(c & 3, i); }
};
struct ecr {
    static u32 select(u32 c, u32 i) { return std::min(c & 3, i); }
};
struct rc16 {
    static u32 select(u32 c, u32 i) { return (c & 1) * 2 + (i & 1); }
};

template <class Selection>
inline b32 prmt(b32 a, b32 b, u32 c) {
    const u64 bytes = static_cast<u64>(b) << 32 | a;
    b32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
        const u32 selector = Selection::select(c, i);
        u32 byte = bytes >> (8 * (selector & 7)) & 0xff;
        if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

// --- bit fields -----------------------------------------------------------------------------------------------------

// `length` bits from `position` on; beyond the value stands its sign (zero for an unsigned type). Only the low 8 bits
// of position and length count.
template <Integer T>
inline T bfe(T a, u32 position, u32 length) {
    constexpr u32 width = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    if (position >= width) return static_cast<T>(a < 0 ? ~T(0) : T(0));
    length = std::min(length, width - position);
    const auto at_the_top = static_cast<T>(static_cast<Bits<T>>(a) << (width - position - length));
    return static_cast<T>(at_the_top >> (width - length));
}

// `b` with the low `length` bits of `a` at `position`.
template <Integer T>
inline T bfi(T a, T b, u32 position, u32 length) {
    position &= 0xff;
    length &= 0xff;
    const T ones = static_cast<T>(~shl(static_cast<T>(~T(0)), length));
    const T mask = shl(ones, position);
    return static_cast<T>((shl(a, position) & mask) | (b & ~mask));
}

// The position of the highest bit that differs from the sign; all ones when there is none.
template <Integer T>
inline u32 bfind(T a) {
    const auto bits = static_cast<Bits<T>>(a < 0 ? ~a : a);
    return bits == 0 ? ~0u : 8 * sizeof(T) - 1 - std::countl_zero(bits);
}

// How far to shift to the left until that bit is the highest.
template <Integer T>
inline u32 bfind_shift(T a) {
    const u32 position = bfind(a);
    return position == ~0u ? position : 8 * sizeof(T) - 1 - position;
}

template <Integer T>
inline T brev(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) result |= (a >> i & T(1)) << (8 * sizeof(T) - 1 - i);
    return result;
}

template <Integer T>
inline u32 clz(T a) {
    return std::countl_zero(a);
}

template <Integer T>
inline u32 popc(T a) {
    return std::popcount(a);
}

}  // namespace kbemu::ptx
