// XORWOW, cuRAND's default generator, bit for bit: a linear map of 160 bits, and a counter that is added to its output.
#pragma once
#include <cstdint>

#include "kbemu/cuda.h"

struct curandStateXORWOW {
    unsigned d, v[5];
    int has_normal, has_normal_double;
    float normal;
    double normal_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState_t;
typedef curandStateXORWOW curandState;

namespace kbemu::curand {

// Advances `v` by n * 2**exponent steps. In libkbemu.so, which keeps the powers of the map.
void xorwow_jump(unsigned (&v)[5], unsigned long long n, unsigned exponent);

constexpr unsigned kXorwowStep = 362437;
constexpr unsigned kXorwowSequenceExponent = 67;

}  // namespace kbemu::curand

inline unsigned curand(curandStateXORWOW* state) {
    unsigned(&v)[5] = state->v;
    const unsigned t = v[0] ^ v[0] >> 2;
    for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
    state->d += kbemu::curand::kXorwowStep;
    return v[4] + state->d;
}

inline void skipahead(unsigned long long n, curandStateXORWOW* state) {
    kbemu::curand::xorwow_jump(state->v, n, 0);
    state->d += kbemu::curand::kXorwowStep * unsigned(n);
}

// A multiple of 2**67 steps leaves `d`, which has 32 bits, as it is.
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
    kbemu::curand::xorwow_jump(state->v, n, kbemu::curand::kXorwowSequenceExponent);
}

inline void curand_init(
    unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateXORWOW* state) {
    const unsigned low = 1099087573u * (unsigned(seed) ^ 0xaad26b49u);
    const unsigned high = 2591861531u * (unsigned(seed >> 32) ^ 0xf7dcefddu);
    *state = {};
    state->d = 6615241u + high + low;
    state->v[0] = 123456789u + low;
    state->v[1] = 362436069u ^ low;
    state->v[2] = 521288629u + high;
    state->v[3] = 88675123u ^ high;
    state->v[4] = 5783321u + low;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}
