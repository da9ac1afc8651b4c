// Values of PTX's floating-point types, and rounding to them.
#pragma once
#include "kbemu/conversions.h"
#include "kbemu/ptx/types.h"
#include "kbemu/sixteen_bit/formats.h"

namespace kbemu {

template <>
struct FormatOf<ptx::f16> {
    using type = Binary16;
};
template <>
struct FormatOf<ptx::bf16> {
    using type = Bfloat16;
};
template <>
struct FormatOf<ptx::tf32> {
    using type = SmallFloat<8, 10>;
};
template <>
struct FormatOf<ptx::e5m2> {
    using type = SmallFloat<5, 2>;
};
// The codes of infinity are numbers here, and only the last one is a NaN.
template <>
struct FormatOf<ptx::e4m3> {
    using type = SmallFloat<4, 3>;
};

}  // namespace kbemu

namespace kbemu::ptx {

// PTX's .rn .rz .rm .rp, .rna (ties away from zero), and .rni … for rounding to an integral value.
enum Mode {
    kNearest,
    kZero,
    kDown,
    kUp,
    kNearestAway,
    kNearestInteger,
    kZeroInteger,
    kDownInteger,
    kUpInteger,
};

constexpr Rounding rounding_of(Mode mode) {
    switch (mode) {
        case kZero:
        case kZeroInteger: return Rounding::kZero;
        case kDown:
        case kDownInteger: return Rounding::kDown;
        case kUp:
        case kUpInteger: return Rounding::kUp;
        default: return Rounding::kNearest;
    }
}

// --- values ---------------------------------------------------------------------------------------------------------

inline f32 widen(f32 value) { return value; }
inline f64 widen(f64 value) { return value; }
template <Half T>
inline f32 widen(T value) {
    return real(value);
}
// The tensor core ignores the low bits.
inline f32 widen(tf32 value) { return std::bit_cast<f32>(value.bits & ~0x1fffu); }
inline f32 widen(e5m2 value) { return widen(f16{static_cast<u16>(value.bits << 8)}); }
inline f32 widen(e4m3 value) {
    return (value.bits & 0x7f) == 0x7f ? std::numeric_limits<f32>::quiet_NaN() : Format<e4m3>::decode(value.bits);
}

// --- rounding -------------------------------------------------------------------------------------------------------

constexpr u32 kLargestE4m3 = 0x7e;

// For a value that is no NaN.
template <class T, Mode mode>
inline u32 magnitude_code(f32 value) {
    using Small = Format<T>;
    if constexpr (std::is_same_v<T, e4m3>) {
        const u32 code = std::isinf(value) ? kLargestE4m3 : Small::template magnitude<rounding_of(mode)>(value);
        return std::min(code, kLargestE4m3);
    } else {
        return Small::template encode<rounding_of(mode)>(value) & (Small::kSign - 1);
    }
}

template <class T, Mode mode, bool finite>
inline u32 code_of(f32 value) {
    using Small = Format<T>;
    if (std::isnan(value)) return Small::kSign - 1;
    const u32 code = magnitude_code<T, mode>(value);
    const bool too_large = finite && !std::is_same_v<T, e4m3> && code == Small::kInfinity;
    return (std::signbit(value) ? Small::kSign : 0) | (too_large ? code - 1 : code);
}

inline tf32 nearest_tf32_away(f32 value) {
    const u32 bits = std::bit_cast<u32>(value);
    return {std::isfinite(value) ? (bits + 0x1000) & ~0x1fffu : bits};
}

// Rounds once. With `relu` negative values become zero; with `finite` the largest number stands for all that are too
// large.
template <class T, Mode mode = kNearest, bool relu = false, bool finite = false>
inline T narrow(f64 value) {
    if (relu && value <= 0) value = 0;
    if constexpr (std::is_same_v<T, f32>) {
        return kbemu::convert<f32, rounding_of(mode)>(value);
    } else if constexpr (mode == kNearestAway) {
        return nearest_tf32_away(static_cast<f32>(value));
    } else if constexpr (Half<T> && !finite) {
        return encoded<T, rounding_of(mode)>(value);
    } else {
        constexpr int unused_bits = std::is_same_v<T, tf32> ? 13 : 0;
        return {static_cast<Bits<T>>(code_of<T, mode, finite>(to_odd(value)) << unused_bits)};
    }
}

}  // namespace kbemu::ptx
