// Intrinsics on the bytes and 16-bit halves of 32-bit words: __dp4a, __dp2a_lo, and the SIMD video functions __vadd4,
// __vmaxs2, ...
#pragma once
#include <cstdint>
#include <type_traits>

#include "kbemu/vector_types.h"

namespace kbemu {

// Part `index` of a word that holds several integers of type Lane.
template <class Lane>
constexpr std::int64_t lane(unsigned word, int index) {
    return static_cast<Lane>(word >> (8 * sizeof(Lane) * index));
}

// A word whose part i is operation(lanes of the words at i...); what does not fit is cut off.
template <class Lane, class Operation, class... Words>
constexpr unsigned lanewise(Operation operation, Words... words) {
    constexpr int bits = 8 * sizeof(Lane);
    unsigned result = 0;
    for (int i = 0; i < 32 / bits; ++i) {
        const std::make_unsigned_t<Lane> part = operation(lane<Lane>(words, i)...);
        result |= static_cast<unsigned>(part) << (bits * i);
    }
    return result;
}

// The sum over all parts of operation(lanes...).
template <class Lane, class Operation>
constexpr std::int64_t sum_of_lanes(Operation operation, unsigned a, unsigned b) {
    std::int64_t sum = 0;
    for (unsigned i = 0; i < 4 / sizeof(Lane); ++i) sum += operation(lane<Lane>(a, i), lane<Lane>(b, i));
    return sum;
}

template <class Lane>
constexpr std::int64_t saturated(std::int64_t value) {
    constexpr bool is_signed = std::is_signed_v<Lane>;
    constexpr std::int64_t top = (1ll << (8 * sizeof(Lane) - is_signed)) - 1;
    constexpr std::int64_t bottom = is_signed ? -top - 1 : 0;
    return value > top ? top : value < bottom ? bottom : value;
}

constexpr std::int64_t magnitude(std::int64_t value) {
    return value < 0 ? -value : value;
}

}  // namespace kbemu

// --- operations of two words, once on bytes (suffix 4) and once on halves (suffix 2) ---------------------------------
#define KBEMU_PAIRWISE(name, Byte, Half, expression)                                                \
    inline unsigned name##4(unsigned a, unsigned b) {                                               \
        using Lane = std::Byte;                                                                     \
        return kbemu::lanewise<Lane>([](std::int64_t x, std::int64_t y) { return expression; }, a, b); \
    }                                                                                               \
    inline unsigned name##2(unsigned a, unsigned b) {                                               \
        using Lane = std::Half;                                                                     \
        return kbemu::lanewise<Lane>([](std::int64_t x, std::int64_t y) { return expression; }, a, b); \
    }
#define KBEMU_SIGNED(name, expression) KBEMU_PAIRWISE(name, int8_t, int16_t, std::int64_t(expression))
#define KBEMU_UNSIGNED(name, expression) KBEMU_PAIRWISE(name, uint8_t, uint16_t, std::int64_t(expression))

KBEMU_UNSIGNED(__vadd, x + y)
KBEMU_SIGNED(__vaddss, kbemu::saturated<Lane>(x + y))
KBEMU_UNSIGNED(__vaddus, kbemu::saturated<Lane>(x + y))
KBEMU_UNSIGNED(__vsub, x - y)
KBEMU_SIGNED(__vsubss, kbemu::saturated<Lane>(x - y))
KBEMU_UNSIGNED(__vsubus, kbemu::saturated<Lane>(x - y))
KBEMU_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)  // a half is rounded away from zero
KBEMU_UNSIGNED(__vavgu, (x + y + 1) >> 1)
KBEMU_UNSIGNED(__vhaddu, (x + y) >> 1)
KBEMU_SIGNED(__vmaxs, x > y ? x : y)
KBEMU_UNSIGNED(__vmaxu, x > y ? x : y)
KBEMU_SIGNED(__vmins, x < y ? x : y)
KBEMU_UNSIGNED(__vminu, x < y ? x : y)
KBEMU_SIGNED(__vabsdiffs, kbemu::magnitude(x - y))
KBEMU_UNSIGNED(__vabsdiffu, kbemu::magnitude(x - y))

// Comparisons give all ones or zero (__vcmp...), or one or zero (__vset...).
#define KBEMU_COMPARISON(suffix, kind, condition) \
    kind(__vcmp##suffix, (condition) ? -1 : 0)    \
    kind(__vset##suffix, (condition) ? 1 : 0)

KBEMU_COMPARISON(eq, KBEMU_UNSIGNED, x == y)
KBEMU_COMPARISON(ne, KBEMU_UNSIGNED, x != y)
KBEMU_COMPARISON(ges, KBEMU_SIGNED, x >= y)
KBEMU_COMPARISON(geu, KBEMU_UNSIGNED, x >= y)
KBEMU_COMPARISON(gts, KBEMU_SIGNED, x > y)
KBEMU_COMPARISON(gtu, KBEMU_UNSIGNED, x > y)
KBEMU_COMPARISON(les, KBEMU_SIGNED, x <= y)
KBEMU_COMPARISON(leu, KBEMU_UNSIGNED, x <= y)
KBEMU_COMPARISON(lts, KBEMU_SIGNED, x < y)
KBEMU_COMPARISON(ltu, KBEMU_UNSIGNED, x < y)

#undef KBEMU_COMPARISON
#undef KBEMU_SIGNED
#undef KBEMU_UNSIGNED
#undef KBEMU_PAIRWISE

// --- operations of one word ------------------------------------------------------------------------------------------
#define KBEMU_LANES_OF_ONE(name, expression)                                         \
    inline unsigned name##4(unsigned a) {                                            \
        using Lane = std::int8_t;                                                    \
        return kbemu::lanewise<Lane>([](std::int64_t x) { return expression; }, a);  \
    }                                                                                \
    inline unsigned name##2(unsigned a) {                                            \
        using Lane = std::int16_t;                                                   \
        return kbemu::lanewise<Lane>([](std::int64_t x) { return expression; }, a);  \
    }

