// The formats behind __half and __nv_bfloat16. Both have one NaN that operations return, 0x7FFF, as on the device.
#pragma once
#include "kbemu/minmax.h"
#include "kbemu/small_float.h"

#if defined(__FLT16_MANT_DIG__)
#define KBEMU_NATIVE_HALF _Float16
#elif defined(__ARM_FP16_FORMAT_IEEE)
#define KBEMU_NATIVE_HALF __fp16
#endif

namespace kbemu {

constexpr std::uint16_t kCanonicalNaN = 0x7FFF;

struct Binary16 : SmallFloat<5, 10> {
    // A type in which + - * / of two such numbers can be rounded first, without an effect on the final rounding: it has
    // more than twice the digits, and no result of one operation is too small for it.
    using Wide = float;

    static float decode(std::uint16_t bits) {
#ifdef KBEMU_NATIVE_HALF
        // The barrier keeps the compiler from converting straight to double, for which it calls a slow function.
        return __builtin_assoc_barrier(static_cast<float>(std::bit_cast<KBEMU_NATIVE_HALF>(bits)));
#else
        if ((bits & kInfinity) != kInfinity) return SmallFloat::decode(bits);
        return std::bit_cast<float>((bits & 0x8000u) << 16 | 0x7F800000u | (bits & 0x3FFu) << 13);
#endif
    }

    static std::uint16_t encode_nearest(float value) {
        if (value != value) return kCanonicalNaN;
#ifdef KBEMU_NATIVE_HALF
        return std::bit_cast<std::uint16_t>(static_cast<KBEMU_NATIVE_HALF>(value));
#else
        return encode<Rounding::kNearest>(value);
#endif
    }
};

struct Bfloat16 : SmallFloat<8, 7> {
    using Wide = double;  // a product may be too small for float

    static float decode(std::uint16_t bits) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }

    static std::uint16_t encode_nearest(float value) {
        if (value != value) return kCanonicalNaN;
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t even = bits >> 16 & 1;
        return (bits + 0x7FFF + even) >> 16;
    }
};

#undef KBEMU_NATIVE_HALF

// Which of the two formats a class has.
template <class Scalar>
struct FormatOf;

template <class Scalar>
using Format = typename FormatOf<Scalar>::type;

template <class Scalar>
using Wide = typename Format<Scalar>::Wide;

// The value of a number, exactly.
template <class Scalar>
inline float real(Scalar number) {
    return Format<Scalar>::decode(std::bit_cast<std::uint16_t>(number));
}

template <class Scalar>
inline Wide<Scalar> wide(Scalar number) {
    return real(number);
}

template <class Scalar>
inline bool is_nan(Scalar number) {
    return (std::bit_cast<std::uint16_t>(number) & 0x7FFF) > Format<Scalar>::kInfinity;
}

// A float, double or integer rounded once.
template <class Scalar, Rounding rounding = Rounding::kNearest, class Value>
inline Scalar encoded(Value value) {
    const float odd = to_odd(value);
    if constexpr (rounding == Rounding::kNearest) {
        return std::bit_cast<Scalar>(Format<Scalar>::encode_nearest(odd));
    } else {
        const unsigned bits = odd == odd ? Format<Scalar>::template encode<rounding>(odd) : kCanonicalNaN;
        return std::bit_cast<Scalar>(static_cast<std::uint16_t>(bits));
    }
}

// a * b + c, rounded once: the product is exact in double precision.
template <class Scalar>
inline Scalar multiply_add(Scalar a, Scalar b, Scalar c) {
    const double product = static_cast<double>(real(a)) * static_cast<double>(real(b));
    return encoded<Scalar>(sum_to_odd(product, real(c)));
}

template <class Scalar>
inline Scalar one() {
    return encoded<Scalar>(1.0f);
}

// Into [0, 1]; NaN becomes 0.
template <class Scalar>
inline Scalar saturated_to_one(Scalar number) {
    return encoded<Scalar>(smaller_number(larger_number(real(number), 0.0f), 1.0f));
}

// Negative numbers become 0, NaN stays.
template <class Scalar>
inline Scalar rectified(Scalar number) {
    return is_nan(number) ? encoded<Scalar>(real(number)) : encoded<Scalar>(real(number) > 0.0f ? real(number) : 0.0f);
}

// Of a number and a NaN the extremum is the number, or the NaN if `nan_wins`.
template <class Scalar>
inline Scalar larger_of(Scalar a, Scalar b, bool nan_wins) {
    const bool use_nan = nan_wins && (is_nan(a) || is_nan(b));
    return encoded<Scalar>(use_nan ? real(a) + real(b) : larger_number(real(a), real(b)));
}

template <class Scalar>
inline Scalar smaller_of(Scalar a, Scalar b, bool nan_wins) {
    const bool use_nan = nan_wins && (is_nan(a) || is_nan(b));
    return encoded<Scalar>(use_nan ? real(a) + real(b) : smaller_number(real(a), real(b)));
}

}  // namespace kbemu
