// MRG32k3a of L'Ecuyer: two linear recurrences of order three, and the difference of their values.
#pragma once
#include <cstdint>

#include "kbemu/cuda.h"

struct curandStateMRG32k3a {
    unsigned s1[3], s2[3];
    int has_normal, has_normal_double;
    float normal;
    double normal_double;
};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;

namespace kbemu::curand {

constexpr std::uint64_t kModulus1 = 4294967087u;
constexpr std::uint64_t kModulus2 = 4294944443u;

constexpr double kModulus1Inverse = 2.3283065498378290e-10;

// Advances both recurrences by n * 2**exponent steps. In libkbemu.so.
void mrg_jump(curandStateMRG32k3a* state, unsigned long long n, unsigned exponent);

// 1 to kModulus1.
inline std::uint64_t mrg_next(curandStateMRG32k3a* state) {
    unsigned(&a)[3] = state->s1;
    unsigned(&b)[3] = state->s2;
    const std::uint64_t first = (1403580ull * a[1] + (kModulus1 - 810728) * a[0]) % kModulus1;
    const std::uint64_t second = (527612ull * b[2] + (kModulus2 - 1370589) * b[0]) % kModulus2;
    a[0] = a[1], a[1] = a[2], a[2] = unsigned(first);
    b[0] = b[1], b[1] = b[2], b[2] = unsigned(second);
    return first > second ? first - second : first + kModulus1 - second;
}

}  // namespace kbemu::curand

inline unsigned curand(curandStateMRG32k3a* state) {
    return static_cast<unsigned>(kbemu::curand::mrg_next(state) * 1.000000048662);
}

inline void skipahead(unsigned long long n, curandStateMRG32k3a* state) {
    kbemu::curand::mrg_jump(state, n, 0);
}

inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* state) {
    kbemu::curand::mrg_jump(state, n, 76);
}

inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* state) {
    kbemu::curand::mrg_jump(state, n, 127);
}

inline void curand_init(
    unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateMRG32k3a* state) {
    *state = {};
    std::uint64_t factors[2] = {1, 1};
    if (seed) {
        factors[0] = unsigned(seed) ^ 0x55555555u;
        factors[1] = unsigned(seed >> 32) ^ 0xAAAAAAAAu;
    }
    for (int i = 0; i < 3; ++i) {
        state->s1[i] = unsigned(12345 * factors[i % 2] % kbemu::curand::kModulus1);
        state->s2[i] = unsigned(12345 * factors[(i + 1) % 2] % kbemu::curand::kModulus2);
    }
    skipahead_subsequence(subsequence, state);
    skipahead(offset, state);
}
