// cvt: between integers it wraps or saturates, from floats to integers it always saturates.
#pragma once
#include <utility>

#include "kbemu/ptx/floats.h"
#include "kbemu/ptx/integers.h"

namespace kbemu::ptx {

template <Integer To, Integer From>
inline To saturated(From a) {
    if (std::in_range<To>(a)) return static_cast<To>(a);
    return a < 0 ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
}

// NaN becomes 0; where one of the types has 64 bits it becomes the integer with only the highest bit set.
template <Integer To, Mode mode, Real From>
inline To float_to_integer(From a) {
    constexpr bool is_long = sizeof(To) == 8 || sizeof(From) == 8;
    if (is_long && std::isnan(a)) return static_cast<To>(Bits<To>(1) << (8 * sizeof(To) - 1));
    return to_integer<To, rounding_of(mode)>(a);
}

// A float of any size to one of any size.
template <class To, Mode mode, class From>
inline To float_to_float(From a) {
    if constexpr (std::is_same_v<To, f64>) {
        return widen(a);
    } else {
        return narrow<To, mode>(widen(a));
    }
}

template <class To, Mode mode, class From>
inline To convert_float(From a) {
    if constexpr (mode >= kNearestInteger) {
        return float_to_float<To, kNearest>(integral<rounding_of(mode)>(widen(a)));
    } else {
        return float_to_float<To, mode>(a);
    }
}

template <class To, Mode mode, bool saturating, class From>
inline To convert(From a) {
    constexpr bool from_integer = std::is_integral_v<From>;
    if constexpr (std::is_integral_v<To>) {
        if constexpr (!from_integer) {
            return float_to_integer<To, mode>(widen(a));
        } else {
            return saturating ? saturated<To>(a) : static_cast<To>(a);
        }
    } else if constexpr (!from_integer) {
        const To result = convert_float<To, mode>(a);
        return saturating ? saturate(result) : result;
    } else if constexpr (std::is_floating_point_v<To>) {
        return kbemu::convert<To, rounding_of(mode)>(a);
    } else {
        return encoded<To, rounding_of(mode)>(a);
    }
}

// Two floats in one register; the first one high.
template <class To, Mode mode, bool relu, bool saturating>
inline To narrow_pair(f32 high, f32 low) {
    using Element = typename To::Element;
    return {narrow<Element, mode, relu, saturating>(low), narrow<Element, mode, relu, saturating>(high)};
}

template <class To, Mode mode, bool relu, bool saturating>
inline To narrow_pair(f16x2 values) {
    return narrow_pair<To, mode, relu, saturating>(widen(values.high), widen(values.low));
}

template <class From>
inline f16x2 widen_pair(From values) {
    return {narrow<f16>(widen(values.low)), narrow<f16>(widen(values.high))};
}

template <Integer To>
inline b32 pack_saturating(s32 high, s32 low) {
    constexpr int width = 8 * sizeof(To);
    return static_cast<u32>(static_cast<Bits<To>>(saturated<To>(high))) << width |
           static_cast<Bits<To>>(saturated<To>(low));
}

// The older content moves up.
template <Integer To>
inline b32 pack_saturating(s32 high, s32 low, b32 before) {
    return before << 16 | pack_saturating<To>(high, low);
}

}  // namespace kbemu::ptx
