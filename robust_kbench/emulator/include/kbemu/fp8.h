// The 8-bit formats e4m3 and e5m2: the classes and conversion functions of cuda_fp8.h. They are for storage; CUDA has
// no arithmetic on them either. (e8m0, the exponent-only format of CUDA 12.8, is left out.)
#pragma once
#include "kbemu/bf16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;

// What becomes of a number beyond the largest finite one: infinity (NaN, where the format has none), or that number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace kbemu {

using E4m3 = SmallFloat<4, 3>;
using E5m2 = SmallFloat<5, 2>;
constexpr unsigned kNaNOfEightBits = 0x7F;

inline unsigned char encode_in_eight_bits(float value, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    if (value != value) return kNaNOfEightBits;
    constexpr Rounding nearest = Rounding::kNearest;
    const auto magnitude = kind == __NV_E4M3 ? E4m3::magnitude<nearest> : E5m2::magnitude<nearest>;
    const unsigned largest = kind == __NV_E4M3 ? 0x7E : 0x7B;
    const unsigned sign = std::signbit(value) ? 0x80 : 0x00;
    const unsigned bits = magnitude(std::fmin(std::fabs(value), 0x1p20f));  // 2^20 is beyond the range of both
    if (bits <= largest) return sign | bits;
    return sign | (saturation == __NV_SATFINITE ? largest : largest + 1);
}

// Rounds once, whatever the type of the value.
template <class Value>
inline unsigned char to_eight_bits(Value value, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    return encode_in_eight_bits(to_odd(value), saturation, kind);
}

inline float from_eight_bits(unsigned char bits, __nv_fp8_interpretation_t kind) {
    if (kind == __NV_E5M2) return Binary16::decode(bits << 8);  // half precision without its last eight bits
    const float value = E4m3::decode(bits);
    return (bits & 0x7F) == kNaNOfEightBits ? std::bit_cast<float>(0x7FFFFFFF) : value;
}

}  // namespace kbemu

#define KBEMU_TO_EIGHT_BITS(name, Value, real)                                                                     \
    inline __nv_fp8_storage_t __nv_cvt_##name##_to_fp8(                                                            \
        Value x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {                                   \
        return kbemu::to_eight_bits(real(x), saturation, kind);                                                    \
    }

#define KBEMU_TO_PAIR_OF_EIGHT_BITS(name, Pair, real)                                                              \
    inline __nv_fp8x2_storage_t __nv_cvt_##name##_to_fp8x2(                                                        \
        Pair x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {                                    \
        const unsigned low = kbemu::to_eight_bits(real(x.x), saturation, kind);                                    \
        const unsigned high = kbemu::to_eight_bits(real(x.y), saturation, kind);                                   \
        return low | high << 8;                                                                                    \
    }

namespace kbemu {

inline float half_bits(__half_raw x) { return real(__half(x)); }
inline float half_bits(unsigned short x) { return Binary16::decode(x); }
inline float bfloat16_bits(__nv_bfloat16_raw x) { return real(__nv_bfloat16(x)); }
inline float bfloat16_bits(unsigned short x) { return Bfloat16::decode(x); }

}  // namespace kbemu

KBEMU_TO_EIGHT_BITS(float, float, )
KBEMU_TO_EIGHT_BITS(double, double, )
KBEMU_TO_EIGHT_BITS(halfraw, __half_raw, kbemu::half_bits)
KBEMU_TO_EIGHT_BITS(bfloat16raw, __nv_bfloat16_raw, kbemu::bfloat16_bits)
KBEMU_TO_PAIR_OF_EIGHT_BITS(float2, float2, )
KBEMU_TO_PAIR_OF_EIGHT_BITS(double2, double2, )
KBEMU_TO_PAIR_OF_EIGHT_BITS(halfraw2, __half2_raw, kbemu::half_bits)
KBEMU_TO_PAIR_OF_EIGHT_BITS(bfloat16raw2, __nv_bfloat162_raw, kbemu::bfloat16_bits)

#undef KBEMU_TO_EIGHT_BITS
#undef KBEMU_TO_PAIR_OF_EIGHT_BITS

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    return kbemu::encoded<__half>(kbemu::from_eight_bits(x, kind));
}

inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
    return {__nv_cvt_fp8_to_halfraw(x & 0xFF, kind).x, __nv_cvt_fp8_to_halfraw(x >> 8, kind).x};
}

namespace kbemu {

// One number. Every conversion is explicit, and saturates.
template <__nv_fp8_interpretation_t kind>
struct EightBits {
    __nv_fp8_storage_t __x;

    EightBits() = default;
    explicit EightBits(__half value) : EightBits(real(value)) {}
    explicit EightBits(__nv_bfloat16 value) : EightBits(real(value)) {}
    template <class Number>
        requires std::is_arithmetic_v<Number>
    explicit EightBits(Number value) : __x(to_eight_bits(value, __NV_SATFINITE, kind)) {}

    explicit operator __half() const { return encoded<__half>(from_eight_bits(__x, kind)); }
    explicit operator __nv_bfloat16() const { return encoded<__nv_bfloat16>(from_eight_bits(__x, kind)); }
    template <class Number>
        requires std::is_floating_point_v<Number>
    explicit operator Number() const {
        return from_eight_bits(__x, kind);
    }
    template <class Number>
        requires std::is_integral_v<Number>
    explicit operator Number() const {
        return to_integer<Number, Rounding::kZero>(from_eight_bits(__x, kind));
    }
    explicit operator bool() const { return (__x & 0x7F) != 0; }
};

// Two numbers, the first in the low byte.
template <__nv_fp8_interpretation_t kind>
struct alignas(2) TwoEightBits {
    __nv_fp8x2_storage_t __x;

    TwoEightBits() = default;
    explicit TwoEightBits(float2 value) : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, kind)) {}
    explicit TwoEightBits(double2 value) : __x(__nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, kind)) {}
    explicit TwoEightBits(__half2 value) : TwoEightBits(__half22float2(value)) {}
    explicit TwoEightBits(__nv_bfloat162 value) : TwoEightBits(__bfloat1622float2(value)) {}

    explicit operator float2() const { return {from_eight_bits(__x & 0xFF, kind), from_eight_bits(__x >> 8, kind)}; }
    explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, kind); }
};

// Four numbers, the first in the lowest byte.
template <__nv_fp8_interpretation_t kind>
struct alignas(4) FourEightBits {
    __nv_fp8x4_storage_t __x;

    FourEightBits() = default;
    explicit FourEightBits(float4 value) : FourEightBits(float2{value.x, value.y}, float2{value.z, value.w}) {}
    explicit FourEightBits(double4 value) : FourEightBits(double2{value.x, value.y}, double2{value.z, value.w}) {}
    explicit FourEightBits(__half2 low, __half2 high) : FourEightBits(__half22float2(low), __half22float2(high)) {}
    explicit FourEightBits(__nv_bfloat162 low, __nv_bfloat162 high)
        : FourEightBits(__bfloat1622float2(low), __bfloat1622float2(high)) {}

    explicit operator float4() const {
        return {
            from_eight_bits(__x & 0xFF, kind), from_eight_bits(__x >> 8 & 0xFF, kind),
            from_eight_bits(__x >> 16 & 0xFF, kind), from_eight_bits(__x >> 24, kind)};
    }

private:
    template <class Pair>
    FourEightBits(Pair low, Pair high)
        : __x(TwoEightBits<kind>(low).__x | static_cast<unsigned>(TwoEightBits<kind>(high).__x) << 16) {}
};

}  // namespace kbemu

using __nv_fp8_e4m3 = kbemu::EightBits<__NV_E4M3>;
using __nv_fp8_e5m2 = kbemu::EightBits<__NV_E5M2>;
using __nv_fp8x2_e4m3 = kbemu::TwoEightBits<__NV_E4M3>;
using __nv_fp8x2_e5m2 = kbemu::TwoEightBits<__NV_E5M2>;
using __nv_fp8x4_e4m3 = kbemu::FourEightBits<__NV_E4M3>;
using __nv_fp8x4_e5m2 = kbemu::FourEightBits<__NV_E5M2>;
