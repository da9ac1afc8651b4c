// Number formats of at most 16 bits: how a real number becomes their bits and back.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kbemu/rounding.h"

namespace kbemu {

// "Rounding to odd": of the two neighbours of a number that the shorter type cannot hold, take the one with the odd
// last bit. A second rounding, to a format shorter by two bits or more, then gives what one rounding would have given.
inline float to_odd(double value) {
    const float near = static_cast<float>(value);
    if (near == value || value != value) return near;
    const bool beyond = std::fabs(static_cast<double>(near)) > std::fabs(value);
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(near) - beyond) | 1u);
}

inline float to_odd(float value) {
    return value;
}

// The eleven lowest bits of a long integer do not fit into a double: bit 11 stands for what they hold.
template <class Integer>
    requires std::is_integral_v<Integer>
inline float to_odd(Integer value) {
    const double near = static_cast<double>(value);
    if (sizeof(Integer) <= 4 || std::fabs(near) < 0x1p53) return to_odd(near);
    const Integer rest = value & 0x7FF;
    return to_odd(static_cast<double>(rest == 0 ? value : ((value | 0x800) - rest)));
}

// a + b, rounded to odd.
inline double sum_to_odd(double a, double b) {
    const double sum = a + b;
    const double b_in_sum = sum - a;
    const double rest = (a - (sum - b_in_sum)) + (b - b_in_sum);
    if (rest == 0.0 || rest != rest) return sum;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
    if (bits & 1) return sum;
    return std::bit_cast<double>((rest > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}

// A binary format in the manner of IEEE 754: sign, exponent, fraction; denormals; an infinity.
template <int exponent_bits, int fraction_bits>
struct SmallFloat {
    static constexpr int kMinExponent = 2 - (1 << (exponent_bits - 1));
    static constexpr unsigned kSign = 1u << (exponent_bits + fraction_bits);
    static constexpr unsigned kInfinity = ((1u << exponent_bits) - 1) << fraction_bits;

    // The magnitude's bits, unbounded above. Counting the number in units of its last place makes the carry of a
    // rounding run into the exponent, and a denormal is only the case of the smallest exponent.
    template <Rounding rounding>
    static unsigned magnitude(float value) {
        const int exponent = std::fmax(std::ilogb(value), kMinExponent);
        const double count = std::ldexp(static_cast<double>(value), fraction_bits - exponent);
        const unsigned whole = std::fabs(integral<rounding>(count));
        return whole + (static_cast<unsigned>(exponent - kMinExponent) << fraction_bits);
    }

    // For a value that is no NaN.
    template <Rounding rounding>
    static unsigned encode(float value) {
        const unsigned sign = std::signbit(value) ? kSign : 0u;
        if (std::isinf(value)) return sign | kInfinity;
        const unsigned bits = magnitude<rounding>(value);
        if (bits < kInfinity) return sign | bits;
        constexpr bool away_from_zero[2] = {rounding == Rounding::kUp, rounding == Rounding::kDown};
        const bool to_infinity = rounding == Rounding::kNearest || away_from_zero[sign != 0];
        return sign | (to_infinity ? kInfinity : kInfinity - 1);
    }

    // For bits that are no infinity or NaN.
    static float decode(unsigned bits) {
        const unsigned magnitude = bits & (kSign - 1);
        const unsigned fraction = magnitude & ((1u << fraction_bits) - 1);
        const int exponent = magnitude >> fraction_bits;
        const unsigned count = exponent == 0 ? fraction : fraction | 1u << fraction_bits;
        const int lowest = exponent == 0 ? 0 : exponent - 1;  // denormals share the exponent of the smallest normals
        const float value = std::ldexp(static_cast<float>(count), lowest + kMinExponent - fraction_bits);
        return bits & kSign ? -value : value;
    }
};

}  // namespace kbemu
