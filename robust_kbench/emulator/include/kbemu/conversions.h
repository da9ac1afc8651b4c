// Conversions between number types with a rounding in the name, and reinterpretations of bits.
//
// A value beyond the range of an integer becomes the nearest integer there is. As on a GPU, NaN becomes 0 on the way
// from float to an integer of at most 32 bits, and otherwise the integer whose highest bit alone is set.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include "kbemu/rounding.h"

namespace kbemu {

template <class Integer, class Real>
constexpr Integer integer_for_nan() {
    constexpr bool is_wide = sizeof(Integer) == 8 || sizeof(Real) == 8;
    return is_wide ? static_cast<Integer>(1ull << (8 * sizeof(Integer) - 1)) : 0;
}

// `value` is integral.
template <class Integer, class Real>
inline Integer saturating(Real value) {
    constexpr Real limit = static_cast<Real>(std::numeric_limits<Integer>::max() / 2 + 1) * 2;  // one beyond the range
    constexpr Real bottom = static_cast<Real>(std::numeric_limits<Integer>::min());
    if (value != value) return integer_for_nan<Integer, Real>();
    if (value >= limit) return std::numeric_limits<Integer>::max();
    if (value < bottom) return std::numeric_limits<Integer>::min();
    return static_cast<Integer>(value);
}

template <class Integer, Rounding rounding, class Real>
inline Integer to_integer(Real value) {
    return saturating<Integer>(integral<rounding>(value));
}

template <class To>
struct Convert {
    template <class From>
    To operator()(From value) const {
        return static_cast<To>(value);
    }
};

template <class To, Rounding rounding, class From>
inline To convert(From value) {
    if constexpr (std::numeric_limits<To>::is_integer) {
        return to_integer<To, rounding>(value);
    } else {
        return rounded<rounding, Convert<To>>(value);
    }
}

}  // namespace kbemu

#define KBEMU_CONVERSION(name, From, To)                                                             \
    inline To name##_rn(From value) { return kbemu::convert<To, kbemu::Rounding::kNearest>(value); } \
    inline To name##_rz(From value) { return kbemu::convert<To, kbemu::Rounding::kZero>(value); }    \
    inline To name##_ru(From value) { return kbemu::convert<To, kbemu::Rounding::kUp>(value); }      \
    inline To name##_rd(From value) { return kbemu::convert<To, kbemu::Rounding::kDown>(value); }

KBEMU_CONVERSION(__float2int, float, int)
KBEMU_CONVERSION(__float2uint, float, unsigned)
KBEMU_CONVERSION(__float2ll, float, long long)
KBEMU_CONVERSION(__float2ull, float, unsigned long long)
KBEMU_CONVERSION(__double2int, double, int)
KBEMU_CONVERSION(__double2uint, double, unsigned)
KBEMU_CONVERSION(__double2ll, double, long long)
KBEMU_CONVERSION(__double2ull, double, unsigned long long)
KBEMU_CONVERSION(__int2float, int, float)
KBEMU_CONVERSION(__uint2float, unsigned, float)
KBEMU_CONVERSION(__ll2float, long long, float)
KBEMU_CONVERSION(__ull2float, unsigned long long, float)
KBEMU_CONVERSION(__ll2double, long long, double)
KBEMU_CONVERSION(__ull2double, unsigned long long, double)
KBEMU_CONVERSION(__double2float, double, float)

#undef KBEMU_CONVERSION

inline double __int2double_rn(int value) { return value; }
inline double __uint2double_rn(unsigned value) { return value; }

inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

inline int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
inline int __double2loint(double value) { return static_cast<int>(__double_as_longlong(value)); }
inline double __hiloint2double(int high, int low) {
    const std::uint64_t upper = static_cast<unsigned>(high);
    return std::bit_cast<double>(upper << 32 | static_cast<unsigned>(low));
}