KBEMU_LANES_OF_ONE(__vabs, kbemu::magnitude(x))
KBEMU_LANES_OF_ONE(__vabsss, kbemu::saturated<Lane>(kbemu::magnitude(x)))
KBEMU_LANES_OF_ONE(__vneg, -x)
KBEMU_LANES_OF_ONE(__vnegss, kbemu::saturated<Lane>(-x))

#undef KBEMU_LANES_OF_ONE

// --- sums over the lanes ---------------------------------------------------------------------------------------------
namespace kbemu {

template <class Lane>
constexpr unsigned sum_of_distances(unsigned a, unsigned b) {
    return static_cast<unsigned>(sum_of_lanes<Lane>([](auto x, auto y) { return magnitude(x - y); }, a, b));
}

// The dot product of the four bytes of a and b.
template <class Lane>
constexpr unsigned dot_product_of_bytes(unsigned a, unsigned b) {
    return static_cast<unsigned>(sum_of_lanes<Lane>([](auto x, auto y) { return x * y; }, a, b));
}

// The dot product of the two halves of a with the bytes of b from `first` on.
template <class Half, class Byte>
constexpr unsigned dot_product_of_halves(unsigned a, unsigned b, int first) {
    return static_cast<unsigned>(lane<Half>(a, 0) * lane<Byte>(b, first) + lane<Half>(a, 1) * lane<Byte>(b, first + 1));
}

// The 32 bits of a word or a vector.
template <class Vector>
constexpr unsigned packed(Vector value) {
    return __builtin_bit_cast(unsigned, value);
}

}  // namespace kbemu

inline unsigned __vsads2(unsigned a, unsigned b) { return kbemu::sum_of_distances<std::int16_t>(a, b); }
inline unsigned __vsads4(unsigned a, unsigned b) { return kbemu::sum_of_distances<std::int8_t>(a, b); }
inline unsigned __vsadu2(unsigned a, unsigned b) { return kbemu::sum_of_distances<std::uint16_t>(a, b); }
inline unsigned __vsadu4(unsigned a, unsigned b) { return kbemu::sum_of_distances<std::uint8_t>(a, b); }

// Sums wrap around, so unsigned arithmetic serves both signs.
#define KBEMU_DP4A(Sum, Word, Byte)                                                              \
    inline Sum __dp4a(Word a, Word b, Sum c) {                                                   \
        return kbemu::dot_product_of_bytes<Byte>(kbemu::packed(a), kbemu::packed(b)) + unsigned(c); \
    }

KBEMU_DP4A(int, int, std::int8_t)
KBEMU_DP4A(int, char4, std::int8_t)
KBEMU_DP4A(unsigned, unsigned, std::uint8_t)
KBEMU_DP4A(unsigned, uchar4, std::uint8_t)

#undef KBEMU_DP4A

#define KBEMU_DP2A(name, first, Sum, Halves, Bytes, Half, Byte)                                                  \
    inline Sum name(Halves a, Bytes b, Sum c) {                                                                  \
        return kbemu::dot_product_of_halves<Half, Byte>(kbemu::packed(a), kbemu::packed(b), first) + unsigned(c); \
    }

KBEMU_DP2A(__dp2a_lo, 0, int, int, int, std::int16_t, std::int8_t)
KBEMU_DP2A(__dp2a_lo, 0, int, short2, char4, std::int16_t, std::int8_t)
KBEMU_DP2A(__dp2a_lo, 0, unsigned, unsigned, unsigned, std::uint16_t, std::uint8_t)
KBEMU_DP2A(__dp2a_lo, 0, unsigned, ushort2, uchar4, std::uint16_t, std::uint8_t)
KBEMU_DP2A(__dp2a_hi, 2, int, int, int, std::int16_t, std::int8_t)
KBEMU_DP2A(__dp2a_hi, 2, int, short2, char4, std::int16_t, std::int8_t)
KBEMU_DP2A(__dp2a_hi, 2, unsigned, unsigned, unsigned, std::uint16_t, std::uint8_t)
KBEMU_DP2A(__dp2a_hi, 2, unsigned, ushort2, uchar4, std::uint16_t, std::uint8_t)

#undef KBEMU_DP2A
