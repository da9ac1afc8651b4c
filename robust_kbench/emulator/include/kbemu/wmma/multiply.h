// mma_sync: D = A * B + C. Products are exact and added up in float (double, int) in the order of k; the order on a
// device is not documented. Half accumulators are rounded once, at the end.
#pragma once
#include "kbemu/barriers.h"
#include "kbemu/votes.h"
#include "kbemu/wmma/fragment.h"

namespace nvcuda::wmma {

// Rounds to the 10 bits of mantissa of tf32, ties away from zero.
inline float __float_to_tf32(float value) {
    if (value - value != 0) return value;
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    return __builtin_bit_cast(float, (bits + 0x1000u) & ~0x1fffu);
}

// Of a float operand the tensor core sees 19 bits.
inline float operand_value(float value) {
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) & ~0x1fffu);
}
inline float operand_value(__half value) {
    return __half2float(value);
}
inline float operand_value(__nv_bfloat16 value) {
    return __bfloat162float(value);
}
inline double operand_value(double value) {
    return value;
}
inline long long operand_value(signed char value) {
    return value;
}
inline long long operand_value(unsigned char value) {
    return value;
}

inline void put_result(float& target, float value, bool) {
    target = value;
}
inline void put_result(__half& target, float value, bool) {
    target = __float2half_rn(value);
}
inline void put_result(double& target, double value, bool) {
    target = value;
}
inline void put_result(int& target, long long value, bool saturate) {
    if (saturate && value > INT_MAX) value = INT_MAX;
    if (saturate && value < INT_MIN) value = INT_MIN;
    target = static_cast<int>(value);
}

inline float accumulator_value(__half value) {
    return __half2float(value);
}
template <class T>
inline T accumulator_value(T value) {
    return value;
}

// Both operands of one lane, so that all lanes exchange them at once.
template <class A, class B>
struct Operands {
    A a;
    B b;
};

// One element of A times B, plus `sum`. Operands lie in the lanes row after row: see position().
template <int N, int K, class Lane, class Value>
inline Value dot(const kbemu::WarpValues<Lane>& lanes, Position at, Value sum) {
    constexpr int of_a = decltype(Lane::a)::num_elements;
    constexpr int of_b = decltype(Lane::b)::num_elements;
    for (int k = 0; k < K; ++k) {
        const int left = at.row * K + k;
        const int right = k * N + at.column;
        const Value a = operand_value(lanes[left / of_a].a.x[left % of_a]);
        const Value b = operand_value(lanes[right / of_b].b.x[right % of_b]);
        sum += a * b;
    }
    return sum;
}

template <int M, int N, int K, class TD, class TA, class TC, class LayoutA, class LayoutB>
inline void mma_sync(fragment<accumulator, M, N, K, TD>& d, const fragment<matrix_a, M, N, K, TA, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, TA, LayoutB>& b, const fragment<accumulator, M, N, K, TC>& c,
                     bool saturate = false, KBEMU_HERE) {
    using Value = decltype(operand_value(a.x[0]));
    using Lane = Operands<std::remove_cvref_t<decltype(a)>, std::remove_cvref_t<decltype(b)>>;
    const kbemu::WarpValues<Lane> lanes(kbemu::kFullMask, Lane{a, b}, "wmma::mma_sync", site);
    for (int i = 0; i < d.num_elements; ++i) {
        const Value start = accumulator_value(c.x[i]);
        put_result(d.x[i], dot<N, K>(lanes, position(d, kbemu::self->lane, i), start), saturate);
    }
}

}  // namespace nvcuda::wmma
