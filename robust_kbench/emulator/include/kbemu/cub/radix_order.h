// Keys as unsigned numbers of the same order, compared by some of their bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kbemu {

template <std::size_t size>
using UnsignedOfSize = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

// Floating keys: negative ones upside down, and both zeros equal. Types that are not arithmetic are half precision.
template <class Key>
inline __attribute__((always_inline)) auto radix_bits(Key key) {
    using Bits = UnsignedOfSize<sizeof(Key)>;
    constexpr Bits sign = Bits(1) << (8 * sizeof(Key) - 1);
    const Bits bits = __builtin_bit_cast(Bits, key);
    if constexpr (std::is_integral_v<Key>) {
        return static_cast<Bits>(std::is_signed_v<Key> ? bits ^ sign : bits);
    } else {
        if (bits == sign) return sign;
        return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
    }
}

struct RadixOrder {
    bool descending;
    int begin_bit, end_bit;

    template <class Key>
    __attribute__((always_inline)) auto digits(Key key) const {
        using Bits = UnsignedOfSize<sizeof(Key)>;
        constexpr int bits_of_key = 8 * sizeof(Key);
        const int width = (end_bit < bits_of_key ? end_bit : bits_of_key) - begin_bit;
        const std::uint64_t kept = width >= 64 ? ~0ull : (1ull << width) - 1;
        const Bits bits = static_cast<Bits>(radix_bits(key) >> begin_bit & kept);
        return descending ? static_cast<Bits>(~bits) : bits;
    }
};

// The place of keys[index] among `count` keys once they are sorted. Not instrumented: the caller has announced that it
// reads them all.
template <class Key>
__attribute__((noinline, no_sanitize("thread"))) int place_of(
    const Key* keys, int index, int count, const RadixOrder order) {
    const auto mine = order.digits(keys[index]);
    int place = 0;
    for (int i = 0; i < index; ++i) place += order.digits(keys[i]) <= mine;
    for (int i = index + 1; i < count; ++i) place += order.digits(keys[i]) < mine;
    return place;
}

}  // namespace kbemu
