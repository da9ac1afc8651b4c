// mma.sync: D = A B + C on tensor cores.
//
// All shapes follow one layout. With `group` = lane / 4, `member` = lane % 4 and e elements in a register:
// - A (M × K): register r holds columns member e … of columns 4 e (r / 2) …, of row group + 8 (r % 2). With M = 8 there
//   is one row, and r counts the columns.
// - B (K × N): register r holds rows member e … of rows 4 e r …, of column group.
// - C, D (M × N): element i is at row group + 8 (i / 2) and column 2 member + i % 2.
//
// Products are exact and added up in float (integers, double) in the order of k; the order on a device is not
// documented. Half accumulators are rounded once, at the end.
#pragma once
#include "kbemu/ptx/formats.h"
#include "kbemu/ptx/integers.h"
#include "kbemu/ptx/registers.h"
#include "kbemu/votes.h"

namespace kbemu::ptx {

template <class T>
constexpr int kBitsOf = 8 * sizeof(T);
template <>
constexpr int kBitsOf<s4> = 4;
template <>
constexpr int kBitsOf<u4> = 4;
template <>
constexpr int kBitsOf<tf32> = 32;

template <class T>
struct Accumulator {
    using Type = f32;
};
template <>
struct Accumulator<s32> {
    using Type = s64;
};
template <>
struct Accumulator<f64> {
    using Type = f64;
};

// Element `i` of a register.
template <class T, class Register>
inline auto element(Register bits, int i) {
    const Register moved = bits >> (i * kBitsOf<T>);
    if constexpr (std::is_same_v<T, s4>) {
        return static_cast<s64>(static_cast<s32>(static_cast<u32>(moved) << 28) >> 28);
    } else if constexpr (std::is_same_v<T, u4>) {
        return static_cast<s64>(moved & 15);
    } else if constexpr (Integer<T>) {
        return static_cast<s64>(static_cast<T>(moved));
    } else {
        return widen(get<T>(moved));
    }
}

// What a lane contributes to the product.
template <class Register, int a_count, int b_count>
struct Operands {
    Vector<Register, a_count> a;
    Vector<Register, b_count> b;
};

// Where index k of the inner dimension is: in which register of which member of a group, and where in it.
template <class T, class Register>
struct Inner {
    static constexpr int kElements = kBitsOf<Register> / kBitsOf<T>;
    int step, member, place;

    explicit Inner(int k) : step(k / (4 * kElements)), member(k / kElements % 4), place(k % kElements) {}
};

template <class Type, class T, class Register, class Values>
inline void row_of_a(Type* out, int k_count, int row, bool two_rows, const Values& lanes) {
    for (int k = 0; k < k_count; ++k) {
        const Inner<T, Register> at(k);
        const int which = two_rows ? 2 * at.step + row / 8 : at.step;
        out[k] = element<T>(lanes[row % 8 * 4 + at.member].a[which], at.place);
    }
}

template <class Type, class T, class Register, class Values>
inline void column_of_b(Type* out, int k_count, int column, const Values& lanes) {
    for (int k = 0; k < k_count; ++k) {
        const Inner<T, Register> at(k);
        out[k] = element<T>(lanes[column * 4 + at.member].b[at.step], at.place);
    }
}

template <class C, bool saturating, class Sum>
inline Bits<C> rounded_sum(Sum sum) {
    if constexpr (std::is_same_v<C, f16>) {
        return narrow<f16>(sum).bits;
    } else if constexpr (std::is_same_v<C, s32>) {
        return static_cast<u32>(saturating ? clamped<s32>(sum) : static_cast<s32>(sum));
    } else {
        return std::bit_cast<Bits<C>>(sum);
    }
}

template <int M, int N, int K, class A, class B, class C, bool saturating = false, class Register, int a_count,
          int b_count, int c_count>
inline Vector<Register, c_count> mma(
    Vector<Register, a_count> a, Vector<Register, b_count> b, Vector<Register, c_count> c, KBEMU_HERE) {
    constexpr int per_register = kBitsOf<Register> / kBitsOf<C>;
    static_assert(32 * a_count * kBitsOf<Register> == M * K * kBitsOf<A>, "mma: A has another number of registers");
    static_assert(32 * b_count * kBitsOf<Register> == K * N * kBitsOf<B>, "mma: B has another number of registers");
    static_assert(32 * c_count * per_register == M * N, "mma: C has another number of registers");
    using Own = Operands<Register, a_count, b_count>;
    const WarpValues<Own> lanes(~0u, Own{a, b}, "mma.sync", site);
    const int group = self->lane / 4, member = self->lane % 4;

    using Sum = typename Accumulator<C>::Type;
    Sum rows[M / 8][K], columns[2][K];
    for (int i = 0; i < M / 8; ++i) row_of_a<Sum, A, Register>(rows[i], K, group + 8 * i, M == 16, lanes);
    for (int i = 0; i < 2; ++i) column_of_b<Sum, B, Register>(columns[i], K, 2 * member + i, lanes);

    Vector<Register, c_count> d{};
    for (int i = 0; i < c_count * per_register; ++i) {
        Sum sum = element<C>(c[i / per_register], i % per_register);
        for (int k = 0; k < K; ++k) sum += rows[i / 2][k] * columns[i % 2][k];
        const Register bits = rounded_sum<C, saturating>(sum);
        d[i / per_register] |= bits << (i % per_register * kBitsOf<C>);
    }
    return d;
}

}  // namespace kbemu::ptx
